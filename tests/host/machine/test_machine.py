"""Lists of CPUs, whose process and whose machine this is, and what is left over by the dead."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suite.errors import UsageError
from suite.host.machine.machine import (
    describe_binding,
    find_cores,
    is_alive,
    is_this_machine,
    memory_total,
    own_token,
    parse_cpus,
)
from suite.procfs import write_cpus
from tests.fakes.groups import unified
from tests.fakes.tree import lay


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0", (0,)), ("0-3", (0, 1, 2, 3)), ("8,0-1", (0, 1, 8)), ("2,2,1-2", (1, 2)), ("5-5", (5,))],
)
def test_lists_of_cpus_are_read(text: str, cpus: tuple[int, ...]) -> None:
    assert parse_cpus(text) == cpus


@pytest.mark.parametrize("text", ["", ",", "a", "3-1", "-1", "0-", "0..3", "0-1-2", "1,,2", "½"])
def test_what_is_no_list_of_cpus_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="is not a list of CPUs"):
        parse_cpus(text)


@pytest.mark.parametrize("text", ["0-4000000000", "8192", "0,8191-8192", "9" * 99, "1" * 5000])
def test_cpus_that_no_machine_has_are_refused_without_a_list_of_them(text: str) -> None:
    with pytest.raises(UsageError, match="is not a list of CPUs"):
        parse_cpus(text)
    assert parse_cpus("8191") == (8191,)


@given(st.sets(st.integers(0, 300), min_size=1))
def test_cpus_written_are_read_again(cpus: set[int]) -> None:
    text = write_cpus(list(cpus))
    assert parse_cpus(text) == tuple(sorted(cpus))
    # As short as it can be: no part continues the one before it.
    parts = [part.split("-") for part in text.split(",")]
    assert all(int(after[0]) > int(before[-1]) + 1 for before, after in itertools.pairwise(parts))


def test_cores_that_are_given_and_withheld_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    siblings = {
        f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list": f"{cpu % 4},{cpu % 4 + 4}"
        for cpu in range(8)
    }
    files = unified("/", {"cpuset.cpus.effective": "0-7"}) | siblings
    root = lay(tmp_path, files)
    for allowed, withheld in (("0-7", 0), ("0-3", 0), ("0,4", 3), ("1", 3)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, now=allowed: set(parse_cpus(now)))
        assert describe_binding(root, {}) == {"cores": 4, "cores_withheld": withheld}
    # What its control groups give can't be seen.
    assert describe_binding(tmp_path / "elsewhere") == {}


@pytest.mark.parametrize(
    ("told", "allowed", "withheld"),
    [
        ({"SLURM_CPUS_PER_TASK": "4"}, "0-3", 0),
        ({"SLURM_CPUS_ON_NODE": "4"}, "0-3", 0),
        # A core's other thread comes with it.
        ({"SLURM_CPUS_PER_TASK": "3"}, "0-3", 0),
        # The whole machine was given, and the task bound to a core of it.
        ({"SLURM_CPUS_ON_NODE": "16"}, "0-1", 7),
        # A shell within the job was pinned.
        ({"SLURM_CPUS_PER_TASK": "8", "SLURM_CPUS_ON_NODE": "8"}, "0-1", 7),
        ({"SLURM_CPUS_PER_TASK": "", "SLURM_CPUS_ON_NODE": "many"}, "0-1", 7),
        ({"SLURM_CPUS_PER_TASK": "0"}, "0-1", 7),
    ],
)
def test_what_a_job_has_asked_for_is_not_withheld(
    told: dict[str, str],
    allowed: str,
    withheld: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sixteen CPUs, two a core; Slurm binds, and its control groups give all of them."""
    siblings = {
        f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list": f"{cpu & ~1}-{cpu | 1}"
        for cpu in range(16)
    }
    root = lay(tmp_path, unified("/", {"cpuset.cpus.effective": "0-15"}) | siblings)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(parse_cpus(allowed)))
    assert describe_binding(root, told)["cores_withheld"] == withheld


def test_a_process_is_known_by_its_token() -> None:
    token = own_token()
    assert is_alive(token) is True
    assert is_alive(token[:-1] + ("1" if token[-1] != "1" else "2")) is False
    assert is_alive(token.rpartition("|")[0] + "|4194999@1") is False
    assert is_alive("another-boot/1|1@1") is None
    assert is_alive("") is None


def test_an_engine_is_here_only_when_everything_agrees() -> None:
    here = {
        "KernelVersion": os.uname().release,
        "Name": os.uname().nodename,
        "NCPU": os.cpu_count(),
        "MemTotal": memory_total(),
    }
    assert is_this_machine(here) is True
    assert is_this_machine({**here, "KernelVersion": "6.6.6-linuxkit"}) is False
    for twin in ({"Name": "elsewhere"}, {"NCPU": 4096}, {"MemTotal": 1}):
        assert is_this_machine({**here, **twin}) is None


def test_threads_of_a_core_are_found_and_strangers_stay_single(tmp_path: Path) -> None:
    siblings = "sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    lay(tmp_path, dict.fromkeys(map(siblings.format, (0, 2)), "0,2"))
    assert find_cores((2, 0, 5), tmp_path) == [(0, 2), (5,)]
