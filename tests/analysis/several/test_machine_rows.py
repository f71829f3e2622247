"""Machines to choose from: of twelve whose truth is known every row is right, and nothing else is claimed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from statistics import geometric_mean

import numpy as np
import pytest
from msgspec import structs

from suite.analysis.analyse import analyse
from suite.analysis.documents.prices import read_prices
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.limits import Price
from suite.analysis.result.several import Choice, Entry, Offer, Versus
from suite.analysis.several.machines import choose_rows, compare_machines
from suite.errors import DocumentError, UsageError
from suite.fingerprint import SUITE
from suite.report.pages.machines import depict_machines, find_scale
from suite.report.pictures.picture import Picture, Scatter
from suite.report.produce import build_comparison
from tests import twelve
from tests.twelve import (
    CELLS,
    HOURLY,
    LARGE,
    MACHINES,
    MIDDLE,
    OFFERS,
    SMALL,
    TODAY,
    Made,
    Values,
)


@pytest.fixture(scope="module")
def analyses() -> list[Analysis]:
    return list(map(analyse, twelve.make_twelve()))


@pytest.fixture(scope="module")
def found(analyses: list[Analysis]) -> Versus:
    return compare_machines(analyses, OFFERS, asked=TODAY)


@pytest.fixture(scope="module")
def page(analyses: list[Analysis], found: Versus) -> str:
    return build_comparison(found, analyses)["compare.md"]


def name(choice: Choice) -> tuple[str | None, str | None]:
    (kind,) = choice.types or (None,)
    return kind, choice.offer.terms if choice.offer else None


def members(choice: Choice) -> list[Made]:
    return [MACHINES[campaign] for group in choice.instances for campaign in group]


def true_seconds(choice: Choice, cell: str) -> dict[str, float]:
    """For an example, by device; of several instances the geometric mean."""
    (planned,) = [one for one in CELLS if one.id == cell]
    arms = {"cpu": "cpu"} | ({"gpu": "cuda"} if members(choice)[0].gpu is not None else {})
    return {
        device: geometric_mean([twelve.time(one, planned, arm) for one in members(choice)])
        / planned.work.amount
        for device, arm in arms.items()
    }


def true_cost(choice: Choice, cell: str) -> float:
    return min(true_seconds(choice, cell).values()) / 3600 * 1e6 * HOURLY[name(choice)]  # type: ignore[index]


def entries(found: Versus, cell: str) -> list[tuple[Choice, Entry]]:
    (ranking,) = [one for one in found.rankings if one.cell == cell]
    return [(found.choices[one.choice - 1], one) for one in ranking.entries]


def test_every_machine_has_a_row_for_each_price_and_no_campaign_has_two(found: Versus) -> None:
    rows = {name(one): one.instances for one in found.choices}
    assert len(rows) == len(found.choices) == 8
    assert rows == {
        ("three.large", "on-demand"): (("three-2",), ("three-3",), ("three-4",)),
        ("bad.large", "on-demand"): (("control",),),
        ("tie.one", "on-demand"): (("tie-1",),),
        ("tie.two", "on-demand"): (("tie-2",),),
        ("plain.small", "on-demand"): (("plain", "again"),),
        ("fast.huge", "on-demand"): (("fast",),),
        ("fast.huge", "spot"): (("fast",),),
        (None, None): (("priceless",),),
    }
    assert [(one.where["campaign"], one.code) for one in found.excluded] == [
        ("three-1", "contradicts"),
        ("copy", "contradicts"),
        ("suite", "other-suite"),
    ]


@pytest.mark.parametrize("cell", [SMALL, MIDDLE, LARGE])
def test_times_costs_and_crossovers_are_the_true_ones(found: Versus, cell: str) -> None:
    assert [one.cell for one in found.rankings] == [SMALL, MIDDLE, LARGE]
    for choice, entry in entries(found, cell):
        truth = true_seconds(choice, cell)
        assert entry.seconds.keys() == truth.keys()
        for device, seconds in entry.seconds.items():
            assert seconds.value == pytest.approx(truth[device], rel=0.01)
        assert entry.cheapest == (min(truth, key=lambda device: truth[device]),)
        assert (entry.cost is None) == (choice.offer is None)
        if entry.cost:
            assert entry.cost.value == pytest.approx(true_cost(choice, cell), rel=0.01)
        if "gpu" not in truth:
            assert (entry.ratio, entry.crossover) == (None, None)
            continue
        assert entry.ratio is not None
        assert entry.crossover is not None
        assert entry.ratio.value == pytest.approx(truth["gpu"] / truth["cpu"], rel=0.01)
        wins = []
        for one in CELLS[: len(twelve.BATCHES)]:
            times = true_seconds(choice, one.id)
            wins.append(times["gpu"] < times["cpu"])
        first = wins.index(True)
        between = (twelve.BATCHES[first - 1], twelve.BATCHES[first])
        assert (entry.crossover.low, entry.crossover.high) == between


@pytest.mark.parametrize("cell", [SMALL, MIDDLE, LARGE])
def test_ranks_ties_and_what_none_beats_are_the_true_ones(found: Versus, cell: str) -> None:
    rows = entries(found, cell)
    sound = [c for c, _ in rows if c.offer and name(c) != ("bad.large", "on-demand")]
    costs = {name(c): true_cost(c, cell) for c in sound}
    times = {name(c): min(true_seconds(c, cell).values()) for c in sound}
    for choice, entry in rows:
        mine = name(choice)
        assert bool(choice.failed) == (mine == ("bad.large", "on-demand"))
        assert choice.old == (mine == ("tie.one", "on-demand"))
        if mine not in costs:
            assert (entry.rank, entry.ties, entry.best) == (None, (), False)
            continue
        cheaper = [one for one in costs if costs[one] < costs[mine] / 1.001]
        assert entry.rank == 1 + len(cheaper)
        tied = {name(found.choices[one - 1]) for one in entry.ties}
        twins = {("tie.one", "on-demand"), ("tie.two", "on-demand")}
        assert tied == (twins - {mine} if mine in twins else set())
        assert entry.best == (not any(times[one] < times[mine] * 1.02 for one in cheaper))
    ranked = [one.cost.value for _, one in rows if one.rank and one.cost]
    assert ranked == sorted(ranked)
    assert all(one.rank is None for _, one in rows[len(ranked) :])


def test_wins_and_losses_against_the_first_named_are_the_true_ones(found: Versus) -> None:
    assert found.baseline
    base = found.choices[found.baseline - 1]
    # The very first campaign is excluded.
    assert name(base) == ("three.large", "on-demand")
    sound = [c for c in found.choices if c.offer and name(c) != ("bad.large", "on-demand")]
    for choice in found.choices:
        if choice not in sound or choice == base:
            assert (choice.wins, choice.losses, choice.ties) == ((), (), ())
            continue
        dearer = [
            cell
            for cell in (SMALL, MIDDLE, LARGE)
            if true_cost(choice, cell) > true_cost(base, cell)
        ]
        assert choice.losses == tuple(dearer)
        assert set(choice.wins) == {SMALL, MIDDLE, LARGE} - set(dearer)


def test_the_page_says_it_in_eight_columns(page: str, found: Versus) -> None:
    heads = [line for line in page.splitlines() if line.startswith("| machine ") and "rank" in line]
    assert len(heads) == 3
    assert all(line.count("|") - 1 <= 8 for line in heads)
    for said in (
        "not interleaved",
        "**A plain.small, on-demand** (1 instance) costs least",
        "**The same values under two identities**: three-1: 100.0 % of its values equal those of copy",
        "Not ranked: G, H, for lack of",
        "Excluded: 3 campaigns",
        "plain and again are of one instance",
        "Number 4, copy, is excluded: 100.0 % of its values equal those of three-1 to the last digit",
        "Number 6, suite, is excluded: measured by another version of the suite",
        "3 instances",
        "NO: an arm differs from its twin",
        "ties with D",
        "Against **B three.large, on-demand**, the first named that is not excluded, in 3 workloads",
        "workloads: cheaper in 1, costlier in 2: A; costlier in 3: C, D, E, F.",
    ):
        assert said in page
    assert len(re.findall(r"USD 1\.20 old \[\^\d\]", page)) == len(found.rankings)


def pretend(
    one: Analysis,
    seed: int,
    *,
    machine: str | None,
    label: str | None = None,
    kind: str | None = "a",
    gpu: float = 1.0,
    blocks: int = 99,
) -> Analysis:
    """The same truth measured again, on a machine of this type and identity."""
    draw = np.random.default_rng(seed)

    def vary(arm: str, values: Values) -> Values:
        return {
            n: v * float(np.exp(draw.normal(0, 0.01))) * (gpu if arm == "cuda" else 1)
            for n, v in values.items()
            if n <= blocks
        }

    return twelve.pretend(one, f"{seed}", vary, machine=machine, kind=kind, label=label)


def rank(analyses: Sequence[Analysis], *offers: Offer, workload: str = MIDDLE) -> Versus:
    return compare_machines(analyses, offers, asked=TODAY, workload=workload)


def offer(kind: str, hourly: float = 1.0, currency: str = "USD") -> Offer:
    return Offer(type=kind, hourly=hourly, currency=currency, source="us", date=TODAY)


THREE = {"a": 1.0, "b": 1.0, "c": 1.25}
"""By type, how many times as long the GPU takes."""


def rank_three(
    base: Analysis, *offers: Offer, **gpu: float
) -> tuple[Versus, Scatter, Picture, str]:
    """Three machines of which two are the same, with their picture and the page."""
    three = [
        pretend(base, n, machine=f"m{n}", kind=kind, gpu=gpu.get(kind, slower))
        for n, (kind, slower) in enumerate(THREE.items())
    ]
    versus = rank(three, *offers)
    (picture,) = depict_machines(versus)
    assert isinstance(picture.content, Scatter)
    return versus, picture.content, picture, str(build_comparison(versus, three)["compare.md"])


@pytest.mark.parametrize("offers", [[offer(kind) for kind in THREE], []])
def test_a_tie_is_joined_and_a_real_difference_is_not(
    analyses: list[Analysis], offers: list[Offer]
) -> None:
    versus, content, picture, page = rank_three(analyses[6], *offers)
    words = ("costlier", "costs") if offers else ("slower", "rates")
    kinds = {letter: point.name[0] for letter, point in content.points.items()}
    assert [{kinds[letter] for letter in pair} for pair in content.ties] == [{"a", "b"}]
    assert {kinds[letter] for letter, point in content.points.items() if point.best} == {"a", "b"}
    assert (
        f"joins two machines that tie: their {words[1]} are not shown to differ" in picture.caption
    )
    assert "Not ranked" not in picture.caption
    assert "Not drawn" not in picture.caption
    assert "Crossed" not in picture.caption
    (tied,) = [c for c in versus.choices if c.ties]
    (beaten,) = [c for c in versus.choices if c.losses]
    assert (tied.types, beaten.types, tied.ties, beaten.losses) == (
        ("b",),
        ("c",),
        (MIDDLE,),
        (MIDDLE,),
    )
    assert re.search(
        rf", the first named, in 1 workload: a tie in 1: [AB]; {words[0]} in 1: C\.", page
    )
    for point in content.points.values():
        assert (point.up is None) == (not offers)
        assert point.across.low is not None
        assert point.across.low < point.across.value < (point.across.high or 0)


def test_machines_that_all_differ_are_not_joined(analyses: list[Analysis]) -> None:
    offers = [offer(kind) for kind in THREE]
    _, content, picture, _ = rank_three(analyses[6], *offers, b=1.1)
    assert content.ties == ()
    assert "No two of the ranked machines tie: all differ in cost beyond doubt." in picture.caption
    assert "line" not in picture.caption


@pytest.mark.parametrize(
    ("alike", "slower", "tied", "drawn", "said"),
    [
        (5, 5, 20, 20, "differ beyond"),
        (6, 6, 30, 15, "Only ties of full marks"),
        (8, 0, 28, 0, "No tie is"),
    ],
)
def test_of_more_ties_than_can_be_seen_those_of_full_marks_are_drawn(
    analyses: list[Analysis], *, alike: int, slower: int, tied: int, drawn: int, said: str
) -> None:
    many = [
        pretend(analyses[6], n, machine=f"m{n}", kind=f"type-{n}", gpu=1.0 if n < alike else 1.5)
        for n in range(alike + slower)
    ]
    versus = rank(many, *(offer(f"type-{n}") for n in range(len(many))))
    (picture,) = depict_machines(versus)
    assert isinstance(picture.content, Scatter)
    assert sum(len(entry.ties) for entry in versus.rankings[0].entries) == 2 * tied
    assert len(picture.content.ties) == drawn
    points = picture.content.points
    if drawn < tied:
        assert all(points[letter].best for pair in picture.content.ties for letter in pair)
    others = {"differ beyond", "Only ties of full marks", "No tie is"} - {said}
    assert said in picture.caption
    assert not any(other in picture.caption for other in others)
    assert ("joins two machines that tie" in picture.caption) == (drawn > 0)


def test_what_is_not_ranked_or_not_drawn_is_named_under_the_picture(found: Versus) -> None:
    for picture in depict_machines(found):
        assert "Not ranked: G. Crossed marks are not sound. Not drawn" in picture.caption
        assert picture.caption.endswith("for lack of a price or a time: H.")


@pytest.mark.method
def test_machines_that_are_equal_are_seldom_called_different(analyses: list[Analysis]) -> None:
    base, false, runs = analyses[6], 0, 150
    offers = [offer(f"type-{n}") for n in range(6)]
    for run in range(runs):
        six = [pretend(base, 6 * run + n, machine=f"m{n}", kind=f"type-{n}") for n in range(6)]
        ((_, *rest), *_) = [[e for _, e in entries(rank(six, *offers), MIDDLE)]]
        false += any(one.rank != 1 for one in rest)
    # At 5 %: 7.5 of 150, and 15 or more once in 100 times.
    assert false < 15


@pytest.mark.parametrize(
    ("ids", "rows"),
    [
        (["m1", "m2", "m3"], [3]),
        (["m1", "m2"], [1, 1]),
        (["m1", "m2", "m2"], [1, 1]),
        ([None, None, None], [1, 1, 1]),
        (["m1", "m2", None, None], [1, 1, 1, 1]),
    ],
)
def test_a_type_takes_three_instances_that_are_known_to_be_three(
    analyses: list[Analysis], ids: list[str | None], rows: list[int]
) -> None:
    made = [pretend(analyses[6], n, machine=one) for n, one in enumerate(ids)]
    found = rank(made, offer("a"))
    assert sorted((len(one.instances) for one in found.choices), reverse=True) == rows
    assert sum(not one.known for one in found.choices) == ids.count(None)


def test_a_label_can_say_the_type_and_the_campaigns_own_price_counts(
    analyses: list[Analysis],
) -> None:
    labelled = pretend(analyses[6], 1, machine="m1", label="mine", kind=None)
    own = structs.replace(
        pretend(analyses[6], 2, machine="m2", kind=None), price=Price(hourly=2.0, currency="USD")
    )
    found = rank([labelled, own], offer("mine", 1.5))
    told = {name(one)[0]: one for one in found.choices}
    assert told["mine"].labelled
    assert not told[None].labelled
    assert (told["mine"].offer or offer("x")).hourly == 1.5
    assert (told[None].offer or offer("x")).hourly == 2.0
    # Beside prices in another currency it does not, and the row says why.
    both = [labelled, own]
    for currency, unpriced in (("EUR", "currency"), ("USD", None)):
        found = rank(both, offer("mine", currency=currency))
        (other,) = [one for one in found.choices if not one.types]
        assert (other.unpriced, other.offer is None) == (unpriced, unpriced is not None)
        page = str(build_comparison(found, both)["compare.md"])
        assert ("in another currency" in page) == (unpriced is not None)
        assert "PRICES=path/to/prices.toml" in page
    with pytest.raises(UsageError, match="EUR and USD") as caught:
        rank(both, offer("mine", currency="EUR"), offer("x", currency="USD"))
    assert "PRICES=" in str(caught.value.remedy)
    assert "ROWS=cell" in str(caught.value.remedy)


def give_prices(analysis: Analysis, *prices: Price, days: Sequence[int] = ()) -> list[Analysis]:
    """Campaigns of one machine, each told another price, begun so many days later."""
    made = []
    for number, price in enumerate(prices):
        one = pretend(analysis, number, machine="m1", kind=None)
        created = one.campaign.created + timedelta(days=[*days, *[0] * len(prices)][number])
        plan = structs.replace(one.campaign, created=created)
        made.append(structs.replace(one, campaign=plan, price=price))
    return made


@pytest.mark.parametrize(
    ("second", "agree"),
    [
        (Price(hourly=1.0, currency="USD"), True),
        (Price(hourly=2.0, currency="USD"), False),
        (Price(hourly=1.0, currency="EUR"), False),
    ],
)
def test_prices_of_one_machine_that_contradict_each_other_are_none(
    analyses: list[Analysis], second: Price, agree: bool
) -> None:
    made = give_prices(analyses[6], Price(hourly=1.0, currency="USD"), second)
    found = rank(made)
    (choice,) = found.choices
    assert (choice.offer is not None) == agree
    assert choice.unpriced == (None if agree else "contradiction")
    page = str(build_comparison(found, made)["compare.md"])
    assert ("contradict each other about its price" in page) != agree
    assert "PRICES=" not in page


def test_a_price_is_of_the_latest_day_that_it_was_told(analyses: list[Analysis]) -> None:
    price = Price(hourly=1.0, currency="USD")
    made = give_prices(analyses[6], price, price, days=(5, 0))
    for order in (made, made[::-1]):
        (choice,) = rank(order).choices
        assert choice.offer
        assert choice.offer.date == made[0].campaign.created.date()


def test_a_machine_without_a_rank_does_not_scale_the_money(found: Versus) -> None:
    ranking = found.rankings[0]
    cheap = next(entry for entry in ranking.entries if entry.rank is None and entry.cost)
    assert cheap.cost
    cost = structs.replace(cheap.cost, value=cheap.cost.value / 1e6)
    entries = [structs.replace(e, cost=cost) if e is cheap else e for e in ranking.entries]
    assert find_scale(structs.replace(ranking, entries=tuple(entries))) == find_scale(ranking)
    ranked = [structs.replace(e, rank=9) if e.cost is cost else e for e in entries]
    assert find_scale(structs.replace(ranking, entries=tuple(ranked))) != find_scale(ranking)


def test_copies_of_which_no_machine_is_told_are_not_called_two_identities(
    analyses: list[Analysis],
) -> None:
    first = pretend(analyses[6], 1, machine=None)
    copy = structs.replace(first, campaign=structs.replace(first.campaign, id="copy"))
    found = rank([first, copy])
    assert [one.code for one in found.excluded] == ["copied-somewhere"] * 2
    assert not found.holds
    page = str(build_comparison(found, [first, copy])["compare.md"])
    assert "identit" not in page
    assert "SIMULATED" in page.splitlines()[0]
    assert page.split("\n\n")[1].startswith("**The same values in two campaigns**")
    assert "No machine is left" in page
    assert "## What stands behind" not in page
    assert rank([first]).holds


def test_one_instance_under_two_types_or_labels_is_one_machine(analyses: list[Analysis]) -> None:
    base = analyses[6]
    two = [pretend(base, n, machine="m1", kind=None, label=f"l{n}") for n in range(2)]
    found = rank(two, offer("l0", 1.0), offer("l1", 2.0))
    (choice,) = found.choices
    assert (choice.types, choice.offer, choice.instances) == (("l0", "l1"), None, (("0", "1"),))
    page = str(build_comparison(found, two)["compare.md"])
    assert "contradict each other about its type" in page
    agreed = [pretend(base, n, machine="m1", kind="a", label=f"l{n}") for n in range(2)]
    assert [one.types for one in rank(agreed, offer("a"), offer("l0")).choices] == [("a",)]


def test_an_old_price_stands_beside_the_winner_and_money_can_be_read(
    analyses: list[Analysis],
) -> None:
    old = structs.replace(offer("tie.one"), date=date(2026, 1, 1))
    both = [analyses[6], pretend(analyses[6], 1, machine="m1", kind="b", gpu=2.0)]
    found = compare_machines(both, [old, offer("b")], asked=TODAY, workload=LARGE)
    files = build_comparison(found, both, pictures=True)
    page = str(files["compare.md"])
    first = next(line for line in page.splitlines() if "costs least" in line)
    assert "at a price of 2026-01-01, over 90 days old, on the GPU" in first
    entry, _ = found.rankings[0].entries
    assert entry.cost is not None
    assert entry.cost.value < 0.001
    assert re.search(r"USD 0\.0[1-9]\d* ± \S+ for a billion examples", first)
    assert {"plots/compare-1.svg", "plots/compare-1.png"} <= set(files)
    assert "data:image/svg+xml" in str(files["compare.html"])
    # One machine is compared with nothing.
    alone = compare_machines(both[:1], [old], asked=TODAY, workload=LARGE)
    assert depict_machines(alone) == []
    assert "Against" not in str(build_comparison(alone, both[:1])["compare.md"])


def test_two_campaigns_that_contradict_each_other_are_both_out_whatever_their_order(
    analyses: list[Analysis],
) -> None:
    pair = [analyses[0], analyses[3]]
    for both in (pair, pair[::-1]):
        found = rank(both, *OFFERS)
        assert [one.code for one in found.excluded] == ["contradicts"] * 2
        assert found.rankings[0].entries == ()
        page = str(build_comparison(found, both)["compare.md"])
        assert page.split("\n\n")[1].startswith("**The same values under two identities**")


def test_rows_are_machines_where_several_are_known(analyses: list[Analysis]) -> None:
    assert choose_rows(analyses[6:8]) == "type"
    assert choose_rows([analyses[8], analyses[9]]) == "cell"
    unknown = [pretend(analyses[6], n, machine=None) for n in range(2)]
    assert choose_rows(unknown) == "cell"


def test_campaigns_of_another_method_or_named_twice_are_left_out(
    analyses: list[Analysis],
) -> None:
    base = analyses[6]
    usual = [pretend(base, n, machine=f"m{n}") for n in range(2)]
    hasty = structs.replace(
        pretend(base, 7, machine="m7"),
        campaign=structs.replace(base.campaign, id="7", measure_s=0.4),
    )
    ended = pretend(base, 9, machine="m9")
    ended = structs.replace(
        ended, arms={name: structs.replace(arm, blocks={}) for name, arm in ended.arms.items()}
    )
    older = twelve.tell(pretend(base, 10, machine="m10"), {"tensorflow.version": "2.17.0"})
    every = [*usual, hasty, usual[0], ended, older]
    found = rank(every, offer("a"))
    codes = {one.where["run"]: one.code for one in found.excluded}
    assert codes == {
        3: "other-method",
        4: "same-campaign",
        5: "none-counts",
        6: "other-method",
    }
    page = build_comparison(found, every)["compare.md"]
    assert "tensorflow=2.17.0" in page
    assert "warmup_s=0.3, measure_s=0.4" in page


@pytest.mark.parametrize(
    ("workload", "cells"),
    [
        (LARGE, [LARGE]),
        ("mlp.train/batch=512", [MIDDLE]),
        ("batch=8", [SMALL]),
        ("overhead.fence", ["overhead.fence"]),
    ],
)
def test_a_workload_is_a_cell_or_a_part_of_its_id(
    analyses: list[Analysis], workload: str, cells: list[str]
) -> None:
    found = rank(analyses[6:8], *OFFERS, workload=workload)
    assert [one.cell for one in found.rankings] == cells


@pytest.mark.parametrize("workload", ["mlp.train", "mlp.train/batch=9", "batch", ""])
def test_a_workload_that_means_no_cell_or_too_many_is_refused(
    analyses: list[Analysis], workload: str
) -> None:
    with pytest.raises(UsageError, match="CELL="):
        rank(analyses[6:8], workload=workload)


def test_a_cell_that_one_campaign_lacks_is_a_row_with_its_reason(analyses: list[Analysis]) -> None:
    short = structs.replace(analyses[7], cells=analyses[7].cells[:2])
    found = rank([analyses[6], short], *OFFERS, workload=LARGE)
    ((_, whole), (_, lacking)) = entries(found, LARGE)
    assert whole.rank == 1
    assert (lacking.rank, dict(lacking.seconds)) == (None, {})
    assert {one.code for one in lacking.missing.values()} == {"not-planned"}
    page = build_comparison(found, [analyses[6], short])["compare.md"]
    assert "the cell is not in the plan of this campaign" in page


def test_a_row_without_an_interval_or_with_a_bad_instance_has_no_rank(
    analyses: list[Analysis],
) -> None:
    base = analyses[6]
    hasty = pretend(base, 1, machine="m1", kind="b", blocks=2)
    bad = [pretend(one, n, machine=f"m{n}") for n, one in enumerate((base, base, analyses[4]), 2)]
    every = [hasty, *bad, pretend(base, 9, machine="m9", kind="c")]
    found = rank(every, *map(offer, "abc"))
    ranks = {name(choice)[0]: entry.rank for choice, entry in entries(found, MIDDLE)}
    assert ranks == {"a": None, "b": None, "c": 1}
    assert "Not ranked: B, C, for lack of" in build_comparison(found, every)["compare.md"]


def test_what_is_told_by_a_label_or_by_no_verdict_is_marked(analyses: list[Analysis]) -> None:
    labelled = pretend(analyses[6], 1, machine="m1", label="mine", kind=None, gpu=148 / 301)
    found = rank([labelled], offer("mine"), workload="batch=64")
    text = build_comparison(found, [labelled])["compare.md"]
    assert "its campaign's label says of which type it is" in text
    ((_, entry),) = entries(found, found.rankings[0].cell)
    assert entry.ratio is not None
    assert " ?" in text
    assert set(entry.cheapest) == {"cpu", "gpu"}
    assert "CPU or GPU" in text or "GPU or CPU" in text


GOOD = """
[[price]]
type = "a"
hourly = 1
currency = "USD"
source = "us"
date = 2026-11-01
"""


def test_the_example_of_prices_is_one_and_days_and_terms_are_read(tmp_path: Path) -> None:
    (tmp_path / "none.toml").write_text("price = []")
    assert read_prices(tmp_path / "none.toml", TODAY) == []
    offers = read_prices(SUITE.parent / "docs" / "prices.toml", TODAY)
    assert {(one.type, one.terms) for one in offers} >= {
        ("g5.xlarge", "on-demand"),
        ("g5.xlarge", "spot"),
    }
    assert all(isinstance(one.date, date) for one in offers)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("hourly = 1", "hourly = 0", r"hourly"),
        ("hourly = 1", "hourly = nan", r"hourly"),
        ("hourly = 1", "hourly = 1e7", r"hourly"),
        ("hourly = 1", 'hourly = "1"', r"hourly"),
        ("hourly = 1", "", r"hourly"),
        ('"USD"', '"usd"', r"currency"),
        ('"us"', '""', r"source"),
        ('"us"', f'"{"x" * 201}"', r"source"),
        ("2026-11-01", '"yesterday"', r"date"),
        ("2026-11-01", "2026-11-24", r"2026-11-24 is still to come"),
        ("source", "sauce", r"sauce"),
        ("[[price]]", "[[prices]]", r"price"),
        ("", GOOD, r"a, on-demand, stands twice"),
    ],
)
def test_what_is_no_price_is_refused_by_its_field(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(GOOD)
    assert read_prices(path, TODAY) == [
        Offer(type="a", hourly=1.0, currency="USD", source="us", date=date(2026, 11, 1))
    ]
    path.write_text(GOOD.replace(old, new) if old else GOOD + new)
    with pytest.raises(DocumentError, match=told):
        read_prices(path, TODAY)
    with pytest.raises(DocumentError, match=r"none\.toml"):
        read_prices(tmp_path / "none.toml", TODAY)
