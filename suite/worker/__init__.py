"""IN THE CONTAINER: measures cells.  Beside the standard library only TensorFlow and NumPy."""
