"""Records and nothing else on standard output, whatever is printed meanwhile; in real processes,
because descriptor 1 is the process's own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from typing import Any

import pytest

from suite import __version__, wire
from suite.content import SUITE

pytestmark = pytest.mark.processes

NOISY = """
    import os, subprocess, sys
    print("python, before")
    sys.stdout.flush()
    from suite.worker.channel import Channel
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
    from types import SimpleNamespace
    from tests.fakes import FakeTensorFlow
    sys.modules.update(FakeTensorFlow().modules())
    from suite.worker import __main__, facts, startup

    def start(arm, imported_s):
        print("noise from the start")
        if arm == "cuda":
            raise startup.Refused("TensorFlow sees no GPU in this container")
        return {stage: 0.5 for stage in startup.STAGES}, "/CPU:0"

    startup.start = start
    facts.tensorflow_facts = lambda: {"tensorflow.version": "0"}
    sys.exit(__main__.main(sys.argv[1:]))
"""


def run(code: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *words],
        cwd=SUITE.parent,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def records(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [wire.parse_record(line) for line in done.stdout.splitlines()]


def test_only_records_arrive_whatever_is_printed() -> None:
    done = run(NOISY)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "python, before"
    assert [json.loads(line) for line in done.stdout.splitlines()[1:]] == [
        {"record": "hello", "text": "ä\n\u2028"},
        {"record": "bye", "number": 1.5},
    ]
    for noise in ("python, after", "unfinished", "native code", "a child"):
        assert noise in done.stderr


def test_a_worker_tells_in_order_what_it_is_and_what_it_found() -> None:
    stages = ["overhead.startup/stage=import", "overhead.startup/stage=step"]
    done = run(WORKER, "measure", "--arm", "cpu", *stages)
    assert done.returncode == 0, done.stderr
    heard = records(done)
    kinds = ["hello", "startup", "facts", "cell_started", "cell", "cell_started", "cell", "bye"]
    assert [record["record"] for record in heard] == kinds
    assert (heard[0]["schema"], heard[0]["version"]) == (wire.SCHEMA, __version__)
    assert heard[1]["device"] == "/CPU:0"
    assert heard[2]["facts"]["sample_floor_s"] >= 0.01
    assert [heard[3]["id"], heard[5]["id"]] == stages
    assert [heard[i]["cell"]["id"] for i in (4, 6)] == stages
    assert heard[4]["cell"]["outcome"] == "measured"
    assert heard[4]["cell"]["samples_s"] == [0.5]
    assert "noise from the start" in done.stderr


def test_describing_measures_nothing() -> None:
    done = run(WORKER, "describe")
    assert [record["record"] for record in records(done)] == ["hello", "startup", "facts", "bye"]
    assert done.returncode == 0


def test_an_arm_that_can_not_be_had_is_refused_with_its_own_status() -> None:
    done = run(WORKER, "measure", "--arm", "cuda", "overhead.fence")
    heard = records(done)
    assert [record["record"] for record in heard] == ["hello", "refused"]
    assert heard[1]["reason"] == "TensorFlow sees no GPU in this container"
    assert done.returncode == 4
