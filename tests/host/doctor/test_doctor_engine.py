"""Engines that are there and are not, their images, bases and disks, without a GPU and with one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from suite.errors import EngineError, RightsError
from suite.host.engine import Card
from tests.fakes.doctor_machine import line, smi
from tests.host.doctor.rows import Row, a10g, hold, plain, smi_says
from tests.host.doctor.test_doctor_machines import ROWS as MACHINES

LOST = "images=? base=? disk=? toolkit=? passthrough=? tensorflow=? "
TROUBLE = EngineError("no Python that the lock has wheels for", "another Python")
PULL = EngineError("the base image can't be pulled: toomanyrequests", "docker login")
ASKING = EngineError("asking the registry failed: Read timed out.", "the network")
LOCAL = {"isolation": "none"}

ROWS: Mapping[str, Row] = {
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
    "an engine that could never have the image": plain(
        "images=x3 base=? disk=?",
        engine={**LOCAL, "stock_trouble": TROUBLE},
        question={"engine": "local"},
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_every_line_is_right_on(name: str, tmp_path: Path) -> None:
    hold(ROWS[name], tmp_path)


def test_programs_can_read_what_is_built_and_how_the_gpu_is_given(tmp_path: Path) -> None:
    found, _ = hold(a10g(), tmp_path)
    facts = {name: line(found, name).facts for name in ("images", "toolkit", "passthrough")}
    assert facts == {
        "images": {"cpu": True, "cuda": True},
        "toolkit": {"way": "hook"},
        "passthrough": {"way": "nvidia"},
    }


def test_the_verdict_says_what_bench_would_do(tmp_path: Path) -> None:
    rows = {**MACHINES, **ROWS}
    rented = hold(rows["a rented container without an engine"], tmp_path / "r")
    assert "docker.io" not in str(rented)
    for name, said in {
        "neither an engine nor a GPU": "`make bench` would run; warnings: engine, driver",
        "an engine that is not running": "exit status 3: engine",
    }.items():
        assert said in hold(rows[name], tmp_path / name)[0].verdict
    assert hold(a10g(), tmp_path / "well")[0].verdict == "`make bench` would run"
