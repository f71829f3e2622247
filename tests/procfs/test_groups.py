"""What control groups allow: by the layouts of those who make them, as they are found in the wild."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from suite.procfs import groups
from tests.fakes.groups import GROUPS, first, unified
from tests.fakes.tree import lay

ID = "4926763ab35c" * 5 + "8adb"
NONE = "max 100000"
GB = 2**30

TENTH: Mapping[str, dict[str, str]] = {
    "systemd-run -p CPUQuota=10%, a service": unified(
        "/system.slice/run-u17.service",
        {"system.slice/run-u17.service/cpu.max": "10000 100000", "system.slice/cpu.max": NONE},
    ),
    "Slurm, whose task has a group below the one with the limit": unified(
        "/system.slice/slurmstepd.scope/job_4749/step_0/user/task_0",
        {
            "system.slice/slurmstepd.scope/job_4749/step_0/user/task_0/cpu.max": NONE,
            "system.slice/slurmstepd.scope/job_4749/step_0/user/cpu.max": "10000 100000",
            "system.slice/slurmstepd.scope/job_4749/cpu.max": "400000 100000",
        },
    ),
    "Slurm, version 1": first(
        "/slurm/uid_1000/job_280678/step_batch/task_0",
        {
            "cpu,cpuacct/slurm/uid_1000/job_280678/cpu.cfs_quota_us": "5000",
            "cpu,cpuacct/slurm/uid_1000/job_280678/cpu.cfs_period_us": "50000",
            "cpu,cpuacct/cpu.cfs_quota_us": "-1",
            "cpu,cpuacct/cpu.cfs_period_us": "100000",
        },
    ),
    "docker, version 2, a namespace of its own": unified("/", {"cpu.max": "10000 100000"}),
    "docker, version 1, the container's part bound to the mount": first(
        f"/docker/{ID}",
        {
            "cpu,cpuacct/cpu.cfs_quota_us": "10000",
            "cpu,cpuacct/cpu.cfs_period_us": "100000",
        },
        mount=f"/docker/{ID}",
    ),
    "a namespace in which the process has been moved up to a sibling": unified(
        "/../sibling", {"sibling/cpu.max": "10000 100000"}, mount="/.."
    ),
    "Podman: a namespace, and a mount that begins above it": unified(
        "/container",
        {
            "machine.slice/libpod-1.scope/cpu.max": "10000 100000",
            "machine.slice/libpod-1.scope/container/cgroup.procs": f"1\n{os.getpid()}\n",
            "machine.slice/libpod-2.scope/cpu.max": "5000 100000",
            "machine.slice/libpod-2.scope/container/cgroup.procs": "77\n",
        },
        mount="/../..",
    ),
    "a folder with a space, which the kernel escapes": {
        **unified("/a b", {}, top="/mnt/control\\040groups"),
        "mnt/control groups/a b/cpu.max": "10000 100000",
    },
    "a group that is gone, below one that is not": unified(
        "/job/step (deleted)", {"job/cpu.max": "10000 100000"}
    ),
}
"""Machines on which a tenth of a CPU is to be had, whatever stands at the mount's top."""


@pytest.mark.parametrize("name", TENTH)
def test_a_quota_is_found_wherever_it_stands(name: str, tmp_path: Path) -> None:
    found = groups.find_quota(groups.list_groups("cpu", lay(tmp_path, TENTH[name])))
    assert found is not None
    assert found.value == 0.1


FREE: Mapping[str, dict[str, str]] = {
    "no quota": unified("/user.slice", {"user.slice/cpu.max": NONE}),
    "version 1's sign for none": first(
        "/", {"cpu,cpuacct/cpu.cfs_quota_us": "-1", "cpu,cpuacct/cpu.cfs_period_us": "100000"}
    ),
    "a quota of another group": unified(
        "/system.slice/a.service", {"system.slice/b.service/cpu.max": "10000 100000"}
    ),
    "a process above all that is mounted": unified("/../..", {"cpu.max": "10000 100000"}),
    "a part that is mounted beside the process's own": unified(
        "/", {"cpu.max": "10000 100000"}, mount="/../sibling"
    ),
    "nonsense": unified("/x", {"x/cpu.max": "many 100000", "cpu.max": "100 0"}),
    "nothing at all": {"sys/fs/cgroup/cpu.max": "10000 100000"},
}
"""Machines on which nothing holds the process back, as far as can be seen."""


