"""What texts of engines, drivers and TensorFlow mean, and what to do: tables, by what stands in the way."""
