"""TensorFlow started as the first arm would start it: in our image, and in one of somebody else's."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from suite.host.doctor.probe import Ran
from suite.host.provision.resources import compile_cache
from suite.model import SIMULATED
from tests.fakes.doctor_machine import (
    BUILT,
    GPU_FILES,
    HOOK,
    PLAIN,
    FakeExamined,
    diagnose,
    line,
    make_machine,
    ran,
    sees,
)
from tests.fakes.engine import Life, record
from tests.host.doctor.rows import LATE, NO_CUDA, VIEW, WELL, Row, a10g, hold

pytestmark = pytest.mark.simulated

UNFIT = Life(words=[record("unfit", reason="its TensorFlow lacks tf.thing")], code=3)
BARE = "engine=x toolkit=- passthrough=- base=+ "
STAND_IN = {"gpu.0.name": "NVIDIA A10G", "gpu.0.capability": "8.6"}
NUMA = (
    "successful NUMA node read from SysFS had negative value (-1), but there must be at least one NUMA node, "
    "so returning NUMA node zero"
)
SMALL = "Created device /device:GPU:0 with 0 MB memory:  -> device: 0"


def gives(marks: str, view: Life, said: str, **engine: Any) -> Row:
    return a10g(marks, engine={"view": view, **engine}, says={"tensorflow": said})


ROWS = {
    "a TensorFlow that computes": gives(
        "",
        VIEW,
        "TensorFlow 2.21.0 in the CUDA image sees NVIDIA A10G (compute capability 8.6) and computes on",
    ),
    "one whose image limits threads": gives(
        "tensorflow=x",
        sees(
            **{
                "cpu.usable": 8,
                "environment.OMP_NUM_THREADS": "1",
                "environment.MKL_NUM_THREADS": "8",
            }
        ),
        "starts with OMP_NUM_THREADS=1 in its environment, which can keep some of its 8 CPUs idle",
    ),
    "one that lacks something": gives(
        "tensorflow=x3", UNFIT, "lacks tf.thing", laid_on="vendor/tf:1"
    ),
    "one whose words look like trouble": gives(
        "",
        VIEW.but(diary=NUMA),
        "computes on it; harmless: its line on a NUMA node of -1",
    ),
    "one whose trouble nobody knows": gives(
        "tensorflow=x4",
        sees(
            refused="TensorFlow sees no GPU here", diary=f"E0000 1.1 1 x.cc:1] inside out\n{NUMA}"
        ),
        "(TensorFlow's last words: x.cc:1] inside out) this error is not listed here",
    ),
    "one that is late": gives("tensorflow=?", LATE, "did not come up within"),
    "one that is late and has said why": gives(
        "tensorflow=x4", LATE.but(diary=SMALL), "not enough GPU memory"
    ),
    "one without containers": gives(
        BARE, VIEW, "in the CUDA environment sees", isolation="none", gpu=PLAIN
    ),
    "one without containers that finds no CUDA driver": gives(
        BARE + "tensorflow=x4",
        NO_CUDA,
        "(failed call to cuInit: INTERNAL: CUDA error: UNKNOWN ERROR (303)) install the driver whole",
        isolation="none",
        gpu=PLAIN,
    ),
    **{
        f"a stand-in that says {value}": gives(
            "", sees(**{**STAND_IN, SIMULATED: value}), f"and computes on it{said}"
        )
        for value, said in ((True, ", a stand-in: no GPU is there"), (False, ""), (None, ""))
    },
}


@pytest.mark.parametrize("name", ROWS)
def test_every_line_is_right_on(name: str, tmp_path: Path) -> None:
    found, engine = hold(ROWS[name], tmp_path)
    assert engine is not None
    (job,) = engine.jobs
    assert job.arguments == ("describe", "--gpu")
    told = "a stand-in" in line(found, "tensorflow").text
    assert told is (name == "a stand-in that says True")


@pytest.mark.parametrize(
    ("view", "arms", "status", "said"),
    [
        (sees(), ("auto",), 0, "TensorFlow 2.21.0 in LOCAL_PYTHON starts on the CPU"),
        (sees(), ("cuda-hidden",), 0, "starts on the CPU"),
        (UNFIT, ("auto",), 3, "lacks tf.thing"),
        (UNFIT, ("cpu",), 3, "lacks tf.thing"),
        (Life(words=[], code=139), ("cpu",), 1, "did not come up"),
    ],
)
def test_local_python_is_started_as_the_first_arm_would_start_it(
    view: Life, arms: tuple[str, ...], status: int, said: str, tmp_path: Path
) -> None:
    engine = FakeExamined(isolation="none", view=view, local_python="CPython 3.12.3")
    found = diagnose(make_machine(tmp_path, engine), engine="local", arms=arms)
    assert found.status == status
    assert said in line(found, "tensorflow").text
    (job,) = engine.jobs
    assert job.arguments == ("describe",)
    assert job.gpu is None


@pytest.mark.parametrize("isolation", ["none", "container"])
def test_ours_is_not_started_without_a_gpu(isolation: Any, tmp_path: Path) -> None:
    engine = FakeExamined(isolation=isolation, built=["cpu"], view=UNFIT)
    found = diagnose(make_machine(tmp_path, engine), engine="local")
    assert line(found, "tensorflow").state == "not-applicable"
    assert engine.jobs == []


ENDS = {
    "refused for the driver": NO_CUDA,
    "refused for what nobody knows": sees(refused="the moon is in the wrong house"),
    "died of what is known": NO_CUDA.but(words=[], code=1),
    "died of what nobody knows": Life(words=[], code=139),
}
"""How the start-up of TensorFlow in LOCAL_PYTHON can end badly: the words of every known text without a
container are held in `test_gpu_refusals`."""


@pytest.mark.parametrize("name", ENDS)
def test_local_python_is_never_told_of_a_container(name: str, tmp_path: Path) -> None:
    engine = FakeExamined(
        gpu=PLAIN, isolation="none", view=ENDS[name], local_python="CPython 3.12.3"
    )
    machine = make_machine(tmp_path, engine, files=GPU_FILES, programs=WELL)
    found = diagnose(machine, engine="local")
    assert found.status == 4
    one = line(found, "tensorflow")
    assert one.state == "no"
    assert one.remedy
    for words in ("container", "docker"):
        assert words not in f"{one.text} {one.remedy}"


def test_tensorflow_of_our_own_is_no_process_of_somebody_elses(tmp_path: Path) -> None:
    """A driver that takes its time to answer, while everything else goes on."""
    engine = FakeExamined(gpu=HOOK, built=["cpu", "cuda"], view=VIEW)

    def list_gpus() -> Ran:
        time.sleep(0.1)
        return WELL["nvidia-smi --query-gpu"]

    def list_processes() -> Ran:
        return ran(code=0, text="4711, python3, 420 MiB" if engine.jobs else "")

    programs = {
        **WELL,
        "nvidia-smi --query-gpu": list_gpus,
        "nvidia-smi --query-compute-apps": list_processes,
    }
    found = diagnose(make_machine(tmp_path, engine, files=GPU_FILES, programs=programs))
    assert line(found, "idle-gpu").state == line(found, "tensorflow").state == "yes"


def test_tensorflow_is_given_the_cache_that_a_campaign_made_and_no_new_one(tmp_path: Path) -> None:
    mine = compile_cache(BUILT, HOOK).name
    other = compile_cache(BUILT, replace(HOOK, kernel_driver="535.0")).name
    for made, given in (((), ()), ((other,), ()), ((mine,), (mine,))):
        _, engine = hold(a10g(engine={"caches": made}), tmp_path)
        assert engine is not None
        (job,) = engine.jobs
        assert tuple(volume.name for volume in job.volumes) == given
        assert ("CUDA_CACHE_DISABLE" in job.environment) is bool(given)
