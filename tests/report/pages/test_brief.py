"""The page that is attached: every number of it computed once more, every sentence where it is true and where
it is not, and no more of it than a page and a terminal hold."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs
from rich.cells import cell_len
from scipy import stats

from suite.analysis.analyse import analyse, analyse_folder
from suite.analysis.documents.read import load_campaign
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import CellAnalysis
from suite.analysis.result.findings import Finding, RuleName
from suite.analysis.result.numbers import Ratio, cite
from suite.cells.cell import Cell
from suite.flags import raise_flag
from suite.model import Document
from suite.report.pages.brief import ROOM, compose_brief, compose_screen, write_brief
from suite.report.pages.campaign import compose
from suite.report.pages.gallery import LATER, depict
from suite.report.produce import LONGEST_BRIEF, build_report, fit_brief
from suite.report.render.markdown import render_page
from suite.report.render.terminal import COLUMNS, MOST_LINES, render_lines
from suite.report.sections.verdict import decide, list_crossovers
from suite.report.text.page import Limits, Page, cut_clauses
from suite.report.text.wording import name_banners
from tests import synthetic
from tests.analysis.campaign.test_recomputation import adjust, compare, gather, moderate
from tests.bench.truth.campaigns import Planted, make_documents, make_plan
from tests.bench.truth.reasons import clear
from tests.bench.truth.tally import Tally
from tests.bench.truth.tally import load as load_planted
from tests.bench.truth.winners import try_crossovers
from tests.golden_campaigns import NAMES, analyse_golden, read_golden
from tests.gpus import make_gpus
from tests.rendering import load, read_words, study
from tests.report.campaigns import (
    HOSTILE,
    SWEEPS,
    analyse_made,
    change_cells,
    make_hostile,
)

SAMPLE = next(Path(__file__).parents[3].joinpath("results", "samples").iterdir())

UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


@cache
def make_priced(folder: Path) -> Path:
    """A campaign of two networks and products that has a price, and measured the GPU's memory and power."""
    campaign = synthetic.make_campaign(cells=list(SWEEPS), blocks=5)
    campaign = replace(campaign, price=3.6, price_currency="USD")

    def watch(document: Document) -> Document:
        cells = [
            replace(
                cell,
                peak_memory_bytes=2**20 * (10 + place),
                evidence={**cell.evidence, "gpu.mean_power_w": 100.0 + place},
            )
            for place, cell in enumerate(document.cells)
        ]
        return replace(document, cells=cells) if document.invocation.arm == "cuda" else document

    documents = [
        watch(document)
        for document in synthetic.make_documents(campaign, samples=4, calibration=False)
    ]
    return synthetic.write_campaign(folder, campaign, documents)


@pytest.fixture(scope="module")
def priced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_priced(tmp_path_factory.mktemp("made-up"))


def read_rows(brief: str, head: str) -> list[list[str]]:
    """The rows of the table whose first column has this head."""
    lines = brief.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(f"| {head} "))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([part.strip() for part in line.strip("|").split("|")])
    return rows


def name_plainly(cell: Cell) -> str:
    if "n" in cell.params:
        return f"n × n products, n = {cell.params['n']}"
    return f"training steps, network {cell.params['net']}, batch {cell.params['batch']}"


def reads(text: str, *values: float) -> bool:
    """Whether the numbers of a text are these, each rounded to its digits."""
    found = re.findall(r"\d+(?:\.\d+)?", text)
    return len(found) == len(values) and all(
        abs(float(shown) - value) <= 0.5000001 * 10.0 ** -len(shown.partition(".")[2])
        for shown, value in zip(found, values, strict=True)
    )


def scale(text: str) -> float:
    return UNITS[text.rsplit(maxsplit=1)[-1]]


def interval(logs: Sequence[float]) -> tuple[float, float, float]:
    low, high = stats.t.interval(0.95, len(logs) - 1, loc=np.mean(logs), scale=stats.sem(logs))
    return math.exp(float(np.mean(logs))), math.exp(low), math.exp(high)


def turn(ratio: Sequence[float]) -> tuple[float, float, float]:
    """A ratio with its ends, so that it is over 1."""
    value, low, high = ratio
    return (1 / value, 1 / high, 1 / low) if value < 1 else (value, low, high)


