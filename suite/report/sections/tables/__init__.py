"""The section "Tables": a table for each family of cells, the first calls, and every sweep."""
