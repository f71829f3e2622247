"""`python -m suite`: the commands."""

from suite.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