def test_every_number_is_scipys(priced: Path) -> None:
    values = gather(priced)
    analysis = analyse_folder(priced)
    brief = build_report(analysis, pictures=False).files["brief.md"]
    logs = {
        cell.id: [
            math.log(values["cuda"][cell.id][block] / seconds)
            for block, seconds in values["cpu"][cell.id].items()
        ]
        for cell in SWEEPS
    }
    ps = [compare(values["cpu"][cell.id], values["cuda"][cell.id])[1] for cell in SWEEPS]
    holm = adjust(list(map(max, ps, moderate(list(logs.values())))))
    ids = {name_plainly(cell): (place, cell) for place, cell in enumerate(SWEEPS)}
    rows = read_rows(brief, "cell")
    assert len(rows) == 10
    for name, cpu, cuda, ratio, p_and_n, verdict, memory, energy in rows:
        place, cell = ids[name]
        for text, arm in ((cpu, "cpu"), (cuda, "cuda")):
            value, low, high = interval(np.log(list(values[arm][cell.id].values())).tolist())
            assert reads(text, value / scale(text), (high - low) / 2 / scale(text)), (name, text)
        ends = interval(logs[cell.id])
        assert reads(ratio, *turn(ends)), (name, ratio)
        assert ("slower" in ratio) == (ends[0] > 1)
        p = holm[place]
        assert p_and_n == f"{'p<0.001' if p < 0.001 else f'p={p:.3f}'} n=5"
        judged = p < 0.04 and min(abs(ends[0] - 1), abs(1 / ends[0] - 1)) > 0.02
        assert (verdict in {"cuda wins", "cpu wins"}) == judged
        assert not judged or verdict == ("cpu wins" if ends[0] > 1 else "cuda wins")
        assert reads(memory, 10.0 + place)
        joules = (100 + place) * math.exp(np.mean(np.log(list(values["cuda"][cell.id].values()))))
        prefix = {"µJ": 1e-6, "mJ": 1e-3, "J": 1.0}[energy.split()[1]]
        assert float(energy.split()[0]) == pytest.approx(joules / prefix, rel=6e-3)
    _check_means(brief, logs)
    _check_decision(brief, logs)
    _check_cost(brief, values)


def _check_means(brief: str, logs: Mapping[str, Sequence[float]]) -> None:
    rows = read_rows(brief, "family")
    for (family, cells, mean, _), name in zip(rows, ("matmul", "mlp"), strict=True):
        own = [logs[cell.id] for cell in SWEEPS if cell.scenario == name]
        assert family.startswith(f"{name}: ")
        assert cells == f"{len(own)} of {len(own)}"
        ends = interval(np.mean(own, axis=0).tolist())
        assert reads(mean, *turn(ends)), mean
        assert ("slower" in mean) == (ends[0] > 1)


def _check_decision(brief: str, logs: Mapping[str, Sequence[float]]) -> None:
    """The ratios that are named, at the sizes that are named."""
    (decision,) = re.findall(r"^\*\*(Train.*)\*\*$", brief, re.MULTILINE)
    at = {(str(cell.params.get("net", "")), *_size(cell)): logs[cell.id] for cell in SWEEPS}
    named = re.findall(
        r"(?:at batch (\d+) cuda is |and )([\d.]+)× as fast \(([\d.]+)–([\d.]+)\) for network (\w)",
        decision,
    )
    assert [net for *_, net in named] == ["B", "A"]
    shares = re.findall(r"at ([\d.]+) and ([\d.]+) of cpu's cost", decision)
    batch = int(named[0][0])
    for (_, *numbers, net), share in zip(named, shares[0], strict=True):
        ends = interval(at[net, "batch", batch])
        assert reads(" ".join(numbers), *turn(ends))
        assert reads(share, ends[0])
    ((n, *numbers),) = re.findall(
        r"at n = (\d+) cuda is ([\d.]+)× as fast \(([\d.]+)–([\d.]+)\)", decision
    )
    assert reads(" ".join(numbers), *turn(interval(at["", "n", int(n)])))


def _size(cell: Cell) -> tuple[str, object]:
    axis = "n" if "n" in cell.params else "batch"
    return axis, cell.params[axis]


