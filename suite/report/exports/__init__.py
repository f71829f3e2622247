"""The findings for other programs."""
