"""The decision in a sentence: what verdicts carry, what is undecided, and what would decide it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from suite.analysis.result.arms import Spent
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import ArmResult, CellAnalysis, set_down
from suite.analysis.result.findings import Finding
from suite.analysis.result.numbers import Crossover, Estimate, Ratio, Verdict, VerdictName, cite
from suite.analysis.statistics.crossover import find_crossover, find_reach, find_sweeps, pick_main
from suite.flags import raise_flag
from suite.report.render.markdown import render_page
from suite.report.sections.verdict import (
    decide,
    list_crossovers,
    tell_comparison,
    tell_settling,
    write_crossovers,
)
from suite.report.text.crossovers import word_crossover
from suite.report.text.page import Page
from tests import synthetic
from tests.rendering import sum_up
from tests.report.campaigns import (
    NO_NUMBER,
    NOTHING,
    SWEEPS,
    analyse_made,
    change_cells,
    judged,
)

NAMES: Mapping[str, VerdictName] = {
    "f": "FASTER",
    "s": "SLOWER",
    "e": "EQUIVALENT",
    "i": "INCONCLUSIVE",
    "x": "INVALID",
}


def plant(products: str, a: str, b: str, arms: Sequence[str] = ("cuda",)) -> Analysis:
    """The sweeps with these verdicts, a letter a size, ascending (``-``: none), on every arm."""
    made = analyse_made(arms=("cpu", *arms))
    letters = dict(zip((cell.id for cell in made.cells), products + a + b, strict=True))

    def compare(letter: str, place: int) -> Any:
        if letter == "-":
            return NOTHING
        value = {"f": 0.1 + place / 1000, "s": 5.0 + place}.get(letter, 1.0)
        ratio = Ratio(value=value, low=value * 0.9, high=value * 1.1, n=5)
        return set_down(
            ratio, Verdict(name=NAMES[letter], reason=cite("not-significant", p=0.01), p=0.01)
        )

    def change(place: int, cell: CellAnalysis) -> dict[str, Any]:
        return {"comparisons": {arm: compare(letters[cell.id], place) for arm in arms}}

    return cross(change_cells(made, change))


def cross(analysis: Analysis) -> Analysis:
    """The analysis with the crossovers that its verdicts make."""
    made = find_sweeps(SWEEPS)
    verdicts = {
        arm: {cell.id: cell.verdicts[arm] for cell in analysis.cells} for arm in analysis.others
    }
    return structs.replace(
        analysis,
        sweeps=tuple(
            structs.replace(
                sweep,
                crossovers={arm: find_crossover(drawn, found) for arm, found in verdicts.items()},
            )
            for sweep, drawn in zip(analysis.sweeps, made, strict=True)
        ),
    )


def say(analysis: Analysis) -> str:
    return " ".join(decide(analysis, settling=True))


SMALLER = "on cpu at every smaller batch measured"

NONE = "iiiiiiii", "iiiii", "iii"


@pytest.mark.parametrize(
    ("products", "a", "b", "words"),
    [
        (
            "ssssffff",
            "ssfff",
            "ssf",
            f"network A on cuda from batch 128 on, {SMALLER}; network B on cuda from batch 512 on",
        ),
        (
            "iiiiiiii",
            "sssff",
            "ssf",
            f"Train on cuda from batch 512 on, {SMALLER} (2 of 2 networks, data on the device)",
        ),
        ("iiiiiiii", "sssff", "iii", "network B undecided"),
        ("iiiiiiii", "sssff", "iii", "Nothing is decided for n × n products."),
        (
            "ssssffff",
            "iiiii",
            "iii",
            "on cuda from n = 256 on, on cpu at every smaller n measured; at n = 10000 cuda is ",
        ),
        ("sssiffff", "iiiii", "iii", "on cuda from n = 256 on, on cpu up to 64, undecided at 100;"),
        (
            "sssffffi",
            "iiiii",
            "iii",
            "on cuda at n = 100 to 4000, on cpu at every smaller n measured, undecided at 10000;",
        ),
        ("sssseeee", "iiiii", "iii", "on cpu at n = 1 to 100, equivalent at 256 to 10000;"),
        ("iiiiifff", "iiiii", "iii", "on cuda at n = 1000 to 10000, undecided at 1 to 256;"),
        (
            "ffffssss",
            "iiiii",
            "iii",
            "on cpu from n = 256 on, on cuda at every smaller n measured;",
        ),
        (
            "ffffffff",
            "iiiii",
            "iii",
            "on cuda at every n measured; at n = 10000 cuda is ",
        ),
        (
            "ssssssss",
            "iiiii",
            "iii",
            "on cpu at every n measured; at n = 10000 cpu is ",
        ),
        (
            "eeeeeeee",
            "iiiii",
            "iii",
            "on cuda or cpu, equivalent at every n measured.",
        ),
        ("fsffffff", "iiiii", "iii", "on cuda at n = 1, 64 to 10000, on cpu at n = 10;"),
        ("sssxffff", "iiiii", "iii", "no verdict at 100"),
    ],
)
def test_the_decision_says_what_verdicts_carry(products: str, a: str, b: str, words: str) -> None:
    """And no other campaign of these says it."""
    assert words in say(plant(products, a, b))
    assert words not in say(plant("sissffif", "fisif", "fif"))


def test_no_winner_is_named_where_no_verdict_names_one() -> None:
    for letters in ("i", "x"):
        text = say(plant(letters * 8, letters * 5, letters * 3))
        assert text.startswith("Nothing is decided: ")
        assert not re.search(r"\bon (?:cuda|cpu)\b|faster|× as fast", text)
    assert "every comparison is INVALID" in text
    assert "every comparison is INVALID" not in say(plant(*NONE))


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ({"profile": "smoke"}, "the profile smoke gives no verdicts; PROFILE=standard does."),
        (
            {"blocks": 2},
            "2 blocks done, and verdicts take 3; RESUME=results/made-up BLOCKS=3 goes on, and takes about ",
        ),
    ],
)
def test_why_nothing_is_decided_where_there_are_no_verdicts(
    made: Mapping[str, Any], words: str
) -> None:
    assert words in say(analyse_made(**made))
    assert words not in say(plant(*NONE))


def test_without_a_sweep_the_cells_are_counted() -> None:
    analysis = structs.replace(plant("ssssffff", "sssff", "ssf"), sweeps=())
    assert say(analysis) == tell_comparison(analysis, "cuda")
    none = structs.replace(plant("-" * 8, "-" * 5, "-" * 3), sweeps=())
    assert say(none) == "Nothing is decided: no cell of work has a verdict."


def test_what_would_decide_it_is_said_where_nothing_is() -> None:
    analysis = judged(*["INCONCLUSIVE"] * 4, blocks=(5, 5, 5, 5))
    analysis = cross(analysis)
    assert "All 4 inconclusive cells should be settled by BLOCKS=5 instead of 3" in say(analysis)
    assert "settled" not in " ".join(decide(analysis, settling=False))
    assert "settled" not in say(plant("ssssffff", "sssff", "ssf"))


def test_the_size_that_is_named_is_one_at_which_every_network_has_a_winner() -> None:
    text = say(plant("iiiiiiii", "sssff", "ssf"))
    # 4096 was measured of one of them alone.
    a, b = 0.1 + 11 / 1000, 0.1 + 15 / 1000
    assert f"at batch 512 cuda is {1 / b:.1f}× as fast" in text
    assert "for network B and " in text
    assert f"{1 / a:.1f}× as fast" in text
    assert "network" not in say(plant("ssssffff", "iiiii", "iii")).partition(".")[0]


def test_what_it_costs_is_said_where_a_price_was_given() -> None:
    analysis = plant("iiiiiiii", "sssff", "iii")
    size = next(cell.id for cell in analysis.cells if cell.params.get("batch") == 4096)
    costs = tuple(
        Finding(
            tag="cost",
            arm=arm,
            cell=size,
            of="examples",
            unit="USD",
            value=Estimate(value=usd, low=None, high=None, n=5),
        )
        for arm, usd in (("cpu", 0.02), ("cuda", 0.005))
    )
    assert ", at 0.250 of cpu's cost per million examples if an hour costs the same." in say(
        structs.replace(analysis, findings=costs)
    )
    assert "price" not in say(analysis)


def test_gpus_that_differ_have_a_sentence_each_and_others_share_one() -> None:
    arms = ("cuda:0", "cuda:1")
    alike = plant("iiiiiiii", "sssff", "ssf", arms)
    assert say(alike).startswith(
        "Train on cuda:0 or cuda:1 from batch 512 on, on cpu at every smaller"
    )
    other = plant("iiiiiiii", "fffff", "fff", arms)
    mixed = structs.replace(
        alike,
        sweeps=tuple(
            structs.replace(one, crossovers={**one.crossovers, "cuda:1": two.crossovers["cuda:1"]})
            for one, two in zip(alike.sweeps, other.sweeps, strict=True)
        ),
        cells=tuple(
            structs.replace(
                one, comparisons={**one.comparisons, "cuda:1": two.comparisons["cuda:1"]}
            )
            for one, two in zip(alike.cells, other.cells, strict=True)
        ),
    )
    text = say(mixed)
    assert "cuda:0 against cpu: train on cuda:0 from batch 512 on" in text
    assert (
        "cuda:1 against cpu: train on cuda:1 at every batch measured (2 of 2 networks, data on the device)"
        in text
    )
    many = plant("iiiiiiii", "sssff", "ssf", tuple(f"cuda:{i}" for i in range(8)))
    assert "Train on any one of cuda:0 to cuda:7 from batch 512 on" in say(many)
    # Arms between which another one stands are no range.
    mixed = structs.replace(
        many,
        sweeps=tuple(
            structs.replace(
                sweep, crossovers={**sweep.crossovers, "cuda:2": Crossover(answer="undecided")}
            )
            for sweep in many.sweeps
        ),
    )
    assert "Train on cuda:0, cuda:1, cuda:3, cuda:4, cuda:5, cuda:6 or cuda:7 from" in say(mixed)


def test_one_arm_alone_says_what_it_reached_and_why_the_other_did_not_run() -> None:
    made = analyse_made(arms=("cpu",))
    plan = structs.replace(made.campaign, not_run={"cuda": "no NVIDIA GPU: looked at /dev/nvidia*"})
    text = say(structs.replace(made, campaign=plan))
    assert text.startswith(
        "Only cpu was measured (cuda: no NVIDIA GPU), so nothing is compared. It reaches "
    )
    assert "in n × n products; " in text
    assert "in training steps of network B." in text
    assert "Only" not in say(plant(*NONE))


def test_the_small_table_has_the_sizes_of_each_verdict() -> None:
    rows = list(list_crossovers(plant("sssiffff", "sssff", "eef")))
    assert rows == [
        {
            "sweep": "n × n products, by n",
            "cpu wins at": "1 to 64",
            "cuda wins at": "256 to 10000",
            "equal or undecided at": "100 (undecided)",
        },
        {
            "sweep": "training steps, network A, by batch",
            "cpu wins at": "8 to 128",
            "cuda wins at": "512 to 4096",
            "equal or undecided at": "none",
        },
        {
            "sweep": "training steps, network B, by batch",
            "cpu wins at": "none",
            "cuda wins at": "512",
            "equal or undecided at": "10 to 32 (equal)",
        },
    ]


def test_a_sweep_that_one_arm_alone_measured_is_in_no_sentence_and_no_table() -> None:
    alone = plant("ssssffff", "-----", "ssf")
    assert "network A" not in say(alone)
    assert not any("network A" in row["sweep"] for row in list_crossovers(alone))


def test_other_sweeps_than_the_briefs_have_a_table_of_their_own() -> None:
    analysis = plant("ssssffff", "sssff", "ssf")
    for main, there in ((True, False), (False, True)):
        sweeps = tuple(structs.replace(sweep, main=main) for sweep in analysis.sweeps)
        page = Page()
        write_crossovers(page, structs.replace(analysis, sweeps=sweeps))
        assert bool(page.blocks) == there
    assert "cpu wins at n = 1 to 100; cuda wins at n = 256 to 10000" in render_page(page)


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


def test_verdicts_are_counted_in_one_sentence() -> None:
    summary = judged("FASTER", "FASTER", "SLOWER", "EQUIVALENT", "INCONCLUSIVE", "INVALID")
    rest = len(summary.cells) - 6
    assert tell_comparison(summary, "cuda") == (
        f"Of {len(summary.cells)} cells of work cuda is faster than cpu in 2 and slower in 1, equivalent in "
        f"1, inconclusive in 1, INVALID in 1, without a verdict in {rest}."
    )
    assert "is shown to differ from cpu in none: equivalent in 1, inconclusive in 1, " in (
        tell_comparison(judged("EQUIVALENT", "INCONCLUSIVE"), "cuda")
    )
    none = change_cells(judged("FASTER"), lambda _, __: {"role": "overhead"})
    assert tell_comparison(none, "cuda") == (
        "cuda against cpu: no cell of work was chosen, so there is no winner."
    )


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
    assert reach.short_until == 10
    reach = find_reach(sweep, change(valid, names[:2], **NO_NUMBER))
    assert reach
    assert reach.short_until is None
    assert find_reach(sweep, change(valid, names[:4], **NO_NUMBER)) is None
