"""What an image or an environment is made from, as values."""
