"""The host, on the machine: runs containers and keeps documents.  Knows no TensorFlow."""
