"""The command line: the only room that prints and exits.

Results go to standard output, progress and errors to standard error.
"""
