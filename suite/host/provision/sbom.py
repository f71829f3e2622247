"""The bill of materials of an image, in CycloneDX's JSON: what its lock pins, on which base.

Pure apart from reading the lock.  It is as certain as the lock: pip installs nothing else
(``--require-hashes --no-deps``), and a file whose hash is not there not at all.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from suite import __version__
from suite.host.provision.image_table import DOCKER, name_processor
from suite.host.provision.images import lock_identity
from suite.model import NOT_FROM_LOCK, Image, name_files

_PIN = re.compile(
    r"^(?P<pin>[A-Za-z0-9][^\\#\n]*==[^\\\n]*)(?P<hashes>(?:\\\n\s+--hash=\S+\s*)+)", re.MULTILINE
)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_PYTHON = re.compile(r"\b(?:python:|CPython )(\d+\.\d+\.\d+)")
"""The Python of an official image, or of an interpreter of this machine, by a base's name."""

_LINUX = {
    "sys_platform": "linux",
    "platform_system": "Linux",
    "os_name": "posix",
    "implementation_name": "cpython",
    "platform_python_implementation": "CPython",
}
"""What every image is, whatever machine writes its bill."""


def write_bill(
    name: str, image: Image, python: str | None, processor: str, folder: Path = DOCKER
) -> str:
    """The bill as text; the same image, the same bytes.

    The packages are left out, with a property that says so, where they came from no lock or the lock in
    ``folder`` is another by now.  A pin that another Python or ``processor`` (as an engine or a kernel names
    it) would take is left out: the base says its Python, or else ``python`` is the version that it was
    demanded to have (None: nobody knows, and such a pin carries its condition).
    """
    if found := _PYTHON.search(image.base):
        python = found[1]
    lock = folder / image.lock.partition("@")[0]
    known = image.lock != NOT_FROM_LOCK and lock.is_file() and lock_identity(lock) == image.lock
    text = lock.read_text(encoding="utf-8") if known else ""
    packages = list(list_packages(text, python, name_processor(processor)))
    properties = {
        "base": image.base,
        "lock": image.lock,
        "origin": image.origin,
        "packages": "from the lock" if known else "unknown: not from this checkout's lock",
    }
    bill: dict[str, Any] = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "tools": {
                "components": [
                    {"type": "application", "name": "crossover-bench", "version": __version__}
                ]
            },
            "component": {
                "type": "container",
                "bom-ref": "image",
                "name": f"crossover/{name_files(name)}",
                "version": image.id,
                "properties": _properties(properties),
            },
        },
        "components": packages,
        # What pip was told to install; which package asked for which is not in a lock.
        "dependencies": [
            {"ref": "image", "dependsOn": [package["bom-ref"] for package in packages]}
        ],
    }
    bill["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(bill))}"
    return json.dumps(bill, indent=1, ensure_ascii=False) + "\n"


def list_packages(lock: str, python: str | None, processor: str) -> Iterator[dict[str, Any]]:
    """What a lock pins for that Python (None: for any, with its condition) and processor, as components."""
    minor = ".".join((python or "").split(".")[:2])
    place = {**_LINUX, "platform_machine": processor}
    place |= {"python_full_version": python or "", "python_version": minor}
    for found in _PIN.finditer(lock):
        pin = Requirement(found["pin"].strip())
        marker = pin.marker
        if python and marker and not marker.evaluate(place):
            continue
        version = next(iter(pin.specifier)).version
        purl = f"pkg:pypi/{pin.name.lower()}@{version}"
        condition = {"condition": str(marker)} if marker and not python else {}
        yield {
            "type": "library",
            "bom-ref": purl,
            "name": pin.name,
            "version": version,
            "purl": purl,
            "externalReferences": [
                {
                    "type": "distribution",
                    "url": f"https://pypi.org/project/{pin.name}/{version}/",
                    "comment": "one of the files with these hashes; the lock allows no other",
                    "hashes": [
                        {"alg": "SHA-256", "content": digest}
                        for digest in _HASH.findall(found["hashes"])
                    ],
                }
            ],
            **({"properties": _properties(condition)} if condition else {}),
        }


def _properties(values: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": f"crossover:{name}", "value": value} for name, value in values.items()]
