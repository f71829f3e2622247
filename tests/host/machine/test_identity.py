"""A machine is recognised, and told of only its type."""

from __future__ import annotations

import json
from pathlib import Path

from suite.host.machine.identity import describe_machine


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_a_machine_has_one_word_that_tells_nothing_and_the_type_that_its_cloud_calls_it(
    tmp_path: Path,
) -> None:
    assert describe_machine(tmp_path) == {"machine.id": None, "machine.type": None}
    write(tmp_path, "etc/hostname", "alices-laptop\n")
    named = describe_machine(tmp_path)["machine.id"]
    write(tmp_path, "etc/machine-id", "0123456789abcdef0123456789abcdef\n")
    told = {"v1": {"cloud_name": "aws"}, "ds": {"meta_data": {"instance-type": "g5.xlarge"}}}
    write(tmp_path, "run/cloud-init/instance-data.json", json.dumps(told))
    found = describe_machine(tmp_path)
    assert found == describe_machine(tmp_path)
    assert found["machine.type"] == "g5.xlarge"
    assert len({named, found["machine.id"], None}) == 3
    assert len(str(found["machine.id"])) == 8
    assert str(found["machine.id"]) not in "0123456789abcdef0123456789abcdef"
    write(tmp_path, "run/cloud-init/instance-data.json", "{ cut short")
    assert describe_machine(tmp_path)["machine.type"] is None


def test_two_containers_of_somebody_elses_on_one_machine_are_one_machine(tmp_path: Path) -> None:
    found = {}
    for pod, boot in {"pod-0": "b0", "pod-1": "b0", "pod-2": "b1"}.items():
        write(tmp_path / pod, "etc/hostname", pod)
        write(tmp_path / pod, "etc/machine-id", f"of the image of {pod}")
        write(tmp_path / pod, "proc/sys/kernel/random/boot_id", f"{boot}\n")
        found[pod] = describe_machine(tmp_path / pod, named=False)["machine.id"]
    assert found["pod-0"] == found["pod-1"] != found["pod-2"]
    assert describe_machine(tmp_path / "pod-0")["machine.id"] != found["pod-0"]
    assert describe_machine(tmp_path / "nowhere", named=False)["machine.id"] is None
