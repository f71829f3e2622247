"""Which machine this is: a word that stays the same and tells nothing about it; and its type in a cloud."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from suite import codec
from suite.errors import UsageError
from suite.model import Scalar
from suite.procfs import read_text

SALT = "CROSSOVER_SALT"
"""The environment variable with a fleet's secret: within the fleet a machine stays the same in all documents,
and nobody can tell whether it is one of another fleet's."""

LEAST_SALT = 16
"""Characters; a shorter one can be found by trying."""

_PLAIN = re.compile(r"sha256:[0-9a-f]{16}\b")
"""The hash of something that there is once: a GPU, a folder of somebody's.  Those of contents are longer."""

_ESCAPED = re.compile(r"(?<=\\[bfnrt])(?=(?:GPU|MIG)-)", re.IGNORECASE)
"""Where JSON's letter for a new line would pass for the first one of a word."""

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
            return _hash(f"crossover/{identity}")[:8]
    return None


def _hash(text: str) -> str:
    if salt := read_salt():
        return hmac.new(salt, text.encode(), "sha256").hexdigest()
    return hashlib.sha256(text.encode()).hexdigest()


def read_salt() -> bytes:
    """The fleet's secret; empty: there is none.

    Raises:
        UsageError: it is too short to be one.
    """
    text = os.environ.get(SALT)
    if text is None:
        return b""
    salt = text.strip()
    if len(salt) < LEAST_SALT:
        raise UsageError(
            f"{SALT} is shorter than {LEAST_SALT} characters",
            "give it what `openssl rand -hex 32` prints, or unset it",
        )
    return os.fsencode(salt)


def hide(text: str) -> str:
    """The text of a document or a log as it may be kept: no UUID of a GPU's, and where the fleet has a secret
    no hash that another fleet has of the same thing.  What is hidden stays as it is.

    Raises:
        UsageError: as `read_salt`.
    """
    text = "".join(map(codec.hide_uuids, _ESCAPED.split(text)))
    return _PLAIN.sub(lambda one: f"hmac:{_hash(one[0])[:16]}", text) if read_salt() else text


def describe_machine(root: Path = Path("/"), *, named: bool = True) -> dict[str, Scalar]:
    """Facts for the document by which campaigns of one machine, and machines of one type, are recognised;
    ``named`` as in `hash_machine`."""
    instance = parse_cloud(read_text(root / CLOUD.lstrip("/")))
    kind = next(find_types(instance.get("ds")), None)
    return {"machine.id": hash_machine(root, named=named), "machine.type": kind}


def parse_cloud(text: str | None) -> dict[str, Any]:
    """What a cloud tells; nothing where it is not an object."""
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
    """A name that a cloud gave; None where it is not one."""
    return value if isinstance(value, str) and value and len(value) < 100 else None
