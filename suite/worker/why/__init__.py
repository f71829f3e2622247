"""A person's script, run again with one thing changed."""
