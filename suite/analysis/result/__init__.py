"""What an analysis found, as values that a file can hold: all that the report knows of a campaign."""