@pytest.mark.parametrize("name", FREE)
def test_what_does_not_hold_the_process_is_no_quota_of_its(name: str, tmp_path: Path) -> None:
    assert groups.find_quota(groups.list_groups("cpu", lay(tmp_path, FREE[name]))) is None


def test_the_groups_are_told_from_ones_own_to_the_topmost(tmp_path: Path) -> None:
    root = lay(tmp_path, unified("/a.slice/b.scope", {"a.slice/b.scope/cpu.stat": "x"}))
    top = root / GROUPS
    assert groups.list_groups("cpu", root) == [
        groups.Group(top / "a.slice/b.scope", "/a.slice/b.scope"),
        groups.Group(top / "a.slice", "/a.slice"),
        groups.Group(top, "/"),
    ]


def test_of_several_mounts_the_one_that_shows_most_counts(tmp_path: Path) -> None:
    files = unified(f"/docker/{ID}", {"cpu.max": NONE}, mount=f"/docker/{ID}")
    # The node's groups, mounted into the container as an agent has them.
    files["proc/self/mountinfo"] += "\n40 22 0:26 / /host/cgroup ro - cgroup2 cgroup2 rw"
    files["host/cgroup/docker/cpu.max"] = "10000 100000"
    found = groups.find_quota(groups.list_groups("cpu", lay(tmp_path, files)))
    assert found is not None
    assert (found.value, found.group.name) == (0.1, "/docker")


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        (unified("/a/b", {"a/b/memory.max": "max", "a/memory.max": str(2 * GB)}), 2 * GB),
        (unified("/a", {"a/memory.high": str(GB), "a/memory.max": str(2 * GB)}), GB),
        # The largest multiple of a page of 64 KiB, as on ARM.
        (first("/", {"memory/memory.limit_in_bytes": "9223372036854710272"}), None),
        (
            first(
                "/slurm/job_1",
                {
                    "memory/slurm/job_1/memory.limit_in_bytes": "9223372036854771712",
                    "memory/slurm/memory.limit_in_bytes": str(3 * GB),
                },
            ),
            3 * GB,
        ),
        (
            # The limit of a group above what is mounted.
            first(
                f"/docker/{ID}",
                {
                    "memory/memory.limit_in_bytes": "9223372036854771712",
                    "memory/memory.stat": f"cache 0\nhierarchical_memory_limit {GB}\nrss 0",
                },
                mount=f"/docker/{ID}",
            ),
            GB,
        ),
    ],
)
def test_the_least_memory_limit_counts(
    files: dict[str, str], limit: int | None, tmp_path: Path
) -> None:
    found = groups.find_memory(groups.list_groups("memory", lay(tmp_path, files)))
    assert (found and found.value) == limit


@pytest.mark.parametrize(
    ("files", "cpus"),
    [
        (
            unified("/a/b", {"a/b/cpuset.cpus.effective": "2-3", "cpuset.cpus.effective": "0-7"}),
            "2-3",
        ),
        (unified("/a/b", {"a/cpuset.cpus.effective": "4", "cpuset.cpus.effective": "0-7"}), "4"),
        (first("/a", {"cpuset/a/cpuset.cpus": "", "cpuset/cpuset.cpus": "0-3"}), "0-3"),
        (
            first("/a", {"cpuset/a/cpuset.cpus": "0-3", "cpuset/a/cpuset.effective_cpus": "0-2"}),
            "0-2",
        ),
        (unified("/", {}), None),
    ],
)
def test_the_set_of_cpus_is_that_of_the_nearest_group_that_has_one(
    files: dict[str, str], cpus: str | None, tmp_path: Path
) -> None:
    assert groups.find_cpuset(groups.list_groups("cpuset", lay(tmp_path, files))) == cpus


def test_throttling_is_told_by_group(tmp_path: Path) -> None:
    files = {"a/b/cpu.stat": "usage_usec 9\nthrottled_usec 2500000", "a/cpu.stat": "usage_usec 9"}
    two = lay(tmp_path / "2", unified("/a/b", files | {"cpu.stat": "throttled_usec 0"}))
    top = two / GROUPS
    assert groups.read_throttled(groups.list_groups("cpu", two)) == {
        str(top / "a/b"): 2.5,
        str(top): 0.0,
    }
    one = lay(tmp_path / "1", first("/", {"cpu,cpuacct/cpu.stat": "throttled_time 2500000000"}))
    assert list(groups.read_throttled(groups.list_groups("cpu", one)).values()) == [2.5]
