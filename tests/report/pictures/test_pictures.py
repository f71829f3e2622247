"""What the pictures show, as values: asserted without drawing one."""

from __future__ import annotations

import pytest

from suite.analysis.result.campaign import Analysis
from suite.flags import raise_flag
from suite.report.pages.gallery import depict
from suite.report.pictures.breakdowns import depict_decomposition, depict_waterfalls
from suite.report.pictures.picture import (
    POSSIBLE_FILES,
    Bar,
    Dots,
    Mark,
    Part,
    Picture,
    Stacks,
    Sweeps,
    Waterfall,
)
from tests import synthetic
from tests.rendering import study
from tests.report.campaigns import (
    BARS,
    NO_NUMBER,
    PIPELINES,
    SWEEPS,
    WATERFALLS,
    analyse_made,
    change,
)

MADE = analyse_made()


def find(summary: Analysis, name: str) -> Picture:
    (found,) = [picture for picture in depict(summary) if picture.name == name]
    return found


def find_sweeps(summary: Analysis, name: str = "matmul") -> tuple[Picture, Sweeps]:
    picture = find(summary, name)
    assert isinstance(picture.content, Sweeps)
    return picture, picture.content


def find_pipelines(summary: Analysis) -> tuple[Picture, Dots]:
    picture = find(summary, "pipelines")
    assert isinstance(picture.content, Dots)
    return picture, picture.content


def test_two_arms_cross_where_the_analysis_says_so() -> None:
    picture, content = find_sweeps(MADE)
    (panel,) = content.panels
    assert [line.arm for line in panel.lines] == ["cpu", "cuda"]
    assert [size for size, _ in panel.lines[0].marks] == [1, 10, 64, 100, 256, 1000, 4000, 10000]
    (sweep,) = [one for one in MADE.sweeps if one.scenario == "matmul"]
    crossover = sweep.crossovers["cuda"]
    (span,) = panel.spans
    assert (span.low, span.high) == (crossover.low, crossover.high)
    assert span.label.startswith("cuda wins from ")
    assert picture.title.startswith("Square products: cpu wins at n = 1")
    assert "shaded" in picture.caption
    assert "INVALID" not in picture.caption
    first, mark = MADE.cells[0].arms["cpu"].estimate, panel.lines[0].marks[0][1]
    assert first
    assert mark
    assert (mark.value, mark.low, mark.high) == (first.value, first.low, first.high)


def test_networks_stand_beside_each_other_and_rates_are_turned_round() -> None:
    _, content = find_sweeps(MADE, "mlp")
    assert content.unit == "examples/s"
    assert ["net=A" in panel.title for panel in content.panels] == [True, False]
    mark = content.panels[0].lines[0].marks[0][1]
    time = next(one for one in MADE.cells if one.scenario == "mlp").arms["cpu"].estimate
    assert mark
    assert time
    assert time.low
    assert time.high
    assert mark.value == 8 / time.value
    assert (mark.low, mark.high) == (8 / time.high, 8 / time.low)


def test_one_arm_says_how_far_it_comes() -> None:
    picture, content = find_sweeps(analyse_made(arms=("cpu",)))
    assert content.panels[0].spans == ()
    assert picture.title == "Square products: cpu reaches 101 GFLOP/s at best (n = 4000)"
    assert "shaded" not in picture.caption


def test_three_arms_have_a_line_each() -> None:
    _, content = find_sweeps(analyse_made(arms=("cpu", "cuda", "cuda-hidden")))
    assert [line.arm for line in content.panels[0].lines] == ["cpu", "cuda", "cuda-hidden"]


def test_a_missing_number_breaks_the_line_and_is_named() -> None:
    picture, content = find_sweeps(change(MADE, MADE.cells[3].id, "cpu", **NO_NUMBER))
    lines = content.panels[0].lines
    assert [mark is None for _, mark in lines[0].marks] == [False] * 3 + [True] + [False] * 4
    assert all(mark for _, mark in lines[1].marks)
    assert "No number: cpu at n = 100." in picture.caption
    assert "No number: cpu at n = 100." in picture.alt


def test_an_invalid_number_is_struck_and_explained() -> None:
    flags = (raise_flag("changed", {"arm": "cuda"}, what="image"),)
    picture, content = find_sweeps(change(MADE, MADE.cells[0].id, "cuda", flags=flags))
    marks = [mark for _, mark in content.panels[0].lines[1].marks if mark]
    assert [mark.struck for mark in marks] == [True] + [False] * 7
    assert "INVALID" in picture.caption
    assert "(invalid) at n = 1" in picture.alt


