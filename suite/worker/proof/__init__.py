"""Where the work ran, on what, and by which libraries."""
