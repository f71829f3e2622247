"""What each picture shows, as values."""
