"""Every rule on campaigns in which its cause was planted, just missed, outweighed, or left out."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

import pytest

from suite.analysis.ablation.cell_index import CellIndex, index_cells
from suite.analysis.ablation.pipeline import find_better, find_pipeline
from suite.analysis.ablation.speedups import find_effects
from suite.analysis.causes import explain as explaining
from suite.analysis.causes.explain import Case, explain
from suite.analysis.causes.ladder_steps import _add_up
from suite.analysis.causes.parts import Compared
from suite.analysis.causes.rules import RULES
from suite.analysis.result.findings import RuleName
from suite.analysis.result.numbers import cite
from suite.cells.cell import Cell
from suite.model import Campaign, Document
from tests.changes import in_cell, plant, stretch, swap_image
from tests.fakes import machines
from tests.fakes.hosts import QUIET, Host
from tests.fakes.machines import CPU, GPU, MILD, ROUGH, Device
from tests.flagging import codes
from tests.rendering import sum_up

ALL = machines.make_cells()
STEPS = machines.choose(ALL, "mlp.train", "overhead.")
TRAINED = "mlp.train/net=A/batch={}/data={}/precision=fp32/execution=graph"
PRODUCT = "matmul.square/n={}/precision=fp32/operands={}/xla=off"
NUMPY = "tfdata.triple/pipeline=numpy_function/part=together/batch=512"
FALLBACK = "mlp.fallback/batch=512/python=numpy_function"
RETRACED = "mlp.retrace/varies={}/traced={}/batch=32"
EPOCH = "asked.fit/stage=epoch-1/batch=512/prefetch=on/on=arm"
NAIVE = "asked.slices/stage=naive/on=arm"

SLOW = replace(GPU, fixed=60e-6, example=12e-6)
"""A GPU that is a little slower than the CPU at every batch, and has no fault."""


def index_of(campaign: Campaign, documents: Iterable[Document]) -> CellIndex:
    return index_cells(sum_up(campaign, documents))


def measure(
    gpu: Device | None,
    *,
    cpu: Device = CPU,
    host: Host = QUIET,
    cells: Sequence[Cell] | None = None,
    seed: int = 7,
) -> CellIndex:
    if cells is None:
        return measure_all(gpu, cpu, host)
    return index_of(*machines.make_campaign(cells, cpu=cpu, gpu=gpu, host=host, seed=seed))


@cache
def measure_all(gpu: Device | None, cpu: Device, host: Host) -> CellIndex:
    """Of every cell; several tests ask the same campaign."""
    return index_of(*machines.make_campaign(cpu=cpu, gpu=gpu, host=host))


def find(index: CellIndex, name: str) -> Case:
    """What `explain` says of one cell, without asking about all others."""
    assert index.cpu
    assert index.gpu
    case = explaining._explain(index, index.cells[name], index.cpu, index.gpu)
    assert case
    return case


HEAVY_CALL = replace(GPU, fixed=2e-3, example=0.2e-6, call=1.5e-3)
FAR_MEMORY = replace(GPU, bandwidth=3e7)
WIDE = replace(CPU, flops=1e12), replace(GPU, flops=1e13, half=20_000.0)
"""A fast CPU, and a GPU that is faster at large products alone."""
PLANTED: dict[RuleName, tuple[Device, Device, str]] = {
    "overhead": (CPU, HEAVY_CALL, TRAINED.format(32, "device")),
    "transfer": (CPU, FAR_MEMORY, TRAINED.format(512, "host")),
    "input": (replace(CPU, python=20e-3), replace(GPU, python=20e-3), NUMPY),
    "fallback": (CPU, replace(GPU, fallback=20e-3), FALLBACK),
    "start-up": (CPU, replace(GPU, start=1.0), EPOCH),
    "retracing": (CPU, replace(GPU, trace=0.2), RETRACED.format("number", "anew")),
    "too small": (*WIDE, PRODUCT.format(500, "device")),
}
"""By cause two devices and the cell in which it has to be named first."""

UNSEEN = {"fallback", "too small", "retracing"}
"""Of these a trace, a node's device or a first call is the only measurement beside the cells that tell of
them."""


@pytest.mark.parametrize(
    "host",
    [
        pytest.param(QUIET, marks=pytest.mark.method, id="quiet"),
        pytest.param(MILD, id="mild"),
        pytest.param(ROUGH, marks=pytest.mark.method, id="rough"),
    ],
)
@pytest.mark.parametrize("rule", PLANTED)
def test_a_planted_cause_is_named_first_and_confirmed(rule: RuleName, host: Host) -> None:
    cpu, gpu, name = PLANTED[rule]
    cause = find(measure(gpu, cpu=cpu, host=host), name)[1][0]
    assert (cause.rule, cause.confirmed) == (rule, rule not in UNSEEN)
    assert cause.evidence
    # A start is a matter of what is timed: to leave it out gains nothing.
    assert (cause.gain is None) == (rule == "start-up")
    assert cause.gain is None or cause.gain.number.value > 1
    for gain, trains in ((cause.gain, False), (cause.otherwise, True)):
        if gain:
            cells = [measure(gpu, cpu=cpu, host=host).cells[id_].cell for id_ in (name, gain.at)]
            effects = find_effects(cells[0], cells[1])
            assert "timing" not in effects
            assert ("training" in effects) == trains


SLOW_CALL = replace(GPU, fixed=8e-3, call=7.9e-3)
LATE = replace(GPU, flops=1e13, half=40_000.0, eager=200e-6)

BELOW: dict[RuleName, tuple[Device, Device, str]] = {
    "overhead": (*WIDE, PRODUCT.format(1000, "device")),
    "transfer": (CPU, replace(HEAVY_CALL, latency=50e-6), TRAINED.format(32, "host")),
    "input": (
        replace(CPU, python=0.2e-3),
        replace(SLOW_CALL, python=0.2e-3, hides=False),
        NUMPY,
    ),
    "fallback": (CPU, replace(SLOW_CALL, fallback=0.2e-3), FALLBACK),
    "start-up": (CPU, replace(SLOW_CALL, start=5e-3), EPOCH),
    "retracing": (CPU, replace(SLOW_CALL, trace=20.3e-3), RETRACED.format("shape", "anew")),
    "too small": (CPU, replace(GPU, eager=50e-6), PRODUCT.format(100, "device")),
}
"""By cause two devices and a cell that loses by another one, to which it adds under a tenth."""


@pytest.mark.parametrize("rule", BELOW)
def test_what_explains_under_a_tenth_of_the_loss_is_not_named(rule: RuleName) -> None:
    cpu, gpu, name = BELOW[rule]
    standing, causes = find(measure(gpu, cpu=cpu), name)
    assert standing.loses
    assert rule not in [cause.rule for cause in causes]


OUTWEIGHED: dict[RuleName, tuple[Device, str, RuleName]] = {
    # A copy that waits long and takes the same time at every batch: flat, but not for the calls.
    "overhead": (replace(GPU, fixed=2e-3, latency=8e-3), TRAINED.format(512, "host"), "transfer"),
    "transfer": (
        replace(GPU, fixed=1.2e-3, call=1.2e-3, latency=0.7e-3),
        TRAINED.format(32, "host"),
        "overhead",
    ),
    "input": (replace(SLOW_CALL, python=3e-3, hides=False), NUMPY, "overhead"),
    "fallback": (replace(SLOW_CALL, fallback=3e-3), FALLBACK, "overhead"),
    "retracing": (replace(SLOW_CALL, trace=23e-3), RETRACED.format("shape", "anew"), "overhead"),
    "too small": (LATE, PRODUCT.format(100, "device"), "overhead"),
}
"""By cause a device on which it fires and another cause explains more."""


@pytest.mark.parametrize("rule", OUTWEIGHED)
def test_the_cause_that_explains_most_is_named_first(rule: RuleName) -> None:
    gpu, name, first = OUTWEIGHED[rule]
    rules = [cause.rule for cause in find(measure(gpu, cpu=replace(CPU, python=3e-3)), name)[1]]
    assert rules[0] == first
    assert rule in rules[1:]


def is_healthy(cell: Cell) -> bool:
    """Whether a sound GPU has enough to do in this cell, and more than prices and traces to pay."""
    if "traced" in cell.links:
        return False
    size = cell.params.get("n", 1000)
    return cell.scenario in {"mlp", "tfdata", "asked"} | {"matmul"} and int(size) >= 1000


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.method) for n in range(1, 3))]
)
def test_no_cause_on_a_healthy_cell(seed: int) -> None:
    cells = [cell for cell in ALL if is_healthy(cell)]
    cpu = replace(CPU, start=5e-3)
    index = measure(GPU, cpu=cpu, host=MILD, cells=cells, seed=seed)
    cases = explain(index).items()
    assert [(name, causes) for name, (_, causes) in cases if causes[0].rule != "unknown"] == []


@pytest.mark.parametrize("rule", PLANTED)
def test_every_loss_has_a_cause_or_says_that_it_has_none(rule: RuleName) -> None:
    cpu, gpu, _ = PLANTED[rule]
    index = measure(gpu, cpu=cpu, host=MILD)
    losses = {name for name, cell in index.cells.items() if index.wins(cell) is False}
    cases = explain(index)
    assert cases
    assert losses <= set(cases)
    for _, causes in cases.values():
        assert causes
        assert all(cause.evidence for cause in causes)
        assert [cause.rule for cause in causes].count("unknown") <= 1
        shares = [cause.share for cause in causes if cause.share is not None]
        assert sum(shares) == pytest.approx(1.0, abs=0.11)
        assert sum(shares) <= 1 + 1e-9


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.method) for n in range(1, 6))]
)
@pytest.mark.parametrize("rule", PLANTED)
def test_any_part_of_the_cells_will_do(rule: RuleName, seed: int) -> None:
    cpu, gpu, name = PLANTED[rule]
    draw = random.Random(seed)
    cells = [cell for cell in ALL if cell.id == name or draw.random() < 0.3]
    index = measure(gpu, cpu=cpu, host=MILD, cells=cells)
    assert all(causes for _, causes in explain(index).values())
    alone = measure(gpu, cpu=cpu, host=MILD, cells=[cell for cell in cells if cell.id == name])
    assert all(causes for _, causes in explain(alone).values())


FEW = (
    *(PRODUCT.format(n, "device") for n in (10, 100, 1000, 4000)),
    *(TRAINED.format(batch, "device") for batch in (32, 512, 4096)),
    *(f"asked.matmul/n={n}/stage=naive/on=arm" for n in (100, 1000, 4000)),
    *("asked.clone/stage=first/on=arm", "asked.clone/stage=again/on=arm"),
    *(NAIVE, "asked.slices/stage=batch-512/on=arm"),
    *("asked.dataset/stage=fetch/on=arm", "asked.dataset/stage=no-fetch/on=arm"),
    *(EPOCH, "asked.fit/stage=steady/batch=512/prefetch=on/on=arm"),
    *("tfdata.triple/pipeline=parallel/part=together/batch=512", NUMPY),
    *("overhead.eager_op", "overhead.function_call"),
    *("overhead.startup/stage=import", "overhead.startup/stage=step", "overhead.container"),
)
"""The first and last stages of scripts, and ends of sweeps."""


@pytest.mark.parametrize("rule", ["overhead", "input", "start-up"])
def test_few_cells_are_enough_and_without_verdicts_causes_provisional(rule: RuleName) -> None:
    cpu, gpu, name = PLANTED[rule]
    cells = [cell for cell in ALL if cell.id in FEW]
    assert len(cells) == len(FEW)
    made = machines.make_campaign(cells, cpu=cpu, gpu=gpu, blocks=3, profile="smoke")
    causes = find(index_of(*made), name)[1]
    assert causes[0].rule == rule
    assert all(cause.provisional for cause in causes)


@pytest.mark.parametrize(
    ("rule", "name", "noise"),
    [
        ("overhead", TRAINED.format(32, "device"), 0.002),
        ("start-up", NAIVE, 0.002),
        ("overhead", TRAINED.format(32, "device"), 0.5),
    ],
)
def test_the_cells_of_verdict_are_enough_and_a_main_cause_is_beyond_doubt(
    rule: RuleName, name: str, noise: float
) -> None:
    cpu, gpu, _ = PLANTED[rule]
    cells = [cell for cell in ALL if "verdict" in cell.profiles]
    host = replace(QUIET, between=noise)
    made = machines.make_campaign(cells, cpu=cpu, gpu=gpu, blocks=4, profile="verdict", host=host)
    standing, causes = find(index_of(*made), name)
    assert standing.open == (noise > 0.1)
    assert standing.open or (causes[0].rule, standing.provisional) == (rule, False)


def test_a_pipeline_whose_work_is_no_number_is_not_the_fastest() -> None:
    cells = machines.choose(ALL, "tfdata.triple")
    odd = [
        replace(cell, work=replace(cell.work, amount=0.0))
        if cell.params == {**cell.params, "pipeline": "native", "part": "together"}
        else cell
        for cell in cells
    ]
    hungry = replace(GPU, native=2e-3, python=4e-3)
    for made in (cells, odd):
        index = measure(hungry, cells=made)
        pipeline = find_pipeline(index, index.cells[NUMPY], "cuda")
        assert pipeline is not None
        _, how = find_better(index, pipeline, "cuda")
        assert how.values == {"words": "with pipeline=parallel"}


def test_of_a_leap_over_several_changes_a_start_takes_its_price() -> None:
    cells = [cell for cell in ALL if cell.id in FEW]
    index = measure(replace(GPU, start=1.0), cells=cells)
    cause = find(index, NAIVE)[1][0]
    assert (cause.rule, cause.confirmed) == ("start-up", False)
    # The next stage trains in another batch, which is no fair number of this script.
    assert codes(cause.evidence) == ["gone-elsewhere"]
    without = [cell for cell in cells if cell.scenario != "overhead"]
    cause = find(measure(replace(GPU, start=1.0), cells=without), NAIVE)[1][0]
    assert cause.rule == "unknown"


def test_of_a_change_that_a_plan_names_twice_the_first_counts() -> None:
    index = measure(GPU)
    here = Compared(index=index, summary=index.cells[EPOCH], arms=("cpu", "cuda"))
    way = here.cell.way
    assert way
    _, first, *_, last = way.stages
    twice = replace(way, stages=[*way.stages[:-1], replace(last, change=first.change)])
    once = _add_up(here, way, [first.change])
    assert once
    assert _add_up(here, twice, [first.change]) == once


def test_a_start_says_when_it_is_repaid_or_never() -> None:
    cells = machines.choose(ALL, "asked.fit")
    saving = (machines.step_time(CPU, 512) - machines.step_time(GPU, 512)) * 20 / 10_000
    cause = find(measure(replace(GPU, start=1.0), cells=cells), EPOCH)[1][0]
    repaid = cause.evidence[-1]
    assert repaid.code == "repaid"
    assert repaid.values["units"] == pytest.approx(1.0 / saving, rel=0.05)
    cause = find(measure(replace(SLOW, start=1.0), cells=cells), EPOCH)[1][0]
    assert "never-repaid" in codes(cause.evidence)


def test_a_script_alone_says_nothing_of_its_cause() -> None:
    cells = [cell for cell in ALL if cell.id in {NAIVE, "overhead.startup/stage=step"}]
    (cause,) = find(measure(replace(GPU, start=1.0), cells=cells), NAIVE)[1]
    assert (cause.rule, cause.share) == ("unknown", 1.0)


def test_a_cause_without_a_witness_is_suspected() -> None:
    kept = machines.choose(ALL, "mlp.train")
    for rule in ("overhead", "transfer"):
        cpu, gpu, name = PLANTED[rule]  # type: ignore[index]
        cause = find(measure(gpu, cpu=cpu, cells=kept), name)[1][0]
        assert (cause.rule, cause.confirmed) == (rule, False)


def test_copies_that_do_not_explain_the_difference_leave_it_suspected() -> None:
    campaign, documents = machines.make_campaign(cells=STEPS, gpu=FAR_MEMORY, host=QUIET)
    hurried = stretch(0.1, *(cell.id for cell in STEPS if cell.case == "copy"))
    index = index_of(campaign, map(hurried, documents))
    cause = find(index, TRAINED.format(512, "host"))[1][0]
    assert (cause.rule, cause.confirmed) == ("transfer", False)
    assert codes(cause.evidence) == ["left-out", "copies"]


@pytest.mark.parametrize("varies", ["number", "shape"])
@pytest.mark.parametrize("loses", [True, False])
@pytest.mark.parametrize("seen", [0.5, 0.2])
def test_a_first_call_is_a_witness_of_retracing(varies: str, loses: bool, seen: float) -> None:
    """Of so many seconds a trace, where the GPU loses by them and where it only wastes itself by them."""
    name, plain = RETRACED.format(varies, "anew"), TRAINED.format(32, "device")
    traces = {"cpu": 0.05 if loses else 2.0, "cuda": 0.5}
    campaign, documents = machines.make_campaign(
        machines.choose(ALL, "mlp.retrace", "mlp.train"),
        cpu=replace(CPU, trace=traces["cpu"]),
        gpu=replace(GPU, trace=traces["cuda"]),
        host=QUIET,
    )
    firsts = {"cpu": traces["cpu"], "cuda": seen}
    called = [
        in_cell(plain, first_call_s=firsts[document.invocation.arm])(document)
        for document in documents
    ]
    standing, causes = find(index_of(campaign, called), name)
    assert standing.loses == loses
    (cause, *_) = causes
    assert (cause.rule, cause.confirmed) == ("retracing", seen == 0.5)
    assert codes(cause.evidence) == ["left-out", "first-call"]
    assert cause.gain
    assert cause.gain.at == RETRACED.format(varies, "once")


def test_a_label_and_a_busy_host_are_witnesses_of_overhead() -> None:
    name = TRAINED.format(512, "device")
    gpu = replace(GPU, fixed=8e-3)
    cells = machines.choose(ALL, name)
    campaign, documents = machines.make_campaign(cells, gpu=gpu, host=QUIET)
    busy = in_cell(name, labels=["dispatch-bound"], enqueue_fraction=0.97)
    cause = find(index_of(campaign, map(busy, documents)), name)[1][0]
    assert cause.rule == "overhead"
    assert cause.share == pytest.approx(0.97)
    assert "dispatch-bound" in codes(cause.evidence)
    assert find(index_of(campaign, documents), name)[1][0].rule == "unknown"


def test_work_that_was_seen_on_the_cpu_is_named() -> None:
    name = TRAINED.format(512, "device")
    cells = machines.choose(ALL, name)
    campaign, documents = machines.make_campaign(cells, gpu=replace(GPU, fixed=8e-3), host=QUIET)
    fallen = ["Const on CPU:0 ×4", "Relu on CPU:0 ×1"]
    fall = in_cell(name, placement={"GPU:0": 3, "CPU:0": 5}, elsewhere=fallen)
    changed = plant(documents, fall, "cuda")
    unknown, cause = find(index_of(campaign, changed), name)[1]
    assert (unknown.rule, unknown.share) == ("unknown", 1.0)
    assert (cause.rule, cause.confirmed) == ("fallback", False)
    assert cause.evidence == (cite("fallen-unmeasured", operations=("Relu on CPU:0 ×1",)),)


def test_prices_and_starts_are_what_they_are() -> None:
    gpu = replace(GPU, call=1e-3, latency=1e-3, start=1.0)
    index = measure(gpu, cells=machines.choose(ALL, "overhead."))
    for name, rule in (
        ("overhead.function_call", "overhead"),
        ("overhead.copy/direction=to-device/bytes=4", "transfer"),
        ("overhead.startup/stage=step", "start-up"),
    ):
        standing, (cause, *_) = find(index, name)
        assert (cause.rule, cause.confirmed, cause.share) == (rule, True, 1.0)
        assert not standing.hopeless


HEAVIER = replace(HEAVY_CALL, example=12e-6)
"""A GPU with dear calls that is slower at every batch as well."""
BATCH = TRAINED.format(32, "device")
SMALL = PRODUCT.format(100, "device")
PRICES = machines.choose(ALL, "overhead.")
ONLY = {name: [*machines.choose(ALL, name), *PRICES] for name in (BATCH, SMALL)}


PRODUCTS = machines.choose(ALL, "matmul.square", "overhead.")
LATE_CALL = replace(GPU, eager=50e-6)


@pytest.mark.parametrize(
    ("gpu", "cells", "name", "says"),
    [
        pytest.param(HEAVIER, STEPS, BATCH, (None, True, ()), id="every larger batch loses"),
        pytest.param(HEAVIER, ONLY[BATCH], BATCH, (None, False, ("batch",)), id="no larger batch"),
        pytest.param(SLOW, STEPS, BATCH, (None, False, ()), id="nobody knows why"),
        # The nearest batch at which it wins.
        pytest.param(
            HEAVY_CALL, None, BATCH, (TRAINED.format(256, "device"), False, ()), id="a batch wins"
        ),
        pytest.param(
            *(LATE_CALL, PRODUCTS, SMALL, (PRODUCT.format(256, "device"), True, ())),
            id="larger products win, which are other work",
        ),
        pytest.param(LATE_CALL, ONLY[SMALL], SMALL, (None, False, ("n",)), id="no larger product"),
    ],
)
def test_the_cpu_is_the_right_device_where_what_should_help_was_measured_and_does_not(
    gpu: Device,
    cells: Sequence[Cell] | None,
    name: str,
    says: tuple[str | None, bool, tuple[str, ...]],
) -> None:
    """``says``: where it wins instead, whether the CPU is the right one, and what was not measured."""
    standing, _ = find(measure(gpu, cells=cells), name)
    assert standing.loses
    assert (standing.winner, standing.hopeless, standing.untried) == says


@pytest.mark.parametrize("n", [4000, 8000, 10000])
@pytest.mark.parametrize("half", [0.0, 300.0])
def test_no_size_is_too_small_where_no_larger_one_does_better(n: int, half: float) -> None:
    """A GPU that is slower than the CPU at the largest product is so for another reason."""
    index = measure(replace(GPU, flops=5e10, half=half), cells=PRODUCTS)
    standing, causes = find(index, PRODUCT.format(n, "device"))
    assert standing.loses
    assert [cause.rule for cause in causes] == ["unknown"]
    assert not standing.hopeless


def test_a_rate_that_falls_at_the_largest_size_is_not_one_that_is_too_small() -> None:
    """Such as by heat: the size with the best rate is smaller."""
    last = PRODUCT.format(10000, "device")
    campaign, documents = machines.make_campaign(PRODUCTS, cpu=WIDE[0], gpu=WIDE[1], host=QUIET)
    hot = plant(documents, stretch(6.0, last), "cuda")
    _, causes = find(index_of(campaign, hot), last)
    assert [cause.rule for cause in causes] == ["unknown"]


@pytest.mark.parametrize(
    ("smallest", "own", "loses", "named"),
    [
        ((30e-6, 31e-6), (68e-6, 50e-6), False, True),
        ((60e-6, 4e-6), (68e-6, 50e-6), False, False),
        ((30e-6, 31e-6), (68e-6, 36e-6), None, True),
    ],
    ids=["all blocks", "one block has no such cause", "one block is faster"],
)
def test_without_intervals_every_block_has_to_show_a_loss_and_its_cause(
    smallest: tuple[float, float], own: tuple[float, float], loses: bool | None, named: bool
) -> None:
    """A cell that loses in one block of two is a hint of nothing, nor is a cause that one of them has."""
    cells = machines.choose(ALL, *(PRODUCT.format(n, "device") for n in (10, 100, 1000)))
    campaign, documents = machines.make_campaign(cells, gpu=WIDE[1], host=QUIET, blocks=2)
    tiny, slow = PRODUCT.format(10, "device"), {"cpu": (45e-6, 44e-6), "cuda": own}

    def take(document: Document) -> Document:
        at = document.invocation
        seconds = {SMALL: slow[at.arm]} | ({tiny: smallest} if at.arm == "cuda" else {})
        for name, blocks in seconds.items():
            document = in_cell(name, samples_s=[blocks[at.block - 1]] * 60)(document)
        return document

    index = index_of(campaign, map(take, documents))
    assert index.wins(index.cells[SMALL]) is loses
    standing, causes = find(index, SMALL)
    assert standing.loses == (loses is False)
    assert ("overhead" in [cause.rule for cause in causes]) == named


def test_what_runs_on_the_cpu_on_both_arms_can_not_be_the_gpus_fault() -> None:
    name = "tfdata.triple/pipeline=native/part=input/batch=512"
    campaign, documents = machines.make_campaign(machines.choose(ALL, "tfdata"), host=QUIET)

    def slow(document: Document) -> Document:
        return in_cell(name, samples_s=[1.0 + document.invocation.block / 1e3])(document)

    _, (cause, *_) = find(index_of(campaign, plant(documents, slow, "cuda")), name)
    assert cause.rule == "unknown"
    assert codes(cause.evidence) == ["on-cpu-on-both"]


def test_one_arm_needs_no_explanation() -> None:
    assert explain(measure(None, cells=machines.choose(ALL, "mlp", "tfdata.triple"))) == {}


def test_the_order_of_the_arms_is_no_matter() -> None:
    cpu, gpu, name = PLANTED["overhead"]
    campaign, documents = machines.make_campaign(STEPS, cpu=cpu, gpu=gpu)
    turned = replace(campaign, arms=["cuda", "cpu"])
    first, second = (find(index_of(plan, documents), name) for plan in (campaign, turned))
    assert first[1] == second[1]
    assert first[0].loses
    assert second[0].loses


def test_an_invalid_number_explains_nothing_and_needs_no_cause() -> None:
    cpu, gpu, _ = PLANTED["overhead"]
    campaign, documents = machines.make_campaign(STEPS, cpu=cpu, gpu=gpu)
    documents[-1] = swap_image(content="e" * 64)(documents[-1])
    assert explain(index_of(campaign, documents)) == {}


def test_every_rule_is_planted() -> None:
    assert set(RULES) == {*PLANTED, "unknown"}
