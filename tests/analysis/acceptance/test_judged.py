"""What a line comes to: pass and fail where the whole interval lies on a side, and else why not."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from suite.analysis.acceptance.facts import KNOWN
from suite.analysis.compare import judge as judge_ratios
from suite.analysis.result.acceptance import Check
from suite.analysis.result.arms import Count, Health, Share, Watched, WatchedGpu
from suite.analysis.result.campaign import Analysis, ExtraWork, Family, Rested
from suite.analysis.result.cells import Checked
from suite.analysis.result.limits import Price
from suite.analysis.result.numbers import Ratio, Verdict, cite
from suite.analysis.statistics.ratio import find_paired_ratio
from suite.flags import raise_flag
from suite.report.pages.acceptance import compose_acceptance
from suite.report.render.html import render_html_page
from suite.report.render.markdown import render_page
from tests.sheets import (
    CELLS,
    FENCE,
    PRODUCT,
    PRODUCTS,
    STEP,
    expect,
    judge,
    judge_sheet,
    make,
    make_plain,
    read,
    spread,
)
from tests.synthetic import plain_truth

RATE = 2e9 / plain_truth(PRODUCTS[0], "cuda") / 1e12
"""TFLOP/s of the product on the GPU."""
TIME = plain_truth(PRODUCTS[0], "cuda") * 1e3
"""Milliseconds."""


def on_gpu(**line: str) -> str:
    return "\n".join(
        [f'cell = "{PRODUCT}"', 'arm = "cuda"', *(f'{k} = "{v}"' for k, v in line.items())]
    )


def only(analysis: Analysis, requirement: str, **others: Analysis) -> Check:
    (line,) = judge(analysis, requirement, **others).lines
    assert line.answer == line.worst.answer
    return line.worst


def code(check: Check) -> str:
    return check.reason.code if check.reason else ",".join(flag.code for flag in check.flags)


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ({"rate": f"at least {RATE * 0.9:.4f} TFLOP/s"}, "pass"),
        ({"rate": f"at least {RATE * 1.1:.4f} TFLOP/s"}, "fail"),
        ({"rate": f"at least {RATE * 1.001:.5f} TFLOP/s"}, "undecided"),
        ({"rate": f"at most {RATE * 1.1:.4f} TFLOP/s"}, "pass"),
        ({"time": f"at most {TIME * 1.1:.4f} ms"}, "pass"),
        ({"time": f"under {TIME * 0.9:.4f} ms"}, "fail"),
        ({"time": f"{TIME * 1.002:.6f} ms or less"}, "undecided"),
    ],
)
def test_a_rate_and_a_time(line: dict[str, str], answer: str) -> None:
    check = only(make_plain(), on_gpu(**line))
    assert check.answer == answer
    assert check.value is not None
    assert check.value.low < check.value.value < check.value.high  # type: ignore[operator]


@pytest.mark.parametrize(
    ("blocks", "bound", "answer"),
    [
        (10, "at most 5 %", "pass"),
        (10, "at most 3 %", "fail"),
        (2, "at most 5 %", "undecided"),
        (2, "at most 0.1 %", "fail"),
    ],
)
def test_how_far_blocks_lie_apart(blocks: int, bound: str, answer: str) -> None:
    # Ten blocks by 3.01 %, two by 1.42 %.
    analysis = make_plain(blocks, deviation=0.005)
    check = only(analysis, on_gpu(spread=bound))
    assert check.answer == answer
    assert check.value is not None
    assert check.value.low is None
    page = render_page(compose_acceptance(judge(analysis, on_gpu(spread=bound))))
    assert f"slowest block over the fastest one: {bound}" in page
    assert ("5 blocks give an interval" in page) == (answer == "undecided")
    # Of both arms the one that varies more is the one that the answer rests on.
    (line,) = judge(analysis, f'cell = "{PRODUCT}"\narm = "*"\nspread = "{bound}"').lines
    assert line.worst.arm == "cuda"


def test_a_sheet_of_more_lines_has_wider_intervals() -> None:
    line = on_gpu(rate=f"at least {RATE * 0.985:.4f} TFLOP/s")
    answers, widths = [], []
    for lines in (1, 40):
        found = judge(make_plain(), *[line] * lines)
        value = found.lines[0].checks[0].value
        assert value is not None
        answers.append(found.answer)
        widths.append(math.log((value.high or 0) / (value.low or 1)))
        assert (found.counted, found.confidence) == (lines, pytest.approx(1 - 0.05 / lines))
    assert answers == ["pass", "undecided"]
    assert widths[1] > 1.5 * widths[0]


def test_every_cell_that_matches_counts() -> None:
    every = 'every = "matmul.*"\narm = "*"\ntime = "at most 100 s"'
    found = judge(make_plain(), every, 'noise_floor = "at most 3 %"')
    assert [len(line.checks) for line in found.lines] == [6, 1]
    assert found.counted == 7
    one_slow = make_plain().cells
    assert {cell.id for cell in one_slow} == {cell.id for cell in CELLS}
    assert (
        only(make_plain(), 'every = "matmul.*"\narm = "*"\ntime = "at most 1 ms"').answer == "fail"
    )


SPEEDUP = plain_truth(PRODUCTS[0], "cpu") / plain_truth(PRODUCTS[0], "cuda")


@pytest.mark.parametrize(
    ("bound", "answer"),
    [
        (f'at_least = "{SPEEDUP * 0.9:.3f} times"', "pass"),
        (f'at_least = "{SPEEDUP * 110:.1f} %"', "fail"),
        (f'at_most = "{SPEEDUP * 1.1:.3f} ×"', "pass"),
        (f'at_least = "{SPEEDUP * 1.001:.4f} times"', "undecided"),
    ],
)
def test_a_ratio_of_arms(bound: str, answer: str) -> None:
    line = f'cell = "{PRODUCT}"\nas_fast_as = {{ arm = "cpu", {bound} }}'
    assert only(make_plain(), line).answer == answer


def pair(times: float = 1.0, noise: float | None = 0.01) -> tuple[Analysis, Analysis]:
    """A baseline, and a campaign that takes so many times as long."""
    base = make_plain(noise_floor=noise, name="base")
    places = [(cell, arm) for cell in CELLS for arm in ("cpu", "cuda")]
    slower = {
        (cell.id, arm): spread(times * plain_truth(cell, arm), 0.011, 10) for cell, arm in places
    }
    return base, make(slower, 10, noise_floor=noise)


@pytest.mark.parametrize(
    ("times", "noise", "by", "answer"),
    [
        (1.0, 0.01, "5 %", "pass"),
        (1.2, 0.01, "5 %", "fail"),
        (1.05, 0.01, "5 %", "undecided"),
        # What the campaigns' noise makes of nothing is no slowdown.
        (1.1, 0.2, "5 %", "undecided"),
        (1.3, 0.2, "5 %", "fail"),
        (1.0, 0.2, "5 %", "pass"),
    ],
)
def test_the_gate(times: float, noise: float, by: str, answer: str) -> None:
    base, now = pair(times, noise)
    gate = f'slower_than = {{ base = "Y", by = "{by}" }}'
    found = judge(now, gate, Y=base)
    assert found.answer == answer
    # Without a cell every cell of work on every arm.
    assert len(found.lines[0].checks) == 2 * len([c for c in CELLS if c.role == "work"])
    cell = f'{gate}\ncell = "{PRODUCT}"\narm = "cuda"'
    assert only(now, cell, Y=base).answer == answer


def test_a_gate_asks_of_all_that_the_base_has() -> None:
    base, now = pair(1.0)
    gate = 'slower_than = { base = "Y", by = "5 %" }'
    alone = structs.replace(now, arms={"cpu": now.arms["cpu"]})
    found = judge(alone, gate, Y=base).lines[0]
    assert (found.answer, code(found.worst), found.worst.arm) == (
        "undecided",
        "arm-lacking",
        "cuda",
    )
    # What the base has no sound number of is nobody's loss.
    assert judge(now, gate, Y=strike(base)).lines[0].answer == "pass"
    lost = judge(strike(now), gate, Y=base).lines[0]
    assert (lost.answer, code(lost.worst)) == ("undecided", "gpu-shared")
    fewer = structs.replace(now, cells=now.cells[1:])
    check = judge(fewer, gate, Y=base).lines[0].worst
    assert (check.answer, code(check), check.cell) == ("undecided", "cell-unplanned", PRODUCT)
    # Of a campaign that measured less than all, what it lacks has to be named.
    assert judge(fewer, f'{gate}\nevery = "mlp.*"\narm = "*"', Y=base).answer == "pass"


def test_a_campaign_beside_a_better_one() -> None:
    base, now = pair(0.5)
    line = f'cell = "{PRODUCT}"\narm = "cuda"\nas_fast_as = {{ base = "Y", at_least = "%s" }}'
    assert only(now, line % "1.8 times", Y=base).answer == "pass"
    assert only(now, line % "2.3 times", Y=base).answer == "fail"
    across = 'as_fast_as = { base = "Y", arm = "cpu", at_least = "50 times" }'
    across = f'cell = "{PRODUCT}"\narm = "cuda"\n{across}'
    assert only(now, across, Y=base).answer == "pass"


def test_a_price() -> None:
    line = f'cell = "{STEP}"\narm = "cuda"\nprice = "at most %s"'
    cost = 1e6 * plain_truth(CELLS[4], "cuda") / 512 * 3.6 / 3600
    for bound, answer in ((1.1, "pass"), (0.9, "fail"), (1.0005, "undecided")):
        assert only(make_plain(), line % f"{cost * bound:.9f} USD").answer == answer
    unpriced = only(make_plain(price=None), line % "1 USD")
    assert (unpriced.answer, code(unpriced)) == ("undecided", "no-price")


def test_from_which_size_on() -> None:
    line = 'every = "matmul.square/*"\nfaster_from = "n %s"'
    assert only(make_plain(), line % 1000).answer == "pass"
    assert only(make_plain(), line % 10).answer == "fail"
    near = {
        (cell.id, arm): spread(1e-3 * (1.0 if arm == "cpu" else 0.99), 0.001 * more, 10)
        for cell in CELLS
        for arm, more in (("cpu", 1), ("cuda", 2))
    }
    check = only(make(near, 10), line % 1000)
    assert (check.answer, code(check)) == ("undecided", "under-the-margin")


@pytest.mark.parametrize(
    ("value", "figure", "verdict", "answer", "why"),
    [
        (100.0, (100.0, 100.0), "in", "pass", ""),
        (90.0, (100.0, 100.0), "below", "fail", ""),
        (95.0, (100.0, 100.0), "in", "undecided", "across"),
        (100.0, (80.0, 120.0), "in", "undecided", "figures-differ"),
        (120.0, (80.0, 120.0), "in", "pass", ""),
        (70.0, (80.0, 120.0), "below", "fail", ""),
        (50.0, (100.0, 100.0), "", "undecided", "not-held"),
    ],
)
def test_what_is_expected(
    value: float, figure: tuple[float, float], verdict: str, answer: str, why: str
) -> None:
    row = expect("fp32 products", value, *figure, verdict)
    analysis = make_plain(findings=(row,))
    check = only(analysis, 'expected = "at least 95 %"')
    assert (check.answer, code(check)) == (answer, why)
    assert check.value is not None
    assert check.value.value == pytest.approx(value / figure[0])


def test_an_expectation_is_of_what_is_named() -> None:
    rows = (expect("fp32 products", 100, 90, 90), expect("copy to the device", 40, 90, 90, "in"))
    analysis = make_plain(findings=rows)
    assert only(analysis, 'expected = "at least 95 %"\nof = "fp32 products"').answer == "pass"
    page = render_page(compose_acceptance(judge(analysis, 'expected = "at least 95 %"')))
    assert "]: of 90.0 FLOP/s (a source, 2026)" in page
    # Its memory is not pinned: only what the report calls below is.
    copied = only(analysis, 'expected = "at least 95 %"\nof = "copy to the device"')
    assert (copied.answer, code(copied)) == ("undecided", "not-held")
    # Without a name: neither what nothing is published of, nor a copy that is in its band.
    unknown = structs.replace(expect("memory", 100, 90, 90), evidence=(), verdict="")
    beside = make_plain(findings=(*rows, unknown))
    assert only(beside, 'expected = "at least 95 %"').answer == "pass"
    slow = make_plain(findings=(rows[0], expect("copy to the device", 20, 90, 90, "far below")))
    assert only(slow, 'expected = "at least 95 %"').answer == "fail"
    nothing = only(make_plain(findings=()), 'expected = "at least 95 %"')
    assert (nothing.answer, code(nothing)) == ("undecided", "no-figure")


def test_a_machine_type_is_asked_for_where_it_decides() -> None:
    between = expect("copy to the device", 15, 12, 27, "")
    line = 'expected = "at least 95 %"\nof = "copy to the device"'
    for more, words in (
        ((cite("of-all-types"),), "give the machine's type (TYPE), or require the rate itself"),
        ((), "no number of blocks does: require the rate itself."),
    ):
        row = structs.replace(between, evidence=(*between.evidence, *more))
        assert words in render_page(compose_acceptance(judge(make_plain(findings=(row,)), line)))
    page = render_page(compose_acceptance(judge(make_plain(findings=()), line)))
    assert "nothing is published to hold it against: require the rate itself" in page
    assert "TYPE" not in page


ANY = on_gpu(rate="at least 0.001 TFLOP/s")


def fail_control(analysis: Analysis) -> Analysis:
    ratio = Ratio(value=1.2, low=1.1, high=1.3, n=10, p=1e-6)
    family = Family(
        base="cpu",
        other="cpu-twin",
        ratios={PRODUCT: ratio},
        verdicts={PRODUCT: Verdict(name="SLOWER")},
    )
    return structs.replace(analysis, controls=structs.replace(analysis.controls, twins=(family,)))


def strike(analysis: Analysis) -> Analysis:
    cells = []
    for cell in analysis.cells:
        where = {"arm": "cuda", "cell": cell.id, "blocks": (1, 2)}
        flag = raise_flag("gpu-shared", where, severity="invalid", scope="cell")
        arms = {**cell.arms, "cuda": structs.replace(cell.arms["cuda"], flags=(flag,))}
        cells.append(structs.replace(cell, arms=arms))
    return structs.replace(analysis, cells=tuple(cells))


@pytest.mark.parametrize(
    ("analysis", "why"),
    [
        (make_plain(blocks=2), "few-for-interval"),
        (make_plain(deviation=0.0), "no-resolution"),
        (
            make_plain(campaign=structs.replace(make_plain().campaign, profile="smoke")),
            "profile-provisional",
        ),
        (fail_control(make_plain()), "control-failed"),
        (strike(make_plain()), "gpu-shared"),
    ],
    ids=["few", "no spread", "smoke", "control", "invalid"],
)
def test_what_is_never_a_pass(analysis: Analysis, why: str) -> None:
    check = only(analysis, ANY)
    assert (check.answer, code(check)) == ("undecided", why)
    page = render_page(compose_acceptance(judge(analysis, ANY)))
    assert "**UNDECIDED.**" in page
    assert "What would decide it" in page


def test_a_cell_of_another_profile_is_not_measured_here() -> None:
    check = only(make_plain(), 'cell = "mlp.width/width=2048/*"\narm = "cpu"\ntime = "at most 1 s"')
    assert (check.answer, code(check)) == ("undecided", "cell-unplanned")


def test_controls_and_the_noise_floor() -> None:
    quiet = make_plain(noise_floor=0.029)
    assert only(quiet, 'noise_floor = "at most 3 %"').answer == "pass"
    assert only(quiet, 'noise_floor = "at most 2.9 %"').answer == "pass"
    assert only(quiet, 'noise_floor = "under 2.9 %"').answer == "fail"
    unknown = only(make_plain(noise_floor=None), 'noise_floor = "under 3 %"')
    assert (unknown.answer, code(unknown)) == ("undecided", "no-twins")
    assert code(only(make_plain(), 'controls = "held"')) == "no-twins"
    assert only(fail_control(make_plain()), 'controls = "held"').answer == "fail"
    for low, answer in ((1.01, "pass"), (0.9, "undecided")):
        ratio = Ratio(value=1.05, low=low, high=1.1, n=10, p=0.5)
        extra = ExtraWork(arm="cpu", cell=PRODUCT, honest=STEP, ratio=ratio, truth=1.05, p=0.9)
        controls = structs.replace(make_plain().controls, extra_work=(extra,))
        assert only(make_plain(controls=controls), 'controls = "held"').answer == answer


def make_twins(draw: np.random.Generator, deviation: float, blocks: int) -> Family:
    """Twins that are alike, with so much spread between blocks, of eight cells."""
    values = {
        f"cell {n}": dict(enumerate(np.exp(draw.normal(0, deviation, blocks)).tolist()))
        for n in range(8)
    }
    ratios = {name: find_paired_ratio(dict.fromkeys(of, 1.0), of) for name, of in values.items()}
    sound = {name: ratio for name, ratio in ratios.items() if ratio is not None}
    verdicts = judge_ratios(sound, margin=0.02, invalid={})
    return Family(base="cpu", other="cpu-twin", ratios=sound, verdicts=verdicts)


def twin(family: Family, **fields: Any) -> Analysis:
    plain = make_plain(**fields)
    return structs.replace(plain, controls=structs.replace(plain.controls, twins=(family,)))


def test_blocks_that_are_promised_for_controls_narrow_them() -> None:
    kept = []
    for seed in range(60):
        few = make_twins(np.random.default_rng(seed), 0.06, 5)
        check = only(twin(few, blocks=5), 'controls = "held"')
        if check.blocks:
            assert (check.answer, code(check)) == ("undecided", "controls-wide")
            later = make_twins(np.random.default_rng(1000 + seed), 0.06, check.blocks)
            kept.append(only(twin(later), 'controls = "held"').answer != "undecided")
    assert len(kept) > 40
    assert sum(kept) >= 0.9 * len(kept)


@pytest.mark.parametrize(
    ("deviation", "blocks", "profile", "why", "words"),
    [
        (2.0, 5, "standard", "controls-wide", "no number of blocks can be promised"),
        (0.06, 2, "standard", "few-for-interval", "5 blocks give an interval"),
        (0.06, 2, "verdict", "profile-provisional", "the profile standard or full"),
    ],
)
def test_controls_that_are_too_wide_say_what_would_decide(
    deviation: float, blocks: int, profile: str, why: str, words: str
) -> None:
    family = make_twins(np.random.default_rng(1), deviation, blocks)
    plan = structs.replace(make_plain(blocks=blocks).campaign, profile=profile)
    analysis = twin(family, blocks=blocks, campaign=plan)
    check = only(analysis, 'controls = "held"')
    assert (check.answer, code(check)) == ("undecided", why)
    assert words in render_page(compose_acceptance(judge(analysis, 'controls = "held"')))


def test_an_unsound_machine_fails() -> None:
    assert only(make_plain(), 'machine = "sound"').answer == "pass"
    flag = raise_flag("memory-errors", {"arm": "cuda"}, scope="machine", errors=3.0, failed=False)
    found = only(make_plain(flags=(flag,)), 'machine = "sound"')
    assert (found.answer, code(found)) == ("fail", "memory-errors")
    page = render_page(compose_acceptance(judge(make_plain(flags=(flag,)), ANY)))
    assert page.startswith("# Acceptance: contract.toml — UNSOUND MACHINE")
    assert page.index("UNSOUND: cuda: ") < page.index("the lines of the sheet")


@pytest.mark.parametrize(
    ("name", "wish", "answer"),
    [
        ("NVIDIA A100-SXM4-80GB", "A100", "pass"),
        ("NVIDIA H100 80GB HBM3", "NVIDIA H100", "pass"),
        ("NVIDIA H200 NVL", "H200", "pass"),
        ("NVIDIA GeForce RTX 4070 Ti", "RTX 4070", "fail"),
        ("NVIDIA GeForce RTX 4070 Ti", "RTX 4070 Ti", "pass"),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", "RTX 4070 Ti", "fail"),
        ("NVIDIA GeForce RTX 3080 Laptop GPU", "RTX 3080", "fail"),
        ("GRID A100-10C", "A100", "fail"),
        ("GRID A100-10C", "A100-10C", "pass"),
        ("NVIDIA A10G", "A10", "fail"),
        ("NVIDIA H200", "H100 or H200", "pass"),
        ("NVIDIA A100-SXM4-80GB", "H100 or H200", "fail"),
    ],
)
def test_a_name_is_of_whole_words(name: str, wish: str, answer: str) -> None:
    plain = make_plain()
    gpu = structs.replace(plain.arms["cuda"], facts={"gpu.0.name": (name,)})
    analysis = make_plain(arms={**plain.arms, "cuda": gpu})
    assert only(analysis, f'fact = "GPU"\nis = "{wish}"').answer == answer


def test_nothing_makes_an_invalid_campaign_sound() -> None:
    flag = raise_flag("set-aside", {"arm": "cuda"}, disturbed=3, invocations=5, codes=("steal",))
    flag = replace(flag, severity="invalid")
    invalid = make_plain(flags=(flag,))
    found = only(invalid, 'machine = "sound"')
    assert (found.answer, code(found)) == ("undecided", "set-aside")
    page = render_page(compose_acceptance(judge(invalid, 'machine = "sound"')))
    assert "; a campaign that is not INVALID." in page
    assert "make bench PROFILE=standard\n" in page


def lose(reason: str, outcome: str = "failed") -> Analysis:
    """A campaign in which a cell has no number on the GPU, because of this."""
    plain = make_plain()
    flag = raise_flag("left-out", {"arm": "cuda"}, outcome=outcome, reason=reason)
    first, *rest = plain.cells
    none: dict[str, Any] = {"value": None, "low": None, "high": None, "n": 0, "values": {}}
    lost = structs.replace(first.arms["cuda"], outcome=outcome, flags=(flag,), **none)
    first = structs.replace(first, arms={**first.arms, "cuda": lost})
    return structs.replace(plain, cells=(first, *rest))


def test_a_machine_with_wrong_results_is_not_shown_to_be_sound() -> None:
    found = only(lose("wrong result: off by 1"), 'machine = "sound"')
    assert (found.answer, code(found)) == ("undecided", "wrong-results")
    page = render_page(compose_acceptance(judge(lose("wrong result: off by 1"), ANY)))
    assert "WRONG RESULTS: 1 cell without a number on cuda, named in the report." in page
    # Measuring the same cell here again decides nothing.
    assert "the same campaign on another machine of the type, or with another TensorFlow" in page
    assert "make bench" not in page
    assert only(lose("no memory"), 'machine = "sound"').answer == "pass"
    assert "WRONG RESULTS" not in render_page(compose_acceptance(judge(lose("no memory"), ANY)))


OVER = "would take 16.5 s here; the profile's budget for this cell is 15 s"


@pytest.mark.parametrize(
    ("reason", "answer"), [(OVER, "undecided"), ("bfloat16 is meaningless here", "pass")]
)
def test_an_arm_that_is_too_slow_for_a_cell_counts(reason: str, answer: str) -> None:
    """Otherwise the slowest would pass, and so would a gate."""
    analysis = lose(reason, "skipped")
    cell = analysis.cells[0].id
    base = make_plain(deviation=0.011, name="base", noise_floor=0.0)
    for line in (
        f'cell = "{cell}"\narm = "*"\ntime = "at most 100 s"',
        'slower_than = { base = "Y", by = "20 %" }',
    ):
        assert only(analysis, line, Y=base).answer == answer


@pytest.mark.parametrize(
    ("reason", "profile"),
    [
        (OVER, "full"),
        ("no memory", "standard"),
    ],
)
def test_a_cell_over_its_budget_needs_a_larger_one(reason: str, profile: str) -> None:
    analysis = lose(reason)
    line = f'cell = "{analysis.cells[0].id}"\narm = "cuda"\ntime = "at most 1 s"'
    page = render_page(compose_acceptance(judge(analysis, line)))
    assert f"make bench PROFILE={profile} ONLY=" in page


GPU = WatchedGpu(
    capped=Share(seen=0, of=50),
    slowed=Share(seen=1, of=50),
    shared=Share(seen=0, of=50),
    pcie_lanes=8.0,
    pcie_generation=4.0,
    power_limit_w=300.0,
    temperature_c=71.0,
    count=2.0,
)
FACTS: dict[str, Any] = {
    "outside.driver.version": ("580.95.05",),
    "outside.driver.cuda": ("13.0",),
    "gpu.0.name": ("NVIDIA L4",),
    "outside.gpu.memory_bytes": (24e9,),
    "outside.gpu.ecc": (True,),
    "outside.gpu.mig": (None,),
    "tensorflow.version": ("2.21.0", "2.22.0"),
    "os.kernel": ("6.18.44-fc",),
    "cpu.usable": (16,),
    "custom.firmware": ("96.00.A5.00.1A",),
    "custom.switch": (False,),
    "custom.number": (3,),
    "custom.none": (None,),
}


def make_known() -> Analysis:
    plain = make_plain()
    about = structs.replace(
        plain.arms["cuda"],
        facts=FACTS,
        watched=Watched(blocks=10, gpu=GPU),
        health=Health(watched_s=600.0, counts={"memory_errors": Count(first=0.0, last=0.0)}),
    )
    return structs.replace(plain, arms={**plain.arms, "cuda": about})


@pytest.mark.parametrize(
    ("fact", "wish", "answer"),
    [
        ("driver", "at least 555", "pass"),
        ("Driver", "at least 580.95.05", "pass"),
        ("driver", "over 580", "fail"),
        ("driver", "at least 580.100", "fail"),
        ("driver", "580", "pass"),
        ("driver", "under 600", "pass"),
        ("CUDA", "12.4 or later", "pass"),
        ("driver", "580.x", "pass"),
        ("driver", "570.x", "fail"),
        ("GPU", "NVIDIA L4", "pass"),
        ("GPU", "nvidia l*", "pass"),
        ("GPU", "NVIDIA L40S", "fail"),
        ("GPU", "L4", "pass"),
        ("GPU", "L", "fail"),
        ("GPU", "4", "fail"),
        ("custom.firmware", "96.00.A5.00.1A", "pass"),
        ("custom.firmware", "96.00.B5.00.1C", "fail"),
        ("GPUs", "at least 2", "pass"),
        ("GPUs", "exactly 8", "fail"),
        ("GPU memory", "at least 22 GiB", "pass"),
        ("GPU memory", "at least 24 GiB", "fail"),
        ("PCIe lanes", "8 or more", "pass"),
        ("PCIe lanes", "at least 16 lanes", "fail"),
        ("PCIe generation", "≥ 4", "pass"),
        ("ECC", "on", "pass"),
        ("ECC", "off", "fail"),
        ("MIG", "off", "undecided"),
        ("memory errors", "at most 0", "pass"),
        ("power limit", "at least 0.35 kW", "fail"),
        ("GPU temperature", "under 85 °C", "pass"),
        ("GPU slowed", "at most 1 %", "fail"),
        ("GPU slowed", "at most 2 %", "pass"),
        # Blocks that differ have all to be what is wanted.
        ("TensorFlow", "at least 2.21", "pass"),
        ("TensorFlow", "2.21", "fail"),
        ("kernel", "at least 5.15", "pass"),
        ("CPUs", "at least 16", "pass"),
        ("persistence mode", "on", "undecided"),
        ("custom.switch", "off", "pass"),
        ("custom.number", "at least 3", "pass"),
        ("custom.none", "x", "undecided"),
    ],
)
def test_a_fact(fact: str, wish: str, answer: str) -> None:
    line = f'fact = "{fact}"\nis = "{wish}"\narm = "cuda"'
    assert only(make_known(), line).answer == answer


def test_a_fact_is_of_every_arm_that_can_have_it() -> None:
    assert [c.arm for c in judge(make_known(), 'fact = "ECC"\nis = "on"').lines[0].checks] == [
        "cuda"
    ]
    arms = judge(make_known(), 'fact = "kernel"\nis = "6"').lines[0].checks
    assert [(c.arm, c.answer) for c in arms] == [("cpu", "undecided"), ("cuda", "pass")]
    alone = {"cpu": make_plain().arms["cpu"]}
    check = only(make_plain(arms=alone), 'fact = "ECC"\nis = "on"')
    assert (check.answer, code(check)) == ("undecided", "no-gpu-arm")


def test_every_known_fact_can_be_wanted() -> None:
    wishes = {"switch": "on", "text": "x", "version": "at least 1", "size": "at least 1 GB"}
    wishes |= {
        "count": "at least 2",
        "power": "at least 1 W",
        "temperature": "≤ 9 °C",
        "share": "< 5 %",
    }
    for name, known in KNOWN.items():
        assert judge(make_known(), f'fact = "{name}"\nis = "{wishes[known.kind]}"').lines


def test_blocks_minutes_and_money() -> None:
    line = on_gpu(rate=f"at least {RATE * 0.98:.4f} TFLOP/s")
    analysis = make_plain(blocks=5, price=Price(hourly=3.6, currency="USD"))
    found = judge(analysis, line, 'noise_floor = "at most 3 %"')
    (check,) = found.lines[0].checks
    assert check.answer == "undecided"
    assert check.blocks is not None
    assert 5 < check.blocks < 100
    decides = found.decides
    assert decides is not None
    assert (decides.blocks, decides.lines) == (check.blocks, (1,))
    spent = math.fsum(of.total_s for of in analysis.spent.values())
    assert decides.seconds == pytest.approx(spent / 6 * decides.more, rel=1e-6)
    assert decides.money == pytest.approx((decides.seconds or 0) / 1000, rel=1e-6)
    # BLOCKS has all cells in each; here the last block had none.
    last = Rested(block=5, cells=len(analysis.cells))
    campaign = structs.replace(analysis.campaign, rested=(last,))
    rested = judge(structs.replace(analysis, campaign=campaign), line).decides
    assert rested is not None
    assert rested.seconds == pytest.approx(spent / 5 * rested.more, rel=1e-6)
    page = render_page(compose_acceptance(found))
    assert f"make bench RESUME=path/to/made-up BLOCKS={decides.blocks}" in page
    assert f"{decides.more} more blocks, about" in page
    # And so it comes, where the others are like these.
    later = make_plain(blocks=check.blocks, price=analysis.price)
    assert judge(later, line, 'noise_floor = "at most 3 %"').lines[0].answer == "pass"


def test_blocks_that_were_lost_come_on_top() -> None:
    line = on_gpu(rate=f"at least {RATE * 0.98:.4f} TFLOP/s")
    whole = only(make_plain(blocks=5), line)
    analysis = make_plain(blocks=5)
    blocks = dict.fromkeys(range(1, 8), "complete")
    arms = {arm: structs.replace(about, blocks=blocks) for arm, about in analysis.arms.items()}
    assert only(structs.replace(analysis, arms=arms), line).blocks == (whole.blocks or 0) + 2


@pytest.mark.parametrize(
    ("blocks", "apart", "why", "promised"),
    [(10, 1.0001, "across", None), (5, 1.0001, "across", None), (3, 0.99, "across-early", 10)],
)
def test_so_near_that_nobody_decides_it(
    blocks: int, apart: float, why: str, promised: int | None
) -> None:
    check = only(make_plain(blocks), on_gpu(rate=f"at least {RATE * apart:.6f} TFLOP/s"))
    assert (check.answer, code(check)) == ("undecided", why)
    assert check.apart == pytest.approx(abs(1 / apart - 1), rel=0.05)


def test_a_gate_that_needs_both_campaigns() -> None:
    base, now = pair(1.0)
    few = replace_blocks(base, 3)
    line = f'slower_than = {{ base = "Y", by = "6 %" }}\ncell = "{PRODUCT}"\narm = "cuda"'
    check = only(now, line, Y=few)
    assert check.answer == "undecided"
    assert check.both
    assert judge(now, line, Y=few).decides is None
    assert "of this campaign and of Y" in render_page(compose_acceptance(judge(now, line, Y=few)))


def replace_blocks(analysis: Analysis, blocks: int) -> Analysis:
    """The same campaign with a few blocks, and a larger spread."""
    times = {
        (cell.id, arm): spread(plain_truth(cell, arm), 0.03, blocks)
        for cell in CELLS
        for arm in ("cpu", "cuda")
    }
    return make(times, blocks, analysis.campaign.id, noise_floor=0.01)


def test_the_page_says_the_same_of_the_same() -> None:
    sheet = [ANY, 'machine = "sound"', on_gpu(rate=f"at least {RATE * 2:.3f} TFLOP/s")]
    pages = {render_page(compose_acceptance(judge(make_plain(), *sheet))) for _ in range(2)}
    (page,) = pages
    assert "**FAIL.** Of 3 lines, 2 pass and 1 fails. Failing: 3." in page
    assert "another day" in page
    assert "another day" not in render_page(
        compose_acceptance(judge(make_plain(), 'machine = "sound"'))
    )


def test_a_title_is_shown_as_it_was_written() -> None:
    sheet = read('machine = "sound"', head='title = "Lot <b>2</b> of /home/somebody"\n')
    page = compose_acceptance(judge_sheet(make_plain(), sheet, {}))
    assert "# Acceptance: Lot \\<b>2\\</b> of hidden-path" in render_page(page)
    assert "Acceptance: Lot &lt;b&gt;2&lt;/b&gt; of hidden-path" in render_html_page(page)


def test_a_failed_control_is_said_in_front() -> None:
    page = render_page(compose_acceptance(judge(fail_control(make_plain()), ANY)))
    assert page.index("A control of made-up failed") < page.index("the lines of the sheet")


def test_one_fit_arm_need_not_be_named() -> None:
    cell = FENCE.id
    plain = make_plain()
    arms = {"cpu": plain.arms["cpu"]}
    cells = tuple(
        structs.replace(of, arms={"cpu": of.arms["cpu"]}, comparisons={}) for of in plain.cells
    )
    alone = structs.replace(plain, arms=arms, cells=cells)
    check = only(alone, f'cell = "{cell}"\ntime = "at most 1 s"')
    assert (check.answer, check.arm) == ("pass", "cpu")


def test_copies_of_a_campaign_are_not_judged() -> None:
    base = make_plain(name="base", noise_floor=0.01)
    copy = make_plain(noise_floor=0.01)
    line = f'slower_than = {{ base = "Y", by = "5 %" }}\ncell = "{PRODUCT}"\narm = "cuda"'
    check = only(copy, line, Y=base)
    assert check.answer == "undecided"
    assert "cop" in code(check)


def test_other_results_are_not_compared() -> None:
    base, now = pair(1.0)
    cells = []
    for cell in base.cells:
        check = Checked(low=1.0, high=1.0, tolerance=1e-6)
        result = structs.replace(cell.arms["cuda"], check=check)
        cells.append(structs.replace(cell, arms={**cell.arms, "cuda": result}))
    line = f'slower_than = {{ base = "Y", by = "5 %" }}\ncell = "{PRODUCT}"\narm = "cuda"'
    check = only(now, line, Y=structs.replace(base, cells=tuple(cells)))
    assert (check.answer, code(check)) == ("undecided", "other-results")
    page = render_page(
        compose_acceptance(judge(now, line, Y=structs.replace(base, cells=tuple(cells))))
    )
    assert "Y: cuda" in page


def test_another_suite_is_refused() -> None:
    base = make_plain(name="base")
    other = structs.replace(base, suite=replace(base.suite, content="6" * 64))
    with pytest.raises(Exception, match=r"contract.toml, line 2: base: .*same suite"):
        only(make_plain(), 'slower_than = { base = "Y", by = "5 %" }', Y=other)
