"""ON THE MACHINE: builds images, runs containers, keeps documents.  Knows no TensorFlow."""
