"""Campaigns as a Parquet data set: files alone, which grow by more files, and no server."""
