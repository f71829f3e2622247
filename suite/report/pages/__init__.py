"""Whole pages: of a campaign, of a comparison."""
