"""What is told of versions: each sentence where it is true, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from msgspec import structs

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.numbers import Ratio, Verdict, VerdictName, cite
from suite.analysis.result.versions import (
    VERSION_PARTS,
    Differing,
    PartChange,
    VersionChange,
    VersionCourse,
    VersionPart,
    VersionStep,
)
from suite.report.pages.brief import compose_look, compose_screen
from suite.report.pages.campaign import compose_first
from suite.report.pages.gallery import LATER, depict
from suite.report.produce import build_report, rebuild
from suite.report.render.terminal import render_lines
from suite.report.sections.controls import sort_controls
from suite.report.sections.opening import describe_machine, warn
from suite.report.sections.verdict import decide
from suite.report.sections.versions import (
    tell_differing,
    tell_software,
    tell_versions,
    write_part_rows,
    write_versions,
)
from suite.report.text.page import Page, Table
from suite.report.text.texts import TEXTS
from tests import synthetic
from tests.changes import plant, tell
from tests.golden_campaigns import (
    FIT,
    SLOWER_FIT,
    analyse_golden,
    make_up_versions,
    read_golden,
)
from tests.rendering import read_words, render_whole, study
from tests.report.campaigns import CELLS, analyse_made

OF_VERSIONS = ("versions", "list-of-versions", "versions-alike")


def say(analysis: Analysis) -> str:
    (paragraph,) = tell_versions(analysis)
    return " ".join(paragraph)


def alter(analysis: Analysis, **fields: Any) -> Analysis:
    """The analysis with these fields of its first two versions changed."""
    change, *others = analysis.versions
    return structs.replace(analysis, versions=(structs.replace(change, **fields), *others))


def conclude(name: VerdictName | None, code: str = "not-significant") -> Verdict | None:
    return Verdict(name=name, reason=cite(code, p=0.3, level=0.04)) if name else None


def make_part(name: VersionPart, verdict: VerdictName | None, **fields: Any) -> PartChange:
    value = {"FASTER": 0.7, "SLOWER": 1.25}.get(verdict or "", 1.01)
    ratio = Ratio(value=value, low=value / 1.02, high=1.02 * value, n=5)
    told = {"verdict": conclude(verdict), "ratio": ratio}
    return PartChange(name=name, cells=("x",), **{"unit": "call", **told, **fields})


def list_tables(analysis: Analysis, room: int | None = None) -> list[Table]:
    page = Page()
    write_versions(page, analysis, room)
    return [block for block in page.blocks if isinstance(block, Table)]


def read_column(table: Table, head: str) -> dict[str, str]:
    place = [cell.text for cell in table.headers].index(head)
    return {row[0].text: row[place].text for row in table.rows}


# --- Two versions -------------------------------------------------------------------------------------


def test_the_first_sentence_names_the_part_and_what_it_takes_more() -> None:
    text = say(analyse_golden("versions"))
    assert re.match(
        r"cpu@2\.20 → cpu: Keras fit's own loop: \+\d+ ± \d+ µs a step \(\+\d+ %\)\. Equal: ", text
    )
    assert re.search(
        r"Of 13 cells of work 1 became slower: mlp\.loop/batch=32, 1\.\d\d× slower \(1\.\d\d–1\.\d\d\); "
        r"10 equal; 1 undecided; 1 without a verdict\.$",
        text,
    )


def test_the_older_version_comes_first_whichever_the_plan_begins_with() -> None:
    made = {"cpu": SLOWER_FIT, "cpu@2.20": FIT}
    told = [
        study(*make_up_versions({arm: made[arm] for arm in arms}, {}))
        for arms in (("cpu", "cpu@2.20"), ("cpu@2.20", "cpu"))
    ]
    assert [analysis.base for analysis in told] == ["cpu", "cpu@2.20"]
    assert [change.base for analysis in told for change in analysis.versions] == ["cpu@2.20"] * 2
    assert say(told[0]) == say(told[1])
    # Where nobody knows how old one is, the plan's first is what was before.
    unknown = study(
        *(
            made_up
            if place == 0
            else plant(made_up, tell({"tensorflow.version": None}), "cpu@2.20")
            for place, made_up in enumerate(make_up_versions(made, {}))
        )
    )
    assert say(unknown).startswith("cpu → cpu@2.20: Keras fit's own loop: −")


def test_the_same_version_under_two_names_has_no_verdict() -> None:
    text = say(analyse_golden("versions-alike"))
    assert text.startswith("cpu → cpu@2.21: no part is shown to be slower or faster. Equal: ")
    assert re.search(r"Of 5 cells of work none is shown to be faster or slower: \d equal", text)
    assert "became" not in text
    (_,) = list_tables(analyse_golden("versions-alike"))


@pytest.mark.parametrize("name", ["one-arm", "two-arms", "troubled"])
def test_of_other_campaigns_nothing_is_told(name: str) -> None:
    analysis = analyse_golden(name)
    assert (analysis.versions, analysis.version_steps) == ((), ())
    assert tell_versions(analysis) == tell_differing(analysis) == tell_software(analysis) == []
    page = Page()
    write_versions(page, analysis, None)
    write_part_rows(page, analysis)
    assert page.blocks == []


def test_every_part_has_words_and_what_is_open_is_told_of_each() -> None:
    verdicts: Mapping[VersionPart, VerdictName] = dict(
        zip(
            VERSION_PARTS,
            ["FASTER", "SLOWER", *["EQUIVALENT"] * 3, *["INCONCLUSIVE"] * 9],
            strict=False,
        )
    )
    parts = tuple(make_part(name, verdict) for name, verdict in verdicts.items())
    analysis = alter(analyse_golden("versions"), parts=parts)
    first, second, *others = (TEXTS["version-parts"][name] for name in VERSION_PARTS)
    equal, open_ = ", ".join(others[:3]), ", ".join(others[3:])
    assert say(analysis).startswith(
        f"cpu@2.20 → cpu: {first}: 1.43× faster (1.40–1.46); {second}: 1.25× slower (1.23–1.27). "
        f"Equal: {equal}. Undecided: {open_}. Of 13 cells"
    )
    assert TEXTS["version-parts"].keys() == TEXTS["version-meanings"].keys() == {*VERSION_PARTS}


def test_what_takes_as_long_everywhere_is_told_in_seconds_and_all_else_by_its_largest_cell() -> (
    None
):
    analysis = analyse_golden("versions")
    change = analysis.versions[0]
    by_name = {part.name: part for part in change.parts}
    slower = conclude("SLOWER", "significant")
    rows = {
        cell: structs.replace(row, verdict=slower) for cell, row in by_name["kernels"].rows.items()
    }
    slow = Ratio(value=1.15, low=1.13, high=1.17, n=5)
    kernels = structs.replace(by_name["kernels"], verdict=slower, ratio=slow, rows=rows)
    text = say(alter(analysis, parts=(kernels,)))
    most = max(rows, key=lambda cell: abs(rows[cell].seconds.value))
    assert "n=1000" in most
    assert text.startswith("cpu@2.20 → cpu: kernels: 1.15× slower (1.13–1.17), such as n × n ")
    # Without a cell of which a verdict says so, none is named; without a ratio no number is.
    bare = structs.replace(kernels, rows={}, ratio=None)
    assert say(alter(analysis, parts=(bare,))).startswith("cpu@2.20 → cpu: kernels: slower. Of ")
    fit = structs.replace(by_name["fit"], ratio=None)
    assert re.match(
        r"cpu@2\.20 → cpu: Keras fit's own loop: \+\d+ ± \d+ µs a step\. ",
        say(alter(analysis, parts=(fit,))),
    )


def test_what_can_not_be_told_apart_is_named_together() -> None:
    part = make_part("kernels", "SLOWER", contains=("dispatch",))
    analysis = alter(analyse_golden("versions"), parts=(part,))
    assert say(analysis).startswith("cpu@2.20 → cpu: kernels with dispatch: 1.25× slower")
    table, *_ = list_tables(analysis)
    assert table.rows[0][0].text == "kernels with dispatch: these cells don't tell the two apart"
    apart = "kernels: the arithmetic"
    assert apart in {row[0].text for row in list_tables(analyse_golden("versions"))[0].rows}


def test_cells_that_show_no_part_are_said_to() -> None:
    analysis = alter(analyse_golden("versions"), parts=())
    assert say(analysis).startswith(
        "cpu@2.20 → cpu: none of these cells shows by which part calls became slower or faster. Of 13"
    )
    # A campaign without a cell of work says nothing of any.
    prices = structs.replace(
        analysis, cells=tuple(cell for cell in analysis.cells if cell.role != "work")
    )
    assert "cells of work" not in say(prices)


def test_the_table_of_parts_has_differences_and_says_why_it_is_undecided() -> None:
    analysis = analyse_golden("versions")
    parts, cells = list_tables(analysis)
    assert [cell.text for cell in parts.headers] == [
        *("part", "cpu@2.20", "more on cpu", "cpu against cpu@2.20", "verdict", "work takes")
    ]
    assert parts.rows[0][0].text.startswith("Keras fit's own loop: ")
    verdicts = read_column(parts, "verdict")
    first, *rest = verdicts.values()
    assert first == "slower"
    assert set(rest) <= {"equal", "undecided"}
    # Only of what changed it is told what work takes for it.
    effects = [*read_column(parts, "work takes").values()]
    assert re.fullmatch(r"\+\d\.\d %", effects[0])
    assert set(effects[1:]) == {""}
    assert [row[0].text for row in cells.rows] == ["mlp.loop/batch=32"]
    untold = make_part("fit", None, ratio=None)
    untold = structs.replace(untold, verdict=conclude("INCONCLUSIVE", "part-untold"))
    table, *_ = list_tables(alter(analysis, parts=(untold,)))
    assert read_column(table, "verdict")[table.rows[0][0].text] == (
        "undecided: whether it is this part, or another that is in its cells, can't be told"
    )
    assert read_column(table, "cpu against cpu@2.20")[table.rows[0][0].text] == "—"


def test_the_brief_has_few_cells_and_says_how_many_more_there_are() -> None:
    analysis = analyse_golden("versions")
    slower = {
        cell: structs.replace(row, verdict=conclude("SLOWER", "significant")) if row.ratio else row
        for cell, row in analysis.versions[0].cells.items()
    }
    analysis = alter(analysis, cells=slower)
    page = Page()
    write_versions(page, analysis, 3)
    assert "And 9 more rows, in report.md." in read_words(page)
    ratios = [abs(float(row[3].text.value) - 1) for row in list_tables(analysis)[1].rows]  # type: ignore[attr-defined]
    assert ratios == sorted(ratios, reverse=True)
    assert len(ratios) == 12
    assert "became slower, most of all mlp.loop/batch=32, 1." in say(analysis)


# --- What computes otherwise --------------------------------------------------------------------------


def test_what_computes_otherwise_is_told_before_any_speed() -> None:
    analysis = analyse_golden("versions")
    (sentence,) = tell_differing(analysis)
    assert sentence == (
        "cpu COMPUTES OTHERWISE THAN cpu@2.20 in n × n products, n = 100 (42 instead of 41): it has no "
        "verdict on speed."
    )
    report = build_report(analysis)
    for text in (report.files["brief.md"], report.files["report.md"], report.terminal):
        plain = text.replace("\\", "").replace("\n", " ")
        assert 0 < plain.index("COMPUTES OTHERWISE") < plain.index("Keras fit's own loop")
    for name in ("list-of-versions", "versions-alike", "two-arms"):
        assert not [text for text in warn(analyse_golden(name)) if "OTHERWISE" in text]


def test_of_several_cells_the_first_is_named_and_of_a_refused_result_its_arm() -> None:
    analysis = analyse_golden("versions")
    first, second, third = (Differing(cell=cell.id) for cell in analysis.cells[:3])
    (sentence,) = tell_differing(alter(analysis, differs=(first, second)))
    assert " in 2 cells, such as n × n products, n = 100: they have no verdict" in sentence
    refused = structs.replace(third, wrong=("cpu",))
    assert tell_differing(alter(analysis, differs=(refused,))) == []
    assert "in 2 cells" in tell_differing(alter(analysis, differs=(first, second, refused)))[0]


# --- A list of versions -------------------------------------------------------------------------------


def test_a_list_says_at_which_step_what_changed() -> None:
    text = say(analyse_golden("list-of-versions"))
    assert re.match(
        r"cpu@2\.18 → cpu: Keras fit's own loop: 1\.\d+× slower \(1\.\d+–1\.\d+\)\. Dispatch: no single "
        r"step is shown, but the ends differ \(cpu@2\.16 → cpu: 1\.03× slower \(1\.02–1\.04\)\)\. Equal "
        r"throughout: .*kernels\.",
        text,
    )
    assert "Of 5 cells of work 1 changed at cpu@2.18 → cpu: mlp.loop/batch=32, 1." in text
    assert "cpu@2.16 → cpu@2.18:" not in text
    assert " throughout" not in say(analyse_golden("versions"))
    parts, cells, ends = list_tables(analyse_golden("list-of-versions"))
    answers = read_column(parts, "answer")
    assert [*answers][:2] == ["Keras fit's own loop", "dispatch"]
    assert answers["Keras fit's own loop"] == "at cpu@2.18 → cpu"
    assert answers["dispatch"] == "no single step is shown, but the ends differ"
    assert answers["kernels"] == "equal throughout"
    assert read_column(parts, "cpu@2.16 → cpu@2.18")["dispatch"] == "equal"
    assert [cell.text for cell in cells.headers][1:4] == [
        *("cpu@2.16 → cpu@2.18", "cpu@2.18 → cpu", "cpu@2.16 → cpu")
    ]
    assert ends.headers[1].text == "cpu@2.16"
    # The brief has no room for what the steps come to.
    assert len(list_tables(analyse_golden("list-of-versions"), room=10)) == 2


@cache
def make_course(*names: VerdictName | None, ends: VerdictName = "EQUIVALENT") -> VersionCourse:
    arms = ("cpu@2.16", "cpu@2.18", "cpu")

    def step(base: str, other: str, name: VerdictName | None) -> VersionStep:
        part = make_part("fit", name)
        return VersionStep(base=base, other=other, ratio=part.ratio, verdict=part.verdict)

    steps = tuple(step(*pair, name) for pair, name in zip(pairwise(arms), names, strict=True))
    changed = {"FASTER", "SLOWER"} & {*names}
    equal = {*names, ends} == {"EQUIVALENT"}
    return VersionCourse(
        answer="changed" if changed else "equal" if equal else "open",
        steps=steps,
        whole=step(arms[0], arms[-1], ends),
    )


def list_courses(**parts: VersionCourse) -> Analysis:
    analysis = analyse_golden("list-of-versions")
    (steps,) = analysis.version_steps
    return structs.replace(analysis, version_steps=(structs.replace(steps, parts=parts, cells={}),))


def test_a_list_tells_every_step_and_what_is_open() -> None:
    both = make_course("SLOWER", "FASTER")
    second = make_course("EQUIVALENT", "SLOWER", ends="SLOWER")
    open_ = make_course("INCONCLUSIVE", None, ends="INCONCLUSIVE")
    text = say(list_courses(fit=both, tracing=second, kernels=open_))
    assert text == (
        "cpu@2.16 → cpu@2.18: Keras fit's own loop: 1.25× slower (1.23–1.27). "
        "cpu@2.18 → cpu: Keras fit's own loop: 1.43× faster (1.40–1.46); tracing: 1.25× slower "
        "(1.23–1.27). Undecided: kernels."
    )
    table = list_tables(list_courses(fit=both, kernels=open_), room=1)[0]
    assert read_column(table, "answer") == {
        "Keras fit's own loop": "at cpu@2.16 → cpu@2.18 and cpu@2.18 → cpu",
        "kernels": "undecided",
    }
    assert read_column(table, "cpu@2.16 → cpu@2.18")["kernels"] == "undecided: 1.01 (0.99–1.03)"


def test_a_list_in_which_nothing_changes_says_so() -> None:
    same = make_course("EQUIVALENT", "EQUIVALENT")
    assert say(list_courses(fit=same)) == (
        "cpu@2.16 → cpu@2.18 → cpu: no part is shown to change at any step. Equal throughout: Keras "
        "fit's own loop."
    )
    assert say(list_courses()).endswith(
        "none of these cells shows by which part calls became slower or faster."
    )
    analysis = list_courses(fit=same)
    (steps,) = analysis.version_steps
    work = [cell.id for cell in analysis.work]
    drift = make_course("EQUIVALENT", "EQUIVALENT", ends="SLOWER")
    steps = structs.replace(steps, cells={work[0]: same, work[1]: drift})
    analysis = structs.replace(analysis, version_steps=(steps,))
    assert say(analysis).endswith(
        "Of 2 cells of work none is shown to change at any step; 1 equal throughout; 1 drifted: no "
        "single step is shown, but the ends differ."
    )


# --- Software -----------------------------------------------------------------------------------------


def test_what_differs_in_software_is_told_of_each_step() -> None:
    assert tell_software(analyse_golden("versions")) == [
        "cpu@2.20 → cpu: TensorFlow 2.20.0 → 2.21.0, Keras 3.12.0 → 3.13.2."
    ]
    assert tell_software(analyse_golden("versions-alike")) == [
        "cpu → cpu@2.21: no difference in software was recorded."
    ]
    assert tell_software(analyse_golden("list-of-versions")) == [
        "cpu@2.16 → cpu@2.18: TensorFlow 2.16.0 → 2.18.0.",
        "cpu@2.18 → cpu: TensorFlow 2.18.0 → 2.21.0.",
    ]
    commits = {"Eigen": ("33d0937c6bdf5ec999939fb17f2a553183d14a74", "a" * 40)}
    switch = {"oneDNN switched": ("on", "off")}
    analysis = alter(analyse_golden("versions"), software=commits | switch)
    assert tell_software(analysis) == [
        "cpu@2.20 → cpu: Eigen 33d0937c6bdf → aaaaaaaaaaaa, oneDNN switched on → off."
    ]
    # A package that one of them has not; and of very many the first.
    packages = {"h5py": ("3.14.0", ""), **{f"p{number:02}": ("1", "2") for number in range(25)}}
    (told,) = tell_software(alter(analyse_golden("versions"), software=packages))
    assert told.startswith("cpu@2.20 → cpu: h5py 3.14.0 → none, p00 1 → 2, ")
    assert told.endswith(", p18 1 → 2, and 6 more.")


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("versions", "TensorFlow 2.20.0 → 2.21.0"),
        ("list-of-versions", "TensorFlow 2.16.0 → 2.18.0 → 2.21.0"),
        ("versions-alike", "TensorFlow 2.21.0"),
        ("two-arms", "TensorFlow 2.21.0"),
    ],
)
def test_the_machines_line_has_the_versions_in_their_order(name: str, version: str) -> None:
    assert describe_machine(analyse_golden(name)).endswith(f"; {version}")


def test_a_version_that_is_not_known_is_in_no_line() -> None:
    campaign, documents = make_up_versions({"cpu": FIT, "cpu@2.20": FIT}, {})
    lost = study(campaign, plant(documents, tell({"tensorflow.version": None}), "cpu"))
    assert "TensorFlow" not in describe_machine(lost)


# --- Beside other arms --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OF_VERSIONS)
def test_nobody_wins_among_versions(name: str) -> None:
    analysis = analyse_golden(name)
    assert (analysis.rivals, analysis.leading) == ([], [])
    report = build_report(analysis)
    pages = [text for name, text in report.files.items() if name != "summary.json"]
    texts = [*pages, render_whole(analysis), report.terminal]
    texts += [picture.alt + picture.caption for picture in depict(analysis)]
    texts += [render_lines(compose_look(analysis, 9)), render_lines(compose_first(analysis))]
    for text in texts:
        assert not re.search(r"\bwins?\b|winner|who wins|[Cc]rossovers|Train on|Multiply", text)
    assert not any("input alone" in names for names in sort_controls(analysis).values())
    names = [picture.name for picture in depict(analysis)]
    assert names
    assert "ratios" not in names
    # The brief has none, and the report has all of them.
    assert "plots/" not in report.files["brief.md"]
    assert all(f"plots/{picture}.svg" in report.files["report.md"] for picture in names)


def test_versions_are_compared_by_their_times() -> None:
    for name, has_rates in {**dict.fromkeys(OF_VERSIONS, False), "two-arms": True}.items():
        assert (" | cpu, rate | " in read_golden(name)) == has_rates


def test_what_would_settle_is_told_of_two_versions_and_of_no_list() -> None:
    assert "should be settled by BLOCKS=" in read_golden("versions", "brief.md")
    assert "should be settled" not in read_golden("list-of-versions", "brief.md")


def test_of_a_gpu_alone_nobody_wins_either() -> None:
    arms = ["cuda", "cuda@2.20"]
    campaign = synthetic.make_campaign(arms=arms, cells=list(CELLS["sweeps"]), blocks=3)
    documents = synthetic.make_documents(campaign, samples=2)
    analysis = study(campaign, plant(documents, tell({"tensorflow.version": "2.20.0"}), arms[1]))
    assert (analysis.rivals, analysis.gpu) == ([], "cuda")
    text = render_whole(analysis)
    assert "Crossover: cuda\\@2.20 → cuda" in text
    assert "Why the CPU wins" not in text
    assert not re.search(r"cuda(\\@2\.20)? wins", text)


@cache
def study_mixed() -> Analysis:
    """Two devices, each in two versions, of which the newer has slower products."""

    def slow(cell: Any, arm: str) -> float:
        slower = 1.3 if "@" not in arm and cell.scenario == "matmul" else 1.0
        return slower * synthetic.plain_truth(cell, arm)

    arms = ["cpu", "cuda", "cpu@2.20", "cuda@2.20"]
    campaign = synthetic.make_campaign(arms=arms, cells=list(CELLS["sweeps"]), blocks=4)
    documents = synthetic.make_documents(campaign, samples=2, truth=slow)
    for arm in arms[2:]:
        documents = plant(documents, tell({"tensorflow.version": "2.20.0"}), arm)
    return study(campaign, documents)


def test_where_there_are_rivals_who_wins_is_told_first_and_of_no_version() -> None:
    analysis = study_mixed()
    assert (analysis.others, analysis.rivals) == (["cuda", "cpu@2.20", "cuda@2.20"], ["cuda"])
    assert [(change.base, change.other) for change in analysis.versions] == [
        ("cpu@2.20", "cpu"),
        ("cuda@2.20", "cuda"),
    ]
    report = build_report(analysis)
    brief = report.files["brief.md"].replace("\\", "")
    paragraphs = [line for line in brief.splitlines() if re.match(r"\*\*(Train|cpu@|cuda@)", line)]
    assert [text[:14] for text in paragraphs] == [
        *("**Train (data ", "**cpu@2.20 → c", "**cuda@2.20 → ")
    ]
    for text in (brief, report.files["report.md"].replace("\\", ""), report.terminal):
        assert "cuda wins" in text or "who wins" in text
        assert not re.search(r"@2\.20 wins|on (cpu|cuda)@2\.20 (from|at|up)", text)
    assert "input alone" in str(sort_controls(analysis))
    assert analyse_made().rivals == ["cuda"]


# --- Before anything is decided -----------------------------------------------------------------------


def make_short(blocks: int = 1) -> Analysis:
    return study(*make_up_versions({"cpu": SLOWER_FIT, "cpu@2.20": FIT}, {}, blocks=blocks))


def test_before_three_blocks_nothing_is_decided_and_the_parts_are_provisional() -> None:
    analysis = make_short()
    assert decide(analysis, settling=True)[0].startswith("Nothing is decided: 1 block done")
    screen = render_lines(compose_screen(analysis))
    assert "Nothing is decided" in screen
    assert "→ cpu: " not in screen
    assert "verdict " not in screen
    table, *others = list_tables(analysis)
    assert others == []
    assert "verdict" not in {cell.text for cell in table.headers}
    first = render_lines(compose_first(analysis))
    assert "Provisional, from one invocation per arm:" in first
    assert "Keras fit's own loop" in first


def test_after_a_block_a_terminal_shows_what_changed_by_then() -> None:
    look = render_lines(compose_look(analyse_golden("versions"), 9))
    assert look.splitlines()[1].startswith("cpu@2.20 → cpu: Keras fit's own loop: +")
    assert "Not yet" not in look


@pytest.mark.parametrize("name", ["versions", "list-of-versions"])
def test_after_a_block_a_terminal_says_which_asked_cells_are_open(name: str) -> None:
    analysis = analyse_golden(name)
    ratios = analysis.versions[0].cells
    asked = next(cell.id for cell in analysis.asked if ratios[cell.id].ratio)
    wide = conclude("INCONCLUSIVE")
    if name == "versions":
        (change,) = analysis.versions
        row = structs.replace(change.cells[asked], verdict=wide)
        analysis = alter(analysis, cells={**change.cells, asked: row})
        told = "Not yet: what cpu@2.20 → cpu changed at "
    else:
        (steps,) = analysis.version_steps
        course = steps.cells[asked]
        open_ = structs.replace(
            course,
            answer="open",
            steps=tuple(structs.replace(step, verdict=wide) for step in course.steps),
            whole=structs.replace(course.whole, verdict=wide),
        )
        steps = structs.replace(steps, cells={**steps.cells, asked: open_})
        analysis = structs.replace(analysis, version_steps=(steps,))
        told = "Not yet: at which step of cpu@2.16 → cpu@2.18 → cpu "
    assert told in " ".join(render_lines(compose_look(analysis, 9)).split())


def test_a_terminal_says_what_would_settle_what_is_open() -> None:
    screen = render_lines(compose_screen(analyse_golden("versions")))
    assert "The inconclusive cell should be settled by BLOCKS=" in screen
    parts = analyse_golden("versions").versions[0].parts
    assert all(TEXTS["version-parts"][part.name] in " ".join(screen.split()) for part in parts)
    # Only what is not equal has a row.
    assert re.search(
        r"^Keras fit's own loop +\+\d+ ± \d+ µs  1\.5× slower .* slower$", screen, re.MULTILINE
    )
    assert not re.search(r"equal$", screen, re.MULTILINE)


def test_the_appendix_has_the_parts_of_each_cell() -> None:
    analysis = analyse_golden("versions")
    page = Page()
    write_part_rows(page, analysis)
    (table,) = (block for block in page.blocks if isinstance(block, Table))
    assert len(table.rows) == sum(len(part.rows) for part in analysis.versions[0].parts)
    assert "The parts of versions, cell by cell" in render_whole(analysis)


def test_that_nothing_was_drawn_is_told_and_read_back() -> None:
    """Else a report without pictures could not be made again from what it says."""
    analysis = analyse_golden("versions")
    report = build_report(analysis, pictures=False)
    assert LATER in report.files["brief.md"]
    again, _ = rebuild(analysis, report.files["report.md"], {})
    assert again.files == report.files


def test_a_change_without_a_difference_has_no_row() -> None:
    change = VersionChange(base="cpu@2.20", other="cpu")
    analysis = structs.replace(analyse_golden("versions"), versions=(change,))
    assert list_tables(analysis) == []
