"""Why a script is slow: its runs, their gains, what is tried next, and the answer.  Pure."""
