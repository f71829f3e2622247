"""The sections of a campaign's page, a file each, and a folder for the tables of its cells."""
