"""What pages are made of: blocks, units, names."""
