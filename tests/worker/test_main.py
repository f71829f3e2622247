"""The worker's command line: what it refuses, what it tells in which order, and how it ends."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from suite import __version__, codec
from suite.model import CellResult, Scalar
from suite.worker import __main__ as worker
from suite.worker.proof import facts, gpu, libraries
from suite.worker.scenarios import overhead
from suite.worker.session import cell as outcomes
from suite.worker.session import session, startup
from tests.fakes.device import FakeTensorFlow

FENCE = "overhead.fence"
SCRIPT = "asked.slices/stage=script/on=arm"
FED = "tfdata.feed/cpus=1/part=step/batch=512"
OTHER_SCRIPT = "asked.clone/stage=script/on=arm"
STAGES = ["overhead.startup/stage=import", "overhead.startup/stage=step"]
ON_GPU = ("measure", "--gpu", *STAGES)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "arguments are required: command"),
        (("observe",), "invalid choice: 'observe'"),
        (("measure",), "arguments are required: CELL"),
        (("measure", "--arm", "cuda", FENCE), "unrecognized arguments: --arm"),
        (("measure", "--warmup", "soon", FENCE), "invalid float value: 'soon'"),
        (("measure", "--speed", "9", FENCE), "unrecognized arguments"),
        (("describe", FENCE), "unrecognized arguments"),
        (("measure", f"{FENCE}@0"), "K is a whole number from 1"),
        (("measure", f"{FENCE}@many"), "K is a whole number from 1"),
        (("measure", f"{FENCE}@:9"), "K is a whole number from 1"),
        (("measure", f"{FENCE}@1:soon"), "SECONDS is a number such as 1.5"),
        (("measure", f"{FENCE}@1:-1"), "SECONDS is a number such as 1.5"),
        (("measure", "overhead.container"), "not measured by the command `measure`"),
        (("measure", "nothing.like/it=0"), "no cell nothing.like/it=0"),
        (("measure", "overhead.eager-op"), "overhead.eager-op; did you mean overhead.eager_op"),
        (("measure", SCRIPT), "not measured by the command `measure`"),
        (("script", FENCE), "not measured by the command `script`"),
        (("script", SCRIPT, OTHER_SCRIPT), "not all of one process"),
        (("measure", FENCE, FED), "not all of one process"),
        (("script", FED), "not measured by the command `script`"),
        # One wrong cell keeps all of them from running.
        (("measure", FENCE, f"{FENCE}@7", "zzz"), "no cell zzz"),
    ],
)
def test_wrong_words_end_with_2_and_the_reason(
    words: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        worker.main(words)
    assert caught.value.code == 2
    heard = capsys.readouterr()
    assert complaint in heard.err
    assert heard.out == "", "standard output is for records alone"


@dataclass
class Scene:
    """A worker in this process: how its start, its GPU and its cells turn out, and what it sends.

    ``troubles`` is what each look at the GPU finds, in order, and ``switches`` what each look at
    TensorFlow's switch for TF32 does; then all is well.
    """

    troubles: list[str | None] = field(default_factory=list)
    switches: list[bool] = field(default_factory=list)
    failing: tuple[str, ...] = ()
    refused: str = ""
    sent: list[dict[str, Any]] = field(default_factory=list)

    def send(self, record: str, **fields: Any) -> None:
        line = codec.dump_record({"record": record, **fields})
        self.sent.append(codec.parse_record(line))

    def start(self, _imported_s: float, *, gpu: bool) -> tuple[dict[str, float], str]:
        if self.refused:
            raise startup.Refused(self.refused)
        # As a driver does that has to compile.
        if place := os.environ.get("CUDA_CACHE_PATH"):
            Path(place, "kernel").write_text("compiled")
        device = "/GPU:0" if gpu else "/CPU:0"
        return dict.fromkeys((*overhead.STAGES, "clone"), 0.5), device

    def look_at_switches(self) -> Mapping[str, Scalar]:
        tf32 = self.switches.pop(0) if self.switches else False
        return {"tensorflow.soft_placement": False, "tensorflow.tf32": tf32}

    def judge(self, result: CellResult) -> CellResult:
        return outcomes.fail(result, "lost") if result.id in self.failing else result

    def run(self, *words: str) -> tuple[int, list[str]]:
        """The exit status, and the kinds of what was sent."""
        self.sent.clear()
        status = worker.main(words)
        return status, [one["record"] for one in self.sent]

    def told(self, record: str) -> list[dict[str, Any]]:
        return [one for one in self.sent if one["record"] == record]


@pytest.fixture
def scene(tensorflow: FakeTensorFlow, monkeypatch: pytest.MonkeyPatch) -> Scene:
    made, run = Scene(), session.Runner.run
    # The arm with a GPU looks for compilers, and puts them first on it.
    monkeypatch.setenv("PATH", os.environ["PATH"])
    monkeypatch.delenv("CUDA_CACHE_PATH", raising=False)
    monkeypatch.setattr(worker, "Channel", lambda: made)
    monkeypatch.setattr(startup, "start", made.start)
    monkeypatch.setattr(facts, "tensorflow_facts", lambda: {"tensorflow.version": "0"})
    monkeypatch.setattr(facts, "switches", made.look_at_switches)
    # Hashing all packages takes a good part of a second.
    monkeypatch.setattr(facts, "content_hash", lambda: "c")
    monkeypatch.setattr(
        gpu, "find_trouble", lambda _: made.troubles.pop(0) if made.troubles else None
    )
    monkeypatch.setattr(gpu, "loaded_versions", lambda: {"gpu.driver": "550"})
    monkeypatch.setattr(session.Runner, "run", lambda runner, asked: made.judge(run(runner, asked)))
    return made


def test_a_worker_tells_in_order_what_it_is_and_what_it_found(scene: Scene) -> None:
    kinds = ["hello", "startup", "facts", "cell_started", "cell", "cell_started", "cell", "bye"]
    assert scene.run("measure", *STAGES) == (0, kinds)
    hello, start, found, *cells, _ = scene.sent
    assert (hello["schema"], hello["version"]) == (codec.SCHEMA, __version__)
    assert start["device"] == "/CPU:0"
    assert found["facts"]["sample_floor_s"] >= 0.01
    # An arm without a GPU has no compile cache.
    assert not [name for name in found["facts"] if name.startswith("cuda.cache")]
    assert [one["id"] for one in cells[::2]] == STAGES
    assert [one["cell"]["id"] for one in cells[1::2]] == STAGES
    assert {one["cell"]["outcome"] for one in cells[1::2]} == {"measured"}
    assert cells[1]["cell"]["samples_s"] == [0.5]
    # Describing measures nothing.
    assert scene.run("describe") == (0, ["hello", "startup", "facts", "bye"])


def test_an_arm_that_can_not_be_had_is_refused_with_its_own_status(scene: Scene) -> None:
    scene.troubles = ["wrong result"]
    assert scene.run(*ON_GPU) == (4, ["hello", "startup", "refused"])
    assert scene.sent[-1]["reason"] == "wrong result"
    scene.refused = "TensorFlow sees no GPU here"
    assert scene.run(*ON_GPU) == (4, ["hello", "refused"])
    assert scene.sent[-1]["reason"] == "TensorFlow sees no GPU here"


@pytest.mark.parametrize("trouble", [None, "answers wrong"])
def test_a_gpu_is_proven_at_the_start_and_at_the_end(scene: Scene, trouble: str | None) -> None:
    scene.troubles = [None, trouble]
    status, kinds = scene.run(*ON_GPU)
    assert (status, kinds[-2:]) == (0, ["facts", "bye"])
    first, last = (one["facts"] for one in scene.told("facts"))
    assert "gpu.at_end" not in first
    assert (last["gpu.at_end"], last["gpu.driver"]) == (trouble or "fine", "550")
    assert first.items() <= last.items()
    # A cell could have left them changed.
    assert (last["tensorflow.soft_placement"], last["tensorflow.tf32"]) == (False, False)


@pytest.mark.parametrize("lost", [False, True])
def test_the_compile_cache_is_looked_at_before_the_start_and_at_the_end(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: bool
) -> None:
    look = libraries.cache_facts

    def slowly(when: str) -> Mapping[str, Scalar]:
        time.sleep(0.05)
        return look(when)  # type: ignore[arg-type]

    monkeypatch.setattr(libraries, "cache_facts", slowly)
    monkeypatch.setenv("CUDA_CACHE_PATH", str(tmp_path))
    scene.failing = (STAGES[0],) if lost else ()
    for before in (0, 1):
        scene.troubles = [None, "gone" if lost else None]
        scene.run(*ON_GPU)
        first, last = scene.told("facts")
        at_start = {"cuda.cache.at_start.files": before, "cuda.cache.at_start.bytes": 8 * before}
        assert first["facts"].items() >= at_start.items()
        assert "cuda.cache.at_end.files" not in first["facts"]
        at_end = {"cuda.cache.at_end.files": 1, "cuda.cache.at_end.bytes": 8}
        assert last["facts"].items() >= {**at_start, **at_end}.items()
        # The looks are booked with the facts.
        assert min(first["seconds"], last["seconds"]) >= 0.05


def test_a_cell_that_leaves_a_switch_changed_has_no_number(scene: Scene) -> None:
    # Asked before the first cell, after each, and at the end.
    scene.switches = [False, True, False, False]
    assert scene.run(*ON_GPU)[0] == 0
    first, second = (one["cell"] for one in scene.told("cell"))
    assert (first["outcome"], first["samples_s"]) == ("failed", [])
    assert "it left tensorflow.soft_placement False, tensorflow.tf32 True behind" in first["reason"]
    assert second["outcome"] == "measured"


def test_a_gpu_that_went_away_ends_the_worker_with_the_cell_in_flight(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.failing, scene.troubles = (STAGES[0],), [None, "gone"]
    status, kinds = scene.run(*ON_GPU)
    assert (status, kinds[-2:]) == (7, ["cell_started", "facts"])
    assert scene.sent[-1]["facts"]["gpu.at_end"] == "gone"
    assert "the GPU is lost: gone" in capsys.readouterr().err
    # On a sound GPU it is only that cell.
    status, kinds = scene.run(*ON_GPU)
    assert [one["cell"]["outcome"] for one in scene.told("cell")] == ["failed", "measured"]
    assert (status, kinds[-1]) == (0, "bye")