def _check_cost(brief: str, values: Mapping[str, Any]) -> None:
    """A price of 3.6 an hour is 0.001 a second."""
    (line,) = re.findall(r"^- \*\*Cost:\*\* (.*)$", brief, re.MULTILINE)
    steps = [cell for cell in SWEEPS if "batch" in cell.params]
    costs = {
        (arm, cell.id): math.exp(np.mean(np.log(list(values[arm][cell.id].values()))))
        * 0.001
        * 1e6
        / float(cell.params["batch"])
        for arm in ("cpu", "cuda")
        for cell in steps
    }
    _, cell_id = min(costs, key=lambda key: costs[key])
    found = {arm: float(usd) for usd, arm in re.findall(r"USD ([\d.]+) ± [\d.]+ on (\w+)", line)}
    assert found.keys() == {"cpu", "cuda"}
    for arm, usd in found.items():
        assert usd == pytest.approx(costs[arm, cell_id], rel=5e-3)
    (turns,) = re.findall(r"may cost up to ([\d.]+) ", line)
    assert float(turns) == pytest.approx(costs["cpu", cell_id] / costs["cuda", cell_id], rel=5e-3)


def test_a_mean_without_three_blocks_has_no_interval_and_one_of_nothing_no_number() -> None:
    for mean in analyse_made(blocks=2).means:
        assert mean.ratio
        assert mean.ratio.low is None
    assert [mean.ratio for mean in analyse_golden("troubled").means] == [None] * 3
    # A killed container left one cell two pairs: it counts, but nobody knows its spread.
    _, mlp = analyse_golden("two-arms").means
    assert (mlp.cells, mlp.counted, mlp.wins, mlp.loses, mlp.undecided) == (2, 2, 1, 0, 0)
    assert mlp.ratio
    assert (mlp.ratio.n, mlp.ratio.low) == (2, None)


def test_steps_of_scripts_are_a_family_of_their_own() -> None:
    campaign = synthetic.make_campaign(cells=list(SWEEPS), blocks=3)
    made = study(campaign, synthetic.make_documents(campaign, samples=2))
    assert [(mean.family, mean.staged, mean.cells) for mean in made.means] == [
        ("matmul", False, 8),
        ("mlp", False, 8),
    ]
    few = analyse_golden("two-arms")
    assert {mean.staged for mean in few.means} == {False}


PLAN = replace(make_plan(seed=1), price=2.5)

CAMPAIGNS: Mapping[str, Callable[[], Analysis]] = {
    **{name: lambda name=name: analyse_golden(name) for name in NAMES},
    "the sample": lambda: analyse(load_campaign(SAMPLE)),
    "two blocks": lambda: analyse_made(blocks=2),
    "a smoke profile": lambda: analyse_made(profile="smoke"),
    "eight GPUs": lambda: analyse(load(*make_gpus({f"{i}": 1.0 + i / 50 for i in range(8)}))),
    "a standard campaign": lambda: analyse(
        load_planted(PLAN, make_documents(PLAN, Planted(seconds=clear)))
    ),
    "hostile": lambda: make_hostile(HOSTILE),
    "long": lambda: make_hostile("a longer word than any " * 40),
    "one long word": lambda: make_hostile("x" * 3000),
    "wide characters": lambda: make_hostile("幅の広い字" * 300),
    "what is spelled out": lambda: make_hostile("a\U0010ffff*" * 900),
}


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_a_brief_is_a_page_and_a_screen_and_the_report_begins_with_it(name: str) -> None:
    analysis = CAMPAIGNS[name]()
    report = build_report(analysis)
    brief = report.files["brief.md"]
    assert len(brief) <= LONGEST_BRIEF
    assert brief.rstrip("\n").split("\n\n")[-1].startswith("Details: report.md")
    whole = Page(name_banners(analysis.flags))
    write_brief(whole, analysis, report.undrawn)
    assert brief.splitlines()[0].endswith(f" — {whole.banner}" if whole.banner else "")
    assert report.files["report.md"].startswith(render_page(whole) + "\n## ")
    lines = report.terminal.splitlines()
    assert len(lines) <= MOST_LINES
    assert max(map(cell_len, lines)) <= COLUMNS
    # Of versions that are alike no cell is named.
    assert name == "versions-alike" or len(read_rows(brief, "cell")) <= 10


