"""From documents to numbers, reasons and doubts."""

from __future__ import annotations

import statistics
from dataclasses import replace

import pytest

from suite.analysis.campaign.summarise import summarise
from suite.analysis.campaign.time_spent import find_deaths, itemise
from suite.analysis.result.cells import ArmResult, tell_ratio
from suite.analysis.result.numbers import Ratio
from suite.flags import raise_flag
from suite.model import Campaign, Check, Document, Excluded, container_seconds
from suite.report.text.wording import tell, word_missing
from tests import synthetic
from tests.changes import Change, drop, in_cell, invoke, lose, plant, swap_image
from tests.changes import tell as tell_facts
from tests.flagging import codes
from tests.rendering import load, sum_up

FENCE, START = "overhead.fence", "overhead.startup/stage=import"
CELLS = [one for one in synthetic.make_cells() if one.scenario == "overhead"]
CAMPAIGN = synthetic.make_campaign(blocks=4, cells=CELLS)
DOCUMENTS = synthetic.make_documents(CAMPAIGN, samples=60)
"""With enough samples to tell a steady state, so that there is no note about it."""

LAST = DOCUMENTS[-1]
"""Of cuda's block 4."""


def find(
    documents: list[Document], arm: str, name: str = FENCE, plan: Campaign = CAMPAIGN
) -> ArmResult:
    cells = sum_up(plan, documents).cells
    return next(one.arms[arm] for one in cells if one.cell.id == name)


def lose_fence(outcome: str, why: str | None) -> Change:
    return lose(FENCE, outcome, why)


def in_fence(**fields: object) -> Change:
    return in_cell(FENCE, **fields)


def test_the_truth_comes_out_of_a_silent_host() -> None:
    documents = synthetic.make_documents(CAMPAIGN, host=synthetic.SILENT)
    for one in sum_up(CAMPAIGN, documents).cells:
        truth = {arm: synthetic.plain_truth(one.cell, arm) for arm in CAMPAIGN.arms}
        for arm in CAMPAIGN.arms:
            found = one.arms[arm].estimate
            assert found
            assert (found.value, found.n) == (pytest.approx(truth[arm], rel=1e-6), 4)
        ratio = tell_ratio(one.comparisons["cuda"])
        assert isinstance(ratio, Ratio)
        assert ratio.value == pytest.approx(truth["cuda"] / truth["cpu"], rel=1e-6)


def test_the_calibration_is_not_counted() -> None:
    slow = plant(DOCUMENTS, in_fence(samples_s=[1e6]), "cpu", 0)
    assert find(slow, "cpu") == find(DOCUMENTS, "cpu")


def test_the_mean_of_samples_and_the_geometric_mean_of_invocations() -> None:
    documents = DOCUMENTS
    for block, samples in enumerate(([1.0, 2.0, 3.0, 99.0], [4.0], [2.0], [2.0]), 1):
        documents = plant(documents, in_fence(samples_s=samples), "cpu", block)
    found = find(documents, "cpu").estimate
    assert found
    assert found.value == pytest.approx(statistics.geometric_mean([2.0, 4.0, 2.0, 2.0]))


def test_the_last_repeat_stands_for_its_block() -> None:
    second = next(one for one in DOCUMENTS if one.invocation.block == 2)
    repeat = in_fence(samples_s=[3.0])(invoke(repeat=1)(second))
    assert find([*DOCUMENTS, repeat], "cpu").values[2] == 3.0


EXCLUDED = {"cuda": {FENCE: Excluded(outcome="failed", reason="wrong result")}}


LEFT_OUT = replace(CAMPAIGN, excluded=EXCLUDED)
LEFT_OUT_FIRST = replace(LEFT_OUT, calibrated_by=LEFT_OUT.id)
ON_GPUS = replace(CAMPAIGN, cells=[replace(one, arms=["gpu"]) for one in CELLS])


@pytest.mark.parametrize(
    ("how", "plan", "outcome", "why"),
    [
        (lose_fence("skipped", "too slow"), CAMPAIGN, "skipped", "cuda: skipped: too slow"),
        (lose_fence("failed", "it broke"), CAMPAIGN, "failed", "cuda: failed: it broke"),
        (lose_fence("pending", None), CAMPAIGN, "pending", "cuda: pending: not reached yet"),
        (drop(FENCE), CAMPAIGN, "pending", "cuda: pending: not attempted in any block"),
        (None, CAMPAIGN, "pending", "cuda: pending: no block has run on this arm"),
        (drop(FENCE), LEFT_OUT, "failed", "cuda: failed in the calibration: wrong result"),
        (drop(FENCE), LEFT_OUT_FIRST, "failed", "cuda: failed: wrong result"),
        (None, ON_GPUS, "skipped", "cpu: skipped: meaningful on cuda only"),
    ],
)
def test_why_there_is_no_number(how: Change | None, plan: Campaign, outcome: str, why: str) -> None:
    found = find(plant(DOCUMENTS, how) if how else [], why.partition(":")[0], plan=plan)
    assert found.estimate is None
    assert (found.outcome, word_missing(found)) == (outcome, why)


