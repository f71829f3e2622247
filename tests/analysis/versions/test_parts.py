"""Two versions of an arm: which part is slower, and nothing else by its name; and what is said before."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from suite.analysis.analyse import find_precision
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.numbers import Estimate, Ratio, Verdict, cite
from suite.analysis.result.versions import VERSION_PARTS, VersionChange
from suite.analysis.versions.amounts import Amount, Told, compare_parts
from suite.analysis.versions.change import are_alike, contradict
from suite.model import (
    Arm,
    Campaign,
    Check,
    Document,
    Scalar,
    control_of,
    group_versions,
    on_device,
    version_of,
)
from tests import synthetic
from tests.bench import versions
from tests.bench.versions import BASE, OTHER, PLANTS, Version
from tests.changes import Change, keep, plant, tell
from tests.fakes.hosts import Host
from tests.gpus import rename
from tests.rendering import load, study

CUDA_OTHER = "cuda@2.20"
PRODUCT = "matmul.square/n=1000/precision=fp32/operands=device/xla=off"


def analyse(
    other: Version | None = None,
    *,
    arms: Mapping[str, Version] | None = None,
    change: Change = keep,
    on: str = OTHER,
    blocks: int = 6,
    seed: int = 1,
    leave_out: Callable[[str], bool] = lambda _: False,
    **fields: Any,
) -> Analysis:
    """A campaign of two versions, or of these arms, on a quiet machine."""
    by_arm = arms or {BASE: Version(), OTHER: other or Version()}
    campaign = versions.make_plan(by_arm, blocks=blocks, seed=seed)
    documents = versions.make_documents(campaign, by_arm, versions.NOISES["typical"])
    cells = [cell for cell in campaign.cells if not leave_out(cell.id)]
    names = {cell.id for cell in cells}
    documents = [
        replace(one, cells=[cell for cell in one.cells if cell.id in names]) for one in documents
    ]
    campaign = replace(campaign, cells=cells, **fields)
    return study(campaign, plant(documents, change, on))


def verdicts(change: VersionChange) -> dict[str, str]:
    return {part.name: part.verdict.name for part in change.parts if part.verdict}


@pytest.mark.parametrize("part", PLANTS)
def test_what_is_slower_is_named_first_and_nothing_else_is(part: str) -> None:
    (change,) = analyse(PLANTS[part], blocks=10).versions
    assert [changed.name for changed in change.changed] == [part]
    assert change.parts[0].name == part
    assert verdicts(change)[part] == "SLOWER"
    (back,) = analyse(
        arms={BASE: PLANTS[part], OTHER: Version()},
        blocks=10,
    ).versions
    assert verdicts(back)[part] == "FASTER"
    assert [changed.name for changed in back.changed] == [part]


def test_what_is_equal_is_said_to_be_by_equivalence_alone() -> None:
    (change,) = analyse(PLANTS["kernels"], blocks=10).versions
    assert {"dispatch", "tracing", "tf.data", "transfer"} <= {part.name for part in change.equal}
    for part in change.equal:
        assert part.ratio
        assert part.ratio.inner_low
        assert part.ratio.inner_high
        assert 1 / 1.05 < part.ratio.inner_low < part.ratio.inner_high < 1.05


def test_a_part_says_how_many_seconds_it_takes_and_more() -> None:
    change = analyse(PLANTS["fit"], blocks=10).versions[0]
    fit = change.parts[0]
    (cell,) = fit.cells
    assert (fit.name, fit.unit, cell) == (
        "fit",
        "step",
        "mlp.loop/batch=32/steps_per_execution=1",
    )
    assert fit.own == pytest.approx(150e-6, rel=0.15)
    assert fit.seconds.low
    assert fit.seconds.high
    assert fit.seconds.low < 40e-6 < fit.seconds.high
    assert fit.ratio
    assert fit.ratio.value == pytest.approx(1 + 40 / 150, rel=0.1)
    assert fit.rows[cell].ratio == fit.ratio
    kernels = next(part for part in change.parts if part.name == "kernels")
    # All but the smallest products, and the steps that are long enough.
    assert PRODUCT in kernels.cells
    assert not any("n=10/" in cell or "batch=8/" in cell for cell in kernels.cells)


def test_the_part_that_the_work_loses_most_by_comes_first() -> None:
    both = replace(PLANTS["tracing"], rate=PLANTS["kernels"].rate)
    (change,) = analyse(both, blocks=10).versions
    assert [part.name for part in change.changed] == ["kernels", "tracing"]
    assert change.changed[0].effect > change.changed[1].effect > 0


def test_without_a_measured_trace_the_first_call_contains_it() -> None:
    def is_retraced(cell: str) -> bool:
        return cell.startswith("mlp.retrace")

    (change,) = analyse(PLANTS["tracing"], blocks=10, leave_out=is_retraced).versions
    first = next(part for part in change.parts if part.name == "first-call")
    assert first.contains == ("tracing",)
    assert "tracing" not in verdicts(change)
    (with_it,) = analyse(PLANTS["tracing"], blocks=10).versions
    assert not any(part.contains for part in with_it.parts)


@pytest.mark.parametrize(
    ("slower", "part"), [("tf.data", "fit"), ("tracing", "first-call")], ids=str
)
def test_what_may_be_of_another_part_is_not_called_by_its_name(slower: str, part: str) -> None:
    """By one batch nobody knows how much of an epoch fills its buffer; nor of a first call its trace."""
    (change,) = analyse(
        PLANTS[slower], blocks=10, leave_out=lambda cell: cell.startswith("mlp.loop")
    ).versions
    found = next(each for each in change.parts if each.name == part)
    assert [changed.name for changed in change.changed] == [slower]
    assert found.ratio
    assert found.least
    assert found.least.value < 1.01
    assert found.ratio.value > 1.05
    assert found.verdict
    assert found.verdict.reason
    assert found.verdict.reason.code == "part-untold"


@pytest.mark.parametrize("lost_on", [BASE, OTHER])
def test_keras_loop_is_read_off_in_one_way_on_both_versions(lost_on: str) -> None:
    """With the short epoch on one alone, it would differ by what an epoch takes once."""

    def lose(document: Document) -> Document:
        return synthetic.lose_cell(document, "mlp.loop_short/batch=32/steps=32", "failed", "lost")

    (change,) = analyse(change=lose, on=lost_on, blocks=10).versions
    assert "fit" not in {part.name for part in change.parts}


def test_without_prices_work_contains_its_dispatch() -> None:
    (change,) = analyse(leave_out=lambda cell: cell.startswith("overhead.")).versions
    kernels = next(part for part in change.parts if part.name == "kernels")
    assert kernels.contains == ("dispatch",)
    assert any("n=10/" in cell for cell in kernels.cells)


def test_what_is_lost_in_noise_has_a_difference_and_is_not_called_equal() -> None:
    """Keras's own loop takes less than the noise of a step: a ratio of it would be one of noise."""
    plain = replace(Version(), loop=1e-7, epoch=0.0, shuffled=0.0)
    (change,) = analyse(arms={BASE: plain, OTHER: plain}, blocks=10).versions
    fit = next(part for part in change.parts if part.name == "fit")
    assert fit.ratio is None
    assert fit.least is None
    assert fit.seconds.low
    assert fit.seconds.low < 0 < (fit.seconds.high or 0.0)
    assert verdicts(change)["fit"] == "INCONCLUSIVE"


