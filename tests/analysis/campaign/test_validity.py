"""What does not count, what is INVALID, and that timing has no say in it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suite.analysis.campaign.summarise import Summary
from suite.analysis.campaign.validity import (
    OF_CELLS,
    asks_for_repeat,
    find_cell_disturbance,
    find_disturbance,
    find_labels,
)
from suite.analysis.campaign.verdicts import find_honest, is_input_only
from suite.analysis.result.cells import Outliers, tell_verdict
from suite.analysis.result.numbers import Verdict
from suite.analysis.statistics.outliers import classify_outliers, is_bimodal
from suite.cells.cell import Link
from suite.flags import KINDS, Flag, find_invalid, pick
from suite.model import FIRST_CALL, Document, Scalar
from suite.report.text.wording import name_banners, tell, word, word_invalid
from tests import synthetic
from tests.changes import Change, in_cell, invoke, plant, watch
from tests.rendering import render_markdown, study, sum_up

FENCE = "overhead.fence"
CELLS = [one for one in synthetic.make_cells() if one.scenario in {"overhead", "mlp"}]
CAMPAIGN = synthetic.make_campaign(blocks=6, cells=CELLS)
DOCUMENTS = synthetic.make_documents(CAMPAIGN, samples=60, calibration=False)
FIRST = DOCUMENTS[0]


def steal_cells(document: Document, count: int) -> Document:
    """The document with so many of its cells under steal."""
    for one in document.cells[:count]:
        document = synthetic.change_cell(document, one.id, evidence={"steal_share": 0.5})
    return document


def excluded(summary: Summary) -> list[Flag]:
    return list(pick(summary.flags, "excluded"))


def names(summary: Summary) -> set[str | None]:
    return {
        found.name if isinstance(found := tell_verdict(one.comparisons["cuda"]), Verdict) else None
        for one in summary.cells
    }


STOLEN = watch({"cpu.steal_share": 0.5})
BAD: dict[str, Scalar] = {"cpu.throttled_s": 0.1, "cpu.steal_share": 0.11, "gpu.is_named": False}
FINE: dict[str, Scalar] = {"cpu.throttled_s": 0, "cpu.steal_share": 0.1, "gpu.is_named": True}


@pytest.mark.parametrize("name", BAD)
def test_a_disturbed_invocation_is_set_aside(name: str) -> None:
    summary = sum_up(CAMPAIGN, plant(DOCUMENTS, watch({name: BAD[name]}), "cpu", 3))
    (flag,) = excluded(summary)
    assert flag.where == {"arm": "cpu", "block": 3, "repeat": 0}
    assert not flag.values["repeated"]
    assert flag.code in OF_CELLS
    result = summary.cells[0].arms["cpu"]
    assert sorted(result.values) == [1, 2, 4, 5, 6]
    assert any(word(flag) in note for note in tell(result.flags))
    assert not find_invalid(summary.flags)
    assert "INVALID" not in names(summary)
    for harmless in ({name: FINE[name]}, {name: None}, {}):
        assert not excluded(sum_up(CAMPAIGN, plant(DOCUMENTS, watch(harmless), "cpu", 3)))


def test_two_in_six_are_too_many() -> None:
    documents = plant(DOCUMENTS, STOLEN, "cpu", 2, 5)
    summary = sum_up(CAMPAIGN, documents)
    result = summary.cells[0].arms["cpu"]
    (flag,) = result.invalid
    assert (flag.code, flag.severity, flag.where["blocks"]) == ("steal", "invalid", (2, 5))
    assert word_invalid(result.invalid) == f"cpu: blocks 2, 5: {KINDS['steal'].text}"
    assert len(result.values) == 6
    assert summary.cells[0].arms["cuda"].invalid == ()
    assert names(summary) == {"INVALID"}
    assert not find_invalid(summary.flags)
    analysis = study(CAMPAIGN, documents)
    text = render_markdown(analysis)
    assert "~~" in text
    assert "✗" in text
    # An invalid number ends in trouble.
    assert (study(CAMPAIGN, DOCUMENTS).troubled, analysis.troubled) == (False, True)


def test_a_campaign_is_invalid_when_over_a_fifth_is_set_aside() -> None:
    documents = plant(DOCUMENTS, watch({"cpu.throttled_s": 2.0}), "cpu", 2, 5, 6)
    summary = sum_up(CAMPAIGN, documents)
    assert [one.code for one in find_invalid(summary.flags)] == ["set-aside"]
    assert names(summary) == {"INVALID"}
    assert "INVALID" in name_banners(summary.flags)
    assert "3 of 12 invocations" in render_markdown(study(CAMPAIGN, documents))


def test_an_interrupted_campaign_is_not_invalid_for_that() -> None:
    again = [invoke(repeat=1)(one) for one in DOCUMENTS if one.invocation.block <= 3]
    stopped = plant(DOCUMENTS, invoke(status="interrupted"), None, 1, 2, 3)
    summary = sum_up(CAMPAIGN, [*stopped, *again])
    assert [one.code for one in excluded(summary)] == ["interrupted"] * 6
    assert not find_invalid(summary.flags)


@pytest.mark.parametrize(
    "how", [STOLEN, lambda one: steal_cells(one, len(one.cells))], ids=["as a whole", "by cells"]
)
def test_a_repeat_takes_a_disturbed_ones_place_and_says_why(how: Change) -> None:
    second = next(one for one in DOCUMENTS if one.invocation.block == 2)
    changed = [*plant(DOCUMENTS, how, "cpu", 2), invoke(repeat=1)(second)]
    summary = sum_up(CAMPAIGN, changed)
    (flag,) = excluded(summary)
    assert (flag.code, flag.where["repeat"], flag.values["repeated"]) == ("steal", 0, True)
    assert len(summary.cells[0].arms["cpu"].values) == 6


def test_a_label_speaks_against_its_cell_only() -> None:
    labelled = plant(DOCUMENTS, in_cell(FENCE, labels=["cpu-quota"]), "cpu", 1)
    summary = sum_up(CAMPAIGN, labelled)
    counts = {one.cell.id: len(one.arms["cpu"].values) for one in summary.cells}
    assert counts.pop(FENCE) == 5
    assert set(counts.values()) == {6}


WORK = synthetic.make_cells()[0].work


def test_the_honest_twin_is_the_cell_that_is_named() -> None:
    honest, other = (synthetic.make_cell("made", "square", {"n": n}, WORK) for n in (9, 8))
    links = {"honest": [Link(to=honest.id, words="")]}
    extra = synthetic.make_cell("made", "extra", {}, WORK, extra_work=0.1, links=links)
    assert find_honest(extra, [honest, other]) == (honest, 1.1)
    assert find_honest(extra, [other]) is None
    assert find_honest(replace(extra, extra_work=None), [honest, other]) is None
    assert find_honest(honest, [honest, other]) is None


def test_input_only_cells_were_never_seen_on_a_gpu() -> None:
    pipeline = synthetic.make_cell("tfdata", "map", {}, WORK)
    assert is_input_only(pipeline, [{"CPU:0": 3}, {"CPU:0": 1}])
    for placements in ([{"CPU:0": 3}, {"CPU:0": 1, "GPU:0": 1}], [{}], []):
        assert not is_input_only(pipeline, placements)
    assert not is_input_only(synthetic.make_cell("matmul", "square", {}, WORK), [{"CPU:0": 3}])


EIGHT = [1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07]


@pytest.mark.parametrize(
    ("values", "mild", "far"),
    [
        (EIGHT, 0, 0),
        ([*EIGHT, 1.17], 1, 0),
        ([*EIGHT, 0.5, 9.0], 0, 2),
        ([1.0] * 8 + [2.0], 0, 0),
        ([1.0, 9.0], 0, 0),
    ],
)
def test_tukeys_fences(values: list[float], mild: int, far: int) -> None:
    assert classify_outliers(values) == Outliers(mild=mild, far=far, n=len(values))


TWENTY = [1 + 0.001 * i for i in range(20)]


@pytest.mark.parametrize(
    ("values", "two"),
    [
        (TWENTY, False),
        ([*TWENTY, *(1.2 * value for value in TWENTY)], True),
        ([*TWENTY, 1.5], False),
        ([1.0, 2.0] * 4, False),
        ([1.0, 2.0] * 10, True),
        ([1.0] * 20, False),
        ([1.0, 1.005] * 10, False),
    ],
)
def test_two_modes_are_seen_and_one_is_not(values: list[float], two: bool) -> None:
    assert is_bimodal(values) == two


ALONE = {"throttled_share": 0.0, "steal_share": 0.01, "foreign_cpus": 0.02, "own_cpus": 1.0}


@pytest.mark.parametrize(
    ("evidence", "disturbance", "labels"),
    [
        (ALONE, None, []),
        (dict.fromkeys(ALONE), None, []),
        ({**ALONE, "foreign_cpus": 0.9}, None, ["contended"]),
        ({**ALONE, "throttled_share": 0.3}, "cpu-quota", None),
        ({**ALONE, "steal_share": 0.2}, "steal", None),
    ],
)
def test_evidence_of_others_stands_beside_the_number_or_against_it(
    evidence: dict[str, float | None], disturbance: str | None, labels: list[str] | None
) -> None:
    cell = replace(FIRST.cells[0], evidence=dict(evidence))
    assert find_cell_disturbance(cell) == disturbance
    assert labels is None or [code for code, _ in find_labels(cell)] == labels


def test_time_that_no_sample_explains_is_a_stall_between_samples_or_within_one() -> None:
    steady = next(cell for cell in FIRST.cells if len(cell.samples_s) > 10)
    assert find_labels(steady) == []
    spent = {**steady.spent_s, "measure": steady.spent_s["measure"] + 3.0}
    calls = steady.calls_per_sample or 1
    paused = [*steady.samples_s[:-1], steady.samples_s[-1] + 3.0 / calls]
    for samples in (steady.samples_s, paused):
        one = replace(steady, samples_s=samples, spent_s=spent)
        assert [code for code, _ in find_labels(one)] == ["stalled"]


@pytest.mark.parametrize(
    ("samples", "first_s", "between_s", "stalled"),
    [
        # Its first call is no sample of its own, and takes as long or longer.
        ([9.0], 9.5, 0.0, False),
        ([0.8], 4.0, 0.0, False),
        ([0.4, 0.41, 0.4], 2.0, 0.0, False),
        ([28.0], 9.0, 0.0, True),
        ([0.4, 0.41, 2.0], 0.6, 0.0, True),
        ([9.0], 9.0, 0.6, True),
    ],
)
def test_a_slow_cells_stall_is_seen_beside_its_first_call(
    samples: list[float], first_s: float, between_s: float, *, stalled: bool
) -> None:
    slow = replace(
        next(cell for cell in FIRST.cells if len(cell.samples_s) > 10),
        warmup_status=FIRST_CALL,
        first_call_s=first_s,
        warmup_s=[],
        samples_s=samples,
        calls_per_sample=1,
        spent_s={"warmup": first_s, "measure": sum(samples) + between_s},
    )
    assert [code for code, _ in find_labels(slow)] == (["stalled"] if stalled else [])
    # One sample without a first call to hold it against, as of what happens once, tells of none.
    cold = replace(slow, warmup_status="cold")
    assert len(samples) > 1 or find_labels(cold) == []


def test_an_invocation_asks_to_be_repeated_where_most_of_it_was_disturbed() -> None:
    few = int(0.2 * len(FIRST.cells))
    assert asks_for_repeat(FIRST) is None
    assert asks_for_repeat(steal_cells(FIRST, few)) is None
    assert asks_for_repeat(steal_cells(FIRST, few + 1)) == "steal"
    assert asks_for_repeat(STOLEN(FIRST)) == "steal"


@pytest.mark.parametrize(
    ("name", "fault"), [("cpu.throttled_s", "cpu-quota"), ("gpu.is_named", "gpu-other")]
)
def test_what_stays_as_it_is_asks_for_no_repeat(name: str, fault: str) -> None:
    bad = watch({name: BAD[name]})(FIRST)
    assert find_disturbance(bad) == fault
    assert asks_for_repeat(bad) is None
