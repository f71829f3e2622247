"""The bill of materials: what the lock pins, no more and no less, as CycloneDX says it."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from suite.host.provision.image_table import read_specs
from suite.host.provision.images import lock_identity
from suite.host.provision.sbom import write_bill
from suite.model import NOT_FROM_LOCK, Image
from tests.fakes.engine import fake_image

PUBLISHED = Path(__file__).parent / "cyclonedx" / "bom-1.6.schema.json.gz"
"""CycloneDX's schema as published (Apache-2.0); the two that it names are of licences and signatures."""


def make_image(name: str) -> Image:
    spec = read_specs()[name]
    return replace(fake_image(name), lock=lock_identity(spec.lock), base=spec.base)


def properties(component: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["value"] for one in component["properties"]}


def validate(bill: dict[str, Any]) -> None:
    schema = json.loads(gzip.decompress(PUBLISHED.read_bytes()))
    jsonschema.Draft7Validator(schema).validate(bill)


@pytest.mark.parametrize("name", list(read_specs()))
def test_a_bill_lists_what_the_lock_pins_and_says_so_as_published(name: str) -> None:
    image, spec = make_image(name), read_specs()[name]
    text = write_bill(name, image, spec.python, "x86_64")
    assert text == write_bill(name, image, spec.python, "x86_64")
    bill = json.loads(text)
    validate(bill)
    lock = spec.lock.read_text(encoding="utf-8")
    older = spec.python == "3.11"
    holds = {
        "": True,
        "python_full_version < '3.12'": older,
        "python_full_version >= '3.12'": not older,
        "python_full_version < '3.14'": True,
        "sys_platform == 'linux'": True,
        "platform_machine == 'x86_64'": True,
        "platform_machine == 'aarch64'": False,
        "platform_machine != 'aarch64'": True,
        "platform_python_implementation == 'CPython'": True,
        "implementation_name != 'PyPy'": True,
    }
    pins = re.findall(r"^([\w.-]+)==(\S+)(?: ; (.*?))? \\$", lock, re.MULTILINE)
    expected = {
        (one, version)
        for one, version, marker in pins
        if all(map(holds.get, marker.split(" and ")))
    }
    assert {(one["name"], one["version"]) for one in bill["components"]} == expected
    assert len(bill["components"]) == len(expected) > 20
    hashes = sum(len(one["externalReferences"][0]["hashes"]) for one in bill["components"])
    assert 0 < hashes <= lock.count("--hash=")
    assert properties(bill["metadata"]["component"])["crossover:base"] == image.base


def test_the_schema_refuses_what_is_no_bill() -> None:
    bill = json.loads(write_bill("cpu", make_image("cpu"), "3.13", "x86_64"))
    del bill["components"][0]["name"]
    with pytest.raises(jsonschema.ValidationError, match="'name' is a required property"):
        validate(bill)


@pytest.mark.parametrize(
    ("base", "python", "newer"),
    [
        ("own:1", "3.13", True),
        ("own:1", "3.11", False),
        # What the base says itself is believed before the row: without a container any Python may do.
        ("CPython 3.11.9 on x86_64", "3.13", False),
        ("python:3.13.15-slim@sha256:0", "3.11", True),
    ],
)
def test_a_bill_has_the_pins_of_its_own_python(base: str, python: str, newer: bool) -> None:
    bill = json.loads(write_bill("cpu", replace(make_image("cpu"), base=base), python, "x86_64"))
    (numpy,) = [one["version"] for one in bill["components"] if one["name"] == "numpy"]
    lock = read_specs()["cpu"].lock.read_text(encoding="utf-8")
    older, newest = re.findall(r"^numpy==(\S+)", lock, re.MULTILINE)
    assert numpy == (newest if newer else older)


@pytest.mark.parametrize(
    ("processor", "name"),
    [("x86_64", "tensorflow-cpu"), ("arm64", "tensorflow"), ("aarch64", "tensorflow")],
)
def test_a_bill_has_the_pins_of_the_engines_processor(processor: str, name: str) -> None:
    bill = json.loads(write_bill("cpu", make_image("cpu"), "3.13", processor))
    names = [one["name"] for one in bill["components"]]
    assert [one for one in names if one.startswith("tensorflow")] == [name]


def test_a_condition_stays_where_nobody_says_which_python() -> None:
    bill = json.loads(write_bill("cpu", replace(make_image("cpu"), base="own:1"), None, "x86_64"))
    validate(bill)
    both = [one for one in bill["components"] if one["name"] == "numpy"]
    assert len(both) == 2
    assert all("python_full_version" in properties(one)["crossover:condition"] for one in both)


@pytest.mark.parametrize("lock", [NOT_FROM_LOCK, "cpu.txt@sha256:0", "gone.txt@sha256:0"])
def test_what_nobody_knows_is_not_listed(lock: str) -> None:
    bill = json.loads(write_bill("cuda", replace(make_image("cuda"), lock=lock), "3.13", "x86_64"))
    validate(bill)
    assert bill["components"] == []
    assert "unknown" in properties(bill["metadata"]["component"])["crossover:packages"]
