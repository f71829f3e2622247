"""Records and nothing else on standard output, whatever is printed meanwhile; in real processes,
because descriptor 1 is the process's own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from suite import __version__, wire
from suite.content import SUITE

pytestmark = pytest.mark.processes

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
    from types import SimpleNamespace
    from tests.fakes.device import FakeTensorFlow
    sys.modules.update(FakeTensorFlow().modules())
    from suite.worker import __main__
    from suite.worker.proof import facts
    from suite.worker.scenarios.overhead import startup as sequence
    from suite.worker.session import startup

    def start(arm, imported_s):
        print("noise from the start")
        if arm == "cuda":
            raise startup.Refused("TensorFlow sees no GPU here")
        return {stage: 0.5 for stage in sequence.STAGES}, "/CPU:0"

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
    assert heard[1]["reason"] == "TensorFlow sees no GPU here"
    assert done.returncode == 4


GPU_WORKER = """
    import os, sys
    from dataclasses import replace
    from pathlib import Path
    from tests.fakes.device import FakeTensorFlow
    sys.modules.update(FakeTensorFlow().modules())
    from suite.worker import __main__
    from suite.worker.proof import facts, gpu
    from suite.worker.scenarios.overhead import startup as sequence
    from suite.worker.session import session, startup

    troubles, outcomes = ([None if w == "-" else w for w in words.split(",")] for words in sys.argv[1:3])
    def start(arm, imported_s):
        # As a driver does that has to compile.
        if place := os.environ.get("CUDA_CACHE_PATH"):
            Path(place, "kernel").write_text("compiled")
        return {stage: 0.5 for stage in sequence.STAGES}, "/GPU:0"

    startup.start = start
    facts.tensorflow_facts = lambda: {"tensorflow.version": "0"}
    facts.switches = lambda: {"tensorflow.soft_placement": False, "tensorflow.tf32": False}
    gpu.find_trouble = lambda device: troubles.pop(0)
    gpu.loaded_versions = lambda: {"gpu.driver": "550"}
    run = session.Runner.run

    def fail(runner, request):
        failed = outcomes.pop(0) == "failed"
        fields = {"outcome": "failed", "reason": "lost", "samples_s": []} if failed else {}
        return replace(run(runner, request), **fields)

    session.Runner.run = fail
    sys.exit(__main__.main(sys.argv[3:]))
"""
ASKED = ("measure", "--arm", "cuda", "overhead.startup/stage=import", "overhead.startup/stage=step")


def test_a_gpu_is_proven_at_the_start_and_at_the_end() -> None:
    done = run(GPU_WORKER, "-,-", "measured,measured", *ASKED)
    assert done.returncode == 0, done.stderr
    heard = records(done)
    assert [record["record"] for record in heard][-2:] == ["facts", "bye"]
    assert "gpu.at_end" not in heard[2]["facts"]
    at_end = heard[-2]["facts"]
    assert (at_end["gpu.at_end"], at_end["gpu.driver"]) == ("fine", "550")
    assert heard[2]["facts"].items() <= at_end.items()
    # A cell could have left them changed.
    assert (at_end["tensorflow.soft_placement"], at_end["tensorflow.tf32"]) == (False, False)


@pytest.mark.parametrize(
    ("troubles", "outcomes"), [("-,-", "measured,measured"), ("-,gone", "failed,measured")]
)
def test_the_compile_cache_is_looked_at_before_the_start_and_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, troubles: str, outcomes: str
) -> None:
    monkeypatch.setenv("CUDA_CACHE_PATH", str(tmp_path))
    for before in (0, 1):
        heard = records(run(GPU_WORKER, troubles, outcomes, *ASKED))
        first, last = (one for one in heard if one["record"] == "facts")
        at_start = {"cuda.cache.at_start.files": before, "cuda.cache.at_start.bytes": 8 * before}
        assert first["facts"].items() >= at_start.items()
        assert "cuda.cache.at_end.files" not in first["facts"]
        at_end = {"cuda.cache.at_end.files": 1, "cuda.cache.at_end.bytes": 8}
        assert last["facts"].items() >= {**at_start, **at_end}.items()


SLOW_COUNT = """
    import sys, time
    from suite.worker.proof import compile_cache
    found = compile_cache.facts

    def slowly(when):
        time.sleep(0.3)
        return found(when)

    compile_cache.facts = slowly
"""


def test_looking_at_the_cache_is_booked_with_the_facts() -> None:
    first, last = (
        one
        for one in records(run(SLOW_COUNT + GPU_WORKER, "-,-", "measured,measured", *ASKED))
        if one["record"] == "facts"
    )
    assert first["seconds"] >= 0.3
    assert last["seconds"] >= 0.3


def test_a_cell_that_leaves_a_switch_changed_has_no_number() -> None:
    # Asked before the first cell, after each, and at the end.
    changes = """
    told = [False, True, False, False]
    facts.switches = lambda: {"tensorflow.soft_placement": False, "tensorflow.tf32": told.pop(0)}
    gpu.find_trouble"""
    code = GPU_WORKER.replace("\n    gpu.find_trouble", changes, 1)
    heard = records(run(code, "-,-,-", "measured,measured", *ASKED))
    first, second = (one["cell"] for one in heard if one["record"] == "cell")
    assert (first["outcome"], first["samples_s"]) == ("failed", [])
    assert "it left tensorflow.soft_placement False, tensorflow.tf32 True behind" in first["reason"]
    assert second["outcome"] == "measured"


def test_an_arm_without_a_gpu_has_no_compile_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_CACHE_PATH", str(tmp_path))
    (found,) = (one["facts"] for one in records(run(WORKER, "describe")) if "facts" in one)
    assert not [name for name in found if name.startswith("cuda.cache")]


def test_a_gpu_that_can_not_multiply_is_refused() -> None:
    done = run(GPU_WORKER, "wrong result", "-", *ASKED)
    heard = records(done)
    assert [record["record"] for record in heard] == ["hello", "startup", "refused"]
    assert heard[-1]["reason"] == "wrong result"
    assert done.returncode == 4


def test_a_gpu_that_went_away_ends_the_worker_with_the_cell_in_flight() -> None:
    done = run(GPU_WORKER, "-,gone", "failed,measured", *ASKED)
    heard = records(done)
    assert [record["record"] for record in heard][-2:] == ["cell_started", "facts"]
    assert heard[-1]["facts"]["gpu.at_end"] == "gone"
    assert done.returncode == 7
    assert "the GPU is lost: gone" in done.stderr


def test_a_cell_that_fails_on_a_sound_gpu_is_only_that_cell() -> None:
    done = run(GPU_WORKER, "-,-,-", "failed,measured", *ASKED)
    heard = records(done)
    outcomes = [one["cell"]["outcome"] for one in heard if one["record"] == "cell"]
    assert outcomes == ["failed", "measured"]
    assert done.returncode == 0, done.stderr


def test_a_gpu_that_is_not_well_at_the_end_says_so() -> None:
    done = run(GPU_WORKER, "-,answers wrong", "measured,measured", *ASKED)
    assert records(done)[-2]["facts"]["gpu.at_end"] == "answers wrong"
