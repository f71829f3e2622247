"""A container of somebody else's is told from a machine of one's own, by what each leaves to be seen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from suite.host.machine.surroundings import find_container, find_marks, sees_every_device
from tests.fakes.tree import lay

OVERLAY = (
    "1234 1100 0:55 / / rw,relatime master:401 - overlay overlay rw,lowerdir={0}/l/ABC:{0}/l/DEF,"
    "upperdir={0}/x/diff,workdir={0}/x/work"
)
DISK = "29 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw"
LIVE = "29 1 0:26 / / rw,noatime shared:1 - overlay /cow rw,lowerdir=/casper/root.sqfs,upperdir=/cow/up"
MARK = {".dockerenv": ""}
POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
IN_POD = "0::/kubepods.slice/kubepods-burstable.slice/cri-containerd-1a2b.scope"


def environ(**variables: str) -> dict[str, str]:
    """The first process's variables, as the kernel shows them."""
    return {"proc/1/environ": "\0".join(f"{name}={value}" for name, value in variables.items())}


@pytest.mark.parametrize(
    ("files", "variables", "words"),
    [
        (MARK, {}, "docker"),
        (MARK, {"VAST_CONTAINERLABEL": "C.1234"}, "vast.ai, docker"),
        # A login by ssh has lost its container's variables; the first process has them still.
        ({**MARK, **environ(VAST_CONTAINERLABEL="C.1234")}, {}, "vast.ai, docker"),
        ({**MARK, **environ(PATH="/bin", RUNPOD_POD_ID="abc")}, {}, "RunPod, docker"),
        ({}, {"RUNPOD_POD_ID": "abc"}, "RunPod"),
        (MARK, {"RUNPOD_API_KEY": "abc", "KAGGLE_KEY": "def"}, "docker"),
        ({}, {"COLAB_RELEASE_TAG": "release-colab"}, "Google Colab"),
        ({}, POD, "kubernetes"),
        ({"proc/1/cgroup": IN_POD}, {}, "kubernetes"),
        ({"run/.containerenv": ""}, {}, "podman"),
        ({"run/.containerenv": "", "proc/1/comm": "systemd"}, {}, "podman"),
        ({}, {"container": "podman"}, "podman"),
        ({}, {"APPTAINER_CONTAINER": "/x.sif"}, "apptainer"),
        ({".singularity.d/env/01.sh": ""}, {}, "apptainer"),
        ({"proc/1/cgroup": "9:devices:/docker/1a2b\n0::/"}, {}, "docker"),
        ({"proc/1/cgroup": "0::/system.slice/docker-1a2b.scope"}, {}, "docker"),
        ({"proc/1/cgroup": "0::/machine.slice/libpod-1a2b.scope"}, {}, "podman"),
        # Docker within a container of LXC's: the innermost counts.
        ({"proc/1/cgroup": "4:memory:/lxc/101/docker/1a2b"}, {}, "docker"),
        # Control groups of version 2 in a namespace of their own say nothing; the root does.
        (
            {
                "proc/1/cgroup": "0::/",
                "proc/self/mountinfo": OVERLAY.format("/var/lib/docker/overlay2"),
            },
            {},
            "docker",
        ),
        (
            {"proc/self/mountinfo": OVERLAY.format("/var/lib/containers/storage/overlay")},
            {},
            "podman",
        ),
        (
            {
                "proc/self/mountinfo": OVERLAY.format(
                    "/var/lib/containerd/io.containerd.snapshotter.v1"
                )
            },
            {},
            "containerd",
        ),
    ],
)
def test_a_container_is_found_and_named(
    files: Mapping[str, str], variables: dict[str, str], words: str, tmp_path: Path
) -> None:
    found = find_container(variables, lay(tmp_path, {"proc/1/comm": "bash", **files}))
    assert str(found) == words


@pytest.mark.parametrize(
    ("files", "variables"),
    [
        ({"proc/1/comm": "systemd", "proc/1/cgroup": "0::/init.scope"}, {}),
        ({"proc/self/mountinfo": DISK}, {}),
        # A live system, and a machine made from an image, boot from what looks like a container's.
        ({"proc/self/mountinfo": LIVE}, {}),
        ({**MARK, "proc/1/comm": "systemd"}, {}),
        # LXC and its kin boot, and can have an engine of their own.
        ({"run/systemd/container": "lxc"}, {}),
        (environ(container="lxc"), {}),
        ({"proc/1/cgroup": "4:memory:/lxc/101"}, {}),
        ({"proc/1/cgroup": "0::/lxc.payload.web/init.scope"}, {}),
        # WSL, also where its distribution was made from an image.
        ({**MARK, "run/WSL/1_interop": ""}, {}),
        (MARK, {"WSL_DISTRO_NAME": "Ubuntu"}),
        # A batch job is none; nor are the keys of a provider's client.
        ({}, {"SLURM_JOB_ID": "7"}),
        ({}, {"RUNPOD_API_KEY": "abc", "KAGGLE_KEY": "def", "LIGHTNING_API_KEY": "ghi"}),
    ],
)
def test_a_machine_of_ones_own_is_no_container(
    files: Mapping[str, str], variables: dict[str, str], tmp_path: Path
) -> None:
    assert find_container(variables, lay(tmp_path, {"proc/1/comm": "bash", **files})) is None


@pytest.mark.parametrize(
    ("files", "variables", "every"),
    [
        ({}, {}, True),
        ({"proc/self/cgroup": "0::/user.slice/user-1000.slice/session-1.scope"}, {}, True),
        (MARK, {}, False),
        # What boots in a container has the machine's /sys, too.
        ({"run/systemd/container": "lxc"}, {}, False),
        ({}, {"VAST_CONTAINERLABEL": "C.1"}, False),
        ({}, {"SLURM_JOB_ID": "7"}, False),
        ({}, {"PBS_JOBID": "7"}, False),
        # Logged in beside one's own job.
        ({"proc/self/cgroup": "0::/system.slice/slurmstepd.scope/job_7/step_extern"}, {}, False),
        ({"proc/self/cgroup": "9:devices:/slurm/uid_1000/job_7"}, {}, False),
    ],
)
def test_in_a_container_or_a_job_not_every_device_need_be_ones_own(
    files: Mapping[str, str], variables: dict[str, str], every: bool, tmp_path: Path
) -> None:
    root = lay(tmp_path, {"proc/1/comm": "bash", **files})
    assert sees_every_device(variables, root) is every


def test_every_mark_is_told_once(tmp_path: Path) -> None:
    root = lay(tmp_path, {**MARK, "var/run/secrets/kubernetes.io/token": ""})
    known = {**POD, "VAST_CONTAINERLABEL": "C.1", "SLURM_JOB_ID": "7"}
    assert find_marks(known, root) == ["docker", "kubernetes", "vast.ai", "slurm"]
    assert find_marks({}, tmp_path / "nothing") == []
