"""What one call, copy or start costs."""
