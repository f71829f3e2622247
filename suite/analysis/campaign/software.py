"""Whether the arms ran the same software: where they did not, a ratio is of machine and build together.

An arm's software is somebody else's where an image or an interpreter was given that brings its own
(CUDA_IMAGE, LOCAL_PYTHON).  Judges by versions and by where they came from, never by a timing.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from suite.analysis.campaign.summarise import Summary
from suite.analysis.result.arms import Build
from suite.model import NOT_FROM_LOCK

SOFTWARE: Mapping[str, str] = {
    "tensorflow.version": "TensorFlow",
    "keras.version": "Keras",
    "numpy.version": "NumPy",
    "python.version": "Python",
}
"""The facts that two images from the locks share, and what they are of."""


def find_builds(summary: Summary) -> dict[str, Build]:
    """What each arm of the plan ran, by its first document that has versions; arms without any
    document are left out.

    ``others`` are what both it and the first arm have, in different versions; what is known of one alone
    says nothing.
    """
    found: dict[str, Build] = {}
    for document in summary.loaded.documents:
        arm, lock = document.invocation.arm, document.invocation.image.lock
        versions = {
            title: str(document.facts[name])
            for name, title in SOFTWARE.items()
            if document.facts.get(name) is not None
        }
        # Where the worker refused or died there are no facts: nothing is known of what it ran.
        if arm not in found or (versions and not found[arm].versions):
            from_lock = lock != NOT_FROM_LOCK if lock else None
            found[arm] = Build(versions=versions, from_lock=from_lock)
    usual = found[summary.base].versions if summary.base in found else {}
    builds = {arm: found[arm] for arm in summary.campaign.arms if arm in found}
    return {
        arm: structs.replace(
            one, others=tuple(n for n, v in usual.items() if one.versions.get(n, v) != v)
        )
        for arm, one in builds.items()
    }


def find_differing(builds: Mapping[str, Build], base: str) -> list[str]:
    """The arms that ran other software than the first, by where it came from or by its versions."""
    first = builds.get(base)
    return [
        arm
        for arm, one in builds.items()
        if first and (one.others or {first.from_lock, one.from_lock} == {True, False})
    ]
