"""`python -m suite`: the commands."""

import signal

if __name__ == "__main__":
    # Here, so that a process that analyses campaigns beside others (`suite.cli.processes`) loads that alone.
    from suite.cli.entry import main

    status = main()
    # All is done and told: who presses Ctrl-C once more has its answer.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise SystemExit(status)