def test_without_intervals_there_are_marks_and_a_word_about_it() -> None:
    picture, content = find_sweeps(analyse_made(blocks=2))
    assert all(mark and mark.low is None for _, mark in content.panels[0].lines[0].marks)
    assert "no intervals" in picture.caption
    assert "95 % CIs" not in picture.caption


def test_a_family_without_numbers_has_no_picture() -> None:
    few = synthetic.make_campaign(cells=synthetic.make_cells()[:1], blocks=3)
    assert depict(study(few, synthetic.make_documents(few, samples=2))) == ()
    assert depict(study(synthetic.make_campaign(cells=list(SWEEPS)), [])) == ()
    names = [one.name for one in depict(analyse_made("both"))]
    assert names == ["matmul", "mlp", "decomposition", "pipelines"]


def test_every_picture_says_what_the_report_must_say_everywhere() -> None:
    campaign = synthetic.make_campaign(cells=list(SWEEPS), blocks=3)
    documents = synthetic.make_documents(campaign, samples=2, isolation="none")
    for picture in depict(study(campaign, documents)):
        assert picture.banner == "SIMULATED · NOT CONTAINERIZED"


def test_the_triple_compares_batches_whatever_a_call_works_through() -> None:
    summary = analyse_made("triple and steps", ("cpu",))
    picture, content = find_pipelines(summary)
    assert [group.title for group in content.groups] == list(PIPELINES)
    times = {one.id: one.arms["cpu"].estimate for one in summary.cells}
    for group in content.groups:
        labels = [row.label for row in group.rows]
        assert labels == ["input alone", "compute alone", "together", "with a trivial model"]
        calls = 2 if group.title == "numpy_function" else 1
        found = times[f"tfdata.triple/pipeline={group.title}/part=input/batch=512"]
        assert found
        (arm, mark), *_ = group.rows[0].marks
        assert (arm, mark.value) == ("cpu", pytest.approx(calls * found.value))
    assert picture.tables == ("tfdata", "mlp")


def test_the_triple_does_without_its_computing() -> None:
    picture, content = find_pipelines(analyse_made("triple", ("cpu",)))
    labels = [row.label for row in content.groups[0].rows]
    assert labels == ["input alone", "together", "with a trivial model"]
    assert picture.tables == ("tfdata",)


def test_a_step_in_its_parts() -> None:
    picture = depict_decomposition(MADE, BARS)
    assert picture
    assert isinstance(picture.content, Stacks)
    assert picture.title == "Where a training step goes: dispatch takes 75 % of A 32, cuda"
    assert "A 32, cuda, 800 µs: dispatch 75.0 %, transfer 0.0 %, compute 25.0 %." in picture.alt
    assert "under 0" in picture.caption
    whole = Bar(label="not taken apart", parts=(Part(name="compute", seconds=1.0),))
    assert depict_decomposition(MADE, [Bar(label="empty", parts=()), whole]) is None


def test_the_waterfalls_of_one_title_are_one_group() -> None:
    picture = depict_waterfalls(MADE, WATERFALLS)
    assert picture
    assert isinstance(picture.content, Dots)
    (group,) = picture.content.groups
    assert group.linked
    assert [row.label for row in group.rows] == ["as asked", "tracing out", "batch 512"]
    assert [[arm for arm, _ in row.marks] for row in group.rows] == [["cpu", "cuda"]] * 3
    assert picture.title == "What people ask about: B by slices takes 250× its fair time on cpu"
    assert depict_waterfalls(MADE, ()) is None


def test_what_would_not_fit_on_a_page_is_left_to_the_tables() -> None:
    bars = [
        Bar(
            label=f"step {place}",
            parts=(Part(name="dispatch", seconds=1.0 + place), Part(name="compute", seconds=9.0)),
        )
        for place in range(16)
    ]
    picture = depict_decomposition(MADE, bars)
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
                ("a", Mark(value=way + place)),
                ("b", Mark(value=2.0)),
                ("c", Mark(value=1.0)),
            ),
        )
        for subject, way, places in (("product", 100, range(9)), ("clone", 2, range(1)))
        for place in places
        for arm in ("cpu", "cuda")
    ]
    picture = depict_waterfalls(MADE, falls)
    assert picture
    assert isinstance(picture.content, Dots)
    titles = [one.title for one in picture.content.groups]
    assert titles == [*(f"product {n}" for n in range(3, 9)), "clone 0"]
    assert picture.title == "What people ask about: product 8 takes 108× its fair time on cpu"
    assert "3 more cases stand in the table alone." in picture.caption


def test_files_are_known_before_there_are_any() -> None:
    assert "plots/matmul.svg" in POSSIBLE_FILES
    assert len(set(POSSIBLE_FILES)) == len(POSSIBLE_FILES) == 10
