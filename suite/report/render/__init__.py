"""Pages to Markdown and HTML; the only place that escapes."""
