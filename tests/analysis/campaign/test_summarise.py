"""From documents to numbers, reasons and doubts."""

from __future__ import annotations

import statistics
from dataclasses import replace

import pytest

from suite.analysis.campaign.accounting import find_deaths, itemise
from suite.analysis.campaign.summarise import Summary, summarise
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.result.cells import ArmResult
from suite.analysis.result.numbers import Ratio
from suite.flags import raise_flag
from suite.model import Campaign, Check, Container, Document, Excluded, container_seconds
from suite.report.text.wording import tell, word_missing
from tests import synthetic
from tests.flagging import codes

FENCE = "overhead.fence"


def summarise_these(campaign: Campaign, documents: list[Document]) -> Summary:
    return summarise(LoadedCampaign(folder="made-up", campaign=campaign, documents=documents))


def find(summary: Summary, arm: str, name: str = FENCE) -> ArmResult:
    return next(one.arms[arm] for one in summary.cells if one.cell.id == name)


def change(documents: list[Document], arm: str, block: int, **fields: object) -> list[Document]:
    """The documents with another cell in one of them."""
    return [
        synthetic.change_cell(one, FENCE, **fields)
        if (one.invocation.arm, one.invocation.block) == (arm, block)
        else one
        for one in documents
    ]


@pytest.fixture
def campaign() -> Campaign:
    cells = [one for one in synthetic.make_cells() if one.scenario == "overhead"]
    return synthetic.make_campaign(blocks=4, cells=cells)


@pytest.fixture
def documents(campaign: Campaign) -> list[Document]:
    # Enough samples to tell a steady state, so that there is no note about it.
    return synthetic.make_documents(campaign, samples=60)


def test_the_truth_comes_out_of_a_silent_host(campaign: Campaign) -> None:
    documents = synthetic.make_documents(campaign, host=synthetic.SILENT)
    summary = summarise_these(campaign, documents)
    for one in summary.cells:
        for arm in campaign.arms:
            found = one.arms[arm].estimate
            assert found
            assert found.value == pytest.approx(synthetic.plain_truth(one.cell, arm), rel=1e-6)
            assert found.n == 4
        ratio = one.ratios["cuda"]
        assert isinstance(ratio, Ratio)
        truth = [synthetic.plain_truth(one.cell, arm) for arm in ("cuda", "cpu")]
        assert ratio.value == pytest.approx(truth[0] / truth[1], rel=1e-6)


def test_the_calibration_is_not_counted(campaign: Campaign, documents: list[Document]) -> None:
    slow = change(documents, "cpu", 0, samples_s=[1e6])
    assert find(summarise_these(campaign, slow), "cpu") == find(
        summarise_these(campaign, documents), "cpu"
    )


def test_the_mean_of_samples_and_the_geometric_mean_of_invocations(
    campaign: Campaign, documents: list[Document]
) -> None:
    for block, samples in enumerate(([1.0, 2.0, 3.0, 99.0], [4.0], [2.0], [2.0]), 1):
        documents = change(documents, "cpu", block, samples_s=samples)
    found = find(summarise_these(campaign, documents), "cpu").estimate
    assert found
    assert found.value == pytest.approx(statistics.geometric_mean([2.0, 4.0, 2.0, 2.0]))


def test_the_last_repeat_stands_for_its_block(
    campaign: Campaign, documents: list[Document]
) -> None:
    first = next(one for one in documents if one.invocation.block == 2)
    repeat = replace(first, invocation=replace(first.invocation, repeat=1))
    repeat = synthetic.change_cell(repeat, FENCE, samples_s=[3.0])
    index = documents.index(first)
    summary = summarise_these(campaign, [*documents[: index + 1], repeat, *documents[index + 1 :]])
    assert find(summary, "cpu").values[2] == 3.0


def test_two_invocations_have_no_interval(campaign: Campaign, documents: list[Document]) -> None:
    few = [one for one in documents if one.invocation.block <= 2]
    found = find(summarise_these(campaign, few), "cpu")
    assert found.estimate
    assert (found.low, codes(found.flags)) == (None, ["few-blocks"])


