"""The packages of an image, read from its bill of materials in CycloneDX's JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from packaging.utils import canonicalize_name

from suite.codec import Malformed, decode_json

Packages = Mapping[str, str | None]
"""Versions by a package's name, as PyPI compares names; None: which one, or whether any, is not known."""

MOST_PACKAGES = 1_000
"""In a bill; a lock with CUDA has 60."""

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?", re.ASCII)
"""A name on PyPI."""

_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.!+_-]{0,99}", re.ASCII)

_CONDITION = "crossover:condition"
"""The property of a package that only some Python would take, where nobody knew which there is."""


def read_bill(content: bytes) -> Packages:
    """What an image has; nothing where this is no bill of Python's packages alone, since no number depends on
    it, and what is not in half a bill may be there."""
    try:
        bill = decode_json(content)
        components = bill["components"] if bill["bomFormat"] == "CycloneDX" else []
    except (Malformed, KeyError, TypeError):
        return {}
    if not isinstance(components, list) or len(components) > MOST_PACKAGES:
        return {}
    found: dict[str, str | None] = {}
    for component in components:
        if not _is_package(component):
            return {}
        name = canonicalize_name(component["name"])
        known = name not in found and not _has_condition(component)
        found[name] = component["version"] if known else None
    return dict(sorted(found.items()))


def _is_package(component: Any) -> bool:
    fields = component if isinstance(component, dict) else {}
    return all(
        isinstance(fields.get(key), str) and pattern.fullmatch(fields[key])
        for key, pattern in (("name", _NAME), ("version", _VERSION))
    )


def _has_condition(component: Mapping[str, Any]) -> bool:
    properties = component.get("properties")
    every = properties if isinstance(properties, list) else []
    return any(isinstance(of, dict) and of.get("name") == _CONDITION for of in every)
