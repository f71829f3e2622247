"""Whether the arms ran the same software: where they did not, a ratio is of machine and build together.

An arm's software is somebody else's where an image or an interpreter was given that brings its own
(CUDA_IMAGE, LOCAL_PYTHON).  Judges by versions and by where they came from, never by a timing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suite.analysis.campaign.summarise import Summary
from suite.model import NOT_FROM_LOCK, Document

SOFTWARE: Mapping[str, str] = {
    "tensorflow.version": "TensorFlow",
    "keras.version": "Keras",
    "numpy.version": "NumPy",
    "python.version": "Python",
}
"""The facts that two images from the locks share, and what they are of."""


@dataclass(frozen=True, kw_only=True)
class Build:
    """What an arm ran: versions by name, and whether the suite's own locks chose them (None: nobody
    said)."""

    versions: Mapping[str, str]
    from_lock: bool | None


def find_builds(summary: Summary) -> dict[str, Build]:
    """What each arm of the plan ran, by its first document that has versions; arms without any
    document are left out."""
    found: dict[str, Build] = {}
    for document in summary.loaded.documents:
        arm, build = document.invocation.arm, _read(document)
        # Where the worker refused or died there are no facts: nothing is known of what it ran.
        if arm not in found or (build.versions and not found[arm].versions):
            found[arm] = build
    return {arm: found[arm] for arm in summary.campaign.arms if arm in found}


def find_differing(builds: Mapping[str, Build], base: str) -> list[str]:
    """The arms whose software is not that of the arm they are compared with."""
    first = builds.get(base)
    return [] if first is None else [arm for arm, one in builds.items() if differ(first, one)]


def _read(document: Document) -> Build:
    facts, lock = document.facts, document.invocation.image.lock
    return Build(
        versions={
            title: str(facts[name])
            for name, title in SOFTWARE.items()
            if facts.get(name) is not None
        },
        from_lock=lock != NOT_FROM_LOCK if lock else None,
    )


def find_other_versions(one: Build, other: Build) -> list[str]:
    """What both have, in different versions; what is known of one alone says nothing."""
    return [
        name
        for name, version in one.versions.items()
        if name in other.versions and other.versions[name] != version
    ]


def differ(one: Build, other: Build) -> bool:
    """Whether two arms ran other software, by where it came from or by its versions."""
    origins = {one.from_lock, other.from_lock}
    return origins == {True, False} or bool(find_other_versions(one, other))
