"""The same campaign on each GPU of a machine, and on all at once."""