@pytest.mark.parametrize(("profile", "blocks"), [("smoke", 6), ("standard", 2)])
def test_without_verdicts_there_are_ratios(profile: str, blocks: int) -> None:
    analysis = analyse(PLANTS["kernels"], blocks=blocks, profile=profile)
    (change,) = analysis.versions
    assert change.changed == change.equal == []
    kernels = next(part for part in change.parts if part.name == "kernels")
    assert kernels.verdict is None
    assert kernels.ratio
    assert kernels.ratio.value == pytest.approx(1.15, rel=0.03)


def test_a_cell_that_rests_leaves_its_part() -> None:
    """From block 4 on the price of a call and half of the products rest."""

    def rest(one: Document) -> Document:
        keeps = one.invocation.block < 4
        cells = [
            cell
            for cell in one.cells
            if keeps or not (cell.id.startswith(("overhead.eager", "matmul.square/n=1")))
        ]
        return replace(one, cells=cells)

    rested = analyse(PLANTS["kernels"], change=rest, blocks=8)
    (change,) = rested.versions
    kernels = next(part for part in change.parts if part.name == "kernels")
    whole = next(
        p for p in analyse(PLANTS["kernels"], blocks=8).versions[0].parts if p.name == "kernels"
    )
    assert kernels.cells == whole.cells
    assert kernels.ratio
    assert kernels.ratio.value == pytest.approx(1.15, rel=0.02)
    assert [part.name for part in change.changed] == ["kernels"]


