"""Statistics of samples, values and pairs of them: no document, no cell's name."""
