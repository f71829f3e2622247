"""The packages of an image, read from its bill of materials in CycloneDX's JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from suite.codec import Malformed, decode_json

FOLDER = "sbom"
"""Where the bills are kept, in a campaign's folder."""

Packages = Mapping[str, str]
"""Versions by a package's name, in small letters."""

MOST_PACKAGES = 1_000
"""In a bill; a lock with CUDA has 60."""

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?", re.ASCII)
"""A name on PyPI."""

_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.!+_-]{0,99}", re.ASCII)


def name_bill(image: str) -> str:
    """The bill of an image, by the name of its files."""
    return f"{image}.cdx.json"


def read_bill(content: bytes) -> Packages:
    """What an image has; nothing where its bill says that this is unknown.

    A package that only some Python would take, which nobody knew, is left out.

    Raises:
        Malformed: it is no such bill.
    """
    bill = decode_json(content)
    if not isinstance(bill, dict) or bill.get("bomFormat") != "CycloneDX":
        raise Malformed("$.bomFormat", "is not CycloneDX")
    components = bill.get("components", [])
    if not isinstance(components, list) or len(components) > MOST_PACKAGES:
        raise Malformed("$.components", f"is not a list of {MOST_PACKAGES:,} components at most")
    return dict(sorted(_read_components(components)))


def _read_components(components: list[Any]) -> Iterator[tuple[str, str]]:
    for number, component in enumerate(components):
        fields = component if isinstance(component, dict) else {}
        for key, pattern in (("name", _NAME), ("version", _VERSION)):
            value = fields.get(key)
            if not isinstance(value, str) or not pattern.fullmatch(value):
                raise Malformed(f"$.components[{number}].{key}", "is not a package's")
        # Its only property is the condition on which it would be there.
        if not fields.get("properties"):
            yield fields["name"].lower(), fields["version"]
