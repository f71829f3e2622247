"""What is left of a rate when work goes on: each sentence from the machines in which it is true and not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from suite.analysis.ablation.soundness import find_unsound
from suite.analysis.analyse import analyse, look_first
from suite.analysis.result.sustained import Sustained
from suite.cells.cell import Work
from suite.model import Sustained as Planned
from suite.report.pages.brief import compose_brief, compose_screen
from suite.report.pages.campaign import compose, compose_first
from suite.report.pages.gallery import depict
from suite.report.pictures.picture import HOT, Courses
from suite.report.render.markdown import render_page
from tests import synthetic
from tests.flagging import codes
from tests.kept import (
    GPU_WELL,
    IDS,
    REST,
    WELL,
    Machine,
    Told,
    always,
    drop,
    leave_calibration,
    make_kept,
    study_kept,
)
from tests.rendering import load

pytestmark = pytest.mark.simulated


def tell(machine: Machine, **series: Told) -> Machine:
    """The machine that tells this besides; the first _ of a name is its dot."""
    told = {word.replace("_", ".", 1): value for word, value in series.items()}
    return replace(machine, series={**machine.series, **told})


FALL = drop(40.0, 1.0, 0.62)
HEAT, CAP = 0x20, 0x4
HOT_GPU = replace(
    tell(GPU_WELL, gpu_clock_sm_mhz=drop(40, 1590.0, 960.0), gpu_reasons_bits=drop(40, 0.0, HEAT)),
    share=FALL,
)
CAPPED_GPU = replace(
    tell(
        GPU_WELL,
        gpu_clock_sm_mhz=drop(40, 1590.0, 960.0),
        gpu_reasons_bits=always(CAP),
    ),
    share=FALL,
)
SILENT = Machine(share=FALL)
THEFT = tell(WELL, cpu_steal_s=lambda t: 0.0 if t < 40 else 4 * 0.4 * (t - 40))

SHAPES: dict[str, tuple[str, Machine, str, tuple[str, ...]]] = {
    "a card that throttles": ("cuda", HOT_GPU, "fell", ("hot-slowed", "hot-clock")),
    "one at its power limit all the time": (
        "cuda",
        CAPPED_GPU,
        "fell",
        ("hot-capped", "hot-clock"),
    ),
    "one that does not": ("cuda", GPU_WELL, "kept", ()),
    "one that falls and tells nothing": (
        "cuda",
        replace(GPU_WELL, share=FALL),
        "fell",
        ("hot-unknown",),
    ),
    "one beside which others work, who do not hold it": (
        "cuda",
        replace(GPU_WELL, share=FALL, evidence={"foreign_cpus": 3.0, "steal_share": 0.2}),
        "fell",
        ("hot-unknown",),
    ),
    "a dip that comes back": (
        "cpu",
        replace(WELL, share=lambda t: 0.4 if 50 < t < 58 else 1.0),
        "kept",
        (),
    ),
    "a hiccup": ("cpu", replace(WELL, share=lambda t: 0.2 if t < 0.2 else 1.0), "kept", ()),
    "credits that are used up": ("cpu", replace(THEFT, share=FALL), "fell", ("hot-stolen",)),
    "theft that changes nothing": ("cpu", THEFT, "kept", ()),
    "theft from the beginning, and a fall": (
        "cpu",
        replace(tell(WELL, cpu_steal_s=lambda t: 0.4 * (t + REST)), share=FALL),
        "fell",
        ("hot-unknown",),
    ),
    "theft that the worker alone saw": (
        "cpu",
        replace(SILENT, evidence={"steal_share": 0.3}),
        "fell",
        ("hot-stolen",),
    ),
    "a neighbour": (
        "cpu",
        replace(WELL, share=FALL, evidence={"foreign_cpus": 1.5}),
        "fell",
        ("hot-others",),
    ),
    "a quota": (
        "cpu",
        replace(
            tell(WELL, cpu_throttled_s=lambda t: 0.0 if t < 40 else 1.5 * (t - 40)), share=FALL
        ),
        "fell",
        ("hot-quota",),
    ),
    "a CPU that is hot": (
        "cpu",
        replace(
            tell(
                WELL,
                cpu_throttle_events=lambda t: 0.0 if t < 40 else t - 40,
                cpu_clock_mhz=drop(40, 3000, 1900),
            ),
            share=FALL,
        ),
        "fell",
        ("hot-clock", "hot-cpu"),
    ),
    "a CPU whose clock goes down": (
        "cpu",
        replace(tell(WELL, cpu_clock_mhz=drop(40, 3000, 1900)), share=FALL),
        "fell",
        ("hot-clock",),
    ),
    "nobody watches": ("cpu", SILENT, "fell", ("hot-unwatched",)),
    "slowly, down to two thirds": (
        "cpu",
        replace(WELL, share=lambda t: 1 - 0.33 * t / 120),
        "fell",
        ("hot-unknown",),
    ),
    **{
        f"heat that soaks in over {tau} s": (
            "cuda",
            replace(GPU_WELL, share=lambda t, tau=tau: 0.7 + 0.3 * math.exp(-max(t, 0.0) / tau)),
            "fell",
            ("hot-unknown",),
        )
        for tau in (5, 15, 30)
    },
    "in two steps, the last one late": (
        "cuda",
        replace(GPU_WELL, share=lambda t: 1.0 if t < 60 else 0.85 if t < 100 else 0.7),
        "fell",
        ("hot-unknown",),
    ),
    "a boost that ends": (
        "cpu",
        replace(tell(WELL, cpu_clock_mhz=drop(2, 3600, 3300)), share=drop(2.0, 1.0, 0.93)),
        "settled",
        (),
    ),
    "a boost of a card that has a power limit": (
        "cuda",
        replace(tell(GPU_WELL, gpu_reasons_bits=always(CAP)), share=drop(6.0, 1.0, 0.95)),
        "settled",
        (),
    ),
    "heat at once": (
        "cuda",
        replace(tell(GPU_WELL, gpu_reasons_bits=drop(6, 0.0, HEAT)), share=drop(6.0, 1.0, 0.92)),
        "fell",
        ("hot-slowed",),
    ),
    "faster and faster": ("cpu", replace(WELL, share=drop(20, 0.8, 1.0)), "rose", ()),
    "hardly less": ("cpu", replace(WELL, share=drop(40, 1.0, 0.98)), "kept", ()),
    "nothing but noise": ("cpu", replace(WELL, noise=0.6), "unclear", ()),
    "a card that swings": (
        "cuda",
        replace(GPU_WELL, share=lambda t: 1.0 if t % 20 < 10 else 0.6),
        "unclear",
        (),
    ),
    "cut short": ("cpu", replace(WELL, seconds=5.0), "unclear", ()),
    "cut down to one sample": ("cpu", replace(WELL, seconds=0.1), "unclear", ()),
    "over twenty seconds": ("cpu", replace(WELL, seconds=20.0), "kept", ()),
    "too short to say, whatever it does": (
        "cpu",
        replace(WELL, seconds=9.0, share=drop(4.0, 1.0, 0.5)),
        "unclear",
        (),
    ),
}


SWINGING = [SHAPES[name][1] for name in ("nothing but noise", "a card that swings")]


def keep(arm: str, machine: Machine, what: str = "product") -> Sustained:
    (kept,) = (kept for kept in study_kept(**{arm: {what: machine}}).sustained if kept.what == what)
    return kept


@pytest.mark.parametrize(("arm", "machine", "shape", "held"), SHAPES.values(), ids=list(SHAPES))
def test_a_fall_is_told_with_what_was_seen_to_hold_it(
    arm: str, machine: Machine, shape: str, held: tuple[str, ...]
) -> None:
    kept = keep(arm, machine)
    assert kept.shape == shape
    assert tuple(evidence.code for evidence in kept.held) == held
    assert kept.left is not None
    if shape == "fell":
        assert kept.fell_at_s is not None
        if machine.share is FALL:
            assert kept.left.value == pytest.approx(0.62, rel=0.12)
            assert kept.fell_at_s == pytest.approx(40.0, abs=2.5)
        assert codes(kept.flags) == (["falls-hot"] if kept.left.value < 0.9 else [])
    else:
        assert kept.fell_at_s is None
        assert codes(kept.flags) == (["swings-hot"] if machine in SWINGING else [])


RESTLESS = replace(WELL, noise=0.05, alike=0.75)
"""Its noise lasts for a second, so that the first two seconds are off by 4 %."""


@pytest.mark.parametrize(("share", "least", "most"), [(1.0, 0, 1), (0.85, 18, 20)])
def test_a_fall_is_found_beside_noise_that_lasts(share: float, least: int, most: int) -> None:
    machines = [replace(RESTLESS, share=drop(40, 1.0, share), number=n) for n in range(20)]
    fallen = [kept for machine in machines if (kept := keep("cpu", machine)).shape == "fell"]
    assert least <= len(fallen) <= most
    assert all(kept.fell_at_s == pytest.approx(40.0, abs=5.0) for kept in fallen)


def test_who_falls_little_is_told_without_a_warning() -> None:
    kept = keep("cpu", replace(WELL, share=drop(60.0, 1.0, 0.94)))
    assert kept.shape == "fell"
    assert not kept.flags


def test_copies_on_a_gpu_are_held_by_the_cpu_as_well() -> None:
    machine = replace(
        GPU_WELL,
        share=FALL,
        series={**GPU_WELL.series, "cpu.steal_s": THEFT.series["cpu.steal_s"]},
    )
    assert [evidence.code for evidence in keep("cuda", machine, "copy").held] == ["hot-stolen"]
    assert [evidence.code for evidence in keep("cuda", machine).held] == ["hot-unknown"]


def test_cold_is_what_the_machine_told_at_rest() -> None:
    kept = keep("cuda", HOT_GPU)
    assert kept.temperature_c.begin == 35.0
    assert kept.temperature_c.end == 75.0
    assert (kept.clock_mhz.begin, kept.clock_mhz.end) == (1590.0, 960.0)
    assert kept.seconds == pytest.approx(120.0, abs=1.0)
    assert kept.unit == "FLOP"
    assert keep("cuda", GPU_WELL, "copy").unit == "B"
    silent = keep("cpu", SILENT)
    assert silent.temperature_c.begin is None
    assert silent.course is not None
    assert not silent.course.clock_mhz


SCREENS = {
    "heat": (HOT_GPU, "heat or the hardware slowed the GPU down for 100 %"),
    "its clock": (HOT_GPU, "its clock went from 1,590 to 960 MHz"),
    "unknown": (replace(GPU_WELL, share=FALL), "nothing that was watched says why"),
}


@pytest.mark.parametrize(("machine", "words"), SCREENS.values(), ids=list(SCREENS))
def test_a_fall_stands_on_the_first_screen(machine: Machine, words: str) -> None:
    analysis = study_kept(cuda={"product": machine, "copy": GPU_WELL})
    screen = " ".join(render_page(compose_screen(analysis)).split())
    assert "products that are kept going fall after" in screen
    assert words in screen
    assert "copies that are" not in screen
    brief, report = render_page(compose_brief(analysis)), render_page(compose(analysis))
    for page in (brief, report):
        assert "all other cells are measured in bursts" in page
    assert "**When it is hot:** cuda: kept going for 2 min 00 s, products fall to 6" in brief
    assert "## What is left when hot" in report


def test_a_rate_that_swings_stands_on_the_first_screen() -> None:
    for machine in SWINGING[1], RESTLESS:
        screen = " ".join(
            render_page(compose_screen(study_kept(cuda={"product": machine}))).split()
        )
        assert (
            "products that are kept going have no steady rate: in the slowest quarter" in screen
        ) == (machine is not RESTLESS)


def test_what_is_well_is_told_and_no_warning() -> None:
    analysis = study_kept(cpu={"product": WELL, "copy": WELL}, cuda={"product": GPU_WELL})
    screen = render_page(compose_screen(analysis))
    assert "kept going" not in screen
    brief = render_page(compose_brief(analysis))
    assert "products keep" in brief
    assert "copies have no number (pending)" in brief
    dipped = study_kept(cpu={"product": SHAPES["a dip that comes back"][1]})
    assert "for a while" in render_page(compose_brief(dipped))
    assert "for a while" not in brief


def test_a_campaign_without_them_says_nothing_of_it() -> None:
    campaign, documents = make_kept({"cpu": {}})
    analysis = analyse(load(replace(campaign, sustained=None), documents))
    assert not analysis.sustained
    for page in (compose_brief(analysis), compose(analysis)):
        assert "hot" not in render_page(page).lower()
    assert all(picture.name != HOT for picture in depict(analysis))


def test_they_are_none_of_the_cells_that_are_compared() -> None:
    machines: Mapping[str, Mapping[str, Machine]] = {
        "cpu": {"product": WELL, "copy": WELL},
        "cuda": {"product": HOT_GPU, "copy": GPU_WELL},
    }
    campaign, documents = make_kept(machines)
    analysis = analyse(load(campaign, documents))
    plain = analyse(load(replace(campaign, sustained=None), synthetic.make_documents(campaign)))
    assert [cell.id for cell in analysis.cells] == [cell.id for cell in plain.cells]
    assert analysis.cells == plain.cells
    assert analysis.controls == plain.controls
    assert len(analysis.sustained) == 4


def test_one_that_failed_is_told_and_the_campaign_is_troubled() -> None:
    campaign, documents = make_kept({"cpu": {"product": WELL, "copy": WELL}})
    product = IDS["cpu"]["product"]
    lost = synthetic.lose_cell(documents[0], product, "failed", "its container died: signal 9")
    analysis = analyse(load(campaign, [lost, *documents[1:]]))
    assert analysis.troubled
    assert not analyse(load(campaign, documents)).troubled
    for page in (compose_brief(analysis), compose(analysis)):
        assert "products have no number" in render_page(page)
        assert "failed: its container died: signal 9" in render_page(page)
    assert "has no number" not in render_page(compose(analyse(load(campaign, documents))))


def test_a_gpu_number_that_is_not_proven_is_withheld() -> None:
    campaign, documents = make_kept({"cuda": {"product": HOT_GPU}})
    stray = synthetic.change_cell(documents[0], IDS["cuda"]["product"], placement={"CPU:0": 1})
    (kept, _) = analyse(load(campaign, [stray, *documents[1:]])).sustained
    assert (kept.outcome, kept.left) == ("failed", None)
    (well, _) = analyse(load(campaign, documents)).sustained
    assert well.outcome == "measured"


def test_a_calibration_shows_it_at_once_and_is_no_less_sound(tmp_path: Path) -> None:
    campaign, documents = make_kept({"cuda": {"product": HOT_GPU, "copy": GPU_WELL}})
    first = [document for document in documents if document.invocation.block == 0]
    folder = synthetic.write_campaign(tmp_path / "made-up", campaign, first)
    analysis = look_first(folder)
    assert analysis is not None
    assert "products fall to" in render_page(compose_first(analysis))
    plain = [
        replace(d, cells=[cell for cell in d.cells if cell.scenario != "sustain"]) for d in first
    ]
    flags = [list(find_unsound(load(campaign, some))) for some in (first, plain)]
    assert flags[0] == flags[1]


def test_it_is_the_same_whether_a_calibration_had_them_or_they_ran_alone(tmp_path: Path) -> None:
    made = make_kept({"cuda": {"product": HOT_GPU, "copy": GPU_WELL}})
    campaign, documents = leave_calibration(*made)
    before, since = analyse(load(*made)), analyse(load(campaign, documents))
    assert before.sustained == since.sustained
    assert [one.arms["cuda"].calibrated for one in (before, since)] == [True, False]
    pages = [render_page(compose(one)) for one in (before, since)]
    assert ["calibration is kept and not counted" in page for page in pages] == [True, False]
    assert ["calibration" in page for page in pages] == [True, False]
    # Before the first block there is nothing to say of the machine yet, and after it all.
    for blocks in ({0}, {0, 1}):
        some = [document for document in documents if document.invocation.block in blocks]
        folder = synthetic.write_campaign(tmp_path / str(len(blocks)), campaign, some)
        first = look_first(folder)
        assert list(find_unsound(load(campaign, some))) == list(first.flags if first else ())
        assert (first is not None) == (1 in blocks)
        assert first is None or "products fall to" in render_page(compose_first(first))


def test_a_repeat_of_the_calibration_has_not_run_them() -> None:
    campaign, documents = make_kept({"cpu": {"product": WELL, "copy": WELL}})
    again = synthetic.make_document(campaign, "cpu", 0)
    again = replace(again, invocation=replace(again.invocation, repeat=1))
    kept = analyse(load(campaign, [documents[0], again, *documents[1:]])).sustained
    assert [cell.outcome for cell in kept] == ["measured", "measured"]


@pytest.mark.parametrize("amount", [0.0, 1e308])
def test_work_that_no_call_does_is_counted_in_calls(amount: float) -> None:
    campaign, documents = make_kept({"cpu": {"product": WELL}})
    work = Work(amount=amount, unit="FLOP")
    odd = synthetic.change_cell(documents[0], IDS["cpu"]["product"], work=work)
    (kept, _) = analyse(load(campaign, [odd, *documents[1:]])).sustained
    assert kept.unit == "call"
    assert kept.shape == "kept"


def test_its_picture_has_a_column_for_each_work_and_a_row_for_what_was_told() -> None:
    analysis = study_kept(
        cpu={"product": SILENT, "copy": WELL}, cuda={"product": HOT_GPU, "copy": GPU_WELL}
    )
    (picture,) = (picture for picture in depict(analysis) if picture.name == HOT)
    courses = picture.content
    assert isinstance(courses, Courses)
    assert list(courses.columns) == ["products", "copies"]
    assert [row.partition(",")[0].split()[0] for row in courses.rows] == [
        "share",
        "clock",
        "power",
        "temperature",
    ]
    rates, clocks, power, _ = courses.columns["products"]
    assert list(rates) == ["cpu", "cuda"]
    assert list(power) == ["cuda"]
    assert "cpu" not in clocks
    assert "cpu" in courses.columns["copies"][1]
    assert rates["cuda"].fell_at_s == pytest.approx(40.0, abs=2.5)
    assert "products on cuda 62 %" in picture.title


def test_an_odd_length_says_how_long_it_was() -> None:
    campaign, documents = make_kept({"cpu": {"product": replace(WELL, seconds=60.0)}}, 60.0)
    assert isinstance(campaign.sustained, Planned)
    assert "kept going for 1 min 0" in render_page(compose(analyse(load(campaign, documents))))
