"""A person's own script: what comes in of it, and its runs, round by round."""