# --- What is compared with what --------------------------------------------------------------------------


def test_a_campaign_without_versions_says_nothing_of_any() -> None:
    analysis = study(*make_plain(("cpu", "cuda")))
    assert analysis.versions == analysis.version_steps == ()


def make_plain(
    arms: tuple[str, ...], host: Host = synthetic.QUIET, times: float = 1.15
) -> tuple[Campaign, list[Document]]:
    """A campaign of the made-up CPU and GPU, whose other version takes so many times as long."""
    other = Arm(name=CUDA_OTHER, image=CUDA_OTHER, gpu=True)
    plain = tuple(arm for arm in arms if arm != CUDA_OTHER)
    campaign = synthetic.make_campaign(arms=plain, blocks=5)
    documents = synthetic.make_documents(campaign, host=host)
    if plain == arms:
        return campaign, documents
    alone = synthetic.make_campaign(arms=["cuda"], blocks=5, seed=8)
    slow = synthetic.make_documents(alone, truth=synthetic.slow_down(times), host=host)
    plan = replace(
        campaign,
        arms=list(arms),
        every_arm=[*campaign.every_arm, other],
        calls=dict.fromkeys(arms, campaign.calls["cuda"]),
    )
    return plan, [*documents, *rename(slow, other, plan)]


def test_an_arm_is_compared_with_the_first_of_its_family() -> None:
    analysis = study(*make_plain(("cpu", "cuda", CUDA_OTHER)))
    (change,) = analysis.versions
    assert (change.base, change.other) == ("cuda", CUDA_OTHER)
    ratio = change.cells[PRODUCT].ratio
    assert ratio
    assert ratio.value == pytest.approx(1.15, rel=0.01)
    assert set(change.cells) == {cell.id for cell in analysis.cells}
    alone = study(*make_plain(("cuda", CUDA_OTHER)))
    assert alone.versions[0].cells == {
        cell.id: cell.comparisons[CUDA_OTHER] for cell in alone.cells
    }


def test_a_cell_goes_on_while_its_versions_are_not_told_apart() -> None:
    """Against the CPU a GPU wins by so much that a cell may rest at once."""
    host = replace(synthetic.TYPICAL, between=0.02)
    both, three = (
        find_precision(load(*make_plain(arms, host, 1.08)), 5, fewest=5, most=10)
        for arms in (("cpu", "cuda"), ("cpu", "cuda", CUDA_OTHER))
    )
    assert both.wanted[PRODUCT] == 5
    assert three.wanted[PRODUCT] > 5


def test_on_several_gpus_a_version_is_compared_on_its_own() -> None:
    plain, other = (Arm(name=name, image=name, gpu=True) for name in ("cuda", CUDA_OTHER))
    arms = [on_device(arm, device, None) for arm in (plain, other) for device in "01"]
    named = [[arm.name for arm in group] for group in group_versions(arms)]
    assert named == [["cuda:0", f"{CUDA_OTHER}:0"], ["cuda:1", f"{CUDA_OTHER}:1"]]


def test_a_control_is_of_its_arms_version_and_no_version_of_it() -> None:
    cpu, cuda = (Arm(name=name, image=name, gpu=name != OTHER) for name in (OTHER, "cuda@2.16"))
    on_one = on_device(cuda, "1", None)
    controls = [
        control_of(cpu, "twin"),
        control_of(cpu, "again"),
        control_of(on_one, "hidden"),
        control_of(on_one, "twin"),
    ]
    assert [version_of(arm) for arm in (cpu, on_one, *controls)] == [
        *("2.20", "2.16", "2.20", "2.20", "2.16", "2.16"),
    ]
    assert version_of(synthetic.CPU) == version_of(synthetic.HIDDEN) == ""
    assert group_versions([synthetic.CPU, *controls, synthetic.HIDDEN]) == [
        (controls[2], synthetic.HIDDEN)
    ]


