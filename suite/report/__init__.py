"""ANYWHERE: reads documents and says what they mean.  Knows neither docker nor TensorFlow."""