def test_reasons_of_different_blocks_and_of_the_container() -> None:
    def end(one: Document) -> Document:
        (last,) = one.invocation.containers
        lost = lose_fence("failed", "no memory" if one.invocation.block == 1 else "lost")(one)
        return invoke(containers=[replace(last, status="out of memory")])(lost)

    changed = list(map(end, DOCUMENTS))
    assert word_missing(find(changed, "cpu")) == (
        "cpu: block 1: failed: no memory (its container: out of memory); "
        "blocks 2, 3, 4: failed: lost (its container: out of memory)"
    )


def test_a_cell_that_is_missing_in_some_blocks() -> None:
    (cell, *_) = sum_up(
        CAMPAIGN, plant(DOCUMENTS, lose_fence("failed", "it broke"), "cpu", 3)
    ).cells
    told = tell(cell.arms["cpu"].flags)
    assert told == ["cpu: measured in 3 of 4 blocks; failed in block 3: it broke"]
    ratio = tell_ratio(cell.comparisons["cuda"])
    assert isinstance(ratio, Ratio)
    assert ratio.n == 3


@pytest.mark.parametrize(
    ("value", "tolerance", "agrees"),
    [(42.0, 0.0, True), (42.1, 0.01, True), (42.1, 0.001, False), (42.1, None, False)],
)
def test_results_must_agree(*, value: float, tolerance: float | None, agrees: bool) -> None:
    usual, other = (Check(what="a", value=v, tolerance=tolerance) for v in (42.0, value))
    documents = plant(DOCUMENTS, in_fence(check=usual))
    documents = plant(documents, in_fence(check=other), "cuda", 2)
    (cell, *_) = sum_up(CAMPAIGN, documents).cells
    for found in cell.arms.values():
        assert (found.estimate is not None) == agrees
        assert found.outcome == "measured"
        assert agrees or "this was not the same work: cpu 42, cuda 42 to 42.1" in (
            word_missing(found) or ""
        )
    assert isinstance(tell_ratio(cell.comparisons["cuda"]), Ratio) == agrees
    assert agrees or tell_ratio(cell.comparisons["cuda"]) == raise_flag("no-number")


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (LAST, []),
        (swap_image(content="e" * 64)(LAST), [("changed", "image")]),
        (replace(LAST, suite=replace(LAST.suite, content="e" * 64)), [("changed", "suite")]),
        (tell_facts({"gpu.0.driver": "1"})(LAST), [("changed", ["gpu.0.driver"])]),
        (tell_facts({"memory.free": 7})(LAST), []),
        (invoke(isolation="none")(LAST), [("isolation-differs", None)]),
        (invoke(limits={**LAST.invocation.limits, "cpus": "0"})(LAST), [("limits-differ", None)]),
        (
            in_fence(calls_per_sample=9, labels=["warm-up cap"])(LAST),
            [("calls-differ", None), ("warm-up-cap", None)],
        ),
    ],
)
def test_doubts_about_an_arm_and_a_cell(changed: Document, told: list[object]) -> None:
    flags = find([*DOCUMENTS[:-1], changed], "cuda").flags
    found = [(one.code, one.values.get("facts", one.values.get("what"))) for one in flags]
    assert found == told


def test_banners() -> None:
    none = synthetic.make_documents(CAMPAIGN, isolation="none")
    assert codes(sum_up(CAMPAIGN, none).flags) == ["simulated", "not-containerized"]
    real = replace(CAMPAIGN, simulated=False)
    assert codes(sum_up(real, none).flags) == ["not-containerized"]
    unseen = synthetic.make_documents(CAMPAIGN, isolation="unseen")
    assert codes(sum_up(real, unseen).flags) == ["container-unseen"]
    assert sum_up(real, []).flags == ()
    for value, said in {True: ["stand-in"], False: [], None: []}.items():
        found = plant(DOCUMENTS, tell_facts({"gpu.simulated": value}), "cuda", 1, 2, 3, 4)
        assert codes(sum_up(real, found).flags) == said
    # A control that nobody compares is enough, and so is one document of all.
    only = tell_facts({"gpu.simulated": True})(LAST)
    assert codes(sum_up(real, [*DOCUMENTS[:-1], only]).flags) == ["stand-in"]
    assert codes(summarise(load(real, DOCUMENTS, [only])).flags) == ["stand-in"]


