"""This machine: its CPUs, its driver, its processes' lines and ends."""