# --- What is said first ----------------------------------------------------------------------------------


def check_as(value: float, *cells: str) -> Change:
    def change(one: Document) -> Document:
        return replace(
            one,
            cells=[
                replace(cell, check=Check(what="a sum", value=value, tolerance=1e-6))
                if cell.id in cells
                else cell
                for cell in one.cells
            ],
        )

    return change


def refuse(*cells: str) -> Change:
    def change(one: Document) -> Document:
        for cell in cells:
            one = synthetic.lose_cell(one, cell, "failed", "wrong result: the loss is off")
        return one

    return change


def test_what_computes_otherwise_is_told_and_has_no_speed() -> None:
    (change,) = analyse(change=check_as(43.0, PRODUCT)).versions
    (found,) = change.differs
    assert (found.cell, found.wrong) == (PRODUCT, ())
    assert found.base
    assert found.other
    assert (found.base.high, found.other.low) == (42.0, 43.0)
    assert change.cells[PRODUCT].verdict is change.cells[PRODUCT].ratio is None
    assert not any(PRODUCT in part.cells for part in change.parts)


def test_a_version_that_computes_otherwise_takes_no_other_arms_number_away() -> None:
    three = dict.fromkeys((BASE, OTHER, "cpu@2.16"), Version())
    analysis = analyse(arms=three, change=check_as(43.0, PRODUCT), on="cpu@2.16")
    newer, oldest = analysis.versions
    assert newer.differs == ()
    assert newer.cells[PRODUCT].verdict
    assert [found.cell for found in oldest.differs] == [PRODUCT]
    assert oldest.cells[PRODUCT].verdict is None
    (steps,) = analysis.version_steps
    course = steps.cells[PRODUCT]
    assert course.answer == "open"
    assert [step.verdict is None for step in course.steps] == [False, True]


@pytest.mark.parametrize("order", list(itertools.permutations((BASE, OTHER, "cpu@2.16"))), ids=str)
def test_whichever_arm_is_the_odd_one_the_others_are_compared(order: tuple[str, ...]) -> None:
    """In whatever order a plan has its arms: cpu computes otherwise, and the other two agree."""
    analysis = analyse(
        arms=dict.fromkeys(order, Version()), change=check_as(43.0, PRODUCT), on=BASE
    )
    for change in analysis.versions:
        agrees = BASE not in {change.base, change.other}
        assert [found.cell for found in change.differs] == ([] if agrees else [PRODUCT])
        assert (change.cells[PRODUCT].verdict is not None) == agrees
        kernels = next(part for part in change.parts if part.name == "kernels")
        assert (PRODUCT in kernels.cells) == agrees
    (steps,) = analysis.version_steps
    for step in steps.cells[PRODUCT].steps:
        assert (step.verdict is not None) == (BASE not in {step.base, step.other})
    # Each ran its own work in all blocks, and has its time.
    cell = next(cell for cell in analysis.cells if cell.id == PRODUCT)
    assert all(cell.arms[arm].value for arm in order)


def test_versions_that_agree_two_by_two_lose_the_step_between_alone() -> None:
    arms = ("cpu@2.16", "cpu@2.18", OTHER, BASE)
    campaign = versions.make_plan(arms, blocks=6, seed=1)
    by_arm = dict.fromkeys(arms, Version())
    documents = versions.make_documents(campaign, by_arm, versions.NOISES["typical"])
    for arm in arms[2:]:
        documents = plant(documents, check_as(43.0, PRODUCT), arm)
    (steps,) = study(campaign, documents).version_steps
    course = steps.cells[PRODUCT]
    assert [step.verdict is not None for step in course.steps] == [True, False, True]
    assert course.whole.verdict is None


def test_a_version_whose_blocks_differ_has_no_number() -> None:
    def change(one: Document) -> Document:
        return check_as(43.0, PRODUCT)(one) if one.invocation.block == 2 else one

    analysis = analyse(change=change)
    cell = next(cell for cell in analysis.cells if cell.id == PRODUCT)
    assert cell.arms[OTHER].value is None
    assert cell.arms[BASE].value
    assert analysis.versions[0].cells[PRODUCT].verdict is None


