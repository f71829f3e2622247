"""Engines that are there and are not, their images, bases and disks, without a GPU and with one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from suite.errors import EngineError, RightsError
from suite.host.engine import Card
from tests.fakes.doctor_machine import GB, smi
from tests.host.doctor.rows import Row, a10g, hold, plain, smi_says

LOST = "images=? base=? disk=? toolkit=? passthrough=? tensorflow=? "
TROUBLE = EngineError("no Python that the lock has wheels for", "another Python")
PULL = EngineError("the base image can't be pulled: toomanyrequests", "docker login")
ASKING = EngineError("asking the registry failed: Read timed out.", "the network")
LOCAL = {"isolation": "none"}

ROWS: Mapping[str, Row] = {
    "neither an engine nor a GPU": plain("engine=x", engine=LOCAL, says={"engine": "docker.io"}),
    "a rented container without an engine": plain(
        engine={"isolation": "unseen"},
        files={".dockerenv": "", "proc/1/comm": "bash"},
        question={"environment": {"VAST_CONTAINERLABEL": "C.1"}},
        says={
            "engine": "a container that the suite did not start (vast.ai, docker), and no engine is in it"
        },
    ),
    "a job of Slurm's without an engine": plain(
        "engine=x",
        engine=LOCAL,
        question={"environment": {"SLURM_JOB_ID": "7"}},
        says={"engine": "set ENGINE=local to confirm that this is intended"},
    ),
    "a docker that was installed as a snap": plain(
        engine={"kind": "snap"}, says={"engine": "installed as a snap"}
    ),
    "no GPU, and no engine asked for": plain(engine=LOCAL, question={"engine": "local"}),
    "an engine that is not running": plain(
        LOST + "engine=x3 rights=?",
        engine=EngineError("connecting failed: no engine is running there", "start it"),
        says={"engine": "start it", "disk": "100 GB", "duration": "once an engine answers"},
    ),
    "an engine that this user may not ask": plain(
        LOST + "engine=x3 rights=x3",
        engine=RightsError("connecting failed: [Errno 13] Permission denied", "usermod -aG docker"),
        says={"rights": "usermod"},
    ),
    "results that can't be written": plain("rights=x2", writable=False),
    "an engine without a GPU": plain(
        says={
            "engine": "docker 29.0.1, on this machine",
            "images": "builds the image cpu",
            "disk": "building takes 5 GB",
            "base": "python:3.13 is in the engine",
            "duration": "(cpu; an estimate",
        }
    ),
    "an engine with its image": plain(
        "base=-", engine={"built": ["cpu"]}, says={"disk": "nothing"}
    ),
    "a GPU that was named and is not there": plain(
        "driver=x4 passthrough=x4 tensorflow=?", question={"arms": ("cpu", "cuda")}
    ),
    "an engine elsewhere, and a Blackwell here that is not its": a10g(
        "toolkit=? capability=? idle-gpu=? disk=?",
        smi=smi_says(smi(name="NVIDIA B200", capability="10.0")),
        engine={"here": False, "cards": (Card(index=0, name="NVIDIA L4"),)},
        says={
            "driver": "the engine's machine has 0: NVIDIA L4",
            "engine": "on another machine",
            "duration": "(cpu and cuda; an estimate",
        },
    ),
    "an engine elsewhere without a GPU, and a GPU here": a10g(
        "driver=? toolkit=? capability=? idle-gpu=? disk=? passthrough=- tensorflow=-",
        engine={"here": False, "gpu": None},
        says={"duration": "(cpu;"},
    ),
    "a disk that is too small": plain(
        "disk=x3",
        free=3 * GB,
        says={"disk": "3 GB free in /var/lib/docker; building cpu takes 5 GB"},
    ),
    "a disk that is too small for both": a10g(
        "disk=x3 tensorflow=? base=+",
        engine={"built": ()},
        free=19 * GB,
        says={"disk": "building cpu and cuda takes 20 GB"},
    ),
    "a disk that nobody may look at": plain("disk=?", free=None),
    "a base that the registry refuses": plain(
        "base=x3", engine={"base_here": False, "registry": PULL}
    ),
    "a registry that does not answer": plain(
        "base=?", engine={"base_here": False, "registry": ASKING}
    ),
    "a registry that can't be asked": plain(
        "base=?", engine={"base_here": False, "registry": None}
    ),
    "a base to be fetched": plain(engine={"base_here": False}, says={"base": "registry answers"}),
    "an engine that could never have the image": plain(
        "images=x3 base=? disk=?",
        engine={**LOCAL, "stock_trouble": TROUBLE},
        question={"engine": "local"},
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_every_line_is_right_on(name: str, tmp_path: Path) -> None:
    hold(ROWS[name], tmp_path)


def test_the_verdict_says_what_bench_would_do(tmp_path: Path) -> None:
    assert "docker.io" not in str(
        hold(ROWS["a rented container without an engine"], tmp_path / "r")
    )
    for name, said in {
        "neither an engine nor a GPU": "`make bench` would run; warnings: engine, driver",
        "an engine that is not running": "exit status 3: engine",
    }.items():
        assert said in hold(ROWS[name], tmp_path / name)[0].verdict
    assert hold(a10g(), tmp_path / "well")[0].verdict == "`make bench` would run"
