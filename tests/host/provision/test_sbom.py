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

from suite.host.provision.images import lock_identity, read_specs
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
    image = make_image(name)
    text = write_bill(name, image)
    assert text == write_bill(name, image)
    bill = json.loads(text)
    validate(bill)
    lock = read_specs()[name].lock.read_text(encoding="utf-8")
    # The base has Python 3.13, so that the pins of older ones are not in the image.
    pins = re.findall(r"^([\w.-]+)==(\S+)(?: ; (.*?))? \\$", lock, re.MULTILINE)
    expected = {(one, version) for one, version, marker in pins if "<" not in marker}
    assert {(one["name"], one["version"]) for one in bill["components"]} == expected
    assert len(bill["components"]) == len(expected) > 20
    hashes = sum(len(one["externalReferences"][0]["hashes"]) for one in bill["components"])
    assert 0 < hashes <= lock.count("--hash=")
    assert properties(bill["metadata"]["component"])["crossover:base"] == image.base


def test_the_schema_refuses_what_is_no_bill() -> None:
    bill = json.loads(write_bill("cpu", make_image("cpu")))
    del bill["components"][0]["name"]
    with pytest.raises(jsonschema.ValidationError, match="'name' is a required property"):
        validate(bill)


def test_a_condition_stays_where_nobody_says_which_python() -> None:
    bill = json.loads(write_bill("cpu", replace(make_image("cpu"), base="own:1")))
    validate(bill)
    both = [one for one in bill["components"] if one["name"] == "numpy"]
    assert len(both) == 2
    assert all("python_full_version" in properties(one)["crossover:condition"] for one in both)


@pytest.mark.parametrize("lock", [NOT_FROM_LOCK, "cpu.txt@sha256:0", "gone.txt@sha256:0"])
def test_what_nobody_knows_is_not_listed(lock: str) -> None:
    bill = json.loads(write_bill("cuda", replace(make_image("cuda"), lock=lock)))
    validate(bill)
    assert bill["components"] == []
    assert "unknown" in properties(bill["metadata"]["component"])["crossover:packages"]