def test_the_first_of_a_family_is_held_against_the_other_family() -> None:
    """Arms of two families have to agree: of a cell whose result differs there is no number on either."""
    campaign, documents = make_plain(("cpu", "cuda"))
    analysis = study(campaign, plant(documents, check_as(43.0, PRODUCT), "cuda"))
    cell = next(cell for cell in analysis.cells if cell.id == PRODUCT)
    assert {result.value for result in cell.arms.values()} == {None}


def test_a_wrong_result_is_named_with_its_arm() -> None:
    (change,) = analyse(change=refuse(PRODUCT)).versions
    (found,) = change.differs
    assert (found.cell, found.wrong, found.other) == (PRODUCT, (OTHER,), None)
    assert change.cells[PRODUCT].verdict is None


NEWEST: dict[str, Scalar] = {
    "tensorflow.version": "2.21.0",
    "tensorflow.git": "v2.21.0-rc1-5-ga481b10260d",
    "keras.version": "3.15.1",
    "numpy.version": "2.5.5",
    "cpu.architecture": "x86_64",
    "environment.TF_ENABLE_ONEDNN_OPTS": "1",
}


@pytest.mark.parametrize(
    ("theirs", "differ"),
    [
        ({}, {}),
        ({"keras.version": "3.12.0"}, {"Keras": ("3.15.1", "3.12.0")}),
        (
            {"tensorflow.version": "2.16.2", "tensorflow.git": "v2.16.1-19-g810f233968c"},
            {
                "TensorFlow": ("2.21.0", "2.16.2"),
                "oneDNN": ("3.7.3", "3.3.4"),
                "Eigen": ("38e2b943674d", "aa6964bf3a34"),
            },
        ),
        # A vendor's build is of another source, and a wheel for ARM holds another oneDNN.
        (
            {"tensorflow.version": "2.16.2", "tensorflow.git": "v2.16.2-their-own"},
            {"TensorFlow": ("2.21.0", "2.16.2")},
        ),
        (
            {"tensorflow.git": "v2.16.1-19-g810f233968c", "cpu.architecture": "aarch64"},
            {"Eigen": ("38e2b943674d", "aa6964bf3a34")},
        ),
        ({"environment.TF_ENABLE_ONEDNN_OPTS": "0"}, {"oneDNN switched": ("on", "off")}),
        # TensorFlow's own word counts more than what it was told.
        ({"tensorflow.onednn": False}, {"oneDNN switched": ("on", "off")}),
        ({"tensorflow.onednn": True, "environment.TF_ENABLE_ONEDNN_OPTS": "0"}, {}),
        # What is known of one alone is not said.
        ({"keras.version": None, "cuda.cudnn": 91002}, {}),
    ],
)
def test_the_software_that_differs_is_listed(
    theirs: dict[str, Scalar], differ: dict[str, tuple[str, str]]
) -> None:
    def change(one: Document) -> Document:
        return tell({**NEWEST, **theirs} if one.invocation.arm == OTHER else NEWEST)(one)

    (found,) = analyse(change=change, on="", blocks=2).versions
    turned = {name: (other, base) for name, (base, other) in differ.items()}
    # The older one comes first.
    assert found.software == (turned if found.base == OTHER else differ)


def test_no_caution_is_raised_where_the_version_is_the_question() -> None:
    other = tell({"tensorflow.version": "2.20.0"})
    analysis = analyse(PLANTS["tf.data"], change=other, blocks=10)
    assert analysis.software_differs == ()
    # Pipelines run on the CPU of both, and are slower in one: a difference, and no control that failed.
    assert analysis.controls.failed == ()
    assert analysis.controls.input_only == {}
    # Beside another family's arm it holds.
    campaign, documents = make_plain(("cpu", "cuda"))
    mixed = study(campaign, plant(documents, other, "cuda"))
    assert mixed.software_differs == ("cuda",)


