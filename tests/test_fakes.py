"""The fakes keep to the doors that they stand behind, and the guard lets nobody past them."""

from __future__ import annotations

import contextlib
import inspect
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from suite.host.engine import Engine, Running
from tests.fakes.device import SECOND, FakeDevice
from tests.fakes.doctor_machine import FakeExamined
from tests.fakes.engine import FakeRunning, Life

ENGINE = FakeExamined()


@pytest.mark.parametrize(
    ("fake", "protocol"),
    [(ENGINE, Engine), (FakeRunning(ENGINE, "fake-1", Life(words=())), Running)],
    ids=["engine", "running"],
)
def test_a_fake_has_every_word_of_its_protocol(fake: object, protocol: type) -> None:
    promised = {name: word for name, word in vars(protocol).items() if not name.startswith("_")}
    assert promised
    for name, word in promised.items():
        if isinstance(word, property):
            assert not callable(getattr(fake, name)), name
        else:
            ours = getattr(type(fake), name)
            assert inspect.signature(ours).parameters == inspect.signature(word).parameters, name


def test_only_the_fence_moves_the_devices_clock_through_its_queue() -> None:
    device = FakeDevice(call_ns=SECOND, enqueue_ns=5, first_ns=7, left_ns=11, fence_ns=13)
    began = device.clock()
    device.step()
    device.step()
    assert device.clock() - began == 10
    device.fence()
    assert device.clock() - began == 10 + 11 + SECOND + 7 + SECOND + 13
    device.fence()
    assert device.clock() - began == 10 + 11 + SECOND + 7 + SECOND + 26


@pytest.mark.parametrize(
    "start",
    [
        lambda: subprocess.run(["true"], check=False),
        lambda: subprocess.Popen([sys.executable, "-c", "pass"]),
        lambda: os.system("true"),  # noqa: S605
        lambda: os.fork(),  # noqa: PLW0108  looked up when the guard stands
    ],
    ids=["run", "Popen", "system", "fork"],
)
def test_a_unit_test_can_not_start_a_process(start: Callable[[], object]) -> None:
    with (
        pytest.raises(pytest.fail.Exception, match="a unit test started a process"),
        # Whatever the code around it catches.
        contextlib.suppress(Exception),
    ):
        start()


def test_a_unit_test_can_not_open_a_connection(tmp_path: Path) -> None:
    with (
        socket.socket(socket.AF_UNIX) as door,
        pytest.raises(pytest.fail.Exception, match="a unit test opened a connection"),
        contextlib.suppress(Exception),
    ):
        door.connect(str(tmp_path / "docker.sock"))