def test_why_there_is_no_number(campaign: Campaign, documents: list[Document]) -> None:
    def reason(
        changed: list[Document], plan: Campaign = campaign, arm: str = "cuda"
    ) -> tuple[str, str | None]:
        found = find(summarise_these(plan, changed), arm)
        assert found.estimate is None
        return found.outcome, word_missing(found)

    def lose(outcome: str, text: str | None) -> list[Document]:
        return [synthetic.lose_cell(one, FENCE, outcome, text) for one in documents]

    assert reason(lose("skipped", "too slow")) == ("skipped", "cuda: skipped: too slow")
    assert reason(lose("failed", "it broke")) == ("failed", "cuda: failed: it broke")
    assert reason(lose("pending", None)) == ("pending", "cuda: pending: not reached yet")
    missing = [replace(one, cells=one.cells[1:]) for one in documents]
    assert reason(missing) == ("pending", "cuda: pending: no block has tried it")
    assert reason([]) == ("pending", "cuda: pending: no block has run on this arm")
    excluded = {"cuda": {FENCE: Excluded(outcome="failed", reason="wrong result")}}
    plan = replace(campaign, excluded=excluded)
    assert reason(missing, plan) == ("failed", "cuda: failed in the calibration: wrong result")
    cells = [replace(one, arms=["gpu"]) for one in campaign.cells]
    plan = replace(campaign, cells=cells)
    assert reason([], plan, "cpu") == ("skipped", "cpu: skipped: means something on cuda only")


def test_reasons_of_different_blocks_and_of_the_container(
    campaign: Campaign, documents: list[Document]
) -> None:
    changed = []
    for one in documents:
        reason = "no memory" if one.invocation.block == 1 else "lost"
        document = synthetic.lose_cell(one, FENCE, "failed", reason)
        containers = [replace(c, status="out of memory") for c in document.invocation.containers]
        changed.append(
            replace(document, invocation=replace(document.invocation, containers=containers))
        )
    assert word_missing(find(summarise_these(campaign, changed), "cpu")) == (
        "cpu: block 1: failed: no memory (its container: out of memory); "
        "blocks 2, 3, 4: failed: lost (its container: out of memory)"
    )


def test_a_cell_that_is_missing_in_some_blocks(
    campaign: Campaign, documents: list[Document]
) -> None:
    documents = [
        synthetic.lose_cell(one, FENCE, "failed", "it broke")
        if one.invocation.block == 3 and one.invocation.arm == "cpu"
        else one
        for one in documents
    ]
    summary = summarise_these(campaign, documents)
    found = find(summary, "cpu")
    assert tell(found.flags) == ["cpu: measured in 3 of 4 blocks; failed in block 3: it broke"]
    ratio = summary.cells[0].ratios["cuda"]
    assert isinstance(ratio, Ratio)
    assert ratio.n == 3


@pytest.mark.parametrize(
    ("value", "tolerance", "agrees"),
    [(42.0, 0.0, True), (42.1, 0.01, True), (42.1, 0.001, False), (42.1, None, False)],
)
def test_results_must_agree(
    *,
    campaign: Campaign,
    documents: list[Document],
    value: float,
    tolerance: float | None,
    agrees: bool,
) -> None:
    documents = [
        synthetic.change_cell(one, FENCE, check=Check(what="a", value=42.0, tolerance=tolerance))
        for one in documents
    ]
    check = Check(what="a", value=value, tolerance=tolerance)
    summary = summarise_these(campaign, change(documents, "cuda", 2, check=check))
    for arm in ("cpu", "cuda"):
        found = find(summary, arm)
        assert (found.estimate is not None) == agrees
        assert found.outcome == "measured"
        assert agrees or "this was not the same work: cpu 42, cuda 42 to 42.1" in (
            word_missing(found) or ""
        )
    assert isinstance(summary.cells[0].ratios["cuda"], Ratio) == agrees
    assert agrees or summary.cells[0].ratios["cuda"] == raise_flag("no-number")


def test_no_common_block(campaign: Campaign, documents: list[Document]) -> None:
    kept = [
        one
        for one in documents
        if (one.invocation.arm == "cpu") == (one.invocation.block in {1, 2})
    ]
    assert summarise_these(campaign, kept).cells[0].ratios["cuda"] == raise_flag("no-common-block")


def test_doubts_about_an_arm(campaign: Campaign, documents: list[Document]) -> None:
    def notes(change_one: Document) -> tuple[str, ...]:
        changed = [*documents[:-1], change_one]
        summary = summarise_these(campaign, changed)
        return tuple(tell(find(summary, "cuda").flags))

    last = documents[-1]
    invocation = last.invocation
    assert notes(last) == ()
    image = replace(invocation.image, content="e" * 64)
    assert notes(replace(last, invocation=replace(invocation, image=image))) == (
        "cuda: the image changed during the campaign",
    )
    assert notes(replace(last, suite=replace(last.suite, content="e" * 64))) == (
        "the suite's measured part changed during the campaign",
    )
    assert notes(replace(last, facts={**last.facts, "gpu.0.driver": "1"})) == (
        "cuda: changed during the campaign: gpu.0.driver",
    )
    assert notes(replace(last, facts={**last.facts, "memory.free": 7})) == ()
    assert notes(replace(last, invocation=replace(invocation, isolation="none"))) == (
        "cuda: some invocations ran in a container and some did not",
    )
    limits = {**invocation.limits, "cpus": "0"}
    assert notes(replace(last, invocation=replace(invocation, limits=limits))) == (
        "cuda: the limits were not the same in every invocation",
    )