@cache
def study_gpus() -> Analysis:
    """Eight GPUs of which each does other than the next."""
    return analyse(load(*make_gpus({f"{i}": 3.0**i for i in range(8)})))


@pytest.mark.parametrize("times", [0, 100, 1500])
def test_a_brief_has_the_whole_decision_and_who_wins_however_long_its_reasons_are(
    times: int,
) -> None:
    made, stopped = study_gpus(), "a reason, " * times
    analysis = structs.replace(made, campaign=structs.replace(made.campaign, stopped=stopped))
    brief = fit_brief(analysis)
    assert f"**{' '.join(decide(analysis, settling=True))}**" in brief.replace("\\", "")
    assert len(read_rows(brief, "sweep")) == len(list(list_crossovers(analysis)))
    assert ("…" in brief) == bool(times)
    # The report is not cut.
    assert stopped.strip() in render_page(compose(analysis))


@pytest.mark.parametrize(("times", "fits"), [(100, True), (1000, False)])
def test_a_decision_that_fits_on_no_page_says_where_the_rest_is(times: int, fits: bool) -> None:
    made = analyse_made(arms=("cpu",))
    not_run = {"cuda": "no GPU; " * times}
    analysis = structs.replace(made, campaign=structs.replace(made.campaign, not_run=not_run))
    brief = fit_brief(analysis)
    assert len(brief) <= LONGEST_BRIEF
    assert (f"**{' '.join(decide(analysis, settling=True))}**" in brief) == fits
    assert (
        bool(re.search(r"^\*\*Only .*no GPU; more in report\.md\.\*\*$", brief, re.MULTILINE))
        != fits
    )


@pytest.mark.parametrize(
    ("most", "words"),
    [
        (60, "Train on cuda from batch 512 on, undecided at 8. At n, cpu."),
        (58, "Train on cuda from batch 512 on, undecided at 8; more in report.md."),
        (20, "More in report.md."),
    ],
)
def test_a_decision_is_cut_at_a_clause(most: int, words: str) -> None:
    text = "Train on cuda from batch 512 on, undecided at 8. At n, cpu."
    assert cut_clauses(text, lambda short: len(short.partition("; more")[0]) <= most) == words


@pytest.mark.parametrize(("room", "shown", "more"), [(ROOM, 10, 0), (5, 10, 0), (2, 4, 6)])
def test_a_brief_says_how_many_rows_it_leaves_out(room: int, shown: int, more: int) -> None:
    brief = render_page(compose_brief(analyse_made(), room=room))
    assert len(read_rows(brief, "cell")) == shown
    assert (f"And {more} more rows, in report.md." in brief) == bool(more)
    page = Page()
    page.columns("", [("n", [str(n) for n in range(10)])])
    page.shorten(Limits(paragraph=99, cell=99, strong=99, rows=shown, hide=str))
    assert (f"And {more} more rows, in report.md." in render_page(page)) == bool(more)


def test_a_screen_cuts_its_table_by_rows_and_its_decision_by_clauses() -> None:
    analysis = study_gpus()
    page = compose_screen(analysis)
    decision = " ".join(decide(analysis, settling=True))
    rows = len(list(list_crossovers(analysis)))
    for most in range(15, 40):
        lines = render_lines(page, most).splitlines()
        assert len(lines) <= most
        assert max(map(cell_len, lines)) <= COLUMNS
        heads = next(line for line in lines if line.startswith("who wins at which sizes"))
        assert heads.split()[-3:] == ["cpu", "other", "neither"]
        shown = sum(": " in line and "cuda:" in line for line in lines[lines.index(heads) :])
        assert shown >= 1
        text = " ".join(lines)
        if more := re.search(r"… (\d+) more, in report.md", text):
            assert int(more[1]) < rows
        if decision not in text:
            kept = text.partition("; more in report.md.")[0]
            kept = kept[kept.index(decision[:24]) :]
            assert decision.startswith((f"{kept};", f"{kept}."))
    assert MOST_LINES + 2 <= 24


