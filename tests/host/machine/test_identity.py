"""A machine is recognised, within its fleet alone, and told of only its type."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from suite import codec
from suite.errors import UsageError
from suite.host.machine.identity import SALT, describe_machine, hide
from tests.fakes.tree import lay


def test_a_machine_has_one_word_that_tells_nothing_and_the_type_that_its_cloud_calls_it(
    tmp_path: Path,
) -> None:
    assert describe_machine(tmp_path) == {"machine.id": None, "machine.type": None}
    lay(tmp_path, {"etc/hostname": "alices-laptop"})
    named = describe_machine(tmp_path)["machine.id"]
    told = {"v1": {"cloud_name": "aws"}, "ds": {"meta_data": {"instance-type": "g5.xlarge"}}}
    cloud = "run/cloud-init/instance-data.json"
    identity = "0123456789abcdef0123456789abcdef"
    lay(tmp_path, {"etc/machine-id": identity, cloud: json.dumps(told)})
    found = describe_machine(tmp_path)
    assert found == describe_machine(tmp_path)
    assert found["machine.type"] == "g5.xlarge"
    assert len({named, found["machine.id"], None}) == 3
    assert len(str(found["machine.id"])) == 8
    assert str(found["machine.id"]) not in identity
    lay(tmp_path, {cloud: "{ cut short"})
    assert describe_machine(tmp_path)["machine.type"] is None


def test_two_containers_of_somebody_elses_on_one_machine_are_one_machine(tmp_path: Path) -> None:
    found = {}
    for pod, boot in {"pod-0": "b0", "pod-1": "b0", "pod-2": "b1"}.items():
        own = {"etc/hostname": pod, "etc/machine-id": f"of the image of {pod}"}
        root = lay(tmp_path / pod, {**own, "proc/sys/kernel/random/boot_id": boot})
        found[pod] = describe_machine(root, named=False)["machine.id"]
    assert found["pod-0"] == found["pod-1"] != found["pod-2"]
    assert describe_machine(tmp_path / "pod-0")["machine.id"] != found["pod-0"]
    assert describe_machine(tmp_path / "nowhere", named=False)["machine.id"] is None


OURS, THEIRS = "a secret of one fleet", "a secret of another"
UUID = "GPU-11111111-2222-3333-4444-555555555555"


def test_a_machine_is_the_same_in_one_fleet_and_nobodys_in_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = "0123456789abcdef0123456789abcdef"
    lay(tmp_path, {"etc/machine-id": machine, "proc/sys/kernel/random/boot_id": "b0"})
    text = f"{UUID} is {codec.hash_uuid(UUID)}"
    plain = (describe_machine(tmp_path), describe_machine(tmp_path, named=False), hide(text))
    told = {}
    for fleet, salt in {"ours": OURS, "again": f"{OURS}\n", "theirs": THEIRS}.items():
        monkeypatch.setenv(SALT, salt)
        machine, boot = (
            describe_machine(tmp_path, named=one)["machine.id"] for one in (True, False)
        )
        told[fleet] = (machine, boot, hide(text))
        assert salt not in repr(told)
    assert told["ours"] == told["again"]
    for one, other in zip(told["ours"], told["theirs"], strict=True):
        assert one != other
    assert not {plain[0]["machine.id"], plain[1]["machine.id"]} & {*told["ours"], *told["theirs"]}
    gpu, same = told["ours"][2].removeprefix("GPU-").split(" is ")
    assert gpu == same
    assert gpu.startswith("hmac:")
    assert codec.hash_uuid(UUID) in plain[2]


def test_no_uuid_is_kept_wherever_it_stands_in_a_line() -> None:
    text = f"{UUID}\nat first\n{UUID}\t{UUID.replace('GPU', 'MIG')}: {UUID}"
    for kept in (hide(text), hide(codec.dump_document({"reason": text}))):
        assert "11111111" not in kept
        assert kept.count("sha256:") == 4


def test_what_is_hidden_stays_and_what_is_no_identity_too(monkeypatch: pytest.MonkeyPatch) -> None:
    digest = f"cpu.txt@sha256:{'0123456789abcdef' * 4}"
    text = f"{UUID}, {digest}, a word\n"
    monkeypatch.setenv(SALT, OURS)
    assert hide(hide(text)) == hide(text)
    assert digest in hide(text)
    assert "11111111" not in hide(text)


@pytest.mark.parametrize("salt", ["", " \n", "fifteen letters"])
def test_a_secret_that_is_none_is_refused_and_not_repeated(
    salt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SALT, salt)
    with pytest.raises(UsageError, match="shorter than 16") as caught:
        hide("a word")
    assert "fifteen" not in caught.value.what + caught.value.remedy
    assert "openssl" in caught.value.remedy
