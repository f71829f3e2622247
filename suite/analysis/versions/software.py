"""What an arm ran, as far as its documents tell, and what two arms ran otherwise.  Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from suite.analysis.campaign.environment import SOFTWARE
from suite.analysis.documents.bills import Packages
from suite.analysis.documents.builds import find_inside
from suite.model import Document, Scalar

Software = Mapping[str, str]
"""Versions by name, and whether oneDNN is switched on."""

FACTS: Mapping[str, tuple[str, ...]] = {
    **{title: (name,) for name, title in SOFTWARE.items()},
    "CUDA": ("tensorflow.build.cuda_version",),
    "cuDNN": ("cuda.cudnn", "tensorflow.build.cudnn_version"),
}
"""By name the facts that tell it, the one that says most first."""

AGES = ("TensorFlow", "Keras")
"""What tells which of two arms came first."""

SWITCHES: Mapping[str, Mapping[Scalar, str]] = {
    "tensorflow.onednn": {True: "on", False: "off"},
    "environment.TF_ENABLE_ONEDNN_OPTS": {"1": "on", "0": "off"},
}
"""The facts that tell whether TensorFlow computes by oneDNN, and how; the one that says most first."""


TOLD_BY_FACTS = frozenset({"tensorflow", "tensorflow-cpu", "keras", "numpy"})
"""The packages of which the documents say what in fact ran."""


def find_software(
    documents: Iterable[Document], packages: Mapping[str, Packages] | None = None
) -> dict[str, Software]:
    """By arm what it ran: by its first document that tells, and behind that the other packages of its image.

    A package that only others' images have has the version "", where the arm's own are known.
    """
    found: dict[str, dict[str, str]] = {}
    for document in documents:
        if software := _read(document.facts):
            found.setdefault(document.invocation.arm, software)
    packages = packages or {}
    names = sorted({name for of in packages.values() for name in of} - TOLD_BY_FACTS)
    for arm, of in packages.items():
        known = {name: of.get(name, "") for name in names}
        found.setdefault(arm, {}).update({n: v for n, v in known.items() if v is not None})
    return dict(found)


def _read(facts: Mapping[str, Scalar]) -> dict[str, str]:
    told = {
        name: next((str(facts[fact]) for fact in names if facts.get(fact) is not None), None)
        for name, names in FACTS.items()
    }
    software = {name: version for name, version in told.items() if version is not None}
    if inside := find_inside(str(facts.get("tensorflow.git"))):
        software["Eigen"] = inside.eigen
        if facts.get("cpu.architecture") == "x86_64":
            software["oneDNN"] = inside.onednn
    states = (words.get(facts.get(name)) for name, words in SWITCHES.items())
    if state := next(filter(None, states), None):
        software["oneDNN switched"] = state
    return software


def sort_versions(arms: Sequence[str], software: Mapping[str, Software]) -> tuple[str, ...]:
    """The arms by TensorFlow's version and then by Keras's, the older first.

    Arms of the same versions stay in their order, and so do all where some arm's TensorFlow is not known.
    """
    versions = {arm: software.get(arm, {}) for arm in arms}
    known = [name for name in AGES if all(name in of for of in versions.values())]
    if "TensorFlow" not in known:
        return tuple(arms)
    return tuple(sorted(arms, key=lambda arm: [_rank(versions[arm][name]) for name in known]))


def _rank(version: str) -> tuple[list[int], bool]:
    """By what a version is sorted: one with more behind its numbers (``2.21.0rc1``) came before them."""
    numbers = re.match(r"[0-9]{1,9}(?:\.[0-9]{1,9})*", version)
    found = numbers[0] if numbers else ""
    return [int(part) for part in found.split(".") if part], found == version


def tell_difference(base: Software, other: Software) -> dict[str, tuple[str, str]]:
    """By name what is known of both and is not the same: the base's, and the other's."""
    return {
        name: (version, other[name])
        for name, version in base.items()
        if name in other and other[name] != version
    }