def test_what_makes_a_campaign_invalid_is_said_once() -> None:
    flag = raise_flag("set-aside", disturbed=5, invocations=8, codes=("steal",))
    made = analyse_made()
    analysis = structs.replace(made, flags=(*made.flags, flag))
    report = build_report(analysis)
    for text in (report.files["brief.md"], report.terminal):
        words = " ".join(text.split())
        assert words.count("5 of 8 invocations had to be excluded") == 1
        assert words.count("nothing here is a finding") == 1
        assert "(below)" not in words
        assert "THE CAMPAIGN IS INVALID" not in words
    assert "nothing here is a finding" not in build_report(made).files["brief.md"]


def test_lines_of_a_terminal_end_between_words() -> None:
    words = set(re.findall(r"\S+", read_words(compose_screen(analyse_golden("two-arms")))))
    words |= {"more", "in", "report.md.", "report.md", "…"}
    page = compose_screen(analyse_golden("two-arms"))
    for most in (MOST_LINES, 9, 6):
        text = render_lines(page, most)
        assert len(text.splitlines()) <= most or most < len(page.blocks)
        table = {line for line in text.splitlines() if "  " in line}
        for line in set(text.splitlines()[1:]) - table:
            assert set(line.removesuffix(" …").split()) <= words


def test_a_cell_without_a_p_value_has_none_and_the_reason_is_said_once() -> None:
    brief = read_golden("two-arms", "brief.md")
    assert re.search(r"\| n=2 +\| no verdict \|", brief)
    assert brief.count("No verdict: fewer than 3 blocks have a number on both arms.") == 1
    assert brief.count("adjusted by Holm") == 1
    short = render_page(compose_brief(analyse_made(blocks=2)))
    assert "p=" not in short
    assert "p<" not in short
    assert "Holm" not in short


def test_memory_and_energy_are_absent_where_they_were_not_measured(priced: Path) -> None:
    measured, not_measured = (
        render_page(compose_brief(analysis))
        for analysis in (analyse_folder(priced), analyse_made())
    )
    for head in ("cuda: peak memory", "cuda: energy a call"):
        assert head in measured
        assert head not in not_measured


def test_the_picture_is_named_or_why_there_is_none() -> None:
    analysis = analyse_made()
    page = render_page(compose_brief(analysis))
    assert "](plots/ratios.svg)" in page
    later = render_page(compose_brief(analysis, LATER))
    assert LATER in later
    assert "plots/" not in later
    # No ratio, no picture of ratios: one arm has that of its sweep.
    (first, *_) = depict(analyse_made(arms=("cpu",)))
    assert first.name == "matmul"
    assert "](plots/matmul.svg)" in render_page(compose_brief(analyse_made(arms=("cpu",))))
    # Where a report has the brief's picture, it does not stand in it twice.
    assert render_page(compose(analysis)).count("](plots/ratios.svg)") == 1


def make_change(cell: str, effect: str, times: float) -> Finding:
    return Finding(
        tag="change",
        arm="cuda",
        cell=cell,
        at="b",
        value=Ratio(value=times, low=times - 0.1, high=times + 0.1, n=3),
        verdict="faster",
        evidence=(
            cite("instead", now="prefetch", was="none"),
            cite("of-value", axis="prefetch", value="on"),
            cite("effect", effect=effect),
        ),
    )


def blame(rule: RuleName, sure: int) -> Analysis:
    """Two cells that lose by this cause, of which so many are confirmed."""
    made = analyse_made()
    lost = [cell.id for cell in made.work if cell.standing and cell.standing.loses][:2]

    def change(_: int, cell: CellAnalysis) -> dict[str, Any]:
        if cell.id not in lost:
            return {"standing": None, "causes": ()}
        confirmed = lost.index(cell.id) < sure
        cause = structs.replace(cell.causes[0], rule=rule, confirmed=confirmed)
        assert cell.standing
        return {"causes": (cause,), "standing": structs.replace(cell.standing, hopeless=False)}

    return change_cells(made, change)


