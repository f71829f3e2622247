"""What a campaign's documents say as one: which numbers count, and what they come to."""
