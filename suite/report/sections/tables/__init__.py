"""The section "Tables": a table for each family of cells, and the first calls."""
