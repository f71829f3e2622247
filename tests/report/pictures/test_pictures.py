"""What the pictures show, as values: asserted without drawing one."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import pytest
from msgspec import structs

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.findings import Spot, Waterfall
from suite.cells.traits import Effect
from suite.flags import raise_flag
from suite.report.pages.gallery import depict
from suite.report.pictures.picture import LONGEST_ALT, POSSIBLE_FILES, Dots, Panel, Picture, Sweeps
from tests import synthetic
from tests.rendering import study
from tests.report.campaigns import (
    NO_NUMBER,
    PIPELINES,
    SWEEPS,
    analyse_explained,
    analyse_made,
    change,
    make_waterfall,
    take_apart,
)

Kind = TypeVar("Kind", Sweeps, Dots, tuple)


def find(summary: Analysis, name: str, kind: type[Kind]) -> tuple[Picture, Kind]:
    (picture,) = [picture for picture in depict(summary) if picture.name == name]
    assert isinstance(picture.content, kind)
    return picture, picture.content


def find_sweeps(summary: Analysis) -> tuple[Picture, Sweeps]:
    return find(summary, "matmul", Sweeps)


def find_panel(*falls: Waterfall) -> Panel[str]:
    """The panel of the waterfalls of one title."""
    _, content = find(structs.replace(analyse_made(), waterfalls=falls), "asked", Dots)
    (panel,) = content.panels
    return panel


def test_two_arms_cross_where_the_analysis_says_so() -> None:
    made = analyse_made()
    picture, content = find_sweeps(made)
    (panel,) = content.panels
    assert list(panel.marks) == ["cpu", "cuda"]
    assert panel.places == (1, 10, 64, 100, 256, 1000, 4000, 10000)
    (sweep,) = [sweep for sweep in made.sweeps if sweep.scenario == "matmul"]
    crossover = sweep.crossovers["cuda"]
    (span,) = panel.spans
    assert (span.low, span.high) == (crossover.low, crossover.high)
    assert span.label.startswith("cuda wins from ")
    assert picture.title.startswith("Square products: cpu wins at n = 1")
    assert "shaded" in picture.caption
    assert "INVALID" not in picture.caption
    first, mark = made.cells[0].arms["cpu"], panel.marks["cpu"][0]
    assert mark
    assert (mark.value, mark.low, mark.high) == (first.value, first.low, first.high)


def test_networks_stand_beside_each_other_and_rates_are_turned_round() -> None:
    made = analyse_made()
    _, content = find(made, "mlp", Sweeps)
    assert content.unit == "examples/s"
    assert ["net=A" in panel.title for panel in content.panels] == [True, False]
    mark = content.panels[0].marks["cpu"][0]
    time = next(cell for cell in made.cells if cell.scenario == "mlp").arms["cpu"].estimate
    assert mark
    assert time
    assert time.low
    assert time.high
    assert mark.value == 8 / time.value
    assert (mark.low, mark.high) == (8 / time.high, 8 / time.low)


@pytest.mark.parametrize(
    ("title", "banner", "alt"),
    [
        ("A; b", "", "A; b."),
        ("A; b", "X · Y", "X · Y. A; b."),
        (f"A; {'b' * 60}; {'c' * 70}", "X", f"X. A; {'b' * 60}."),
        ("word " * 50, "", f"{'word ' * 23}word…."),
        ("w" * 200, "X", "X.…."),
    ],
)
def test_what_stands_for_a_picture_is_short(title: str, banner: str, alt: str) -> None:
    picture = replace(find_sweeps(analyse_made())[0], title=title.strip(), banner=banner)
    assert picture.alt == alt
    assert len(picture.alt) <= LONGEST_ALT


def test_one_arm_says_how_far_it_comes() -> None:
    picture, content = find_sweeps(analyse_made(arms=("cpu",)))
    assert content.panels[0].spans == ()
    assert picture.title == "Square products: cpu reaches 101 GFLOP/s at best (n = 4000)"
    assert "shaded" not in picture.caption


def test_a_missing_number_breaks_the_line_and_is_named() -> None:
    made = analyse_made()
    picture, content = find_sweeps(change(made, made.cells[3].id, "cpu", **NO_NUMBER))
    marks = content.panels[0].marks
    assert [mark is None for mark in marks["cpu"]] == [False] * 3 + [True] + [False] * 4
    assert all(marks["cuda"])
    assert "No number: cpu at n = 100." in picture.caption


def test_an_invalid_number_is_struck_and_explained() -> None:
    flags = (raise_flag("changed", {"arm": "cuda"}, what="image"),)
    made = analyse_made()
    picture, content = find_sweeps(change(made, made.cells[0].id, "cuda", flags=flags))
    marks = [mark for mark in content.panels[0].marks["cuda"] if mark]
    assert [mark.struck for mark in marks] == [True] + [False] * 7
    assert "INVALID" in picture.caption


def test_without_intervals_there_are_marks_and_a_word_about_it() -> None:
    picture, content = find_sweeps(analyse_made(blocks=2))
    assert all(mark and mark.low is None for mark in content.panels[0].marks["cpu"])
    assert "no intervals" in picture.caption
    assert "95 % CIs" not in picture.caption


def test_a_family_without_numbers_has_no_picture() -> None:
    few = synthetic.make_campaign(cells=synthetic.make_cells()[:1], blocks=3)
    assert depict(study(few, synthetic.make_documents(few, samples=2))) == ()
    assert depict(study(synthetic.make_campaign(cells=list(SWEEPS)), [])) == ()
    names = [picture.name for picture in depict(analyse_made("both"))]
    assert names == ["ratios", "matmul", "mlp", "decomposition", "pipelines"]


def test_every_picture_says_what_the_report_must_say_everywhere() -> None:
    campaign = synthetic.make_campaign(cells=list(SWEEPS), blocks=3)
    documents = synthetic.make_documents(campaign, samples=2, isolation="none")
    for picture in depict(study(campaign, documents)):
        assert picture.banner == "SIMULATED · NOT CONTAINERIZED"


def test_the_triple_compares_batches_whatever_a_call_works_through() -> None:
    summary = analyse_made("triple and steps", ("cpu",))
    picture, content = find(summary, "pipelines", Dots)
    assert [panel.title for panel in content.panels] == list(PIPELINES)
    times = {cell.id: cell.arms["cpu"].estimate for cell in summary.cells}
    for panel in content.panels:
        assert panel.places == (
            *("input alone", "compute alone", "together", "with a trivial model"),
        )
        calls = 2 if panel.title == "numpy_function" else 1
        time = times[f"tfdata.triple/pipeline={panel.title}/part=input/batch=512"]
        assert time
        mark = panel.marks["cpu"][0]
        assert mark
        assert mark.value == pytest.approx(calls * time.value)
    assert picture.tables == ("tfdata", "mlp")
    # It does without its computing.
    picture, content = find(analyse_made("triple", ("cpu",)), "pipelines", Dots)
    assert content.panels[0].places == ("input alone", "together", "with a trivial model")
    assert picture.tables == ("tfdata",)


def test_a_step_in_its_parts() -> None:
    made = analyse_explained()
    picture, _ = find(made, "decomposition", tuple)
    title = "Where a training step goes: dispatch takes 75 % of mlp.train/net=A/batch=32"
    assert picture.title.startswith(title)
    assert "under 0" in picture.caption
    cell = made.find("step")[0].cell
    for compute in (1.0, 0.0):
        alone = structs.replace(made, findings=take_apart(cell, "cuda", 0.0, compute, 0.0))
        assert "decomposition" not in {picture.name for picture in depict(alone)}


def test_the_waterfalls_of_one_title_are_one_panel() -> None:
    made = analyse_explained()
    picture, content = find(made, "asked", Dots)
    (panel,) = content.panels
    assert content.linked
    assert panel.title == "slices, time per example"
    assert panel.places == ("as asked", "timing: tracing out", "training: batch 512")
    assert [(arm, len(marks)) for arm, marks in panel.marks.items()] == [("cpu", 3), ("cuda", 3)]
    assert picture.title == "What people ask about: the timing of slices is off by 2.78× on cpu"
    spot = Spot(arm="cpu", pinned=True)
    pinned = tuple(structs.replace(waterfall, spot=spot) for waterfall in made.waterfalls)
    pictures = depict(structs.replace(made, waterfalls=pinned))
    assert "asked" not in {picture.name for picture in pictures}


def test_a_step_that_an_arm_lacks_is_missing_in_its_row() -> None:
    panel = find_panel(
        make_waterfall("cpu", {"asked": 3.0, "b": 2.0, "c": 1.0}),
        make_waterfall("cuda", {"asked": 3.0, "c": 1.0}),
    )
    assert [mark is None for mark in panel.marks["cuda"]] == [False, True, False]


def test_a_row_says_what_was_changed_last_and_how_much_else() -> None:
    """Two rows after as many changes each were one row once, which hid the first of them."""
    steps = {"asked": 9.0, "a": 6.0, "b": 5.0, "c": 4.0, "d": 3.0, "e": 2.0, "fair": 1.0}
    few = make_waterfall("cpu", {"asked": 9.0, "c": 4.0, "fair": 1.0})
    all_steps = make_waterfall("cuda", steps)
    alone = make_waterfall("cpu", {name: steps[name] for name in ("asked", "b", "d", "fair")})
    changes = (("asked",), ("a", "b"), ("c", "d"), ("e", "fair"))
    joined = zip(alone.steps, changes, strict=True)
    steps_joined = tuple(structs.replace(step, changes=every) for step, every in joined)
    panel = find_panel(structs.replace(alone, steps=steps_joined))
    assert panel.places == (
        "as asked",
        *(f"timing: {name} (+1)" for name in ("b", "d", "fair")),
    )
    assert [mark and mark.value for mark in panel.marks["cpu"]] == [9.0, 5.0, 3.0, 1.0]
    # Of two arms the rows are in the script's order, whichever has them; one step is what either has changed.
    panel = find_panel(few, all_steps)
    assert panel.places == ("as asked", *(f"timing: {name}" for name in [*"abcde", "fair"]))
    assert [bool(mark) for mark in panel.marks["cpu"]] == [
        place in {"as asked", "timing: c", "timing: fair"} for place in panel.places
    ]


@pytest.mark.parametrize(
    ("effects", "places", "claim"),
    [
        ({}, ("timing: b", "timing: c"), "the timing of slices is off by 9.00× on cpu"),
        ({"c": ("script",)}, ("timing: b", "script: c"), "is off by 4.50× on cpu"),
        ({"c": ("training",)}, ("timing: b", "training: c"), "is off by 4.50× on cpu"),
        ({"b": ("script",)}, ("script: b", "timing: c"), "is off by 2.00× on cpu"),
        ({"b": ("script",), "c": ("training",)}, ("script: b", "training: c"), None),
        # Nobody can tell what of it is the timing.
        (
            {"b": ("timing", "script")},
            ("timing+script: b", "timing: c"),
            None,
        ),
        (
            {"c": ("timing", "script", "training")},
            ("timing: b", "timing+script+training: c"),
            None,
        ),
    ],
)
def test_only_what_the_timing_alone_makes_is_said_to_be_off(
    effects: dict[str, tuple[Effect, ...]], places: tuple[str, ...], claim: str | None
) -> None:
    times = {"a": 9.0, "b": 2.0, "c": 1.0}
    fall = make_waterfall("cpu", times, effects={"b": ("timing",), "c": ("timing",)} | effects)
    assert find_panel(fall).places[1:] == places
    picture, _ = find(structs.replace(analyse_made(), waterfalls=(fall,)), "asked", Dots)
    if claim:
        assert picture.title.endswith(claim)
    assert ("off by" in picture.title) == bool(claim)
    # Not where the fair number was not measured, nor where the timing made it shorter.
    for other in (structs.replace(fall, fair=""), make_waterfall("cpu", {"a": 1.0, "b": 2.0})):
        picture, _ = find(structs.replace(analyse_made(), waterfalls=(other,)), "asked", Dots)
        assert picture.title.endswith("from what they time to the fair number, and on")


def test_what_would_not_fit_on_a_page_is_left_to_the_tables() -> None:
    made = analyse_made()
    cells = [cell.id for cell in made.cells if cell.scenario == "mlp"]
    places = [(cell, arm) for arm in ("cpu", "cuda") for cell in cells]
    steps = [
        row
        for place, (cell, arm) in enumerate(places)
        for row in take_apart(cell, arm, 1.0 + place, 9.0, 0.0)
    ]
    picture, bars = find(structs.replace(made, findings=tuple(steps)), "decomposition", tuple)
    assert [bar.whole for bar in bars] == [10.0 + place for place in range(7, 16)]
    assert "7 more steps stand in the table alone." in picture.caption


def test_of_many_cases_every_script_has_its_turn() -> None:
    falls = [
        make_waterfall(arm, {"a": way + n, "b": 2.0, "c": 1.0}, name, n)
        for name, way, sizes in (("product", 100, range(10)), ("clone", 2.5, range(1)))
        for n in sizes
        for arm in ("cpu", "cuda")
    ]
    made = structs.replace(analyse_made(), waterfalls=tuple(falls))
    picture, content = find(made, "asked", Dots)
    titles = [panel.title.partition(",")[0] for panel in content.panels]
    assert titles == [*(f"product (n={n})" for n in range(7, 10)), "clone (n=0)"]
    title = "What people ask about: the timing of product (n=9) is off by 109× on cpu"
    assert picture.title == title
    assert "7 more cases stand in the table alone." in picture.caption


def test_of_a_scripts_sizes_those_that_are_two_ends_alone_are_left_to_the_tables() -> None:
    ends = [make_waterfall("cpu", {"a": 50.0 + n, "c": 1.0}, "product", n) for n in range(3)]
    whole = make_waterfall("cpu", {"a": 9.0, "b": 2.0, "c": 1.0}, "product", 7)
    for falls, shown in (((*ends, whole), ["product (n=7)"]), (ends, ["product (n=2)"])):
        made = structs.replace(analyse_made(), waterfalls=tuple(falls))
        picture, content = find(made, "asked", Dots)
        assert [panel.title.partition(",")[0] for panel in content.panels] == shown
        assert f"{len(falls) - 1} more cases stand in the table alone." in picture.caption


def test_files_are_known_before_there_are_any() -> None:
    assert "plots/matmul.svg" in POSSIBLE_FILES
    assert len(set(POSSIBLE_FILES)) == len(POSSIBLE_FILES) == 16
