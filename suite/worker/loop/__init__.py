"""The measuring loop and what it keeps beside the times."""
