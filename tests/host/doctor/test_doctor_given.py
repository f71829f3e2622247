"""The doctor on a TensorFlow of somebody else's, where no arm has a GPU, on one that is late, and on
the first of all GPUs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from suite.host.engine import Card, Slice
from tests.fakes.doctor_machine import (
    GPU_FILES,
    HOOK,
    WELL,
    FakeExamined,
    diagnose,
    line,
    make_machine,
    sees,
)
from tests.fakes.engine import Life, record

UNFIT = Life(words=[record("unfit", reason="its TensorFlow lacks tf.thing")], code=3)


@pytest.mark.parametrize(
    ("view", "arms", "status", "said"),
    [
        (sees(), ("auto",), 0, "TensorFlow 2.21.0 in LOCAL_PYTHON starts on the CPU"),
        (sees(), ("cuda-hidden",), 0, "TensorFlow 2.21.0 in LOCAL_PYTHON starts on the CPU"),
        (UNFIT, ("auto",), 3, "its TensorFlow lacks tf.thing"),
        (UNFIT, ("cpu",), 3, "its TensorFlow lacks tf.thing"),
        (Life(words=[], code=139), ("cpu",), 1, "did not come up"),
    ],
)
def test_it_is_started_as_the_first_arm_would_start_it(
    view: Life, arms: tuple[str, ...], status: int, said: str, tmp_path: Path
) -> None:
    engine = FakeExamined(isolation="none", view=view)
    engine.local_python = "CPython 3.12.3"
    found = diagnose(make_machine(tmp_path, engine), engine="local", arms=arms)
    assert found.status == status
    assert said in line(found, "tensorflow").text
    (job,) = engine.jobs
    assert job.arguments == ("describe", "--arm", "cpu" if "cuda" not in arms[0] else arms[0])
    assert job.gpu is None


@pytest.mark.parametrize("isolation", ["none", "container"])
def test_ours_is_not_started_without_a_gpu(isolation: str, tmp_path: Path) -> None:
    engine = FakeExamined(isolation=isolation, built=["cpu"], view=UNFIT)  # type: ignore[arg-type]
    found = diagnose(make_machine(tmp_path, engine), engine="local")
    assert line(found, "tensorflow").state == "not-applicable"
    assert engine.jobs == []


@pytest.mark.simulated
@pytest.mark.parametrize(
    ("diary", "status", "said"),
    [
        ("", 0, "did not come up within"),
        (
            "Created device /device:GPU:0 with 0 MB memory:  -> device: 0",
            4,
            "memory does not",
        ),
    ],
)
def test_one_that_is_late_has_said_why(diary: str, status: int, said: str, tmp_path: Path) -> None:
    late = Life(words=[TimeoutError()], diary=diary)
    engine = FakeExamined(gpu=HOOK, built=["cpu", "cuda"], view=late)
    found = diagnose(make_machine(tmp_path, engine, files=GPU_FILES, programs=WELL))
    assert found.status == status
    assert said in line(found, "tensorflow").text


@pytest.mark.simulated
@pytest.mark.parametrize(
    ("cards", "asked"),
    [
        ((Card(index=0), Card(index=1)), "0"),
        ((Card(index=0, mig=True, slices=(Slice(index=2, uuid="MIG-a", name=None),)),), "0:2"),
        ((), "0"),
    ],
)
def test_of_all_gpus_the_first_is_looked_at(
    cards: tuple[Card, ...], asked: str, tmp_path: Path
) -> None:
    engine = FakeExamined(gpu=HOOK, built=["cpu", "cuda"], cards=cards, view=sees())
    diagnose(make_machine(tmp_path, engine, files=GPU_FILES, programs=WELL), gpu=None)
    assert engine.gpus_asked == [asked]
