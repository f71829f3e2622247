"""The sentences that a report opens with: who wins, where, how far, how sure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from msgspec import structs

from suite.analysis.result.arms import Spent
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import ArmResult, CellAnalysis, set_down
from suite.analysis.result.findings import Finding, RuleName
from suite.analysis.result.numbers import Crossover, Ratio, Verdict, VerdictName, cite
from suite.analysis.statistics.crossover import find_reach, find_sweeps, pick_main
from suite.cells.traits import ProfileName
from suite.flags import raise_flag
from suite.model import Campaign, Document
from suite.report.pages.campaign import compose, compose_brief
from suite.report.render.markdown import render_page
from suite.report.render.terminal import render_lines
from suite.report.sections.causes import describe_improvements, describe_losses
from suite.report.sections.opening import account, list_by_family, warn
from suite.report.sections.verdict import (
    tell_comparison,
    tell_crossovers,
    tell_extremes,
    tell_settling,
    tell_sureness,
    write_crossovers,
)
from suite.report.text.crossovers import name_sweep, word_crossover, word_reach
from suite.report.text.page import Page
from tests import synthetic
from tests.changes import lose, plant
from tests.rendering import study, sum_up
from tests.report.campaigns import NO_NUMBER, NOTHING, SWEEPS, analyse_made, change_cells, judged


@cache
def make_campaign() -> tuple[Campaign, list[Document]]:
    campaign = synthetic.make_campaign(blocks=3)
    return campaign, synthetic.make_documents(campaign, samples=2)


def lose_on_cuda(outcome: str, *whys: str) -> Analysis:
    """A campaign whose first cells have no number on cuda, each for its reason."""
    campaign, documents = make_campaign()
    for cell, why in zip(campaign.cells, whys, strict=False):
        documents = plant(documents, lose(cell.id, outcome, why), "cuda")
    return study(campaign, documents)


def test_an_arm_that_computes_wrongly_is_the_first_thing_said() -> None:
    why = "the loss is 0.495 where NumPy's reference is 0.0063 (step 20)"
    summary = lose_on_cuda("failed", f"wrong result: {why}")
    first = summary.cells[0]
    words = f"cuda GIVES WRONG RESULTS: 1 cell without a number, the first {first.id}: {why}."
    assert warn(summary)[0] == words
    assert not any("WRONG" in sentence for sentence in warn(lose_on_cuda("failed")))
    assert first.arms["cpu"].estimate is not None
    assert first.arms["cuda"].estimate is None


def test_verdicts_are_counted_in_one_sentence() -> None:
    summary = judged("FASTER", "FASTER", "SLOWER", "EQUIVALENT", "INCONCLUSIVE", "INVALID")
    rest = len(summary.cells) - 6
    assert tell_comparison(summary, "cuda") == (
        "Of 5 cells of work cuda is faster than cpu in 2 and slower in 1, equivalent in 1, inconclusive in "
        f"1; 1 more cell INVALID; {rest} more cells without a verdict."
    )
    assert tell_comparison(judged("EQUIVALENT", "INCONCLUSIVE"), "cuda").startswith(
        "Of 2 cells of work cuda is shown to differ from cpu in none: equivalent in 1, inconclusive in 1; "
    )
    assert "all 2 comparisons are INVALID" in tell_comparison(judged("INVALID", "INVALID"), "cuda")
    assert "the only comparison is INVALID" in tell_comparison(judged("INVALID"), "cuda")
    none = change_cells(judged("FASTER"), lambda _, __: {"role": "overhead"})
    assert tell_comparison(none, "cuda") == (
        "cuda against cpu: no cell of work was chosen, so there is no winner."
    )


def take_apart(analysis: Analysis, *places: int) -> Analysis:
    """The analysis with these cells as stages of a script."""
    return change_cells(analysis, lambda place, _: {"staged": place in places})


def test_scripts_that_are_taken_apart_are_told_apart() -> None:
    summary = judged("FASTER", "FASTER", "SLOWER", "SLOWER", "EQUIVALENT", "INVALID")
    words = "that are steps of people's scripts"
    sentence = tell_comparison(take_apart(summary, 0, 3, 5), "cuda")
    assert sentence.endswith(f" Without the 2 {words} it is faster in 1 and slower in 1.")
    (extremes,) = tell_extremes(take_apart(summary, 0, 3, 5), "cuda")
    win, loss = (summary.cells[place].id.partition("/precision")[0] for place in (1, 2))
    assert extremes.startswith(f"Scripts apart, cuda's largest win is at {win}")
    assert f"its largest loss is at {loss}" in extremes
    # Without one, or with nothing else, there is nothing to tell apart.
    every = range(len(summary.cells))
    for places in ((), every, (5,)):
        assert words not in tell_comparison(take_apart(summary, *places), "cuda")
    (extremes,) = tell_extremes(take_apart(summary, *every), "cuda")
    assert extremes.startswith("cuda's largest win is at ")


def test_without_verdicts_there_are_hints_or_not_even_those() -> None:
    quick = analyse_made(profile="quick")
    sentence = tell_comparison(quick, "cuda")
    assert sentence.startswith(
        "cuda against cpu: no verdicts; intervals that exclude 1 are hints, not findings"
    )
    assert "of 16 cells faster in" in sentence
    short = analyse_made(blocks=2)
    assert "not even a hint" in tell_comparison(short, "cuda")


def test_the_largest_win_and_loss_are_among_the_cells_that_are_called_so() -> None:
    summary = judged("FASTER", "FASTER", "SLOWER", "SLOWER", "EQUIVALENT")
    names = [cell.id.partition("/precision")[0] for cell in summary.cells]
    (sentence,) = tell_extremes(summary, "cuda")
    assert sentence.startswith(f"cuda's largest win is at {names[0]}: cuda 10× faster (9")
    assert f"; its largest loss is at {names[3]}: cuda 8.0× slower (7" in sentence
    assert "median" not in sentence
    (sentence,) = tell_extremes(judged("SLOWER"), "cuda")
    assert sentence.startswith("cuda's largest loss is at ")
    assert tell_extremes(judged("EQUIVALENT"), "cuda") == []
    # Of three or more the median stands beside the largest.
    (sentence,) = tell_extremes(judged("FASTER", "FASTER", "FASTER", "SLOWER", "SLOWER"), "cuda")
    (shown,) = re.findall(r"in the median of 3 such cells ([\d.]+)×; its largest loss", sentence)
    assert float(shown) == pytest.approx(1 / 0.11, rel=0.01)


def settle(*blocks: int | None) -> list[str]:
    """What is told of cells that so many blocks would decide, after three blocks that took an hour."""
    open_: Sequence[VerdictName] = ["INCONCLUSIVE"] * len(blocks)
    summary = judged(*open_, "EQUIVALENT", "FASTER", blocks=blocks)
    spent = dict.fromkeys(summary.arms, Spent(total_s=1800.0, kinds={}))
    return list(tell_settling(structs.replace(summary, spent=spent), "cuda"))


@pytest.mark.parametrize(
    ("blocks", "which", "wanted", "time"),
    [
        # A block of both takes a quarter of the hour: there was a calibration, too.
        ([5], "The inconclusive cell", 5, "30 min 00 s"),
        ([None, 4, 20], "Of the 3 inconclusive cells 2", 20, "4 h 15 min"),
        ([4, 20, 20], "All 3 inconclusive cells", 20, "4 h 15 min"),
    ],
)
def test_what_would_settle_half_of_what_is_open(
    blocks: Sequence[int | None], which: str, wanted: int, time: str
) -> None:
    settled = f"should be settled by BLOCKS={wanted} instead of 3, in about {time} more."
    assert settle(*blocks) == [f"{which} {settled}"]


def test_nothing_is_said_to_settle_what_is_not_open_or_too_noisy() -> None:
    assert settle() == []
    words = "More blocks would not settle most of the inconclusive cells: the noise is too large."
    assert settle(None, 4, None) == [words]


@pytest.mark.parametrize(
    ("crossover", "words"),
    [
        (
            Crossover(
                answer="crosses", low=10, high=500, rising=True, wins=(500, 4000), loses=(1, 10)
            ),
            "cpu wins at n = 1 to 10; cuda wins at n = 500 to 4000",
        ),
        (
            Crossover(answer="crosses", low=2, high=8, wins=(2,), loses=(8,), undecided=(1, 4)),
            "cuda wins at n = 2; cpu wins at n = 8; no clear winner at n = 1, 4",
        ),
        (Crossover(answer="always", wins=(1, 2)), "cuda wins at every n"),
        (Crossover(answer="never", loses=(1, 2)), "cpu wins at every n"),
        (Crossover(answer="equal", equal=(1, 2)), "cuda and cpu are equivalent at every n"),
        (
            Crossover(answer="not monotone", wins=(2,), loses=(1, 4)),
            "cuda wins at n = 2; cpu wins at n = 1, 4",
        ),
        (
            Crossover(answer="undecided", wins=(4,), equal=(1,)),
            "cuda wins at n = 4; equivalent at n = 1",
        ),
        (Crossover(answer="undecided", undecided=(1, 2)), "no clear winner at any n"),
    ],
)
def test_a_crossover_in_words(crossover: Crossover, words: str) -> None:
    assert word_crossover(crossover, "n", "cuda", "cpu") == words


def test_main_sweeps_are_told_and_named_by_what_differs() -> None:
    summary = analyse_made()
    sentences = tell_crossovers(summary, "cuda")
    assert [sentence.partition(" cpu wins")[0] for sentence in sentences] == [
        *("In matmul.square", "In mlp.train (net=A)", "In mlp.train (net=B)"),
    ]
    sweep = summary.sweeps[1]
    assert name_sweep(sweep, [sweep]) == "mlp.train"


def test_the_longest_sweep_of_a_case_and_network_is_the_main_one() -> None:
    cells = list(SWEEPS)
    short = [
        replace(cell, id=f"{cell.id}!", params={**cell.params, "precision": "tf32"})
        for cell in cells[5:8]
    ]
    others = [replace(cell, id=f"{cell.id}?", case="width", headline=None) for cell in cells]
    sweeps = pick_main(find_sweeps([*short, *cells, *others]))
    assert [(sweep.case, sweep.fixed["precision"], len(sweep.cells)) for sweep in sweeps] == [
        ("square", "fp32", 8),
        ("train", "fp32", 5),
        ("train", "fp32", 3),
    ]


def test_a_reach_counts_valid_numbers_only() -> None:
    campaign = synthetic.make_campaign(cells=list(SWEEPS), blocks=3, arms=["cpu"])
    cells = sum_up(campaign, synthetic.make_documents(campaign, samples=2)).cells
    (sweep, *_) = find_sweeps(campaign.cells)
    names = [cell.id for cell in sweep.cells]

    def change(
        results: dict[str, ArmResult], which: list[str], **fields: Any
    ) -> dict[str, ArmResult]:
        return results | {name: structs.replace(results[name], **fields) for name in which}

    every = {cell.cell.id: cell.arms["cpu"] for cell in cells}
    valid = change(every, names[5:], flags=(raise_flag("steal", severity="invalid"),))
    reach = find_reach(sweep, valid)
    assert reach
    assert reach.best_at == 256
    assert "up to n = 10" in word_reach(reach)
    reach = find_reach(sweep, change(valid, names[:2], **NO_NUMBER))
    assert reach
    assert reach.short_until is None
    assert "under a tenth" not in word_reach(reach)
    assert find_reach(sweep, change(valid, names[:4], **NO_NUMBER)) is None


def test_the_intervals_of_a_short_profile_are_provisional() -> None:
    *_, last = tell_sureness(analyse_made(profile="quick"))
    assert last == "The intervals of the profile quick are provisional."


@pytest.mark.parametrize(
    ("profile", "floor", "says"),
    [("standard", 0.068, True), ("standard", None, False), ("quick", 0.068, False)],
)
def test_what_counts_is_told_apart_from_the_noise_floor(
    profile: ProfileName, floor: float | None, says: bool
) -> None:
    """The one is a threshold and the other none; without verdicts nothing counts."""
    analysis = structs.replace(analyse_made(profile=profile), noise_floor=floor, margin=0.02)
    text = " ".join(tell_sureness(analysis))
    counts = "counts where its adjusted p is under 0.04 (0.01 of cells that are not work)"
    assert (f"A difference {counts} and it exceeds 2.0 %." in text) == says
    assert ("differ by under 6.8 % in 19 of 20 cases (the noise floor); that is no" in text) == says


def family_of(analysis: Analysis, name: str) -> list[str]:
    """The ends that the small table has for a family."""
    rows = list_by_family(analysis, named=False)
    return next([*row.values()] for row in rows if row["family"] == name)[-2:]


def test_the_small_table_has_the_ends_that_verdicts_carry_and_of_work_alone() -> None:
    analysis = judged("FASTER", "FASTER", "SLOWER", "SLOWER")
    family = analysis.cells[0].scenario
    slower, faster = family_of(analysis, family)
    assert slower.startswith("cuda 8.0× slower (7")
    assert faster.startswith("cuda 10× faster (9")
    # The same ratios, none of them judged to differ.
    equal = judged(*["INCONCLUSIVE"] * len(analysis.cells))
    assert family_of(equal, family) == ["none", "none"]
    priced = change_cells(analysis, lambda *_: {"role": "overhead"})
    assert family_of(priced, family) == ["–", "–"]
    # Two blocks are not judged: then the ratios alone.
    assert "×" in family_of(analyse_made(blocks=2), family)[0]


def test_a_sweep_that_one_arm_alone_measured_is_in_no_sentence_and_no_table() -> None:
    analysis = judged("FASTER", "SLOWER")
    sweep, *_ = analysis.main_sweeps
    row = f"| {sweep.scenario}.{sweep.case} |"

    none = {"comparisons": {"cuda": NOTHING}}
    alone = change_cells(analysis, lambda _, cell: none if cell.id in sweep.cells else {})
    for summary, there in ((analysis, True), (alone, False)):
        page = Page()
        write_crossovers(page, summary)
        assert (sweep.case in " ".join(tell_crossovers(summary, "cuda"))) == there
        assert (row in " ".join(render_page(page).split())) == there


def test_why_cells_were_skipped_stands_behind_their_number() -> None:
    once, twice = (("no memory",), ("no memory", "no time"))
    for whys, words in (
        (once, "1 skipped (no memory)"),
        (twice, "2 skipped (the first: no memory)"),
    ):
        assert words in " ".join(account(lose_on_cuda("skipped", *whys)))


def test_ratios_without_a_verdict_stand_on_their_own_side_alone() -> None:
    short = analyse_made(blocks=2)
    family = short.cells[0].scenario
    for side, way in zip(family_of(short, family), ("slower", "faster"), strict=True):
        assert side == "none" or f"× {way}" in side
    # One cell of the comparison is judged, and none of this family.
    other, rest, *_ = short.cells
    none = set_down(Ratio(value=3.0, low=2.0, high=4.0, n=3), raise_flag("no-number"))
    one = set_down(Ratio(value=0.5, low=0.4, high=0.6, n=3), Verdict(name="FASTER"))
    alone = structs.replace(rest, scenario="alone", role="work", comparisons={"cuda": none})
    judged_one = structs.replace(other, comparisons={"cuda": one})
    mixed = structs.replace(short, cells=(judged_one, alone))
    assert family_of(mixed, "alone") == ["no verdict", "no verdict"]


@pytest.mark.parametrize(
    ("rule", "sure", "words"),
    [
        ("overhead", 0, "; none confirmed by an independent measurement, so all are suspected"),
        ("overhead", 1, "; 1 of 2 confirmed by independent measurements, the others suspected"),
        ("overhead", 2, "; all confirmed by independent measurements"),
        ("unknown", 0, ""),
    ],
)
def test_how_many_causes_are_confirmed(rule: RuleName, sure: int, words: str) -> None:
    analysis = analyse_made()
    lost = [cell.id for cell in analysis.work if cell.standing and cell.standing.loses][:2]

    def blame(_: int, cell: CellAnalysis) -> dict[str, Any]:
        if cell.id not in lost:
            return {"standing": None, "causes": ()}
        confirmed = lost.index(cell.id) < sure
        return {"causes": (structs.replace(cell.causes[0], rule=rule, confirmed=confirmed),)}

    (sentence,) = describe_losses(change_cells(analysis, blame))
    what = "unknown" if rule == "unknown" else "overhead (the time to start operations)"
    assert sentence == f"Why cuda loses 2 cells: {what} in 2{words}."


def make_change(effect: str = "script", **fields: Any) -> Finding:
    usual: dict[str, Any] = {
        "arm": "cuda",
        "cell": "a",
        "at": "b",
        "value": Ratio(value=2.0, low=1.9, high=2.1, n=3),
        "verdict": "faster",
        "evidence": (
            cite("instead", now="prefetch", was="none"),
            cite("of-value", axis="prefetch", value="on"),
            cite("effect", effect=effect),
        ),
    }
    return Finding(tag="change", **{**usual, **fields})


def test_the_first_screen_tells_what_is_shown_to_help_the_gpu() -> None:
    made = analyse_made()

    def tell(*changes: Finding) -> list[str]:
        return list(describe_improvements(structs.replace(made, findings=changes)))

    words = "What speeds up cuda, against itself and per unit of work: "
    change = "prefetch instead of none (a → prefetch=on: 2.0× faster (1.9–2.1))"
    assert tell(make_change()) == [f"{words}{change}."]
    for other in ({"verdict": ""}, {"verdict": "slower"}, {"arm": "cpu"}):
        assert not tell(make_change(**other))
    # The input pipeline alone is the CPU's, also in the GPU's container.
    first, *rest = made.cells
    on_cpu = (structs.replace(first, id="a", on_cpu=True), *rest)
    whole = structs.replace(made, cells=on_cpu, findings=(make_change(),))
    assert not list(describe_improvements(whole))
    (otherwise,) = tell(make_change(effect="training"))
    assert "none (trains otherwise) (a → " in otherwise
    assert "trains otherwise" not in change
    (many,) = tell(*[make_change() for _ in range(6)])
    assert many.count(change) == 4
    assert many.endswith("; and 2 more.")


def test_the_small_table_explains_an_axis_where_it_has_one() -> None:
    analysis = analyse_made()
    words = "of cells of work that have a verdict"
    assert f"{words}." in render_page(compose(analysis))
    sides = ("cpu", "arm")
    whole = change_cells(
        analysis, lambda place, cell: {"params": {**cell.params, "on": sides[place % 2]}}
    )
    assert f"{words}; on=arm: on the arm's own device, and not pinned to the CPU." in render_page(
        compose(whole)
    )
    # The terminal's table names no cell.
    assert "on=arm: on" not in render_lines(compose_brief(whole))
