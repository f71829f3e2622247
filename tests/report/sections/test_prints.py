"""Where a report says what the script itself took: where that was measured and counts, and nowhere else."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import pytest
from msgspec import structs

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.findings import Spot
from suite.analysis.result.numbers import cite
from suite.cells.cell import Cell, Ladder, Step
from suite.cells.traits import ProfileName
from suite.model import Campaign, Document
from suite.report.sections.causes import describe_naive_gaps
from suite.worker import scenarios
from tests import synthetic
from tests.analysis.causes.test_insight import SLICES
from tests.changes import plant, tell
from tests.fakes import machines
from tests.fakes.hosts import QUIET, SILENT
from tests.fakes.machines import CPU, GPU, Device
from tests.rendering import render_whole, study
from tests.report.drawn import Drawn, draw_campaign

CELLS = scenarios.cells()

KINDS = ("prints", "takes", "says", "compares")
"""What stands of a script as posted, and of the same in a warm process: of one place, and of two."""

WARM = "as asked, in a warm process"

NAMED = {
    True: re.compile(r"Timed as posted, (\d+) of \d+ scripts? names?"),
    False: re.compile(r"Timed as posted, in a warm process, (\d+) of \d+ scripts? names?"),
}
"""How many name the wrong winner: by whether they were timed as posted."""

SOFT = "such a script prints"

Told = tuple[str, ...]
"""A case, the values of its own axes, and the place or the two places that a sentence is about."""


Sentences = dict[str, set[Told]]
"""What is said of each of the `KINDS`."""


def name_spot(spot: Spot) -> str:
    return f"{spot.arm}, on its CPU" if spot.pinned else spot.arm


def name_way(name: str, fixed: Mapping[str, object]) -> tuple[str, str]:
    return name, ", ".join(f"{axis}={value}" for axis, value in fixed.items())


def expect(drawn: Drawn) -> Sentences:
    """By the numbers that count: of each way at least two, and of two places the script's and the fair."""
    cells = {cell.id: cell for cell in drawn.campaign.cells}
    ways: dict[tuple[str, str], dict[bool, Ladder]] = {}
    for way in filter(None, (cell.way for cell in cells.values())):
        ways.setdefault(name_way(way.name, way.fixed), {})[way.on_cpu] = way
    expected: Sentences = {kind: set() for kind in KINDS}
    for name, pair in ways.items():
        ends: dict[Spot, tuple[Cell, str, str | None]] = {}
        for arm, way in product(drawn.campaign.arms, pair.values()):
            there = [stage for stage in way.stages if (arm, stage.cell) in drawn.counted]
            if len(there) > 1:
                first = cells[there[0].cell or ""]
                spot = Spot(arm=arm, pinned=way.on_cpu)
                ends[spot] = (first, there[0].change, find_fair(way, there))
                expected["prints" if first.process else "takes"].add((*name, name_spot(spot)))
        here = ends.get(Spot(arm="cuda", pinned=False))
        for spot, (first, *changes) in ends.items():
            if (
                here
                and here[-1]
                and spot != Spot(arm="cuda", pinned=False)
                and changes == list(here[1:])
            ):
                places = (*name, "cuda", name_spot(spot))
                expected["says" if first.process else "compares"].add(places)
    return expected


def find_fair(way: Ladder, there: Sequence[Step]) -> str | None:
    """The change of the first stage behind all the timing; None: the training too, or it is the first."""
    timing = [place for place, stage in enumerate(way.stages) if stage.effect == "timing" and place]
    behind = [stage for stage in there if way.stages.index(stage) >= max(timing)]
    until = (
        way.stages[way.stages.index(there[0]) + 1 : way.stages.index(behind[0]) + 1]
        if behind
        else []
    )
    trains = any(stage.effect == "training" for stage in until)
    return behind[0].change if until and not trains else None


def hear(report: str) -> Sentences:
    """What a report says, by the rows of its tables."""
    heard: Sentences = {kind: set() for kind in KINDS}
    for table in re.findall(r"^.*Table: .*\n\n(?:\|.*\n)+", report, re.MULTILINE):
        caption, rows = table.split("\n\n")
        head, _, *lines = ([c.strip() for c in row[1:-1].split("|")] for row in rows.splitlines())
        before = ""
        for cells in lines:
            if head[1] == "compared":
                name, _, fixed = cells[0].rstrip(")").partition(" (")
                kind = "says" if "the script says" in head else "compares"
                heard[kind].add((name, fixed, *cells[1].split(" against ")))
            elif head[1] == "kind" and cells[0] != before:
                before = cells[0]
                *values, place = re.split(r", (?!on its CPU)", before)
                kind = "takes" if cells[2].startswith(WARM) else "prints"
                name = caption.partition("Table: ")[2].partition(" (")[0]
                heard[kind].add((name, ", ".join(values), place))
    return heard


