"""What does not count, what is INVALID, and that timing has no say in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from suite.analysis.analyse import analyse
from suite.analysis.campaign.controls import find_floor, find_honest, is_input_only
from suite.analysis.campaign.summarise import Summary, summarise
from suite.analysis.campaign.validity import (
    COUNTERS,
    OF_CELLS,
    asks_for_repeat,
    find_cell_disturbance,
    find_disturbance,
    find_labels,
)
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.numbers.shape import classify_outliers, is_bimodal
from suite.analysis.numbers.stopping import Precision, assess, is_precise
from suite.analysis.result.cells import Outliers
from suite.analysis.result.numbers import Estimate, Verdict
from suite.flags import KINDS, find_invalid, pick, raise_flag
from suite.model import Campaign, Document, Scalar, Telemetry
from suite.report.text.wording import name_banners, tell, word, word_invalid
from tests import synthetic
from tests.rendering import collate, render_markdown

FENCE = "overhead.fence"


@pytest.fixture
def campaign() -> Campaign:
    cells = [one for one in synthetic.make_cells() if one.scenario in {"overhead", "mlp"}]
    return synthetic.make_campaign(blocks=6, cells=cells)


@pytest.fixture
def documents(campaign: Campaign) -> list[Document]:
    return synthetic.make_documents(campaign, samples=60, calibration=False)


def summarise_these(campaign: Campaign, documents: list[Document]) -> Summary:
    return summarise(LoadedCampaign(folder="made-up", campaign=campaign, documents=documents))


def watch(document: Document, facts: dict[str, Scalar]) -> Document:
    """The document with telemetry that found these facts."""
    return replace(document, telemetry=Telemetry(started=document.invocation.started, facts=facts))


def disturb(
    documents: list[Document], telemetry: dict[str, Scalar], *blocks: int, arm: str = "cpu"
) -> list[Document]:
    return [
        watch(one, telemetry)
        if one.invocation.block in blocks and one.invocation.arm == arm
        else one
        for one in documents
    ]


def names(summary: Summary) -> set[str | None]:
    return {
        found.name if isinstance(found := one.verdicts["cuda"], Verdict) else None
        for one in summary.cells
    }


BAD: dict[str, Scalar] = {
    "cpu.throttled_s": 0.1,
    "cpu.steal_share": 0.11,
    "gpu.is_named": False,
}
FINE: dict[str, Scalar] = {
    "cpu.throttled_s": 0,
    "cpu.steal_share": 0.1,
    "gpu.is_named": True,
}


@pytest.mark.parametrize("name", [name for name, _, _ in COUNTERS])
def test_a_disturbed_invocation_is_set_aside(
    campaign: Campaign, documents: list[Document], name: str
) -> None:
    summary = summarise_these(campaign, disturb(documents, {name: BAD[name]}, 3))
    (flag,) = pick(summary.flags, "excluded")
    assert flag.where == {"arm": "cpu", "block": 3, "repeat": 0}
    assert not flag.values["repeated"]
    assert flag.code in OF_CELLS
    result = summary.cells[0].arms["cpu"]
    assert sorted(result.values) == [1, 2, 4, 5, 6]
    assert any(word(flag) in note for note in tell(result.flags))
    assert not find_invalid(summary.flags)
    assert "INVALID" not in names(summary)
    for harmless in ({name: FINE[name]}, {name: None}, {}):
        assert not pick(
            summarise_these(campaign, disturb(documents, harmless, 3)).flags, "excluded"
        )


def test_two_in_six_are_too_many(campaign: Campaign, documents: list[Document]) -> None:
    summary = summarise_these(campaign, disturb(documents, {"cpu.steal_share": 0.5}, 2, 5))
    result = summary.cells[0].arms["cpu"]
    (flag,) = result.invalid
    assert (flag.code, flag.severity, flag.where["blocks"]) == ("steal", "invalid", (2, 5))
    assert word_invalid(result.invalid) == f"cpu: blocks 2, 5: {KINDS['steal'].text}"
    assert len(result.values) == 6
    assert summary.cells[0].arms["cuda"].invalid == ()
    assert names(summary) == {"INVALID"}
    text = render_markdown(analyse(summary.loaded))
    assert "~~" in text
    assert "✗" in text
    assert not find_invalid(summary.flags)


def test_a_campaign_is_invalid_when_over_a_fifth_is_set_aside(
    campaign: Campaign, documents: list[Document]
) -> None:
    changed = disturb(documents, {"cpu.throttled_s": 2.0}, 2, 5, 6)
    summary = summarise_these(campaign, changed)
    assert [one.code for one in find_invalid(summary.flags)] == ["set-aside"]
    assert names(summary) == {"INVALID"}
    assert "INVALID" in name_banners(summary.flags)
    assert "3 of 12 invocations" in render_markdown(analyse(summary.loaded))


def test_an_interrupted_campaign_is_not_invalid_for_that(
    campaign: Campaign, documents: list[Document]
) -> None:
    repeats = [
        replace(one, invocation=replace(one.invocation, repeat=1))
        for one in documents
        if one.invocation.block <= 3
    ]
    stopped = [
        replace(one, invocation=replace(one.invocation, status="interrupted"))
        if one.invocation.block <= 3
        else one
        for one in documents
    ]
    summary = summarise_these(campaign, [*stopped, *repeats])
    assert {one.code for one in pick(summary.flags, "excluded")} == {"interrupted"}
    assert len(pick(summary.flags, "excluded")) == 6
    assert not find_invalid(summary.flags)


def test_a_repeat_takes_a_disturbed_ones_place(
    campaign: Campaign, documents: list[Document]
) -> None:
    changed = disturb(documents, {"cpu.steal_share": 0.5}, 2)
    second = next(one for one in changed if one.invocation.block == 2)
    repeat = replace(second, invocation=replace(second.invocation, repeat=1), telemetry=None)
    summary = summarise_these(campaign, [*changed, repeat])
    assert [(one.code, one.values["repeated"]) for one in pick(summary.flags, "excluded")] == [
        ("steal", True)
    ]
    assert len(summary.cells[0].arms["cpu"].values) == 6


def test_a_label_speaks_against_its_cell_only(
    campaign: Campaign, documents: list[Document]
) -> None:
    changed = [
        synthetic.change_cell(one, FENCE, labels=["cpu-quota"]) if i == 0 else one
        for i, one in enumerate(documents)
    ]
    summary = summarise_these(campaign, changed)
    counts = {one.cell.id: len(one.arms["cpu"].values) for one in summary.cells}
    assert counts.pop(FENCE) == 5
    assert set(counts.values()) == {6}


def test_an_invalid_campaign_ends_in_trouble(
    campaign: Campaign, documents: list[Document], tmp_path: Path
) -> None:
    sound = synthetic.write_campaign(tmp_path / "sound", campaign, documents)
    assert not collate(sound).analysis.troubled
    changed = disturb(documents, {"cpu.steal_share": 0.5}, 2, 5)
    assert collate(
        synthetic.write_campaign(tmp_path / "stolen", campaign, changed)
    ).analysis.troubled


def test_contended_is_a_label(campaign: Campaign, documents: list[Document]) -> None:
    summary = summarise_these(campaign, disturb(documents, {"cpu.steal_share": 0.05}, 1, 2))
    assert not pick(summary.flags, "excluded")
    assert "cpu: contended in blocks 1, 2" in tell(summary.cells[0].arms["cpu"].flags)


def test_no_timing_sets_anything_aside(campaign: Campaign, documents: list[Document]) -> None:
    slow = synthetic.change_cell(documents[0], FENCE, samples_s=[1e3] * 60)
    summary = summarise_these(campaign, [slow, *documents[1:]])
    assert not pick(summary.flags, "excluded")
    assert len(summary.cells[0].arms["cpu"].values) == 6


def test_a_changed_image_makes_the_arm_invalid(
    campaign: Campaign, documents: list[Document]
) -> None:
    last = documents[-1]
    image = replace(last.invocation.image, content="e" * 64)
    changed = [*documents[:-1], replace(last, invocation=replace(last.invocation, image=image))]
    summary = summarise_these(campaign, changed)
    assert summary.cells[0].arms["cuda"].invalid
    assert summary.cells[0].arms["cpu"].invalid == ()
    assert names(summary) == {"INVALID"}


def test_a_quick_campaign_gives_no_verdicts(documents: list[Document]) -> None:
    campaign = synthetic.make_campaign(blocks=6, profile="quick")
    made = synthetic.make_documents(campaign, samples=60)
    summary = summarise_these(campaign, made)
    missing = raise_flag("provisional", profile="quick")
    assert all(one.verdicts["cuda"] == missing for one in summary.cells)
    assert "No verdicts of cuda against cpu: no verdict" in render_markdown(analyse(summary.loaded))


def test_the_honest_twin_is_the_cell_that_is_named() -> None:
    work = synthetic.make_cells()[0].work
    honest = synthetic.make_cell("matmul", "square", {"n": 9}, work)
    cells = [honest, synthetic.make_cell("matmul", "square", {"n": 8}, work)]

    def find(**params: str | int) -> object:
        return find_honest(synthetic.make_cell("matmul", "extra", params, work), cells)

    assert find(n=9) == (honest, 1.05)
    assert find(n=9, extra=10) == (honest, 1.1)
    assert find(n=7) is None
    assert find(n=9, extra="much") is None
    assert find_honest(honest, cells) is None


def test_input_only_cells_were_never_seen_on_a_gpu() -> None:
    work = synthetic.make_cells()[0].work
    pipeline = synthetic.make_cell("tfdata", "map", {}, work)
    assert is_input_only(pipeline, [{"CPU:0": 3}, {"CPU:0": 1}])
    assert not is_input_only(pipeline, [{"CPU:0": 3}, {"CPU:0": 1, "GPU:0": 1}])
    assert not is_input_only(pipeline, [{}])
    assert not is_input_only(pipeline, [])
    assert not is_input_only(synthetic.make_cell("matmul", "square", {}, work), [{"CPU:0": 3}])


def test_there_is_no_floor_without_twins() -> None:
    assert find_floor([]) is None


def estimate(half: float) -> Estimate:
    return Estimate(value=1.0, low=1 / (1 + half), high=1 + half, n=5)


def test_precision_is_about_widths() -> None:
    narrow, wide = estimate(0.0199), estimate(0.0201)
    assert is_precise([narrow, narrow], [])
    assert not is_precise([narrow, wide], [])
    assert not is_precise([], [])
    assert not is_precise([Estimate(value=1.0, low=None, high=None, n=2)], [])
    assert not assess([]).enough
    assert assess([([narrow], [])] * 19 + [([wide], [])]) == Precision(precise=19, cells=20)
    assert assess([([narrow], [])] * 19 + [([wide], [])]).enough
    assert not assess([([narrow], [])] * 18 + [([wide], [])] * 2).enough
    assert assess([([narrow], []), ([], [])]).cells == 1


def test_tukeys_fences() -> None:
    values = [1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07]
    assert classify_outliers(values) == Outliers(mild=0, far=0, n=8)
    assert classify_outliers([*values, 1.17]) == Outliers(mild=1, far=0, n=9)
    assert classify_outliers([*values, 0.5, 9.0]) == Outliers(mild=0, far=2, n=10)
    assert classify_outliers([1.0] * 8 + [2.0]) == Outliers(mild=0, far=0, n=9)
    assert classify_outliers([1.0, 9.0]) == Outliers(mild=0, far=0, n=2)


def test_two_modes_are_seen_and_one_is_not() -> None:
    one = [1 + 0.001 * i for i in range(20)]
    assert not is_bimodal(one)
    assert is_bimodal([*one, *(1.2 * value for value in one)])
    assert not is_bimodal([*one, 1.5])
    assert not is_bimodal([1.0, 2.0] * 4)
    assert is_bimodal([1.0, 2.0] * 10)
    assert not is_bimodal([1.0] * 20)
    assert not is_bimodal([1.0, 1.005] * 10)


def test_evidence_of_others_stands_beside_the_number_or_against_it(
    documents: list[Document],
) -> None:
    (quiet, *_) = documents[0].cells
    alone = {"throttled_share": 0.0, "steal_share": 0.01, "foreign_cpus": 0.02, "own_cpus": 1.0}
    calm = replace(quiet, evidence=dict(alone))
    assert (find_cell_disturbance(calm), find_labels(calm)) == (None, [])
    unknown = replace(quiet, evidence=dict.fromkeys(alone))
    assert (find_cell_disturbance(unknown), find_labels(unknown)) == (None, [])
    beside = replace(quiet, evidence={**alone, "foreign_cpus": 0.9})
    assert find_cell_disturbance(beside) is None
    assert [code for code, _ in find_labels(beside)] == ["contended"]
    assert (
        find_cell_disturbance(replace(quiet, evidence={**alone, "throttled_share": 0.3}))
        == "cpu-quota"
    )
    assert find_cell_disturbance(replace(quiet, evidence={**alone, "steal_share": 0.2})) == "steal"


def test_time_that_no_sample_explains_is_a_stall_between_samples_or_within_one(
    documents: list[Document],
) -> None:
    steady = next(one for one in documents[0].cells if len(one.samples_s) > 10)
    assert find_labels(steady) == []
    spent = {**steady.spent_s, "measure": steady.spent_s["measure"] + 3.0}
    between = replace(steady, spent_s=spent)
    calls = steady.calls_per_sample or 1
    paused = [*steady.samples_s[:-1], steady.samples_s[-1] + 3.0 / calls]
    within = replace(steady, samples_s=paused, spent_s=spent)
    for one in (between, within):
        assert [code for code, _ in find_labels(one)] == ["stalled"]


def steal_cells(document: Document, count: int) -> Document:
    """The document with so many of its cells under steal."""
    for one in document.cells[:count]:
        document = synthetic.change_cell(document, one.id, evidence={"steal_share": 0.5})
    return document


def test_an_invocation_asks_to_be_repeated_where_most_of_it_was_disturbed(
    documents: list[Document],
) -> None:
    one = documents[0]
    few = int(0.2 * len(one.cells))
    assert asks_for_repeat(one) is None
    assert asks_for_repeat(steal_cells(one, few)) is None
    assert asks_for_repeat(steal_cells(one, few + 1)) == "steal"
    assert asks_for_repeat(watch(one, {"cpu.steal_share": 0.5})) == "steal"


def test_what_stays_as_it_is_asks_for_no_repeat(documents: list[Document]) -> None:
    for name, fault in (("cpu.throttled_s", "cpu-quota"), ("gpu.is_named", "gpu-other")):
        bad = watch(documents[0], {name: BAD[name]})
        assert find_disturbance(bad) == fault
        assert asks_for_repeat(bad) is None


def test_a_repeat_says_why_the_first_gave_way(
    campaign: Campaign, documents: list[Document]
) -> None:
    index = next(i for i, one in enumerate(documents) if one.invocation.block == 2)
    bad = steal_cells(documents[index], len(documents[index].cells))
    repeat = replace(documents[index], invocation=replace(documents[index].invocation, repeat=1))
    changed = [*documents[:index], bad, repeat, *documents[index + 1 :]]
    (flag,) = pick(summarise_these(campaign, changed).flags, "excluded")
    assert (flag.code, flag.where["repeat"], flag.values["repeated"]) == ("steal", 0, True)


def test_a_gpu_that_was_lost_takes_its_invocation_with_it(
    campaign: Campaign, documents: list[Document]
) -> None:
    changed = [
        replace(one, facts={**one.facts, "gpu.at_end": "no answer"})
        if (one.invocation.arm, one.invocation.block) == ("cuda", 2)
        else replace(one, facts={**one.facts, "gpu.at_end": "fine"})
        for one in documents
    ]
    summary = summarise_these(campaign, changed)
    assert [(one.code, one.where) for one in pick(summary.flags, "excluded")] == [
        ("gpu-lost", {"arm": "cuda", "block": 2, "repeat": 0})
    ]
    assert sorted(summary.cells[0].arms["cuda"].values) == [1, 3, 4, 5, 6]
