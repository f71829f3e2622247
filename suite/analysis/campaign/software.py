"""Whether the arms ran the same software: where they did not, a ratio is of machine and build together.

An arm's software is somebody else's where an image or an interpreter was given that brings its own
(CUDA_IMAGE, LOCAL_PYTHON).  Judges by versions and by where they came from, never by a timing.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from suite.analysis.campaign.summarise import Summary
from suite.analysis.result.arms import Build
from suite.model import NOT_FROM_LOCK, Document

SOFTWARE: Mapping[str, str] = {
    "tensorflow.version": "TensorFlow",
    "keras.version": "Keras",
    "numpy.version": "NumPy",
    "python.version": "Python",
}
"""The facts that two images from the locks share, and what they are of."""


def find_builds(summary: Summary) -> dict[str, Build]:
    """What each arm of the plan ran, by its first document that has versions; arms without any
    document are left out."""
    found: dict[str, Build] = {}
    for document in summary.loaded.documents:
        arm, build = document.invocation.arm, _read(document)
        # Where the worker refused or died there are no facts: nothing is known of what it ran.
        if arm not in found or (build.versions and not found[arm].versions):
            found[arm] = build
    base = found.get(summary.base)
    return {
        arm: structs.replace(found[arm], others=_find_others(base, found[arm]))
        for arm in summary.campaign.arms
        if arm in found
    }


def find_differing(builds: Mapping[str, Build], base: str) -> list[str]:
    """The arms whose software is not that of the arm they are compared with."""
    first = builds.get(base)
    return [] if first is None else [arm for arm, one in builds.items() if _differ(first, one)]


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


def _find_others(base: Build | None, other: Build) -> tuple[str, ...]:
    """What both have, in different versions; what is known of one alone says nothing."""
    return tuple(
        name
        for name, version in (base.versions if base else {}).items()
        if name in other.versions and other.versions[name] != version
    )


def _differ(base: Build, other: Build) -> bool:
    """Whether an arm ran other software, by where it came from or by its versions."""
    return {base.from_lock, other.from_lock} == {True, False} or bool(other.others)
