"""The sections of a campaign's page, a file each."""