def test_doubts_about_a_cell(campaign: Campaign, documents: list[Document]) -> None:
    changed = change(documents, "cuda", 3, calls_per_sample=9, labels=["warm-up cap"])
    assert tell(find(summarise_these(campaign, changed), "cuda").flags) == [
        "cuda: the calls in a sample were not the same in every block",
        "warm-up cap (in 1 of 4 blocks)",
    ]


def test_banners(campaign: Campaign) -> None:
    none = synthetic.make_documents(campaign, isolation="none")
    assert codes(summarise_these(campaign, none).flags) == ["simulated", "not-containerized"]
    real = replace(campaign, simulated=False)
    assert codes(summarise_these(real, none).flags) == ["not-containerized"]
    assert summarise_these(real, []).flags == ()
    there = synthetic.make_documents(campaign)
    for value, said in {True: ["stand-in"], False: [], None: []}.items():
        found = [
            replace(one, facts={**one.facts, "gpu.simulated": value})
            if one.invocation.arm == "cuda"
            else one
            for one in there
        ]
        assert codes(summarise_these(real, found).flags) == said
    # A control that nobody compares is enough, and so is one document of all.
    only = replace(there[-1], facts={**there[-1].facts, "gpu.simulated": True})
    assert codes(summarise_these(real, [*there[:-1], only]).flags) == ["stand-in"]
    loaded = LoadedCampaign(folder="x", campaign=real, documents=there, controls=[only])
    assert codes(summarise(loaded).flags) == ["stand-in"]


def test_time_is_booked_once(campaign: Campaign, documents: list[Document]) -> None:
    document = documents[1]
    spent = itemise(document)
    assert spent["measure"] == pytest.approx(
        sum((cell.calls_per_sample or 0) * sum(cell.samples_s) for cell in document.cells)
    )
    assert spent["container_start"] == 0.8
    unsaid = {k: v for k, v in document.spent_s.items() if k != "container_start"}
    assert itemise(replace(document, spent_s=unsaid))["container_start"] == 0.8
    invocation = document.invocation
    running = [replace(one, ended=None) for one in invocation.containers]
    unended = replace(document, invocation=replace(invocation, containers=running))
    assert container_seconds(unended) == pytest.approx(container_seconds(document) - 0.5)


def test_deaths(documents: list[Document]) -> None:
    assert find_deaths(documents) == []
    killed = synthetic.kill_container(documents[1], FENCE, "killed by SIGKILL")
    death = find_deaths([killed])[0]
    assert (death.status, death.lost, death.replaced) == ("killed by SIGKILL", (FENCE,), True)
    assert death.restart_s == 0.8
    invocation = documents[1].invocation
    last: Container = replace(invocation.containers[0], status="out of memory")
    alone = replace(documents[1], invocation=replace(invocation, containers=[last]))
    assert [(one.status, one.replaced) for one in find_deaths([alone])] == [
        ("out of memory", False)
    ]


Files = dict[int, tuple[int | None, int | None]]
"""By block how many files CUDA's compile cache held before the start, and at the end."""


def fill_cache(documents: list[Document], files: Files) -> list[Document]:
    """The documents of the GPU's arm with what their cache held, where that is known of their block."""
    names = ("cuda.cache.at_start.files", "cuda.cache.at_end.files")
    return [
        replace(one, facts={**one.facts, **dict(zip(names, held, strict=True))})
        if one.invocation.arm == "cuda" and (held := files.get(one.invocation.block))
        else one
        for one in documents
    ]


@pytest.mark.parametrize("ends", [(24, 24), (24, 900), (None, 24), (24, None)])
def test_numbers_that_are_not_cold_say_nothing_of_compiling(
    campaign: Campaign, documents: list[Document], ends: tuple[int | None, int | None]
) -> None:
    """The driver compiles in the first call, which has a figure of its own; and on any GPU."""
    cache = {0: (0, 0), 1: (0, 24), 2: ends, 3: (24, 24), 4: (24, 24)}
    summary = summarise_these(campaign, fill_cache(documents, cache))
    plain = summarise_these(campaign, documents)
    for one in summary.cells:
        if one.cell.one_shot:
            continue
        for arm in campaign.arms:
            found, same = one.arms[arm], find(plain, arm, one.cell.id)
            assert found.flags == same.flags
            assert found.estimate == same.estimate