def test_time_is_booked_once() -> None:
    document = DOCUMENTS[1]
    spent = itemise(document)
    assert spent["measure"] == pytest.approx(
        sum((cell.calls_per_sample or 0) * sum(cell.samples_s) for cell in document.cells)
    )
    assert spent["container_start"] == 0.8
    running = [replace(one, ended=None) for one in document.invocation.containers]
    unended = invoke(containers=running)(document)
    assert container_seconds(unended) == pytest.approx(container_seconds(document) - 0.5)


def test_deaths() -> None:
    assert find_deaths(DOCUMENTS) == []
    (death,) = find_deaths([synthetic.kill_container(DOCUMENTS[1], FENCE, "killed by SIGKILL")])
    assert (death.status, death.lost, death.replaced) == ("killed by SIGKILL", (FENCE,), True)
    assert death.restart_s == 0.8
    last = replace(DOCUMENTS[1].invocation.containers[0], status="out of memory")
    (death,) = find_deaths([invoke(containers=[last])(DOCUMENTS[1])])
    assert (death.status, death.replaced) == ("out of memory", False)


Files = dict[int, tuple[int | None, int | None]]
"""By block how many files CUDA's compile cache held before the start, and at the end."""


def fill_cache(files: Files) -> list[Document]:
    """The documents with what the cache of the GPU's arm held, where that is known of their block."""
    documents = DOCUMENTS
    for block, (start, end) in files.items():
        held = {"cuda.cache.at_start.files": start, "cuda.cache.at_end.files": end}
        documents = plant(documents, tell_facts(held), "cuda", block)
    return documents


Cold = tuple[list[tuple[int, int]], list[int]]
"""What the cache gained, with the block of each; and the blocks of which that is unknown."""


def cold(documents: list[Document], arm: str = "cuda") -> list[Cold]:
    """What speaks against an arm's two cold figures."""
    first, start = find(documents, arm).first_call, find(documents, arm, START)
    assert first
    told = [{k: v for flag in one.flags for k, v in flag.values.items()} for one in (first, start)]
    return [(one.get("grown", []), one.get("unknown", [])) for one in told]


FULL: Files = dict.fromkeys((1, 2, 3, 4), (24, 24))


@pytest.mark.parametrize(
    ("files", "grown", "unknown"),
    [
        # The calibration fills the cache, and does not count.
        ({0: (0, 24), **FULL}, [], []),
        ({0: (0, 0), **FULL, 1: (0, 24)}, [(24, 1)], []),
        # What it held before says nothing: a cache that is full can lack what is wanted now.
        ({1: (400, 400), 2: (400, 401), 3: (401, 401), 4: (401, 407)}, [(1, 2), (6, 4)], []),
        # CUDA throws the oldest away where there is no more room.
        ({1: (400, 100), 2: (100, 100), 3: (100, 100), 4: (100, 100)}, [], []),
        ({1: (None, 24), 2: (24, 24), 3: (24, None), 4: (None, None)}, [], [1, 3, 4]),
        ({**FULL, 1: (0, 24), 2: (24, None)}, [(24, 1)], [2]),
        # Documents of a suite that did not look.
        ({}, [], []),
    ],
)
def test_cold_figures_say_whether_the_driver_had_to_compile(
    files: Files, grown: list[tuple[int, int]], unknown: list[int]
) -> None:
    filled = fill_cache(files)
    assert cold(filled) == [(grown, unknown)] * 2
    assert cold(filled, "cpu") == [([], [])] * 2


def test_a_cache_that_was_not_looked_at_in_the_end_is_unknown() -> None:
    """As where the container was lost: its document has the start alone."""

    def forget(one: Document) -> Document:
        return replace(one, facts={k: v for k, v in one.facts.items() if "at_end" not in k})

    lost = plant(fill_cache({**FULL, 1: (0, 24)}), forget, "cuda", 3)
    assert cold(lost)[1] == ([(24, 1)], [3])
    (told,) = [one for one in tell(find(lost, "cuda", START).flags) if "cold" in one]
    assert told == (
        "cuda: ptx-jit: cold times include compiling kernels; new files in CUDA's compile cache: 24 in "
        "block 1; cold times of block 3 may or may not include compiling kernels: how many files CUDA's "
        "compile cache held was not recorded at the start and the end"
    )


@pytest.mark.parametrize(
    ("start", "told"),
    [
        (0, ([(24, 2)], [])),
        (24, ([], [])),
        # What the later one found, the first one can have made or not.
        (None, ([], [2])),
    ],
)
def test_what_a_first_container_compiled_before_it_died_counts(
    start: int | None, told: Cold
) -> None:
    """The document's own start is the last container's, which found all of it compiled."""

    def die(one: Document) -> Document:
        (kept,) = one.invocation.containers
        dead = replace(kept, id="dead", facts={"cuda.cache.at_start.files": start})
        return invoke(containers=[dead, kept])(one)

    assert cold(plant(fill_cache(FULL), die, "cuda", 2))[1] == told
