"""`python -m suite`: the commands."""

import signal

from suite.cli.entry import main

if __name__ == "__main__":
    status = main()
    # All is done and told: who presses Ctrl-C once more has its answer.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise SystemExit(status)
