"""The sentences that a report opens with: who wins, where, how far, how sure."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest
from msgspec import structs

from suite.analysis.result.arms import Spent
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import ArmResult, CellAnalysis, set_down
from suite.analysis.result.findings import Finding, RuleName
from suite.analysis.result.numbers import Crossover, Ratio, Verdict, VerdictName, cite
from suite.analysis.statistics.crossover import find_reach, find_sweeps, pick_main
from suite.flags import raise_flag
from suite.report.pages.campaign import compose, compose_brief
from suite.report.render.markdown import render_page
from suite.report.render.terminal import render_lines
from suite.report.sections.causes import describe_improvements, describe_losses, describe_naive_gaps
from suite.report.sections.opening import account, list_by_family, warn
from suite.report.sections.tables.crossovers import write_crossovers
from suite.report.sections.verdict import (
    tell_comparison,
    tell_crossovers,
    tell_extremes,
    tell_settling,
    tell_sizes,
    tell_sureness,
)
from suite.report.text.crossovers import name_sweep, word_crossover, word_reach
from suite.report.text.page import Page
from tests import synthetic
from tests.changes import lose, plant
from tests.golden_campaigns import make_troubled
from tests.rendering import study, sum_up
from tests.report.campaigns import NO_NUMBER, NOTHING, SWEEPS, analyse_made, change_cells, judged

CAMPAIGN = synthetic.make_campaign(blocks=3)
DOCUMENTS = synthetic.make_documents(CAMPAIGN, samples=2)


def test_an_arm_that_computes_wrongly_is_the_first_thing_said() -> None:
    name = CAMPAIGN.cells[0].id
    why = "wrong result: the loss is 0.495 where NumPy's reference is 0.0063 (step 20)"
    wrong = plant(DOCUMENTS, lose(name, "failed", why), "cuda")
    summary = study(CAMPAIGN, wrong)
    first = warn(summary)[0]
    assert first == (
        f"cuda GIVES WRONG RESULTS: 1 cell without a number, the first {name}: the loss is 0.495 where "
        "NumPy's reference is 0.0063 (step 20)."
    )
    assert not any("WRONG" in sentence for sentence in warn(study(CAMPAIGN, DOCUMENTS)))
    assert summary.cells[0].arms["cpu"].estimate is not None
    assert summary.cells[0].arms["cuda"].estimate is None


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
    ids = [one.id for one in summary.cells]
    words = "that are steps of people's scripts"
    sentence = tell_comparison(take_apart(summary, 0, 3, 5), "cuda")
    assert sentence.endswith(f" Without the 2 {words} it is faster in 1 and slower in 1.")
    (extremes,) = tell_extremes(take_apart(summary, 0, 3, 5), "cuda")
    assert extremes.startswith("Scripts apart, cuda's largest win is at ")
    assert ids[1].partition("/precision")[0] in extremes
    assert ids[2].partition("/precision")[0] in extremes
    # Without one, or with nothing else, there is nothing to tell apart.
    for places in ((), range(len(ids)), (5,)):
        assert words not in tell_comparison(take_apart(summary, *places), "cuda")
    (extremes,) = tell_extremes(take_apart(summary, *range(len(ids))), "cuda")
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
    ids = [one.id for one in summary.cells]
    names = {name: name.partition("/precision")[0] for name in ids}
    (sentence,) = tell_extremes(summary, "cuda")
    assert sentence.startswith(f"cuda's largest win is at {names[ids[0]]}: cuda 10× faster (9")
    assert f"; its largest loss is at {names[ids[3]]}: cuda 8.0× slower (7" in sentence
    assert "median" not in sentence
    (sentence,) = tell_extremes(judged("SLOWER"), "cuda")
    assert sentence.startswith("cuda's largest loss is at ")
    assert tell_extremes(judged("EQUIVALENT"), "cuda") == []


def test_of_several_wins_or_losses_the_median_stands_beside_the_largest() -> None:
    summary = judged("FASTER", "FASTER", "FASTER", "SLOWER", "SLOWER")
    ratios = [one.ratios["cuda"] for one in summary.cells[:3]]
    median = 1 / statistics.median(one.value for one in ratios if isinstance(one, Ratio))
    (sentence,) = tell_extremes(summary, "cuda")
    (shown,) = re.findall(r"in the median of 3 such cells ([\d.]+)×", sentence)
    assert float(shown) == pytest.approx(median, rel=0.01)
    assert sentence.index("median") < sentence.index("largest loss")


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
    ("found", "words"),
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
def test_a_crossover_in_words(found: Crossover, words: str) -> None:
    assert word_crossover(found, "n", "cuda", "cpu") == words


def test_main_sweeps_are_told_and_named_by_what_differs() -> None:
    summary = analyse_made()
    told = tell_crossovers(summary, "cuda")
    assert [sentence.partition(" cpu wins")[0] for sentence in told] == [
        "In matmul.square",
        "In mlp.train (net=A)",
        "In mlp.train (net=B)",
    ]
    sweeps = summary.sweeps
    assert name_sweep(sweeps[1], sweeps[1:2]) == "mlp.train"


def test_the_longest_sweep_of_a_case_and_network_is_the_main_one() -> None:
    cells = list(SWEEPS)
    short = [
        replace(one, id=f"{one.id}!", params={**one.params, "precision": "tf32"})
        for one in cells[5:8]
    ]
    others = [replace(one, id=f"{one.id}?", case="width", headline=None) for one in cells]
    sweeps = pick_main(find_sweeps([*short, *cells, *others]))
    assert [(one.case, one.fixed["precision"], len(one.cells)) for one in sweeps] == [
        ("square", "fp32", 8),
        ("train", "fp32", 5),
        ("train", "fp32", 3),
    ]


def test_one_arm_says_how_far_it_comes_in_each_sweep() -> None:
    told = tell_sizes(analyse_made(arms=("cpu",)))
    assert [sentence.partition(" cpu reaches")[0] for sentence in told] == [
        *("In matmul.square", "In mlp.train (net=A)", "In mlp.train (net=B)")
    ]


def test_a_reach_counts_valid_numbers_only() -> None:
    campaign = synthetic.make_campaign(cells=list(SWEEPS), blocks=3, arms=["cpu"])
    cells = sum_up(campaign, synthetic.make_documents(campaign, samples=2)).cells
    (sweep, *_) = find_sweeps(campaign.cells)
    names = [cell.id for cell in sweep.cells]

    def change(
        found: dict[str, ArmResult], which: list[str], **fields: Any
    ) -> dict[str, ArmResult]:
        return found | {name: structs.replace(found[name], **fields) for name in which}

    every = {one.cell.id: one.arms["cpu"] for one in cells}
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
    told = list(tell_sureness(analyse_made(profile="quick")))
    assert told[-1] == "The intervals of the profile quick are provisional."


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

    def write(found: Analysis) -> tuple[str, str]:
        page = Page()
        write_crossovers(page, found)
        return " ".join(tell_crossovers(found, "cuda")), " ".join(render_page(page).split())

    told, table = write(analysis)
    assert sweep.case in told
    assert row in table
    none = {"comparisons": {"cuda": NOTHING}}
    told, table = write(
        change_cells(analysis, lambda _, one: none if one.id in sweep.cells else {})
    )
    assert sweep.case not in told
    assert row not in table


def test_why_cells_were_skipped_stands_behind_their_number() -> None:
    first, second, *_ = (one.id for one in CAMPAIGN.cells)
    once = plant(DOCUMENTS, lose(first, "skipped", "no memory"), "cuda")
    text = " ".join(account(study(CAMPAIGN, once)))
    assert "1 skipped (no memory)" in text
    twice = plant(once, lose(second, "skipped", "no time"), "cuda")
    assert "2 skipped (the first: no memory)" in " ".join(account(study(CAMPAIGN, twice)))


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


def test_what_stands_first_of_two_causes_is_called_the_largest_alone() -> None:
    causes = next(describe_losses(analyse_made()))
    assert ("by the largest cause" in causes) == (causes.count("confirmed") > 1)


@pytest.mark.parametrize(
    ("rule", "sure", "words"),
    [
        ("overhead", 0, "overhead (the time to start operations) in 2, none confirmed"),
        ("overhead", 1, "overhead (the time to start operations) in 2, 1 confirmed"),
        ("overhead", 2, "overhead (the time to start operations) in 2, all confirmed"),
        ("unknown", 0, "unknown in 2"),
    ],
)
def test_how_many_causes_are_confirmed(rule: RuleName, sure: int, words: str) -> None:
    analysis = analyse_made()
    lost = [one.id for one in analysis.work if one.standing and one.standing.loses][:2]

    def blame(_: int, one: CellAnalysis) -> dict[str, Any]:
        if one.id not in lost:
            return {"standing": None, "causes": ()}
        confirmed = lost.index(one.id) < sure
        return {"causes": (structs.replace(one.causes[0], rule=rule, confirmed=confirmed),)}

    told = next(describe_losses(change_cells(analysis, blame)))
    assert told == f"Why cuda loses 2 cells: {words}."


def said(analysis: Analysis, words: str) -> list[str]:
    found = chain(
        describe_losses(analysis), describe_improvements(analysis), describe_naive_gaps(analysis)
    )
    return [one for one in found if words in one]


def make_change(effect: str = "script", **fields: Any) -> Finding:
    shown = cite("shown-in", pairs=2, of=3)
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
            shown,
            shown,
        ),
    }
    return Finding(tag="change", **{**usual, **fields})


WORDS = "What speeds up cuda, against itself and per unit of work: "


def test_the_first_screen_tells_what_is_shown_to_help_the_gpu() -> None:
    made = analyse_made()

    def tell(*changes: Finding) -> list[str]:
        return said(structs.replace(made, findings=changes), WORDS)

    change = "prefetch instead of none (a → prefetch=on: 2.0× faster (1.9–2.1))"
    assert tell(make_change()) == [f"{WORDS}{change}."]
    for other in ({"verdict": ""}, {"verdict": "slower"}, {"arm": "cpu"}):
        assert not tell(make_change(**other))
    # The input pipeline alone is the CPU's, also in the GPU's container.
    first, *rest = made.cells
    on_cpu = (structs.replace(first, id="a", on_cpu=True), *rest)
    assert not said(structs.replace(made, cells=on_cpu, findings=(make_change(),)), WORDS)
    (otherwise,) = tell(make_change(effect="training"))
    assert otherwise.endswith("(1.9–2.1); trains otherwise).")
    (many,) = tell(*[make_change() for _ in range(6)])
    assert many.count(change) == 4
    assert many.endswith("; and 2 more.")


def test_the_small_table_explains_an_axis_where_it_has_one() -> None:
    analysis = analyse_made()
    words = "of cells of work that have a verdict"
    assert f"{words}." in render_page(compose(analysis))
    sides = ("cpu", "arm")
    whole = change_cells(
        analysis, lambda place, one: {"params": {**one.params, "on": sides[place % 2]}}
    )
    assert f"{words}; on=arm: on the arm's own device, and not pinned to the CPU." in render_page(
        compose(whole)
    )
    # The terminal's table names no cell.
    assert "on=arm: on" not in render_lines(compose_brief(whole))


def test_invalid_numbers_are_counted_beside_what_was_measured() -> None:
    analysis = study(*make_troubled())
    numbers = [one.arms["cpu"] for one in analysis.cells if one.arms["cpu"].estimate]
    invalid = sum(bool(one.invalid) for one in numbers)
    assert invalid
    assert f"{len(numbers)} of {len(analysis.cells)} measured ({invalid} INVALID)" in " ".join(
        account(analysis)
    )
    assert "INVALID" not in " ".join(account(analyse_made()))
