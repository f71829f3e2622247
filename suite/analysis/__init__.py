"""The analysis, anywhere: documents to findings.  Reads files; knows neither engine nor TensorFlow."""
