"""A sheet about two versions in one campaign: cells and parts of the newest beside the one before."""

from __future__ import annotations

from functools import cache

import pytest

from suite.analysis.acceptance.sheet import SheetError
from suite.analysis.result.acceptance import Check
from suite.analysis.result.campaign import Analysis
from tests.analysis.versions.test_parts import (
    CUDA_OTHER,
    PRODUCT,
    analyse,
    check_as,
    make_plain,
    refuse,
)
from tests.bench.versions import BASE, OTHER, PLANTS, Version
from tests.rendering import study
from tests.sheets import judge

BY = 'slower_than = {{ arm = "cpu@2.20", by = "{}" }}'
GATE = BY.format("5 %")


@cache
def slowed(part: str = "", *, blocks: int = 10) -> Analysis:
    """The newest version, of which a part is slower, and the one before."""
    arms = {BASE: PLANTS.get(part, Version()), OTHER: Version()}
    return analyse(arms=arms, blocks=blocks)


def only(analysis: Analysis, requirement: str) -> Check:
    (line,) = judge(analysis, requirement).lines
    (check,) = line.checks
    assert line.answer == check.answer
    return check


@pytest.mark.parametrize(
    ("part", "by", "answer"),
    [
        ("", "5 %", "pass"),
        ("kernels", "5 %", "fail"),
        ("kernels", "25 %", "pass"),
        # What noise alone makes is no slowdown, however small the bound.
        ("", "0 %", "undecided"),
    ],
)
def test_a_cell_of_an_arm_beside_the_same_of_another_version(
    part: str, by: str, answer: str
) -> None:
    line = f'cell = "{PRODUCT}"\n{BY.format(by)}'
    check = only(slowed(part), line)
    assert (check.answer, check.arm) == (answer, BASE)
    assert only(slowed(part), f'{line}\narm = "cpu"') == check


def test_the_other_way_round_it_is_faster() -> None:
    line = f'cell = "{PRODUCT}"\nslower_than = {{ arm = "cpu", by = "5 %" }}'
    check = only(slowed("kernels"), line)
    assert (check.answer, check.arm) == ("pass", OTHER)


def test_without_a_cell_it_is_about_all_work() -> None:
    work = [cell.id for cell in slowed().work]
    (line,) = judge(slowed("kernels"), GATE).lines
    assert line.answer == "fail"
    assert [check.cell for check in line.checks] == [
        cell.id for cell in slowed().work if cell.arms[OTHER].value is not None
    ]
    failing = {check.cell for check in line.checks if check.answer == "fail"}
    assert PRODUCT in failing
    assert failing < set(work)
    assert {check.arm for check in line.checks} == {BASE}
    # What the other version has no number of is nobody's loss; what this one lacks is open.
    lost = analyse(arms=dict.fromkeys((BASE, OTHER), Version()), change=refuse(PRODUCT), on=OTHER)
    assert PRODUCT not in {check.cell for check in judge(lost, GATE).lines[0].checks}
    wrong = analyse(arms=dict.fromkeys((BASE, OTHER), Version()), change=refuse(PRODUCT), on=BASE)
    (check,) = (c for c in judge(wrong, GATE).lines[0].checks if c.cell == PRODUCT)
    assert check.answer == "undecided"


def test_a_cell_that_computes_otherwise_is_undecided() -> None:
    arms = dict.fromkeys((BASE, OTHER), Version())
    analysis = analyse(arms=arms, change=check_as(43.0, PRODUCT), on=OTHER)
    check = only(analysis, f'cell = "{PRODUCT}"\n{GATE}')
    assert check.answer == "undecided"
    assert [flag.code for flag in check.flags] == ["results-differ"]


@pytest.mark.parametrize("turned", [False, True])
def test_a_gate_of_all_cells_does_not_drop_one_that_computes_otherwise(turned: bool) -> None:
    arms = dict.fromkeys((OTHER, BASE) if turned else (BASE, OTHER), Version())
    analysis = analyse(arms=arms, change=check_as(43.0, PRODUCT), on=BASE)
    (line,) = judge(analysis, GATE).lines
    answers = {check.cell: check.answer for check in line.checks}
    assert answers[PRODUCT] == "undecided"
    assert line.answer != "pass"


@pytest.mark.parametrize("part", PLANTS)
def test_a_part_fails_where_it_is_slower_and_no_other_does(part: str) -> None:
    for name in PLANTS:
        check = only(slowed(part), f'part = "{name}"\n{GATE}')
        assert (check.arm, check.of, check.cell) == (BASE, name, "")
        assert (check.answer == "fail") == (name == part), (part, name)
    # The other way round it passes.
    turned = f'part = "{part}"\nslower_than = {{ arm = "cpu", by = "5 %" }}'
    check = only(slowed(part), turned)
    assert (check.answer, check.arm) == ("pass", OTHER)


def test_a_part_that_may_be_another_neither_passes_nor_fails() -> None:
    """A first call is its trace and more: with a slower trace it takes longer, and without it does not."""
    check = only(slowed("tracing"), f'part = "first-call"\n{GATE}')
    assert check.answer == "undecided"
    assert check.reason
    assert check.reason.code in {"part-untold", "across", "across-early"}


def test_a_part_that_is_lost_in_noise_is_undecided() -> None:
    plain = Version(loop=1e-7, epoch=0.0, shuffled=0.0)
    analysis = analyse(arms={BASE: plain, OTHER: plain}, blocks=10)
    check = only(analysis, f'part = "fit"\n{GATE}')
    assert check.reason
    assert (check.answer, check.reason.code) == ("undecided", "lost-in-noise")


def test_a_part_that_nothing_measured_is_undecided() -> None:
    arms = dict.fromkeys((BASE, OTHER), Version())
    analysis = analyse(arms=arms, leave_out=lambda cell: "mlp.retrace" in cell)
    check = only(analysis, f'part = "tracing"\n{GATE}')
    assert check.reason
    assert (check.answer, check.reason.code) == ("undecided", "no-such-number")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f'part = "loop"\n{GATE}', "'loop' is none"),
        (f'part = "fit"\ncell = "{PRODUCT}"\n{GATE}', "say two things"),
        ('part = "fit"\nslower_than = { base = "results/Y", by = "5 %" }', "in one campaign"),
        ('part = "fit"\ntime = "at most 1 s"\ncell = "x"', "unknown key 'part'"),
        ('part = "fit"\nslower_than = { arm = "cpu@2.18", by = "5 %" }', "no arm 'cpu@2.18'"),
        (f'arm = "cpu@2.20"\n{GATE}', "beside itself"),
        (f'part = "fit"\narm = "cpu@2.16"\n{GATE}', "not two versions"),
    ],
)
def test_what_makes_no_sense_is_refused(text: str, told: str) -> None:
    arms = dict.fromkeys((BASE, OTHER, "cpu@2.16"), Version())
    analysis = analyse(arms=arms, blocks=3)
    with pytest.raises(SheetError, match=told):
        judge(analysis, text)


def test_with_a_gpu_the_other_versions_alone_are_meant() -> None:
    analysis = study(*make_plain(("cpu", "cuda", CUDA_OTHER)))
    line = f'slower_than = {{ arm = "{CUDA_OTHER}", by = "5 %" }}'
    (found,) = judge(analysis, line).lines
    assert {check.arm for check in found.checks} == {"cuda"}
    assert all(check.value and check.value.value > 1.1 for check in found.checks)
