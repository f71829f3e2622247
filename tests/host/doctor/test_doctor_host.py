"""What kind of machine it is: its processor, its limits, its cloud, and how long a campaign would take."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.groups import first, unified
from tests.host.doctor.rows import Row, a10g, hold, plain

QUOTA = unified("/user.slice/run-u1.scope", {"user.slice/run-u1.scope/cpu.max": "150000 100000"})
USERS = unified(
    "/user.slice/user-1000.slice/session-2.scope",
    {"user.slice/user-1000.slice/cpu.max": "150000 100000"},
)
NOT_ASKED = "passthrough=- capability=- tensorflow=- "


def cloud(**said: Any) -> dict[str, str]:
    return {"run/cloud-init/instance-data.json": json.dumps(said)}


def given(cpus: str, siblings: Mapping[int, str] | None = None) -> dict[str, str]:
    """What control groups give to the process, which may run on CPUs 0 and 1; by CPU its core's threads."""
    threads = siblings or {2: "2", 3: "3"}
    return {
        **unified("/", {"cpuset.cpus.effective": cpus}),
        **{
            f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list": text
            for cpu, text in threads.items()
        },
    }


def on_arm(marks: str, says: str = "", **question: Any) -> Row:
    """An aarch64 machine with a GPU."""
    told = {"architecture": says}
    return a10g(marks, engine={"architecture": "aarch64"}, question=question, says=told)


ROWS: Mapping[str, Row] = {
    "a quiet machine": plain(says={"cpu": "2 logical CPUs; cores 1, sockets 1, NUMA nodes 1"}),
    "a quota that nothing lifts": plain(
        files=QUOTA,
        engine={"isolation": "none"},
        question={"engine": "local"},
        marks="cpu=x",
        says={
            "cpu": "1.5 CPUs throttles the control group /user.slice/run-u1.scope start from a shell"
        },
    ),
    "a quota that nothing lifts, as version 1 tells it": plain(
        files=first(
            "/docker/1",
            {"cpu,cpuacct/cpu.cfs_quota_us": "50000", "cpu,cpuacct/cpu.cfs_period_us": "100000"},
            mount="/docker/1",
        ),
        engine={"isolation": "unseen"},
        question={"engine": "inside"},
        marks="cpu=x",
        says={"cpu": "a quota of 0.5 CPUs", "engine": "CONTAINER, ENGINE NOT SEEN"},
    ),
    "a quota of the shell's, and an engine beside it": plain(files=QUOTA),
    "a quota of the user's, and another user's engine": plain(files=USERS),
    "a quota of the user's, and the user's own engine": plain(
        files=USERS,
        engine={"facts": {"rootless": True}},
        marks="cpu=x",
        says={"cpu": "1.5 CPUs throttles the control group /user.slice/user-1000.slice start from"},
    ),
    "a quota of the shell's, and the user's own engine": plain(
        files=QUOTA, engine={"facts": {"rootless": True}}
    ),
    "a quota of all that is here, as under LXC": plain(
        files=unified("/user.slice", {"cpu.max": "150000 100000"}),
        marks="cpu=x",
        says={"cpu": "a quota of 1.5 CPUs throttles every process here whoever started this"},
    ),
    "isolated CPUs among those that are used": plain(
        files={"sys/devices/system/cpu/isolated": "1-7", "sys/devices/system/cpu/nohz_full": "1-7"},
        marks="cpu=x",
        says={"cpu": "CPUs 1 are isolated, and the kernel spreads no threads over those `CPUS=0`"},
    ),
    "isolated CPUs that are not used": plain(
        files={"sys/devices/system/cpu/isolated": "2-3", **given("0-3")},
        marks="cpu=x",
        says={
            "cpu": "only CPUs 0-1 of the available 0-3 can be used: this process is bound to them the "
        },
    ),
    "a pinned shell": plain(
        files=given("0-3"), marks="cpu=x", says={"cpu": "start from a shell that is not pinned"}
    ),
    "as many CPUs as a job has asked for, by binding alone": plain(
        files=given("0-3"), question={"environment": {"SLURM_CPUS_PER_TASK": "2"}}
    ),
    "a job that has more CPUs, and is bound to two": plain(
        files=given("0-3"),
        question={"environment": {"SLURM_JOB_ID": "7", "SLURM_CPUS_ON_NODE": "4"}},
        marks="cpu=x",
        says={"cpu": "--cpu-bind=none"},
    ),
    "one thread of each core": plain(
        files=given("0-3", {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}),
        says={"cpu": "CPUs 2-3 are not used"},
    ),
    "no list of isolated CPUs, as most machines have": plain(
        files={"sys/devices/system/cpu/isolated": "", "sys/devices/system/cpu/nohz_full": "(null)"}
    ),
    "an aarch64 machine": plain(engine={"architecture": "aarch64"}),
    "an aarch64 machine with a GPU": on_arm(
        "architecture=x3 capability=?",
        "aarch64: the locked TensorFlow is built without CUDA for this processor name an image whose "
        "TensorFlow has it: `make bench CUDA_IMAGE=nvcr.io/nvidia/tensorflow:",
    ),
    "an aarch64 machine with a GPU that nobody asked for": on_arm(
        NOT_ASKED, "the CPU arm alone", arms=("cpu",)
    ),
    "an aarch64 machine that is to measure the hidden arm": on_arm(
        NOT_ASKED + "architecture=x3", arms=("cpu", "cuda-hidden")
    ),
    "an aarch64 machine with a GPU and an image for it": on_arm(
        "", "vendor/tf:1 (CUDA_IMAGE) brings", cuda_image="vendor/tf:1"
    ),
    "a Jetson": plain(
        "architecture=x",
        files={"etc/nv_tegra_release": "# R36"},
        engine={"architecture": "aarch64"},
        says={"architecture": "a Jetson, whose GPU is part of the processor"},
    ),
    "a processor that nobody has wheels for": plain(
        "architecture=x3", engine={"architecture": "riscv64"}
    ),
    "a processor without AVX": plain(
        "architecture=x1", files={"proc/cpuinfo": "flags : fpu sse\n"}
    ),
    "a machine of Amazon's": plain(
        files=cloud(
            v1={"cloud_name": "aws", "region": "eu-west-1"},
            ds={"meta_data": {"ami-id": "ami-1", "instance-type": "g5.xlarge"}},
        ),
        says={"cloud": "Made-Up Cloud: g5.xlarge"},
    ),
    "a cloud's word that is cut short": plain(
        files={
            "run/cloud-init/instance-data.json": "{ cut short",
            "sys/class/dmi/id/sys_vendor": "Amazon EC2",
            "sys/class/dmi/id/product_name": "g5.xlarge",
        },
        says={"cloud": "Amazon EC2: g5.xlarge (DMI; no cloud-init)"},
    ),
    "nobody's cloud": plain("cloud=?", files={"sys/class/dmi/id/sys_vendor": ""}),
}


@pytest.mark.parametrize("name", ROWS)
def test_every_line_is_right_on(name: str, tmp_path: Path) -> None:
    hold(ROWS[name], tmp_path)
