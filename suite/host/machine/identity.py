"""Which machine this is: a word that stays the same and tells nothing about it; and its type in a cloud."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from suite.host.machine.files import read_text
from suite.model import Scalar

CLOUD = "/run/cloud-init/instance-data.json"
"""What a cloud tells its machine."""

TYPE_NAMES = ("instance-type", "instance_type", "instanceType", "vmSize", "machine-type", "flavor")
"""What clouds call the type of a machine in what they tell cloud-init."""


_NAMES = ("etc/machine-id", "etc/hostname")
_BOOT = "proc/sys/kernel/random/boot_id"
"""The same in all containers of a machine, of which each may have names of its own; until it boots again."""


def hash_machine(root: Path = Path("/"), *, named: bool = True) -> str | None:
    """Eight characters that stay the same on a machine and tell nothing about it; None: it has no name.

    ``named``: what is called by a name here is the machine, and not a container on it.
    """
    for path in _NAMES if named else (_BOOT,):
        if identity := read_text(root / path).strip():
            return hashlib.sha256(f"crossover/{identity}".encode()).hexdigest()[:8]
    return None


def describe_machine(root: Path = Path("/"), *, named: bool = True) -> dict[str, Scalar]:
    """Facts for the document by which campaigns of one machine, and machines of one type, are recognised;
    ``named`` as in `hash_machine`."""
    told = parse_cloud(read_text(root / CLOUD.lstrip("/")))
    kind = next(find_types(told.get("ds")), None)
    return {"machine.id": hash_machine(root, named=named), "machine.type": kind}


def parse_cloud(text: str | None) -> dict[str, Any]:
    """What a cloud tells; nothing where it is no object."""
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def find_types(value: Any, depth: int = 8) -> Iterator[str]:
    """The values of every name that means the machine's type, in the order of the file."""
    if not isinstance(value, dict) or depth == 0:
        return
    for name, inner in value.items():
        if name in TYPE_NAMES and (text := shorten(inner)):
            yield text.rpartition("/")[2]
        else:
            yield from find_types(inner, depth - 1)


def shorten(value: Any) -> str | None:
    """A name that a cloud gave; None where it is none."""
    return value if isinstance(value, str) and value and len(value) < 100 else None
