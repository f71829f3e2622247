"""A sheet of requirements and a campaign to pass, fail or undecided, line by line."""