GREW = (
    "cuda: ptx-jit: cold figures include compiling kernels: the files that CUDA's compile cache gained "
    "are {}"
)
UNTOLD = (
    "whether cold figures of {} include compiling kernels is unknown: what CUDA's compile cache held is "
    "not told for the start and the end"
)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        # The calibration fills the cache, and does not count.
        ({0: (0, 24), 1: (24, 24), 2: (24, 24), 3: (24, 24), 4: (24, 24)}, []),
        (
            {0: (0, 0), 1: (0, 24), 2: (24, 24), 3: (24, 24), 4: (24, 24)},
            [GREW.format("24 in block 1")],
        ),
        # What it held before says nothing: a cache that is full can lack what is wanted now.
        (
            {1: (400, 400), 2: (400, 401), 3: (401, 401), 4: (401, 407)},
            [GREW.format("1 in block 2, 6 in block 4")],
        ),
        # One that starts empty and stays so was not needed.
        ({1: (0, 0), 2: (0, 0), 3: (0, 0), 4: (0, 0)}, []),
        # CUDA throws the oldest away where there is no more room.
        ({1: (400, 100), 2: (100, 100), 3: (100, 100), 4: (100, 100)}, []),
        (
            {1: (None, 24), 2: (24, 24), 3: (24, None), 4: (None, None)},
            ["cuda: " + UNTOLD.format("blocks 1, 3, 4")],
        ),
        (
            {1: (0, 24), 2: (24, None), 3: (24, 24), 4: (24, 24)},
            [f"{GREW.format('24 in block 1')}; {UNTOLD.format('block 2')}"],
        ),
        # Documents of a suite that did not look.
        ({}, []),
        ({4: (24, 25)}, [GREW.format("1 in block 4")]),
    ],
)
def test_cold_figures_say_whether_the_driver_had_to_compile(
    campaign: Campaign, documents: list[Document], files: Files, said: list[str]
) -> None:
    summary = summarise_these(campaign, fill_cache(documents, files))

    def cold(arm: str) -> list[list[str]]:
        first = find(summary, arm).first_call
        start = find(summary, arm, "overhead.startup/stage=import")
        assert first
        return [
            [note for note in tell(notes) if "cold" in note] for notes in (first.flags, start.flags)
        ]

    assert cold("cuda") == [said, said]
    assert cold("cpu") == [[], []]


def test_a_cache_that_was_not_looked_at_in_the_end_is_unknown(
    campaign: Campaign, documents: list[Document]
) -> None:
    """As where the container was lost: its document has the start alone."""
    told = fill_cache(documents, {1: (0, 24), 2: (24, 24), 3: (24, 24), 4: (24, 24)})
    lost = [
        replace(one, facts={k: v for k, v in one.facts.items() if "at_end" not in k})
        if one.invocation.block == 3
        else one
        for one in told
    ]
    start = find(summarise_these(campaign, lost), "cuda", "overhead.startup/stage=import")
    assert [note for note in tell(start.flags) if "cold" in note] == [
        f"{GREW.format('24 in block 1')}; {UNTOLD.format('block 3')}"
    ]


def test_what_a_first_container_compiled_before_it_died_counts(
    campaign: Campaign, documents: list[Document]
) -> None:
    """The document's own start is the last container's, which found all of it compiled."""
    told = fill_cache(documents, {1: (24, 24), 2: (24, 24), 3: (24, 24), 4: (24, 24)})

    def dies(document: Document, start: int | None) -> Document:
        (kept,) = document.invocation.containers
        dead = replace(kept, id="dead", facts={"cuda.cache.at_start.files": start})
        both = replace(document.invocation, containers=[dead, kept])
        return replace(document, invocation=both)

    def cold(start: int | None) -> list[str]:
        changed = [
            dies(one, start) if (one.invocation.arm, one.invocation.block) == ("cuda", 2) else one
            for one in told
        ]
        found = find(summarise_these(campaign, changed), "cuda", "overhead.startup/stage=import")
        return [note for note in tell(found.flags) if "cold" in note]

    assert cold(0) == [GREW.format("24 in block 2")]
    assert cold(24) == []
    # What the later one found, the first one can have made or not.
    assert cold(None) == [f"cuda: {UNTOLD.format('block 2')}"]
