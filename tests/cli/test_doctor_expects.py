"""What the doctor says beforehand that a machine should give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from suite.cli.expected import expect
from suite.errors import EngineError
from suite.host.doctor.finding import Finding, yes
from tests.fakes.doctor_machine import FILES, diagnose, line, make_machine, smi
from tests.host.doctor.rows import smi_says

CLOUD = "run/cloud-init/instance-data.json"


@pytest.mark.parametrize(
    ("kind", "gpus", "state", "words"),
    [
        (
            "g5.xlarge",
            ["NVIDIA A10G"],
            "yes",
            (
                "g5.xlarge (AWS g5, A10G): fp32 products 17.0 TFLOP/s, memory 484 GB/s, copy to the device "
                "13.5 GB/s, copy from the device 13.2 GB/s, PCIe generation 4 with 8 lanes (pinned copies"
            ),
        ),
        # Before the machine is there.
        ("a2-highgpu-1g", [], "yes", "copy to the device 12.3 GB/s"),
        (
            None,
            ["Tesla T4"],
            "yes",
            "no type is known; T4 on all types: fp32 products 4.00 TFLOP/s",
        ),
        (None, ["Tesla T4"], "yes", "copy to the device 6.30 GB/s to 12.3 GB/s"),
        ("my-box", ["Tesla T4"], "yes", "my-box is not in the table of machine types; T4 on all"),
        (
            "g5.xlarge",
            ["Tesla T4"],
            "no",
            "has A10G as its GPU, and the GPU here calls itself Tesla T4",
        ),
        ("my-box", [], "not-applicable", "my-box is not in the table of machine types, and no GPU"),
        # Less than the whole GPU of such a machine is no other GPU.
        ("g6.xlarge", ["NVIDIA L4-3Q"], "not-applicable", "less than a whole GPU"),
        ("a2-highgpu-1g", ["NVIDIA A100-SXM4-40GB MIG 1g.5gb"], "not-applicable", "a whole GPU"),
        # As old drivers call it.
        ("g5.xlarge", ["A10G"], "yes", "copy to the device 13.5 GB/s"),
        # Of which theory alone is known.
        (None, ["NVIDIA GeForce RTX 4090"], "not-applicable", "is known of RTX 4090"),
        (None, ["A Card"], "not-applicable", "no figures are known of A Card"),
        (None, [], "not-applicable", "`TYPE=g5.xlarge` names a type"),
    ],
)
def test_what_is_expected(kind: str | None, gpus: list[str], state: str, words: str) -> None:
    found = expect(kind, gpus)
    assert found.state == state
    assert words in found.text
    assert found.remedy or state != "no"


def test_programs_get_the_numbers_and_who_says_so() -> None:
    facts = expect("g5.xlarge", ["NVIDIA A10G"]).facts
    assert facts["known"] == "AWS g5"
    assert facts["copy_to_the_device_low"] == facts["copy_to_the_device_high"] == 13.5e9
    assert facts["copy_to_the_device_source"] == "SpareCores, 2026 (2026-07)"
    assert (facts["pcie_generation"], facts["pcie_lanes"]) == (4, 8)
    assert json.dumps(facts)


@pytest.mark.parametrize(
    ("stated", "told", "asked"),
    [
        ("g5.xlarge", None, "g5.xlarge"),
        (None, "g4dn.xlarge", "g4dn.xlarge"),
        # A person knows better.
        ("g5.xlarge", "g4dn.xlarge", "g5.xlarge"),
        (None, None, None),
    ],
)
def test_a_person_is_asked_before_the_cloud(
    stated: str | None, told: str | None, asked: str | None, tmp_path: Path
) -> None:
    heard: list[Any] = []

    def listen(kind: str | None, gpus: Any) -> Finding:
        heard.append((kind, list(gpus)))
        return yes("heard")

    files = {**FILES, CLOUD: json.dumps({"ds": {"meta_data": {"instance-type": told}}})}
    machine = make_machine(
        tmp_path, EngineError("no engine"), files=files, programs=smi_says(smi())
    )
    found = diagnose(machine, type=stated, expect=listen)
    assert line(found, "expected").text == "heard"
    assert heard == [(asked, ["NVIDIA A10G"])]
