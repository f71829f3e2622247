"""Why a script is slow: runs beside runs, what is tried next, and the answer."""
