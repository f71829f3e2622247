"""Why an arm loses, and what would help."""
