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
NOT_ASKED = "passthrough=- capability=- tensorflow=- "


def cloud(**said: Any) -> dict[str, str]:
    return {"run/cloud-init/instance-data.json": json.dumps(said)}


def on_arm(marks: str, says: str = "", **question: Any) -> Row:
    """An aarch64 machine with a GPU."""
    told = {"architecture": says}
    return a10g(marks, engine={"architecture": "aarch64"}, question=question, says=told)


ROWS: Mapping[str, Row] = {
    "a quiet machine": plain(says={"cpu": "2 logical CPUs; cores 1, sockets 1, SMT on"}),
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
    "a quota of all that is here, as under LXC": plain(
        files=unified("/user.slice", {"cpu.max": "150000 100000"}),
        marks="cpu=x",
        says={"cpu": "a quota of 1.5 CPUs throttles every process here whoever started this"},
    ),
    "an aarch64 machine": plain(engine={"architecture": "aarch64"}),
    "an aarch64 machine with a GPU": on_arm("architecture=x3", "no CUDA for it"),
    "an aarch64 machine with a GPU that nobody asked for": on_arm(
        NOT_ASKED, "the CPU arm alone", arms=("cpu",)
    ),
    "an aarch64 machine that is to measure the hidden arm": on_arm(
        NOT_ASKED + "architecture=x3", arms=("cpu", "cuda-hidden")
    ),
    "an aarch64 machine with a GPU and an image for it": on_arm(
        "", "vendor/tf:1 (CUDA_IMAGE) brings", cuda_image="vendor/tf:1"
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
        says={"cloud": "aws: g5.xlarge in eu-west-1"},
    ),
    "a machine of Microsoft's": plain(
        files=cloud(
            v1={"cloud_name": "azure"},
            ds={"meta_data": {"imds": {"compute": {"vmSize": "Standard_NC6s_v3"}}}},
        ),
        says={"cloud": "azure: Standard_NC6s_v3"},
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