def test_a_mean_in_seconds_stands_where_it_says_what_the_ratio_does() -> None:
    """Small products 30 % slower and the largest 10 % faster: the mean of seconds is that of the largest."""

    def change(one: Document) -> Document:
        cells = []
        for cell in one.cells:
            times = 1.3 if "n=100/" in cell.id or "n=256/" in cell.id else 0.9
            own = times if cell.id.startswith("matmul.square") else 1.0
            cells.append(replace(cell, samples_s=[own * s for s in cell.samples_s]))
        return replace(one, cells=cells)

    (unlike,) = analyse(change=change, blocks=10).versions
    kernels = next(part for part in unlike.parts if part.name == "kernels")
    assert kernels.ratio
    assert kernels.seconds is kernels.own is None
    assert {row.seconds.value > 0 for row in kernels.rows.values()} == {False, True}
    # Cells that take as long, of which a half is slower: by its ratio the part is.
    told = Told(ratio=Ratio(value=1.1, low=1.05, high=1.15, n=6), least=None, verdict=None, rows={})
    more = Estimate(value=1e-6, low=-1e-6, high=3e-6, n=6)
    less = Estimate(value=-2e-6, low=-3e-6, high=-1e-6, n=6)
    assert [contradict(told, seconds) for seconds in (more, less)] == [False, True]
    noise = Estimate(value=-1e-6, low=-3e-6, high=1e-6, n=6)
    judged = told._replace(verdict=Verdict(name="SLOWER", reason=cite("resolution")))
    assert [contradict(of, noise) for of in (told, judged)] == [False, True]
    assert [are_alike(owns) for owns in ([1.0], [-1.0], [1.0, 2.0], [1.0, 4.0], [-1.0, 1.0])] == [
        *(True, True, True, False, False)
    ]


# --- Parts whose cells tell different things --------------------------------------------------------------


def amount(base: float, other: float, hidden: tuple[float, float] = (0.0, 0.0)) -> Amount:
    """Six blocks of two arms, with a little noise."""
    noise = (1.0, 1.01, 0.99, 1.005, 0.995, 1.002)

    def spread(value: float, place: int) -> dict[int, float]:
        turned = noise[place:] + noise[:place]
        return {block: value * turned[block - 1] for block in range(1, 7)}

    sides = spread(base, 0), spread(other, 1)
    less = tuple(
        {block: s - gone for block, s in side.items()}
        for side, gone in zip(sides, hidden, strict=True)
    )
    return Amount(most=sides, least=(less[0], less[1]), whole=2 * base)


def judge(**cells: Amount) -> tuple[str, str]:
    told = compare_parts({"part": cells}, margin=0.02)["part"]
    assert told.verdict
    assert told.verdict.reason
    return told.verdict.name, told.verdict.reason.code


def test_what_another_part_may_explain_is_not_called_by_this_ones_name() -> None:
    assert judge(a=amount(1.0, 1.2)) == ("SLOWER", "significant")
    assert judge(a=amount(1.0, 1.2, (0.2, 0.24))) == ("SLOWER", "significant")
    assert judge(a=amount(1.0, 1.2, (0.2, 0.4))) == ("INCONCLUSIVE", "part-untold")
    assert judge(a=amount(1.0, 1.2, (0.2, 0.6))) == ("INCONCLUSIVE", "part-untold")
    assert judge(a=amount(1.0, 1.0, (0.2, 0.2))) == ("EQUIVALENT", "within-margin")


def test_cells_that_make_up_for_each_other_are_not_equal() -> None:
    assert judge(a=amount(1.0, 1.2), b=amount(1.0, 1 / 1.2)) == ("INCONCLUSIVE", "cells-apart")


def test_a_part_of_nothing_is_a_share_of_the_whole() -> None:
    lost = amount(1.0, 1.2)._replace(most=(dict.fromkeys(range(1, 7), 0.0),) * 2)
    lost = lost._replace(least=lost.most)
    told = compare_parts({"part": {"a": lost}}, margin=0.02)["part"]
    assert told.ratio is told.least is None
    assert told.verdict
    assert told.verdict.name == "INCONCLUSIVE"


def test_every_part_is_read_off_some_cell() -> None:
    (change,) = analyse().versions
    assert {part.name for part in change.parts} == set(VERSION_PARTS)