def check(drawn: Drawn, analysis: Analysis) -> Sentences:
    """Holds the report to the numbers that count."""
    expected, report = expect(drawn), render_whole(analysis)
    assert hear(report) == expected
    assert (SOFT in report) == (drawn.campaign.arms == ["cpu"] and bool(expected["prints"]))
    posted = {fall.steps[0].cell: fall.posted for fall in analysis.waterfalls}
    for is_posted, named in NAMED.items():
        wrong = analysis.find("gap", verdict="wrong-winner")
        cases = {gap.cell.split("/")[0] for gap in wrong if posted[gap.cell] is is_posted}
        assert sum(map(int, named.findall(report))) == len(cases)
    return expected


@pytest.mark.parametrize(
    "seeds",
    [range(1000, 1006), pytest.param(range(200), marks=pytest.mark.method)],
    ids=["a few", "200 campaigns"],
)
def test_the_script_prints_what_was_measured_of_it_and_counts(seeds: range) -> None:
    tried = Counter[str]()
    for seed in seeds:
        draw = random.Random(seed)
        drawn = draw_campaign(draw)
        expected = check(drawn, study(drawn.campaign, drawn.make_documents(draw)))
        tried += Counter({kind: len(sentences) for kind, sentences in expected.items()})
    assert all(tried[kind] > len(seeds) / 4 for kind in KINDS), "too little was tried"


def make_slices(
    gpu: Device | None, *, posted: bool = True, profile: ProfileName = "standard"
) -> tuple[Campaign, list[Document]]:
    """A campaign of the script in slices; ``posted``: its first stage is the script itself."""
    cells = [
        replace(cell, process="asked.slices")
        if posted and cell.params["stage"] == "naive"
        else cell
        for cell in SLICES
    ]
    return machines.make_campaign(cells, cpu=CPU, gpu=gpu, host=QUIET, profile=profile)


def write(gpu: Device | None, *, posted: bool = True, profile: ProfileName = "standard") -> str:
    return render_whole(study(*make_slices(gpu, posted=posted, profile=profile)))


@pytest.mark.parametrize(
    ("capability", "posted", "said"),
    [
        *(("8.0", True, True), ("9.0", True, True), ("12.1", True, True)),
        *(("7.5", True, False), (None, True, False), ("odd", True, False), ("9.0", False, False)),
    ],
)
def test_a_script_s_own_precision_is_told_where_its_gpu_has_tf32(
    capability: str | None, posted: bool, said: bool
) -> None:
    campaign, documents = make_slices(GPU, posted=posted)
    on_gpu = plant(documents, tell({"gpu.0.capability": capability}), "cuda")
    assert ("multiplies in TF32" in render_whole(study(campaign, on_gpu))) == said


WORDS = {
    "script": "the script says",
    "slower": "| cuda against cpu | 52.2× slower",
    "warm": WARM,
    "wrong": "the wrong winner",
    "between": "% by timing: tracing no longer timed",
    "provisional": "provisional, without a verdict",
    "invents": "a difference where none is shown",
    "alike": "neither tells them apart",
    "soft": 'prints a "GPU time" that is the CPU\'s',
}
LATE = replace(GPU, start=1.0)


@pytest.mark.parametrize(
    ("gpu", "posted", "said", "unsaid"),
    [
        (LATE, True, "script slower wrong between", "warm invents"),
        (LATE, False, "warm slower", "script soft"),
        (replace(CPU, start=1.0), True, "invents between", "wrong"),
        (CPU, True, "alike", "wrong between"),
        (None, True, "soft", "script between"),
        (None, False, "warm", "soft"),
    ],
)
def test_what_a_script_says_and_what_is_so(
    gpu: Device | None, *, posted: bool, said: str, unsaid: str
) -> None:
    text = re.sub(" +", " ", write(gpu, posted=posted))
    assert [name for name in said.split() if WORDS[name] not in text] == []
    assert [name for name in unsaid.split() if WORDS[name] in text] == []


