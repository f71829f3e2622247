"""Whether the arms ran the same software: where they did not, a ratio is of machine and build together.

An arm's software is somebody else's where an image or an interpreter was given that brings its own
(CUDA_IMAGE, LOCAL_PYTHON).  Judges by versions and by where they came from, never by a timing.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from suite.analysis.campaign.controls import Family
from suite.analysis.campaign.summarise import Summary
from suite.model import AGAIN, HIDDEN, NOT_FROM_LOCK, Document
from suite.report.text.names import Show

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

    def word(self, show: Show) -> str:
        """``TensorFlow 2.17.0, NumPy 1.26.4 (not from the lock)``."""
        listed = ", ".join(f"{name} {show(text)}" for name, text in self.versions.items())
        origins = {True: " (from the lock)", False: f" ({NOT_FROM_LOCK})", None: ""}
        return f"{listed or 'unknown versions'}{origins[self.from_lock]}"


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
    return [] if first is None else [arm for arm, one in builds.items() if _differ(first, one)]


def tell_builds(summary: Summary, show: Show) -> list[str]:
    """What a reader of the verdict has to know of the software; nothing where all is the lock's."""
    builds = find_builds(summary)
    differing = find_differing(builds, summary.base)
    told = []
    if differing:
        ran = "; ".join(f"{show(arm)} ran {one.word(show)}" for arm, one in builds.items())
        told.append(f"THE ARMS RAN DIFFERENT BUILDS: {ran}.")
        gpu = [show(arm) for arm in differing if not _is_hidden(arm)]
        if gpu:
            told.append(
                f"A ratio of {' or '.join(gpu)} with {show(summary.base)} is of machine and build "
                f"together; {_word_share(summary, show)}."
            )
        if len(gpu) < len(differing):
            told.append(f"A ratio of {show(HIDDEN)} is of the build alone: no GPU is in it.")
    else:
        told += [
            f"{show(arm)} ran what the suite's locks did not choose: {one.word(show)}."
            for arm, one in builds.items()
            if one.from_lock is False
        ]
    return told


def _is_hidden(arm: str) -> bool:
    return arm.removesuffix(AGAIN) == HIDDEN


def _word_share(summary: Summary, show: Show) -> str:
    family = summary.conclusions.hidden
    if family is None or not family.ratios:
        return (
            f"{show(HIDDEN)}, the same build without its GPU, would show the build's share and was "
            'not measured beside them (ARMS="cpu cuda cuda-hidden", or the standard profile)'
        )
    return f"the build's share, by the control {show(HIDDEN)}: {_word_family(family)}"


def _word_family(family: Family) -> str:
    ratios: Sequence[float] = [one.value for one in family.ratios.values()]
    low, high = min(ratios), max(ratios)
    return (
        f"without any GPU it took {statistics.median(ratios):.2f} times the time in the median of "
        f"{len(ratios)} cell{'s' if len(ratios) > 1 else ''}, {low:.2f} to {high:.2f} times"
    )


def word_trust(summary: Summary, show: Show) -> Iterable[str]:
    """The same for those who ask whether to believe it: what to read instead."""
    builds = find_builds(summary)
    differing = find_differing(builds, summary.base)
    if not differing:
        return
    base = builds[summary.base]
    for arm in differing:
        names = _find_other_versions(base, builds[arm])
        if names:
            pairs = ", ".join(
                f"{name} {show(builds[arm].versions[name])} instead of {show(base.versions[name])}"
                for name in names
            )
        else:
            pairs = "the same versions, built by somebody else"
        yield f"{show(arm)} ran another build than {show(summary.base)}: {pairs}."
    yield (
        f"So a difference between them can come from the build as well as from the machine: "
        f'{_word_share(summary, show)}. ARMS="cuda-hidden cuda" compares CPU and GPU in one build.'
    )


def _find_other_versions(one: Build, other: Build) -> list[str]:
    """What both have, in different versions; what is known of one alone says nothing."""
    return [
        name
        for name, version in one.versions.items()
        if name in other.versions and other.versions[name] != version
    ]


def _differ(one: Build, other: Build) -> bool:
    origins = {one.from_lock, other.from_lock}
    return origins == {True, False} or bool(_find_other_versions(one, other))


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
