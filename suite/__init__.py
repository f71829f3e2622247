"""Crossover: where TensorFlow's GPU starts to beat its CPU, by how much, and why not before."""

__version__ = "0.1.0"
