"""The report, anywhere: findings to pages, pictures and files."""
