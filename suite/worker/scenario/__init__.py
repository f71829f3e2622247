"""What a scenario gives to the loop."""
