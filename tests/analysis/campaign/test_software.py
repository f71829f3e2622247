"""Arms that did not run the same software: said near the verdict, and what to read instead."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from suite.analysis.analyse import analyse
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.result.campaign import Analysis
from suite.model import NOT_FROM_LOCK, Document
from suite.report.sections.trust import tell_builds, word_trust
from tests import synthetic
from tests.rendering import collate

VENDOR = {
    "tensorflow.version": "2.17.0",
    "keras.version": "3.5.0",
    "numpy.version": "1.26.4",
    "python.version": "3.12.3",
}
OURS = {
    "tensorflow.version": "2.21.0",
    "keras.version": "3.15.1",
    "numpy.version": "2.5.5",
    "python.version": "3.13.5",
}


def dress(document: Document, facts: dict[str, Any], lock: str) -> Document:
    image = replace(document.invocation.image, lock=lock)
    return replace(
        document,
        facts={**document.facts, **facts},
        invocation=replace(document.invocation, image=image),
    )


def make(
    *,
    arms: tuple[str, ...] = ("cpu", "cuda"),
    vendor: tuple[str, ...] = ("cuda", "cuda-hidden"),
    facts: dict[str, Any] | None = None,
    lock: str = NOT_FROM_LOCK,
) -> tuple[Any, list[Document]]:
    campaign = synthetic.make_campaign(arms=arms, blocks=3)
    documents = [
        dress(one, VENDOR if facts is None else facts, lock)
        if one.invocation.arm in vendor
        else dress(one, OURS, "cpu.txt@sha256:0")
        for one in synthetic.make_documents(campaign)
    ]
    return campaign, documents


def summary_of(made: tuple[Any, list[Document]]) -> Analysis:
    campaign, documents = made
    return analyse(LoadedCampaign(folder="x", campaign=campaign, documents=documents, controls=[]))


def test_where_all_is_the_locks_there_is_nothing_to_say() -> None:
    summary = summary_of(make(vendor=()))
    assert summary.software_differs == ()
    assert tell_builds(summary, str) == []
    assert list(word_trust(summary, str)) == []


def test_versions_that_differ_are_told_plainly() -> None:
    summary = summary_of(make())
    told = " ".join(tell_builds(summary, str))
    assert told.startswith("THE ARMS RAN DIFFERENT BUILDS: cpu ran TensorFlow 2.21.0, ")
    assert "cuda ran TensorFlow 2.17.0, Keras 3.5.0, NumPy 1.26.4, Python 3.12.3" in told
    assert "(not from the lock)" in told
    assert "is of machine and build together" in told
    assert "cuda-hidden, the same build without its GPU, would show" in told
    trust = " ".join(word_trust(summary, str))
    assert "TensorFlow 2.17.0 instead of 2.21.0" in trust
    assert 'ARMS="cuda-hidden cuda" compares CPU and GPU in one build' in trust


def test_the_same_versions_from_somebody_else_are_another_build() -> None:
    summary = summary_of(make(facts=OURS))
    assert summary.software_differs == ("cuda",)
    assert "the same versions, built by somebody else" in " ".join(word_trust(summary, str))


def test_the_control_gives_the_builds_share() -> None:
    summary = summary_of(make(arms=("cpu", "cuda", "cuda-hidden")))
    told = " ".join(tell_builds(summary, str))
    assert "the build's share, by the control cuda-hidden: without any GPU it took" in told
    assert "A ratio of cuda-hidden is of the build alone" in told
    assert "A ratio of cuda with cpu" in told


@pytest.mark.parametrize("vendor", [("cuda", "cuda-hidden"), ("cpu", "cuda")])
def test_arms_of_one_build_are_told_where_it_came_from_alone(vendor: tuple[str, ...]) -> None:
    summary = summary_of(make(arms=vendor, vendor=vendor))
    told = tell_builds(summary, str)
    assert len(told) == 2
    assert all("ran what the suite's locks did not choose" in one for one in told)
    assert list(word_trust(summary, str)) == []


def test_the_report_says_it_twice_and_programs_are_told(tmp_path: Any) -> None:
    campaign, documents = make()
    folder = synthetic.write_campaign(tmp_path / "made-up", campaign, documents)
    collated = collate(folder, pictures=False)
    report = collated.files["report.md"]
    opening, _, rest = report.partition("## Is it to be trusted?")
    assert "THE ARMS RAN DIFFERENT BUILDS" in opening.partition("## ")[0]
    assert "ran another build than cpu" in rest
    assert "THE ARMS RAN DIFFERENT BUILDS" in collated.terminal
    assert '"software_differs": [ "cuda" ]' in collated.files["summary.json"]


def test_an_arm_that_told_nothing_ran_no_other_build() -> None:
    campaign, documents = make(vendor=())
    silent = [replace(one, facts={}) if one.invocation.arm == "cuda" else one for one in documents]
    summary = summary_of((campaign, silent))
    assert summary.software_differs == ()
    assert tell_builds(summary, str) == []
    assert list(word_trust(summary, str)) == []


def test_the_first_document_that_has_versions_tells_them() -> None:
    campaign, documents = make()
    silent = [replace(one, facts={}) if one.invocation.block < 2 else one for one in documents]
    summary = summary_of((campaign, silent))
    assert "cuda ran TensorFlow 2.17.0, Keras 3.5.0" in " ".join(tell_builds(summary, str))


def test_only_versions_known_on_both_sides_are_compared() -> None:
    campaign, documents = make(vendor=())
    bare = [
        replace(one, facts={n: v for n, v in one.facts.items() if n != "keras.version"})
        if one.invocation.arm == "cuda"
        else one
        for one in documents
    ]
    assert tell_builds(summary_of((campaign, bare)), str) == []


@pytest.mark.parametrize(("lock", "told"), [("", False), (NOT_FROM_LOCK, True)])
def test_where_an_image_came_from_counts_where_it_is_known(lock: str, told: bool) -> None:
    campaign, documents = make(vendor=())
    silent = [
        replace(dress(one, {}, lock), facts={}) if one.invocation.arm == "cuda" else one
        for one in documents
    ]
    said = " ".join(tell_builds(summary_of((campaign, silent)), str))
    assert ("cuda ran unknown versions (not from the lock)" in said) is told
    assert ("DIFFERENT BUILDS" in said) is told


def test_another_version_has_its_own_share_and_beside_the_same_gpu_none() -> None:
    versions = ("cuda-2.20",)
    three = summary_of(make(arms=("cpu", "cuda", *versions), vendor=versions, lock="2.20.txt@x"))
    told = " ".join(tell_builds(three, str))
    assert "A ratio of cuda-2.20 with cpu is of machine and build together" in told
    assert "cuda-2.20-hidden, the same build without its GPU, would show the build's share" in told
    assert 'ARMS="cuda-2.20-hidden cuda-2.20" compares' in " ".join(word_trust(three, str))
    two = summary_of(make(arms=("cuda", *versions), vendor=versions, lock="2.20.txt@x"))
    told = " ".join(tell_builds(two, str))
    assert "A ratio of cuda-2.20 is of the build alone: the same GPU is in both." in told
    assert "machine" not in " ".join(word_trust(two, str))
