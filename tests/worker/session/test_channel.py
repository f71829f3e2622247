"""Records and nothing else on standard output, whatever is printed meanwhile; in real processes,
because descriptor 1 is the process's own.
"""

from __future__ import annotations

import json
import textwrap

import pytest

from tests.commands import run_python

NOISY = """
    import os, subprocess, sys
    print("python, before")
    sys.stdout.flush()
    from suite.worker.session.channel import Channel
    channel = Channel()
    channel.send("hello", text="ä\\n\\u2028")
    print("python, after")
    sys.stdout.write("unfinished")
    os.write(1, b"native code\\n")
    subprocess.run(["echo", "a child"], check=True)
    channel.send("bye", number=1.5)
"""

WORKER = """
    import sys
    from suite.worker import __main__
    from suite.worker.session import startup

    def start(imported_s, *, gpu):
        print("noise from the start")
        raise startup.Refused("TensorFlow sees no GPU here")

    startup.start = start
    sys.exit(__main__.main(sys.argv[1:]))
"""


@pytest.mark.processes
def test_only_records_arrive_whatever_is_printed() -> None:
    done = run_python("-c", textwrap.dedent(NOISY))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "python, before"
    assert [json.loads(line) for line in done.stdout.splitlines()[1:]] == [
        {"record": "hello", "text": "ä\n\u2028"},
        {"record": "bye", "number": 1.5},
    ]
    for noise in ("python, after", "unfinished", "native code", "a child"):
        assert noise in done.stderr


@pytest.mark.processes
def test_the_worker_speaks_through_it_and_its_status_is_the_processs() -> None:
    done = run_python("-c", textwrap.dedent(WORKER), "measure", "--gpu", "overhead.fence")
    heard = [json.loads(line)["record"] for line in done.stdout.splitlines()]
    assert (done.returncode, heard) == (4, ["hello", "refused"])
    assert "noise from the start" in done.stderr
