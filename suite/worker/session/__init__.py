"""One run of the worker: its start, its cells in order, its records."""