def test_without_verdicts_no_script_names_the_wrong_winner() -> None:
    text = write(LATE, profile="smoke")
    assert WORDS["slower"] in re.sub(" +", " ", text)
    assert WORDS["provisional"] in text
    assert [name for name in ("wrong", "invents", "alike") if WORDS[name] in text] == []
    assert WORDS["provisional"] not in write(LATE)


def test_scripts_stand_in_the_order_of_their_first_wrong_winners() -> None:
    analysis = study(*machines.make_campaign(SLICES, cpu=CPU, gpu=LATE, host=QUIET))
    fall, gap = analysis.waterfalls[0], analysis.find("gap")[0]
    falls, gaps = [], []
    for cell, title, verdict in (
        ("1", "A", ""),
        ("2", "B", "wrong-winner"),
        ("3", "A", "wrong-winner"),
    ):
        steps = (structs.replace(fall.steps[0], cell=cell), *fall.steps[1:])
        falls.append(structs.replace(fall, title=title, steps=steps, fixed={}))
        gaps.append(structs.replace(gap, cell=cell, verdict=verdict))
    made = structs.replace(analysis, waterfalls=tuple(falls), findings=tuple(gaps))
    words = "Timed as posted, in a warm process, 2 of 2 scripts name the wrong winner: B{}; A."
    assert list(describe_naive_gaps(made)) == [words.format("")]
    # Where the script itself was changed as well on the way, the timing alone is not to blame.
    between = cite("between", effects=("timing", "script"))
    gaps[1] = structs.replace(gaps[1], evidence=(gaps[1].evidence[0], between))
    made = structs.replace(made, findings=tuple(gaps))
    assert list(describe_naive_gaps(made)) == [words.format(" (by timing and script together)")]


SLICED = [cell for cell in CELLS if cell.id.startswith("asked.slices/") and cell.id.endswith("arm")]
TOGETHER = "timing, script and training together"


@pytest.mark.parametrize(
    ("measured", "rows"),
    [
        ("script trained", [",", "timing, 2.00× shorter,"]),
        (
            "script trained traced placed",
            [
                ",",
                "timing, 2.00× shorter,",
                "timing and script together, 16.0× shorter, 16.0× shorter",
                "timing fair, 2.00× shorter, 4.00× shorter",
            ],
        ),
        (
            "traced placed float32",
            [
                ",",
                "timing fair, 2.00× shorter, 2.00× shorter",
                "script, 2.00× faster, 2.00× faster",
            ],
        ),
        (
            "placed float32 no-fetch",
            ["fair,", "script, 2.00× faster,", "script, 2.00× faster, 4.00× faster"],
        ),
        (
            "script float32 device-data batch-512",
            [
                ",",
                "timing and script together fair, 128× shorter, 128× shorter",
                "script, 4.00× faster, 4.00× faster",
                "training, 2.00× faster, 2.00× faster",
            ],
        ),
        # Of what was taken together nobody can tell what each kind makes, nor what a fair number is.
        ("script batch-512", [",", f"{TOGETHER}, 1024× shorter,"]),
        (
            "placed no-fetch batch-512",
            [
                "fair,",
                "script, 4.00× faster, 4.00× faster",
                "script and training together, 4.00× faster, 4.00× faster",
            ],
        ),
    ],
)
def test_every_row_says_its_kind_and_no_kind_has_the_work_of_another(
    measured: str, rows: list[str]
) -> None:
    """Each stage takes half as long an example as the one before it."""
    cells = [cell for cell in SLICED if cell.params["stage"] in measured.split()]
    places = {cell.id: place for place, cell in enumerate(SLICED)}
    campaign = synthetic.make_campaign(arms=["cpu"], cells=cells, profile="standard")
    documents = synthetic.make_documents(
        campaign, truth=lambda cell, _: cell.work.amount / 2.0 ** places[cell.id], host=SILENT
    )
    report = render_whole(study(campaign, documents))
    heard = []
    for line in report.partition("Table: slices")[2].partition("\n#")[0].splitlines():
        if line.startswith("| cpu"):
            _, kind, _, time, factor, total = (cell.split() for cell in line.split("|")[1:-1])
            words = [*kind, *(["fair"] if "fair" in time else [])]
            heard.append(", ".join(map(" ".join, (words, factor[:2], total[:2]))).strip())
    assert [row.replace(", ,", ",") for row in heard] == rows