@pytest.mark.parametrize(
    ("rule", "sure", "words"),
    [
        (
            "overhead",
            0,
            "overhead (the time to start operations): largest in 2 of 2 cells, suspected; ",
        ),
        ("overhead", 1, "largest in 2 of 2 cells, confirmed in 1; such as matmul.square/n="),
        ("overhead", 2, "largest in 2 of 2 cells, confirmed in 2; "),
        ("unknown", 0, "a cause that nothing measured explains: largest in 2 of 2 cells; "),
    ],
)
def test_a_line_for_each_cause_says_how_sure_it_is(rule: RuleName, sure: int, words: str) -> None:
    text = read_words(compose_brief(blame(rule, sure)))
    assert words in text
    assert "none confirmed" not in text
    assert words not in read_words(compose_brief(blame("transfer", 0)))


def test_what_helps_leaves_the_results_the_same_first_and_else_says_so() -> None:
    analysis = blame("overhead", 1)
    cell = next(cell.id for cell in analysis.work if cell.causes)
    other = next(cell.id for cell in analysis.work if not cell.causes)

    def say(*changes: Finding) -> str:
        return read_words(compose_brief(structs.replace(analysis, findings=changes)))

    both = say(make_change(cell, "training", 9.0), make_change(cell, "script", 2.0))
    assert re.search(
        r"helps, with the same results: .*2\.0× faster \(1\.9–2\.1\)\), or .* \(changes the training\)",
        both,
    )
    # Its gain is that of other training, and no advice to who trains as this cell does.
    assert "9.0×" not in both
    assert "changes the training" not in say(make_change(cell, "script", 2.0))
    for none in (say(), say(make_change(other, "script", 2.0))):
        assert "helps, " not in none
        assert "to try: give each call more work" in none


def test_no_cause_is_named_where_no_verdict_says_that_the_gpu_loses() -> None:
    text = read_words(compose_brief(analyse_made(blocks=2)))
    assert "No verdict says that it does." in text
    assert "largest in" not in text
    assert "No verdict says that it does." not in read_words(compose_brief(analyse_made()))


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        ({"engine.machine.type": ("g9.large",)}, "g9.large; Made-Up Processor 9000"),
        ({"gpu.driver": ("580.1",)}, "driver 580.1"),
    ],
)
def test_the_head_names_what_is_known_of_the_machine(
    fact: Mapping[str, tuple[str, ...]], words: str
) -> None:
    analysis = analyse_made()
    arms = {
        name: structs.replace(arm, facts={**arm.facts, **fact})
        for name, arm in analysis.arms.items()
    }
    assert words in read_words(compose_brief(structs.replace(analysis, arms=arms)))
    assert words not in read_words(compose_brief(analysis))
    assert "Campaign made-up, begun on 2026-11-21." in read_words(compose_brief(analysis))


def test_an_unsound_machine_is_said_in_the_head_and_in_the_title() -> None:
    flag = raise_flag("cells-failed", arm="cuda", failed=1, cells=3, cell="a")
    analysis = analyse_made()
    unsound = structs.replace(analysis, flags=(*analysis.flags, flag))
    brief = render_page(compose_brief(unsound))
    assert "UNSOUND MACHINE" in brief.splitlines()[0]
    assert "**UNSOUND**: cuda: 1 of 3 cells failed, the first of them a." in brief
    assert "UNSOUND" not in render_page(compose_brief(analysis))


def test_the_decision_is_true_of_what_was_planted() -> None:
    """A handful; `tests/bench/truth` tries as many as it is asked for."""
    tally = Tally()
    for seed in range(3):
        try_crossovers(tally, seed)
    assert tally["the interval that is named holds the truth"].tries >= 3
    assert tally["the decision is untrue"].hits == 0
    assert tally["the decision says other than the verdicts"].hits == 0


def test_software_that_is_not_from_the_locks_is_told() -> None:
    own = compose_brief(analyse_made())
    assert "not from the suite's locks" not in read_words(own)
    (folder,) = SAMPLE.parent.glob("*-gpu-standard")
    text = read_words(compose_brief(analyse_folder(folder)))
    assert text.count("ran software not from the suite's locks: TensorFlow 2.21.0") == 2


def test_a_screen_says_what_is_not_measured_and_nothing_where_all_is() -> None:
    assert not re.search(r"\d of \d+ measured", render_lines(compose_screen(analyse_made())))
    lines = render_lines(compose_screen(analyse_folder(next(SAMPLE.parent.glob("*-gpu-standard")))))
    assert "cuda: 33 of 35 measured, 1 skipped, 1 failed" in " ".join(lines.split())
