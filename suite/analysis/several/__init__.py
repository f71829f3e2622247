"""Several campaigns beside each other."""
