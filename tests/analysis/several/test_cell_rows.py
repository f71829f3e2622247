"""Several campaigns side by side: what may be compared, and what the comparison says."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs
from scipy import stats

from suite.analysis.analyse import analyse
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.observations import Observation, observe, values_by_block
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.numbers import MARGIN, Ratio, Verdict
from suite.analysis.result.several import Pair
from suite.analysis.several.cells import compare_cells
from suite.analysis.statistics.ratio import find_mean_ratio, find_welch_ratio
from suite.errors import UsageError
from suite.flags import KINDS, Flag, raise_flag
from suite.model import Check
from suite.report.pages.comparison import compose_versus
from suite.report.render.markdown import render_page
from suite.report.text.wording import word
from tests import synthetic
from tests.bench.rates import contains, count
from tests.changes import in_cell, plant, tell
from tests.flagging import codes
from tests.rendering import load, report_comparison, report_folder

FENCE = "overhead.fence"


def make_campaign(
    name: str,
    *,
    slower: float = 1.0,
    arms: Sequence[str] = ("cpu",),
    blocks: int = 6,
    seed: int = 1,
    truth: synthetic.Truth | None = None,
    **fields: object,
) -> LoadedCampaign:
    """A campaign in which everything takes ``slower`` times as long."""
    campaign = synthetic.make_campaign(arms=arms, blocks=blocks, seed=seed)
    campaign = replace(campaign, id=name, **fields)  # type: ignore[arg-type]
    how: dict[str, Any] = {
        "truth": truth or synthetic.slow_down(slower),
        "samples": 60,
        "host": synthetic.QUIET,
    }
    documents = synthetic.make_documents(campaign, calibration=False, **how)
    controls = synthetic.make_twins(campaign, **how)
    return replace(load(campaign, documents, controls), folder=name)


def make_summary(name: str, **how: Any) -> Analysis:
    return analyse(make_campaign(name, **how))


@cache
def one() -> Analysis:
    return make_summary("one")


@cache
def two() -> Analysis:
    """The same machine another time."""
    return make_summary("two", seed=2)


@cache
def both() -> tuple[Analysis, Analysis]:
    """Two campaigns of two arms."""
    arms = ("cpu", "cuda")
    return make_summary("one", arms=arms), make_summary("two", arms=arms, seed=2)


def change(analysis: Analysis, **fields: object) -> Analysis:
    """The same with other fields of its plan."""
    return structs.replace(analysis, campaign=structs.replace(analysis.campaign, **fields))


CHECK = Check(what="a number", value=1.0, tolerance=1e-3)


def measure_changed(seed: int = 1, **fields: object) -> Analysis:
    """A campaign that checks a number, with a changed cell."""
    loaded = make_campaign(str(seed), seed=seed, blocks=5)
    documents = plant(loaded.documents, in_cell(FENCE, **{"check": CHECK, **fields}))
    return analyse(replace(loaded, documents=documents))


@cache
def unchanged() -> Analysis:
    return measure_changed(0)


def make_changed(**fields: object) -> tuple[Analysis, Analysis]:
    """Two campaigns that check the same number, of which the second has a changed cell."""
    return unchanged(), measure_changed(**fields)


def render_them(*analyses: Analysis) -> str:
    return render_page(compose_versus(compare_cells(analyses), analyses))


def only_pair(*summaries: Analysis, wanted: Sequence[str] = ()) -> Pair:
    (pair,) = compare_cells(summaries, wanted).pairs
    return pair


def verdicts(pair: Pair) -> set[str]:
    return {one.name if isinstance(one, Verdict) else one.code for one in pair.verdicts.values()}


def test_a_slower_machine_is_slower_in_every_cell() -> None:
    pair = only_pair(one(), make_summary("two", slower=1.3, seed=2))
    assert (pair.base.name, pair.other.name) == ("1:cpu", "2:cpu")
    assert verdicts(pair) == {"SLOWER"}
    for ratio in pair.ratios.values():
        assert isinstance(ratio, Ratio)
        assert ratio.value == pytest.approx(1.3, rel=0.05)


def test_the_same_machine_twice_is_never_faster_or_slower() -> None:
    pair = only_pair(one(), two())
    assert not verdicts(pair) & {"FASTER", "SLOWER"}
    off = [abs(one.value - 1) for one in pair.sound.values()]
    assert (pair.distance_median, pair.distance_p95) == pytest.approx(
        (statistics.median(off), float(np.percentile(off, 95)))
    )


def make_uneven() -> tuple[Analysis, Analysis]:
    """Two campaigns, of which the second is faster in the first cell of work, slower in the next two, and the
    rest is the same."""
    factors = dict(zip((cell.id for cell in one().work), (0.5, 1.5, 1.2), strict=False))
    usual = synthetic.slow_down(1.0)
    second = make_campaign(
        "two", seed=2, truth=lambda cell, arm: factors.get(cell.id, 1.0) * usual(cell, arm)
    )
    return one(), analyse(second)


def test_wins_and_losses_are_those_that_were_planted_the_largest_first() -> None:
    first, second = make_uneven()
    pair = only_pair(first, second)
    work = [cell.id for cell in first.work]
    assert pair.work
    assert pair.work.faster == (work[0],)
    assert pair.work.slower == (work[1], work[2])
    assert set(pair.work.equivalent) == set(work[3:])
    assert set(pair.work.cells) == set(work)
    assert len(work) < len(pair.cells)
    text = render_them(first, second)
    opening = text[: text.index("## What differs")]
    assert (
        f"faster in 1, slower in 2, equivalent in {len(work) - 3} of {len(work)} cells" in opening
    )
    assert re.search(rf"Largest win: {work[0]}, (2\.0|1\.9)\d*× faster \(", opening)
    assert re.search(rf"Largest loss: {work[1]}, 1\.(50|49)\d*× slower \(", opening)
    assert f"Geometric mean of the ratios of {len(work)} cells of work: 1.0" in opening
    assert "each cell of work counts once" in opening


def test_what_is_neither_won_nor_lost_is_not_told() -> None:
    text = render_them(one(), two())
    assert "Largest" not in text
    assert "Geometric mean of the ratios" in text
    few = make_summary("two", seed=2, blocks=2)
    text = render_them(one(), few)
    assert "Its 95 % interval is over blocks" not in text
    assert re.search(r"cells of work: [^(]*× *[a-z]*\.", text)
    (cell,) = [cell for cell in two().cells if cell.id == FENCE]
    lone = structs.replace(two(), cells=(cell,))
    other = structs.replace(one(), cells=(cell,))
    text = render_them(other, lone)
    assert "1 cell, none of work" in text
    assert "Geometric mean of" not in text


def test_a_ratio_without_an_interval_is_in_no_mean_with_one() -> None:
    second = two()
    lost = next(cell for cell in second.cells if cell.role == "work")
    result = lost.arms["cpu"]
    few = structs.replace(result, values=dict([*result.values.items()][:1]))
    cells = [structs.replace(c, arms={"cpu": few}) if c is lost else c for c in second.cells]
    pair = only_pair(one(), structs.replace(second, cells=tuple(cells)))
    assert pair.work
    assert lost.id in pair.sound
    assert set(pair.work.averaged) == {cell.id for cell in second.work} - {lost.id}
    assert lost.id in pair.work.unjudged


@pytest.mark.parametrize("wanted", ["2:cpu/1:cpu", "1:cuda/1:cpu"])
def test_a_geometric_mean_is_that_of_the_ratios_with_an_interval_over_blocks(wanted: str) -> None:
    (pair,) = compare_cells(both(), [wanted]).pairs
    assert pair.work
    mean = pair.work.mean
    assert mean
    ratios = [pair.sound[cell].value for cell in pair.work.cells]
    assert mean.value == pytest.approx(statistics.geometric_mean(ratios), rel=1e-9)
    sides = [
        np.log([list(results[cell].values.values()) for cell in pair.work.cells]).mean(axis=0)
        for column in (pair.base, pair.other)
        for results in [both()[column.run - 1].results(column.arm)]
    ]
    test = stats.ttest_rel if pair.interleaved else partial(stats.ttest_ind, equal_var=False)
    interval = test(sides[1], sides[0]).confidence_interval(0.95)
    assert (mean.low, mean.high) == pytest.approx(tuple(np.exp(interval)), rel=1e-8)
    assert mean.p is None


def test_a_block_that_lacks_cells_does_not_stand_out_by_their_size() -> None:
    """The first cell takes a thousand times as long as the others, and one block lacks it."""
    draw = np.random.default_rng(3)

    row = observe(one())[0]

    def observe_cells(lacking: int) -> list[list[Observation]]:
        return [
            [
                replace(row, seconds=size * float(np.exp(draw.normal(0, 0.01))), block=block)
                for block in range(1, 7)
                if not (block == lacking and size > 1)
            ]
            for size in (1000.0, 1.0, 1.0)
        ]

    base, other = observe_cells(2), observe_cells(5)
    pairs = [
        (values_by_block(rows), values_by_block(others))
        for rows, others in zip(base, other, strict=True)
    ]
    mean = find_mean_ratio(pairs, paired=False)
    assert mean
    ratios = [find_welch_ratio(*(of.values() for of in sides)) for sides in pairs]
    values = [ratio.value for ratio in ratios if ratio]
    assert mean.value == pytest.approx(statistics.geometric_mean(values), rel=1e-9)
    assert mean.low is not None
    assert mean.high is not None
    assert 0.97 < mean.low < 1 < mean.high < 1.03
    paired = find_mean_ratio(pairs, paired=True)
    assert paired
    assert paired.low is not None
    assert 0.97 < paired.low < (paired.high or 0) < 1.03
    assert find_mean_ratio([], paired=True) is None


@pytest.mark.method
@pytest.mark.parametrize("paired", [False, True])
def test_the_interval_of_a_geometric_mean_covers_the_truth(*, paired: bool) -> None:
    """A block can lift all of its cells, and one in ten values is missing."""
    draw, row, truth, hits = np.random.default_rng(5), observe(one())[0], 1.1, []
    for _ in range(3000):
        sizes = np.exp(draw.normal(0, 2, 8))
        shared = draw.normal(0, 0.03, (2, 6))

        def draw_cell(size: float, side: int, shared: Any = shared) -> list[Observation]:
            logs = shared[0 if paired else side] + draw.normal(0, 0.02, 6)
            times = size * truth**side * np.exp(logs)
            kept = draw.permutation(6)[: 6 - int(draw.random() < 0.6)]
            return [replace(row, seconds=float(times[n]), block=int(n)) for n in kept]

        pairs = [[values_by_block(draw_cell(s, side)) for side in (0, 1)] for s in sizes]
        mean = find_mean_ratio([(base, other) for base, other in pairs], paired=paired)
        assert mean
        hits.append(contains(mean, truth))
    assert count(hits).lies_within(0.92, 0.98), str(count(hits))


def assert_near(found: object, expected: object) -> None:
    """Both are the same ratio, but for what ten digits leave out."""
    assert isinstance(found, Ratio)
    assert isinstance(expected, Ratio)
    assert found.flags == expected.flags
    numbers = [{**structs.asdict(ratio), "flags": None} for ratio in (found, expected)]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-6)


def test_ratios_between_campaigns_are_welchs_and_say_that_they_are_not_interleaved() -> None:
    pair = only_pair(one(), two())
    values = [
        list(next(cell for cell in found.cells if cell.id == FENCE).arms["cpu"].values.values())
        for found in (one(), two())
    ]
    assert_near(pair.ratios[FENCE], find_welch_ratio(*values))
    assert not pair.interleaved
    text = render_them(one(), two())
    assert KINDS["not-interleaved"].text[1:] in text
    assert "3 instances" in text


def test_any_arm_of_any_campaign_against_any_other() -> None:
    summaries = both()
    versus = compare_cells(summaries, ["2:cuda/1:cpu", "1:cuda/1:cpu"])
    across, within = versus.pairs
    assert (across.base.name, across.other.name) == ("1:cpu", "2:cuda")
    assert (across.interleaved, within.interleaved) == (False, True)
    # Within one campaign the ratio is the campaign's own, paired by block.
    for cell in summaries[0].cells:
        assert_near(within.ratios[cell.id], cell.ratios["cuda"])
    default = [(p.other.name, p.base.name) for p in compare_cells(summaries).pairs]
    assert default == [("2:cpu", "1:cpu"), ("2:cuda", "1:cuda")]


@pytest.mark.parametrize(
    ("pairs", "complaint"),
    [
        (["2:cpu"], "is not a valid comparison"),
        (["cpu/1:cpu"], "is not a valid comparison"),
        (["2:cpu/1:cpu/1:cpu"], "is not a valid comparison"),
        (["3:cpu/1:cpu"], "no column 3:cpu"),
        (["2:cuda/1:cpu"], "no column 2:cuda"),
        (["1:cpu/1:cpu"], "one column twice"),
    ],
)
def test_a_comparison_that_names_no_columns_is_a_usage_error(
    pairs: list[str], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint) as caught:
        compare_cells([one(), two()], pairs)
    assert caught.value.remedy


OTHER = replace(synthetic.SUITE, content="6" * 64)


@pytest.mark.parametrize(
    ("make", "complaint", "way_out"),
    [
        (lambda: [one()], "two campaigns", ""),
        (lambda: [one(), one()], "named twice", ""),
        (lambda: [one(), structs.replace(two(), suite=OTHER)], "not measured by the same", ""),
        (
            lambda: [one(), make_summary("two", arms=["cuda"], blocks=3)],
            "no arm in common",
            "2:cuda/1:cpu",
        ),
    ],
)
def test_what_can_not_be_compared_is_refused(
    make: Callable[[], list[Analysis]], complaint: str, way_out: str
) -> None:
    with pytest.raises(UsageError, match=complaint) as caught:
        compare_cells(make())
    assert way_out in (caught.value.remedy or "")


def test_profiles_without_verdicts_and_too_few_blocks_give_none() -> None:
    assert verdicts(only_pair(one(), change(two(), profile="smoke"))) == {"provisional"}
    few = make_summary("two", seed=2, blocks=2)
    assert verdicts(only_pair(one(), few)) == {"few-pairs"}
    assert "No verdicts of 2:cpu against 1:cpu" in render_them(one(), few)


def test_a_cell_of_one_plan_only_has_no_ratio() -> None:
    cells = tuple(cell for cell in two().cells if cell.id != FENCE)
    fewer = structs.replace(two(), cells=cells)
    assert only_pair(one(), fewer).ratios[FENCE] == raise_flag("not-in-both")
    text = render_them(one(), fewer)
    assert "the cell is not in the plan of this campaign" in text


def test_results_that_differ_are_not_the_same_work() -> None:
    pair = only_pair(*make_changed(check=Check(what="a number", value=1.01, tolerance=1e-3)))
    refused = pair.ratios[FENCE]
    assert isinstance(refused, Flag)
    assert refused.code == "other-results"
    assert "not the same work" in word(refused)
    alike = only_pair(*make_changed(check=Check(what="a number", value=1.0001, tolerance=1e-3)))
    assert isinstance(alike.ratios[FENCE], Ratio)


def test_an_invalid_number_is_never_judged_and_struck_through() -> None:
    summaries = make_changed(evidence={"steal_share": 0.5})
    pair = only_pair(*summaries)
    assert verdicts(pair) >= {"INVALID"}
    found = pair.verdicts[FENCE]
    assert isinstance(found, Verdict)
    assert found.code == "steal"
    assert FENCE not in pair.sound
    assert "~~" in render_them(*summaries)


def test_a_missing_number_has_no_ratio() -> None:
    first, second = make_changed(
        outcome="failed", reason="lost", samples_s=[], warmup_s=[], calls_per_sample=None
    )
    pair = only_pair(first, second)
    assert pair.ratios[FENCE] == raise_flag("no-number")


def test_other_calls_in_a_sample_are_said() -> None:
    pair = only_pair(*make_changed(calls_per_sample=999))
    assert codes(pair.cells[FENCE].beside) == ["other-calls"]
    assert not any(one.beside for name, one in pair.cells.items() if name != FENCE)


def test_the_margin_is_the_wider_floor_and_a_missing_one_is_said() -> None:
    pair = only_pair(one(), two())
    floors = [found.noise_floor or 0.0 for found in (one(), two())]
    assert pair.margin == max(MARGIN, *floors)
    within = compare_cells(both(), ["1:cuda/1:cpu"]).pairs[0]
    assert within.margin == both()[0].margin
    assert pair.floor_known
    unknown = structs.replace(two(), noise_floor=None)
    assert not only_pair(one(), unknown).floor_known
    text = render_them(one(), unknown)
    assert "Not every campaign knows its noise floor" in text


def test_facts_that_differ_stand_first() -> None:
    moved = tell({"cpu.model": "Another | Processor"})
    second = make_campaign("two", blocks=3, seed=2)
    second = replace(second, documents=plant(second.documents, moved))
    text = render_them(one(), analyse(second))
    differs = text[text.index("## What differs") : text.index("## Tables")]
    assert "cpu.model" in differs
    assert "Made-Up Processor 9000" in differs
    assert "Another \\| Processor" in differs
    assert "tensorflow.version" not in differs


def test_the_files_come_from_the_documents_alone(tmp_path: Path) -> None:
    folders = []
    for seed, name in enumerate(("one", "two"), 1):
        campaign = replace(synthetic.make_campaign(blocks=3, seed=seed), id=name)
        documents = synthetic.make_documents(campaign, samples=20)
        folders.append(synthetic.write_campaign(tmp_path / name, campaign, documents))
    files = report_comparison(folders)
    assert files == report_comparison(folders)
    assert set(files) == {"compare.md", "compare.html", "compare.json"}
    described = json.loads(files["compare.json"])
    assert [one["id"] for one in described["campaigns"]] == ["one", "two"]
    assert described["pairs"][0]["work"]["equivalent"]
    assert described["pairs"][0]["work"]["mean"]["low"] < 1.05
    told = {flag["text"] for one in described["pairs"] for flag in one["flags"]}
    assert told == {KINDS["not-interleaved"].text}
    text = files["compare.md"]
    assert "**SIMULATED** · Table" in text
    assert text.startswith("# Crossover: 2 campaigns side by side — SIMULATED")
    assert 'make compare RUN="path/to/one path/to/two" PAIRS="2:cpu/1:cpu ' in text
    # The marks mean the same in every report.
    own = report_folder(folders[0]).files["report.md"]
    meanings = [one.split("## Footnotes\n\n")[1].splitlines()[0] for one in (text, own)]
    assert meanings[0].startswith("`—` no number")
    assert meanings[0] == meanings[1]
