"""Arms that did not run the same software: said near the verdict, and what to read instead."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from suite.analysis.result.campaign import Analysis
from suite.model import NOT_FROM_LOCK, Document, Scalar
from suite.report.produce import build_report
from suite.report.sections.validity import describe_builds
from tests import synthetic
from tests.changes import Change, keep, plant, swap_image, tell
from tests.rendering import study

NAMES = ("tensorflow.version", "keras.version", "numpy.version", "python.version")
VENDOR: dict[str, Scalar] = dict(zip(NAMES, ("2.17.0", "3.5.0", "1.26.4", "3.12.3"), strict=True))
OURS: dict[str, Scalar] = dict(zip(NAMES, ("2.21.0", "3.15.1", "2.5.5", "3.13.5"), strict=True))
BOTH, HIDDEN, TWENTY = ("cpu", "cuda"), ("cpu", "cuda", "cuda-hidden"), "cuda-2.20"


def make(
    arms: tuple[str, ...] = BOTH,
    vendor: tuple[str, ...] = ("cuda", "cuda-hidden"),
    facts: dict[str, Scalar] = VENDOR,
    lock: str = NOT_FROM_LOCK,
    change: Change = keep,
) -> Analysis:
    """A campaign whose arms ``vendor`` ran these versions from there, and the others those of our lock."""
    campaign = synthetic.make_campaign(arms=arms, blocks=3)
    documents = []
    for one in synthetic.make_documents(campaign):
        found, came = (facts, lock) if one.invocation.arm in vendor else (OURS, "cpu.txt@sha256:0")
        documents.append(change(tell(found)(swap_image(lock=came)(one))))
    return study(campaign, documents)


def forget(*names: str) -> Change:
    """The GPU's arm told nothing of these; without names: nothing at all."""

    def change(one: Document) -> Document:
        return replace(one, facts={n: v for n, v in one.facts.items() if names and n not in names})

    return lambda one: plant([one], change, "cuda")[0]


@pytest.mark.parametrize(
    "change",
    [keep, forget(), forget(NAMES[1])],
    ids=["all is the locks'", "an arm told nothing", "one version is unknown"],
)
def test_without_a_known_difference_there_is_nothing_to_say(change: Change) -> None:
    analysis = make(vendor=(), change=change)
    assert analysis.software_differs == ()
    assert describe_builds(analysis) == []


def begin_silent(one: Document) -> Document:
    return replace(one, facts={}) if one.invocation.block < 2 else one


@pytest.mark.parametrize(
    ("how", "builds"),
    [
        (
            {},
            (
                "THE ARMS RAN DIFFERENT BUILDS: cpu ran TensorFlow 2.21.0, ",
                "cuda ran TensorFlow 2.17.0, Keras 3.5.0, NumPy 1.26.4, Python 3.12.3",
                "(not from the lock)",
                "mixes machine and build together",
                "cuda-hidden, the same build without its GPU, would show",
            ),
        ),
        (
            {"arms": HIDDEN},
            (
                "the build's share, by the control cuda-hidden: without any GPU it took",
                "A ratio of cuda-hidden shows the build alone",
                "A ratio of cuda to cpu",
            ),
        ),
        # The first document that has versions tells them.
        ({"change": begin_silent}, ("cuda ran TensorFlow 2.17.0, Keras 3.5.0",)),
        # Another version has its own share, and beside the same GPU none.
        (
            {"arms": (*BOTH, TWENTY), "vendor": (TWENTY,), "lock": "2.20.txt@x"},
            (
                "A ratio of cuda-2.20 to cpu mixes machine and build together",
                "cuda-2.20-hidden, the same build without its GPU, would show the build's share",
            ),
        ),
        # An image of somebody else's beside a version's arm.
        (
            {"arms": ("cpu@2.20", "cuda"), "vendor": ("cuda",)},
            (
                "cuda ran TensorFlow 2.17.0",
                "A ratio of cuda to cpu@2.20 mixes machine and build together",
            ),
        ),
        (
            {"arms": ("cuda", TWENTY), "vendor": (TWENTY,), "lock": "2.20.txt@x"},
            ("A ratio of cuda-2.20 shows the build alone: the same GPU is in both.",),
        ),
    ],
)
def test_other_builds_are_told_plainly(how: dict[str, Any], builds: tuple[str, ...]) -> None:
    analysis = make(**how)
    assert analysis.software_differs
    told = " ".join(describe_builds(analysis))
    assert [words for words in builds if words not in told] == []


@pytest.mark.parametrize("vendor", [("cuda", "cuda-hidden"), ("cpu", "cuda")])
def test_arms_of_one_build_are_told_where_it_came_from_alone(vendor: tuple[str, ...]) -> None:
    analysis = make(vendor, vendor)
    told = describe_builds(analysis)
    assert len(told) == 2
    assert all("ran software not from the suite's locks" in one for one in told)


@pytest.mark.parametrize(("lock", "told"), [("", False), (NOT_FROM_LOCK, True)])
def test_where_an_image_came_from_counts_where_it_is_known(lock: str, told: bool) -> None:
    analysis = make(vendor=("cuda",), facts={}, lock=lock, change=forget())
    said = " ".join(describe_builds(analysis))
    assert ("cuda ran unknown versions (not from the lock)" in said) is told
    assert ("DIFFERENT BUILDS" in said) is told


def test_the_first_screen_says_it_and_programs_are_told() -> None:
    report = build_report(make(), pictures=False)
    assert "THE ARMS RAN DIFFERENT BUILDS" in report.files["report.md"].partition("## ")[0]
    assert "THE ARMS RAN DIFFERENT BUILDS" in report.terminal
    assert '"software_differs": [ "cuda" ]' in report.files["summary.json"]
