"""What images and environments are made from, and what an invocation is given, as values."""
