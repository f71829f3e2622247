"""What the pictures show, as values: asserted without drawing one."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from suite.analysis.analyse import analyse
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.result.campaign import Analysis
from suite.cells.cell import Cell, Param, Work
from suite.flags import raise_flag
from suite.model import Campaign, Document
from suite.report.pages.gallery import depict
from suite.report.pictures.breakdowns import depict_decomposition, depict_waterfalls
from suite.report.pictures.picture import (
    POSSIBLE_FILES,
    Bar,
    Dots,
    Part,
    Picture,
    Stacks,
    Step,
    Sweeps,
    Waterfall,
)
from tests import synthetic

PIPELINES = ("parallel", "native", "numpy_function")
PARTS = ("input", "together", "trivial")

NO_NUMBER: dict[str, Any] = {"value": None, "low": None, "high": None, "n": 0, "rate": None}
"""What an arm that has no number knows of a cell."""


def make_sweeps() -> list[Cell]:
    """A sweep of products and one of steps for each of two networks."""
    products = [
        synthetic.make_cell(
            "matmul",
            "square",
            {"n": n, "precision": "fp32", "operands": "device", "xla": "off"},
            Work(amount=2.0 * n**3, unit="FLOP"),
            sweep="n",
        )
        for n in (1, 10, 64, 100, 256, 1000, 4000, 10000)
    ]
    steps = [
        make_step(net, batch)
        for net, batches in (("A", (8, 32, 128, 512, 4096)), ("B", (10, 32, 512)))
        for batch in batches
    ]
    return [*products, *steps]


def make_step(net: str, batch: int) -> Cell:
    params: dict[str, Param] = {
        "net": net,
        "batch": batch,
        "data": "device",
        "precision": "fp32",
        "execution": "graph",
    }
    work = Work(amount=float(batch), unit="example")
    return synthetic.make_cell("mlp", "train", params, work, sweep="batch")


def make_triple() -> list[Cell]:
    """Three pipelines in their parts; a call of the slowest works through half a batch."""
    return [
        synthetic.make_cell(
            "tfdata",
            "triple",
            {"pipeline": pipeline, "part": part, "batch": 512},
            Work(amount=256.0 if pipeline == "numpy_function" else 512.0, unit="element"),
        )
        for pipeline in PIPELINES
        for part in PARTS
    ]


def summarise_made(campaign: Campaign, documents: list[Document]) -> Analysis:
    return analyse(LoadedCampaign(folder="made-up", campaign=campaign, documents=documents))


def make_summary(cells: list[Cell], **fields: Any) -> Analysis:
    campaign = synthetic.make_campaign(cells=cells, **{"blocks": 3, **fields})
    return summarise_made(campaign, synthetic.make_documents(campaign, samples=2))


def find(summary: Analysis, name: str) -> Picture:
    (found,) = [picture for picture in depict(summary) if picture.name == name]
    return found


def change(summary: Analysis, cell_id: str, arm: str, **fields: Any) -> Analysis:
    """The summary with something else known of one cell on one arm."""
    cells = [
        structs.replace(one, arms={**one.arms, arm: structs.replace(one.arms[arm], **fields)})
        if one.id == cell_id
        else one
        for one in summary.cells
    ]
    return structs.replace(summary, cells=tuple(cells))


def test_two_arms_cross_where_the_analysis_says_so() -> None:
    summary = make_summary(make_sweeps())
    picture = find(summary, "matmul")
    content = picture.content
    assert isinstance(content, Sweeps)
    (panel,) = content.panels
    assert [line.arm for line in panel.lines] == ["cpu", "cuda"]
    assert [size for size, _ in panel.lines[0].marks] == [1, 10, 64, 100, 256, 1000, 4000, 10000]
    (sweep,) = [one for one in summary.sweeps if one.scenario == "matmul"]
    crossover = sweep.crossovers["cuda"]
    (span,) = panel.spans
    assert (span.low, span.high) == (crossover.low, crossover.high)
    assert span.label.startswith("cuda wins from ")
    assert picture.title.startswith("Square products: cpu wins at n = 1")
    assert "shaded" in picture.caption
    first = summary.cells[0].arms["cpu"].estimate
    mark = panel.lines[0].marks[0][1]
    assert first
    assert mark
    assert (mark.value, mark.low, mark.high) == (first.value, first.low, first.high)


def test_networks_stand_beside_each_other_and_rates_are_turned_round() -> None:
    summary = make_summary(make_sweeps())
    content = find(summary, "mlp").content
    assert isinstance(content, Sweeps)
    assert content.unit == "examples/s"
    assert ["net=A" in panel.title for panel in content.panels] == [True, False]
    mark = content.panels[0].lines[0].marks[0][1]
    time = next(one for one in summary.cells if one.scenario == "mlp").arms["cpu"].estimate
    assert mark
    assert time
    assert time.low
    assert time.high
    assert mark.value == 8 / time.value
    assert (mark.low, mark.high) == (8 / time.high, 8 / time.low)


def test_one_arm_says_how_far_it_comes() -> None:
    picture = find(make_summary(make_sweeps(), arms=["cpu"]), "matmul")
    assert isinstance(picture.content, Sweeps)
    assert picture.content.panels[0].spans == ()
    assert picture.title == ("Square products: cpu reaches 101 GFLOP/s at best (n = 4000)")
    assert "shaded" not in picture.caption


def test_three_arms_have_a_line_each() -> None:
    content = find(
        make_summary(make_sweeps(), arms=["cpu", "cuda", "cuda-hidden"]), "matmul"
    ).content
    assert isinstance(content, Sweeps)
    assert [line.arm for line in content.panels[0].lines] == ["cpu", "cuda", "cuda-hidden"]


def test_a_missing_number_breaks_the_line_and_is_named() -> None:
    summary = make_summary(make_sweeps())
    name = summary.cells[3].id
    picture = find(change(summary, name, "cpu", **NO_NUMBER), "matmul")
    assert isinstance(picture.content, Sweeps)
    lines = picture.content.panels[0].lines
    assert [mark is None for _, mark in lines[0].marks] == [False] * 3 + [True] + [False] * 4
    assert all(mark for _, mark in lines[1].marks)
    assert "No number: cpu at n = 100." in picture.caption
    assert "No number: cpu at n = 100." in picture.alt


def test_an_invalid_number_is_struck_and_explained() -> None:
    summary = make_summary(make_sweeps())
    flags = (raise_flag("changed", {"arm": "cuda"}, what="image"),)
    struck = change(summary, summary.cells[0].id, "cuda", flags=flags)
    picture = find(struck, "matmul")
    assert isinstance(picture.content, Sweeps)
    marks = [mark for _, mark in picture.content.panels[0].lines[1].marks if mark]
    assert [mark.struck for mark in marks] == [True] + [False] * 7
    assert "INVALID" in picture.caption
    assert "(invalid) at n = 1" in picture.alt
    assert "INVALID" not in find(summary, "matmul").caption


def test_without_intervals_there_are_marks_and_a_word_about_it() -> None:
    picture = find(make_summary(make_sweeps(), blocks=2), "matmul")
    assert isinstance(picture.content, Sweeps)
    assert all(mark and mark.low is None for _, mark in picture.content.panels[0].lines[0].marks)
    assert "no intervals" in picture.caption
    assert "95 % intervals" not in picture.caption


def test_a_family_without_numbers_has_no_picture() -> None:
    assert depict(make_summary(synthetic.make_cells()[:1])) == ()
    campaign = synthetic.make_campaign(cells=make_sweeps())
    assert depict(summarise_made(campaign, [])) == ()
    names = [one.name for one in depict(make_summary([*make_sweeps(), *make_triple()]))]
    assert names == ["matmul", "mlp", "decomposition", "pipelines"]


def test_every_picture_says_what_the_report_must_say_everywhere() -> None:
    campaign = synthetic.make_campaign(cells=make_sweeps(), blocks=3)
    documents = synthetic.make_documents(campaign, samples=2, isolation="none")
    for picture in depict(summarise_made(campaign, documents)):
        assert picture.banner == "SIMULATED · NOT CONTAINERIZED"


def test_the_triple_compares_batches_whatever_a_call_works_through() -> None:
    cells = [*make_triple(), make_step("A", 512), make_step("B", 512)]
    summary = make_summary(cells, arms=["cpu"])
    picture = find(summary, "pipelines")
    assert isinstance(picture.content, Dots)
    assert [group.title for group in picture.content.groups] == list(PIPELINES)
    times = {one.id: one.arms["cpu"].estimate for one in summary.cells}
    for group in picture.content.groups:
        labels = [row.label for row in group.rows]
        assert labels == ["input alone", "compute alone", "together", "with a trivial model"]
        calls = 2 if group.title == "numpy_function" else 1
        found = times[f"tfdata.triple/pipeline={group.title}/part=input/batch=512"]
        assert found
        (arm, mark), *_ = group.rows[0].marks
        assert (arm, mark.value) == ("cpu", pytest.approx(calls * found.value))
    assert picture.tables == ("tfdata", "mlp")


def test_the_triple_does_without_its_computing() -> None:
    picture = find(make_summary(make_triple(), arms=["cpu"]), "pipelines")
    assert isinstance(picture.content, Dots)
    assert [row.label for row in picture.content.groups[0].rows] == [
        "input alone",
        "together",
        "with a trivial model",
    ]
    assert picture.tables == ("tfdata",)


BARS = (
    Bar(
        label="A 32, cuda",
        parts=(
            Part(name="dispatch", seconds=6e-4),
            Part(name="transfer", seconds=0.0),
            Part(name="compute", seconds=2e-4),
        ),
    ),
    Bar(
        label="A 512, cuda",
        parts=(
            Part(name="dispatch", seconds=6e-4),
            Part(name="transfer", seconds=-1e-5),
            Part(name="compute", seconds=2.4e-3),
        ),
    ),
)
WATERFALLS = tuple(
    Waterfall(
        subject="slices",
        title="B by slices",
        arm=arm,
        steps=(
            Step(label="as asked", value=0.25 * times, low=0.2 * times, high=0.31 * times),
            Step(label="tracing out", value=0.09 * times),
            Step(label="batch 512", value=0.001 * times),
        ),
    )
    for arm, times in (("cpu", 1.0), ("cuda", 3.0))
)


def test_a_step_in_its_parts() -> None:
    summary = make_summary(make_sweeps())
    picture = depict_decomposition(summary, BARS)
    assert picture
    assert isinstance(picture.content, Stacks)
    assert picture.title == "Where a training step goes: dispatch takes 75 % of A 32, cuda"
    assert "A 32, cuda, 800 µs: dispatch 75.0 %, transfer 0.0 %, compute 25.0 %." in picture.alt
    assert "under 0" in picture.caption
    whole = Bar(label="not taken apart", parts=(Part(name="compute", seconds=1.0),))
    assert depict_decomposition(summary, [Bar(label="empty", parts=()), whole]) is None


def test_the_waterfalls_of_one_title_are_one_group() -> None:
    summary = make_summary(make_sweeps())
    picture = depict_waterfalls(summary, WATERFALLS)
    assert picture
    assert isinstance(picture.content, Dots)
    (group,) = picture.content.groups
    assert group.linked
    assert [row.label for row in group.rows] == ["as asked", "tracing out", "batch 512"]
    assert [[arm for arm, _ in row.marks] for row in group.rows] == [["cpu", "cuda"]] * 3
    assert picture.title == "What people ask about: B by slices takes 250× its fair time on cpu"
    assert depict_waterfalls(summary, ()) is None


def test_what_would_not_fit_on_a_page_is_left_to_the_tables() -> None:
    summary = make_summary(make_sweeps())
    bars = [
        Bar(
            label=f"step {place}",
            parts=(Part(name="dispatch", seconds=1.0 + place), Part(name="compute", seconds=9.0)),
        )
        for place in range(16)
    ]
    picture = depict_decomposition(summary, bars)
    assert picture
    assert isinstance(picture.content, Stacks)
    assert [bar.label for bar in picture.content.bars] == [f"step {n}" for n in range(4, 16)]
    assert "4 more steps stand in the table alone." in picture.caption


def test_of_many_cases_every_subject_has_its_turn() -> None:
    falls = [
        Waterfall(
            subject=subject,
            title=f"{subject} {place}",
            arm=arm,
            steps=(
                Step(label="a", value=way + place),
                Step(label="b", value=2.0),
                Step(label="c", value=1.0),
            ),
        )
        for subject, way, places in (("product", 100, range(9)), ("clone", 2, range(1)))
        for place in places
        for arm in ("cpu", "cuda")
    ]
    picture = depict_waterfalls(make_summary(make_sweeps()), falls)
    assert picture
    assert isinstance(picture.content, Dots)
    titles = [one.title for one in picture.content.groups]
    assert titles == [*(f"product {n}" for n in range(3, 9)), "clone 0"]
    assert picture.title == "What people ask about: product 8 takes 108× its fair time on cpu"
    assert "3 more cases stand in the table alone." in picture.caption


def test_files_are_known_before_there_are_any() -> None:
    assert "plots/matmul.svg" in POSSIBLE_FILES
    assert len(set(POSSIBLE_FILES)) == len(POSSIBLE_FILES) == 10
