"""Dense networks: training, inference, building."""
