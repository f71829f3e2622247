"""What is told beyond verdicts and causes: waterfalls, parts of a step, limits, cost, what helps."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import get_args

import pytest

from suite.analysis.documents.published import read_figures
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.findings import PARTS, Finding, Spot, Tag, Waterfall
from suite.analysis.result.limits import ANY, Quantity
from suite.cells.cell import Cell, Work, cell_id
from suite.flags import Flag, pick, raise_flag
from suite.report.exports.summary import render_json
from tests import synthetic
from tests.analysis.causes.test_explain import FEW, TRAINED
from tests.changes import in_cell, plant
from tests.changes import tell as tell_facts
from tests.fakes import machines
from tests.fakes.hosts import QUIET, Host
from tests.fakes.machines import CPU, GPU, MILD, ROUGH, Device
from tests.flagging import codes
from tests.rendering import render_markdown, render_whole, study

ALL = machines.make_cells()
NEAR = 0.03


def tell(
    gpu: Device | None = GPU,
    *,
    cpu: Device = CPU,
    cells: Sequence[Cell] | None = None,
    host: Host = QUIET,
) -> Analysis:
    return study(*machines.make_campaign(cells, cpu=cpu, gpu=gpu, host=host))


def find_waterfall(insight: Analysis, name: str, arm: str, *, pinned: bool = False) -> Waterfall:
    return next(
        waterfall
        for waterfall in insight.waterfalls
        if (waterfall.name, waterfall.spot) == (name, Spot(arm=arm, pinned=pinned))
    )


SLICES = machines.choose(ALL, "asked.slices")
TRACING = {"cpu": 0.2, "cuda": 1.5}
"""Seconds of a first call, by arm."""


def test_a_waterfall_goes_one_change_at_a_time() -> None:
    waterfall = find_waterfall(tell(replace(GPU, start=50e-3), cells=SLICES), "slices", "cuda")
    assert [step.cell.split("/")[1] for step in waterfall.steps] == [
        f"stage={stage}" for stage in machines.STAGES
    ]
    assert all(len(step.changes) == 1 for step in waterfall.steps)
    factors = [step.factor.value for step in waterfall.steps if step.factor]
    assert len(factors) == len(waterfall.steps) - 1
    assert math.prod(factors) == pytest.approx(waterfall.factor.value)
    largest = max(waterfall.steps[1:], key=lambda step: step.factor.value if step.factor else 0)
    assert largest.changes == ("tracing no longer timed",)
    # Naive: 100 steps of 10 and the start, an example; fair: a step of 512.
    assert waterfall.steps[-1].value.value == pytest.approx(
        machines.step_time(GPU, 512) / 512, rel=NEAR
    )


def test_with_its_ends_alone_a_waterfall_names_all_changes_at_once() -> None:
    ends = [cell for cell in SLICES if cell.params["stage"] in {"naive", "batch-512"}]
    waterfall = find_waterfall(tell(cells=ends), "slices", "cuda")
    assert len(waterfall.steps) == 2
    assert len(waterfall.steps[1].changes) == len(machines.STAGES) - 1
    assert set(waterfall.steps[1].rules) == {"start-up", "transfer", "overhead"}


def test_a_waterfall_says_whether_it_begins_with_the_script_itself() -> None:
    assert not find_waterfall(tell(cells=SLICES), "slices", "cuda").posted
    scripts = [
        replace(cell, process="asked.slices" if cell.params["stage"] == "naive" else None)
        for cell in SLICES
    ]
    assert {waterfall.posted for waterfall in tell(cells=scripts).waterfalls} == {True}


def test_without_its_script_a_waterfall_begins_with_the_first_stage_that_there_is() -> None:
    later = [cell for cell in SLICES if cell.params["stage"] != "naive"]
    waterfall = find_waterfall(tell(cells=later), "slices", "cuda")
    assert not waterfall.posted
    assert waterfall.steps[0].cell == "asked.slices/stage=traced/on=arm"
    # All that is right already.
    assert waterfall.steps[0].changes == (
        "the labels a column instead of a row",
        "tracing no longer timed",
    )
    assert waterfall.steps[0].rules == waterfall.steps[-1].rules[:0]
    assert waterfall.steps[0].factor is None


def test_the_last_step_of_the_product_is_the_plain_product_or_the_warm_one_on_the_cpu() -> None:
    cells = machines.choose(ALL, "asked.matmul/n=1000/", "matmul.square/n=1000/")
    insight = tell(cells=cells)
    places = {
        (waterfall.spot.arm, waterfall.spot.pinned): waterfall.steps[-1].cell
        for waterfall in insight.waterfalls
    }
    plain = "matmul.square/n=1000/precision=fp32/operands=device/xla=off"
    assert places == {
        ("cpu", False): plain,
        ("cuda", False): plain,
        ("cuda", True): "asked.matmul/n=1000/stage=warm/on=cpu",
    }
    assert all(len(waterfall.steps) == 3 for waterfall in insight.waterfalls)


def test_the_script_names_the_wrong_winner() -> None:
    insight = tell(replace(GPU, start=1.0), cells=SLICES)
    gaps = insight.find("gap")
    assert sorted((gap.arm, gap.against) for gap in gaps) == [("cuda", "cpu"), ("cuda", "cuda")]
    for gap in gaps:
        assert gap.beside
        naive, fair = gap.number.value, gap.beside.value
        assert naive > 1 > fair
        assert gap.verdict == "wrong-winner"
        assert gap.evidence[0].values["factor"] == pytest.approx(naive / fair)
    assert not tell(GPU, cells=SLICES).find("gap", verdict="wrong-winner")


def test_one_arm_has_its_waterfalls() -> None:
    insight = tell(None, cells=SLICES)
    assert [(waterfall.spot.arm, waterfall.spot.pinned) for waterfall in insight.waterfalls] == [
        ("cpu", False)
    ]
    assert not insight.find("gap")


def take_apart(insight: Analysis, name: str, arm: str) -> dict[str, Finding]:
    """A step and its parts."""
    (step,) = insight.find("step", cell=name, arm=arm)
    parts = insight.find("part", cell=name, arm=arm)
    return {"step": step, **{part.of: part for part in parts}}


STEPS = machines.choose(ALL, "mlp.train", "overhead.", "tfdata.")


def test_the_parts_of_a_step_are_what_was_planted() -> None:
    gpu = replace(GPU, call=15e-6, bandwidth=5e8, hides=False, native=4e-3)
    cpu = replace(CPU, native=4e-3)
    insight = tell(gpu, cpu=cpu, cells=STEPS)
    device = machines.step_time(gpu, 512)
    copy = machines.copy_time(gpu, 512 * machines.EXAMPLE_BYTES)
    host = take_apart(insight, TRAINED.format(512, "host"), "cuda")
    assert host["dispatch"].number.value == pytest.approx(15e-6 + 3 * gpu.op, rel=NEAR)
    assert host["compute"].number.value == pytest.approx(device - 15e-6, rel=NEAR)
    assert host["transfer"].number.value == pytest.approx(copy, rel=NEAR)
    assert abs(host["rest"].number.value) < NEAR * host["step"].number.value
    assert not host["rest"].verdict
    # The made-up dataset copies nothing, so that what the host's copy takes leaves less for it.
    fed = take_apart(insight, TRAINED.format(512, "dataset"), "cuda")
    assert fed["input"].number.value == pytest.approx(1e-3 - copy, rel=0.1)
    here = take_apart(insight, TRAINED.format(512, "device"), "cuda")
    assert (here["input"].share, here["transfer"].share) == (0.0, 0.0)


def test_what_the_parts_do_not_explain_is_called_unexplained() -> None:
    name = TRAINED.format(512, "host")
    campaign, documents = machines.make_campaign(STEPS, host=QUIET)
    slow = [
        in_cell(name, samples_s=[5e-3 + n * 1e-6])(document) for n, document in enumerate(documents)
    ]
    parts = take_apart(study(campaign, slow), name, "cuda")
    assert parts["rest"].verdict == "unexplained"
    assert sum(parts[of].share or 0.0 for of in (*PARTS, "rest")) == pytest.approx(1)


def test_without_prices_dispatch_is_not_told_from_compute() -> None:
    parts = take_apart(
        tell(cells=machines.choose(ALL, "mlp.train")), TRAINED.format(512, "device"), "cpu"
    )
    assert parts["dispatch"].value is None
    assert parts["dispatch"].evidence[0].code == "no-call-price"


@pytest.mark.parametrize(
    ("wake", "host", "blocks", "told"),
    [
        (15e-6, QUIET, 5, True),
        (15e-6, MILD, 5, True),
        # Under half of a call, or not beyond doubt over it.
        (8e-6, QUIET, 5, False),
        (10.2e-6, ROUGH, 5, False),
        (15e-6, QUIET, 2, False),
        # No part of a call takes longer than the whole.
        (30e-6, QUIET, 5, False),
    ],
)
@pytest.mark.parametrize("gpu", [None, GPU], ids=["one arm", "two arms"])
def test_dispatch_is_the_machines_wake_ups_where_they_are_most_of_a_call(
    *, gpu: Device | None, wake: float, host: Host, blocks: int, told: bool
) -> None:
    cpu = replace(CPU, wake=wake)
    made = machines.make_campaign(STEPS, cpu=cpu, gpu=gpu, host=host, blocks=blocks)
    insight = study(*made)
    assert [wakes.arm for wakes in insight.find("wakes")] == ["cpu"] * told
    assert ("thread wake-ups, not TensorFlow" in render_whole(insight)) == told
    if told:
        (wakes,) = insight.find("wakes")
        assert wakes.number.value == pytest.approx(wake, rel=NEAR)
        assert wakes.share == pytest.approx(wake / cpu.call, rel=NEAR)


def find_pipeline(insight: Analysis, pipeline: str, of: str = "together") -> Finding | None:
    rows = insight.find("pipeline", arm="cpu", of=of)
    return next((row for row in rows if f"pipeline={pipeline}/" in row.cell), None)


@pytest.mark.parametrize("gpu", [None, GPU], ids=["one arm", "two arms"])
@pytest.mark.parametrize("hides", [True, False])
def test_python_in_the_pipeline_makes_it_input_bound(*, gpu: Device | None, hides: bool) -> None:
    cpu = replace(CPU, python=20e-3, hides=hides)
    insight = tell(gpu, cpu=cpu, cells=STEPS, host=MILD)
    slow, fast = (find_pipeline(insight, name) for name in ("numpy_function", "parallel"))
    assert slow
    assert fast
    assert (slow.verdict, fast.verdict) == ("input", "compute")
    assert slow.share == pytest.approx(1.0 if hides else 0.0, abs=0.1)


def test_few_cells_are_enough_to_call_it_input_bound() -> None:
    cells = [cell for cell in ALL if cell.id in FEW]
    insight = tell(None, cpu=replace(CPU, python=8e-3), cells=cells)
    slow, fast = (find_pipeline(insight, name) for name in ("numpy_function", "parallel"))
    assert slow
    assert fast
    assert find_pipeline(insight, "numpy_function", "input alone") is None
    assert (slow.share, slow.verdict, fast.verdict) == (None, "input", "compute")


def test_the_gpu_breaks_even_after_so_many_steps_or_at_once_or_never() -> None:
    campaign, documents = machines.make_campaign(
        machines.choose(ALL, "mlp.train"), gpu=replace(GPU, fixed=1e-3), host=QUIET
    )
    small, middle, large = (TRAINED.format(batch, "device") for batch in (8, 512, 4096))
    traced = [
        synthetic.change_cell(document, middle, first_call_s=TRACING[document.invocation.arm])
        for document in documents
    ]
    break_evens = {finding.cell: finding for finding in study(campaign, traced).find("break-even")}
    # A step saves nothing.
    assert break_evens[small].verdict == "never"
    assert break_evens[small].beside
    assert break_evens[small].beside.value < 0
    saving = machines.step_time(CPU, 512) - machines.step_time(GPU, 512) - 0.98e-3
    steps = break_evens[middle].number
    longer = TRACING["cuda"] - TRACING["cpu"]
    assert steps.value == pytest.approx(longer / saving, rel=NEAR)
    # The first call holds a step: where that is long, the GPU's takes no longer.
    assert (break_evens[large].value, break_evens[large].verdict) == (None, "at once")


PRODUCTS = machines.choose(ALL, "matmul.square", "overhead.sum")


@cache
def measure(flops: float, name: str) -> Analysis:
    """Products and the memory's bandwidth, on a GPU of that name."""
    gpu = replace(GPU, flops=flops, bandwidth=20e9)
    campaign, documents = machines.make_campaign(PRODUCTS, gpu=gpu, host=QUIET)
    return study(campaign, plant(documents, tell_facts({"gpu.0.name": name}), "cuda"))


@pytest.mark.parametrize(
    ("flops", "band", "warnings"),
    [
        (14e12, "in", False),
        # Between the two figures, of which one is another variant's.
        (11e12, "in", False),
        (6e12, "below", False),
        (4e12, "far below", True),
        (20e12, "above", False),
    ],
)
def test_a_rate_is_held_against_what_was_published(
    *, flops: float, band: str, warnings: bool
) -> None:
    insight = measure(flops, "NVIDIA A10")
    (best,) = insight.find("best", arm="cuda", of="fp32 products")
    assert best.evidence[0].values["part"] == "A10"
    assert best.verdict == band
    assert best.share == pytest.approx(flops / 31.2e12, rel=NEAR)
    assert codes(insight.limits) == (["far-below-published"] if warnings else [])
    (memory,) = insight.find("best", arm="cuda", of="memory")
    assert memory.number.value == pytest.approx(400e9, rel=NEAR)
    assert memory.verdict == "in"


def test_a_product_beyond_the_peak_wins_nothing() -> None:
    insight = measure(40e12, "NVIDIA A10")
    flags = pick(insight.limits, "invalid")
    beyond = {flag.where["cell"] for flag in flags}
    honest = {cell.id for cell in insight.cells} - beyond
    assert beyond
    assert honest
    assert {(flag.code, flag.values["part"]) for flag in flags} == {("above-peak", "A10")}
    for cell in insight.cells:
        if cell.id in beyond:
            assert cell.arms["cuda"].invalid
            assert cell.ratios["cuda"] == raise_flag("no-possible-number")
            verdict = cell.verdicts["cuda"]
            assert isinstance(verdict, Flag) or verdict.name == "INVALID"
    # No best, no roof, no yardstick and no end of a crossover.
    assert {best.cell for best in insight.find("best", arm="cuda")} <= honest
    assert {use.at for use in insight.find("use", arm="cuda")} <= honest
    sizes = {cell.params["n"] for cell in insight.cells if cell.id in beyond}
    for sweep in insight.sweeps:
        for crossover in sweep.crossovers.values():
            assert sizes.isdisjoint({crossover.low, crossover.high})
    # In the report it is struck.
    report = render_markdown(insight)
    largest = ("| matmul.square/n=10000 ", "| matmul.square/n=10000/")
    row = next(line for line in report.splitlines() if line.startswith(largest))
    assert "~~" in row
    assert "faster" not in row


@pytest.mark.parametrize("name", ["NVIDIA A10M", "NVIDIA A10-4Q", "nvidia a10", ""])
def test_parts_match_by_their_exact_names(name: str) -> None:
    insight = measure(1e15, name)
    assert not insight.limits
    best = insight.find("best", arm="cuda", of="fp32 products")
    assert [best_rate.evidence[0].values for best_rate in best] == (
        [{"device": name}] if name else []
    )


@pytest.mark.parametrize(
    ("name", "fp32", "fp16", "memory"),
    [
        ("NVIDIA H100 PCIe", 51e12, 756e12, 2e12),
        ("NVIDIA H100 80GB HBM3", 67e12, 989e12, 3.35e12),
        ("NVIDIA H100", None, None, None),
        (None, None, None, None),
        ("Tesla V100-SXM2-32GB", 15.7e12, 125e12, 900e9),
        ("Tesla V100-SXM3-32GB", 16.4e12, 131e12, None),
        ("NVIDIA GeForce RTX 4090 D", None, None, None),
    ],
)
def test_a_part_is_found_by_the_name_that_cuda_gives_it(
    name: str | None, fp32: float | None, fp16: float | None, memory: float | None
) -> None:
    figures = read_figures()
    part = figures.find_part(name)
    sought: list[tuple[Quantity, str]] = [
        *(("product", "fp32"), ("product", "fp16")),
        ("memory", ANY),
    ]
    peaks = [figures.select(part, what, "peak", how) for what, how in sought]
    assert [row[0].high if row else None for row in peaks] == [fp32, fp16, memory]


def test_a_card_that_runs_above_its_boost_clock_is_believed() -> None:
    beyond_boost = measure(90e12, "NVIDIA GeForce RTX 4090")
    assert not pick(beyond_boost.limits, "invalid")
    assert pick(measure(110e12, "NVIDIA GeForce RTX 4090").limits, "invalid")


def test_shares_of_the_own_best_and_of_the_roof() -> None:
    insight = measure(14e12, "NVIDIA A10")
    cells = [f"matmul.square/n={n}/precision=fp32/operands=device/xla=off" for n in (32, 10000)]
    small, large = (find_share(insight, "use", cell) for cell in cells)
    small_roof, large_roof = (find_share(insight, "of-roofline", cell) for cell in cells)
    assert (large, large_roof) == (pytest.approx(1.0, rel=NEAR), pytest.approx(1.0, rel=NEAR))
    # 32³·2 operations in 5 µs of eager call; the memory leaves 32/6 operations a byte.
    assert small == pytest.approx(65536 / 5.005e-6 / 14e12, rel=NEAR)
    assert small_roof == pytest.approx(65536 / 5.005e-6 / (400e9 * 32 / 6), rel=NEAR)


def find_share(insight: Analysis, tag: Tag, cell: str) -> float | None:
    (finding,) = insight.find(tag, arm="cuda", cell=cell)
    return finding.share


TRAINING = machines.choose(ALL, "mlp.train", "asked.fit", "tfdata.triple")


def test_the_cost_of_a_million() -> None:
    campaign, documents = machines.make_campaign(TRAINING, host=QUIET)
    campaign = replace(campaign, price=3.6, price_currency="EUR")
    insight = study(campaign, documents)
    costs = {(cost.cell, cost.arm, cost.of): cost.number.value for cost in insight.find("cost")}
    name = TRAINED.format(512, "device")
    # EUR 0.001 a second: a million steps of s seconds cost 1,000 s.
    for arm, device in (("cpu", CPU), ("cuda", GPU)):
        seconds = machines.step_time(device, 512)
        assert costs[name, arm, "steps"] == pytest.approx(1000 * seconds, rel=NEAR)
        assert costs[name, arm, "examples"] == pytest.approx(1000 * seconds / 512, rel=NEAR)
    (turns,) = insight.find("price-ratio", cell=name)
    truth = machines.step_time(CPU, 512) / machines.step_time(GPU, 512)
    assert turns.number.value == pytest.approx(truth, rel=NEAR)
    epoch = costs["asked.fit/stage=steady/batch=512/prefetch=on/on=arm", "cpu", "steps"]
    assert epoch == pytest.approx(costs[name, "cpu", "steps"], rel=NEAR)
    assert not any("epoch-1" in cell or "on=cpu" in cell for cell, _, _ in costs)
    assert "At EUR 3.60 an hour" in render_markdown(insight)


def test_without_a_price_there_is_no_cost() -> None:
    campaign, documents = machines.make_campaign(TRAINING, host=QUIET)
    insight = study(campaign, documents)
    assert "## Cost" not in render_markdown(insight)
    content = json.loads(render_json(insight))
    assert "price" not in content
    assert not insight.find("cost")
    assert not study(replace(campaign, price=0.0), documents).find("cost")


def test_the_json_holds_what_the_report_says() -> None:
    gpu = replace(GPU, fixed=2e-3, fallback=5e-3, start=1.0)
    campaign, documents = machines.make_campaign(cpu=replace(CPU, wake=15e-6), gpu=gpu)
    content = json.loads(render_json(study(replace(campaign, price=2.5), documents)))
    causes = [cause for cell in content["cells"] for cause in cell["causes"]]
    assert causes
    assert set(causes[0]) == {
        *("rule", "confirmed", "provisional", "share", "seconds", "evidence", "gain")
    }
    assert all(evidence["text"] for cause in causes for evidence in cause["evidence"])
    for cell in content["cells"]:
        if cell["verdict"] == "SLOWER":
            assert cell["causes"]
    assert {finding["tag"] for finding in content["findings"]} == {*get_args(Tag)} - {
        "gain",
        "published",
        "of-peak",
        # Of cells that are in no profile of these (tests/analysis/ablation/test_feeding.py).
        "fed",
        "feeding",
        "posted",
    }
    for finding in content["findings"]:
        assert all(each["text"] for each in finding.get("evidence", ()))
        assert {"value", "share", "verdict", "evidence"} & set(finding)
    assert {waterfall["name"] for waterfall in content["waterfalls"]} == {
        *("matmul", "clone", "slices", "dataset", "fit")
    }


ODD = [("work", 0.0), ("work", 1e308), ("n", 0.0), ("bytes", 1e308)]
MORE = set(product(("n", "batch", "bytes", "width", "work"), (0.0, 1e308, -1, 1e-308, 5e-324)))


@pytest.mark.parametrize(
    ("axis", "number"),
    [*ODD, *(pytest.param(*row, marks=pytest.mark.method) for row in sorted(MORE - set(ODD)))],
)
def test_no_number_that_a_document_can_hold_breaks_the_analysis(axis: str, number: float) -> None:
    cells = []
    for cell in [*ALL[:3], *machines.choose(ALL, "mlp", "tfdata.triple", "overhead.copy")]:
        if axis == "work":
            cells.append(replace(cell, work=Work(amount=number, unit=cell.work.unit, bytes=number)))
        else:
            params = {
                name: number if name == axis else value for name, value in cell.params.items()
            }
            identity = cell_id(cell.scenario, cell.case, params)
            cells.append(replace(cell, id=identity, params=params))
    cells = list({cell.id: cell for cell in cells}.values())
    campaign = synthetic.make_campaign(cells=cells, blocks=3)
    documents = synthetic.make_documents(
        campaign, truth=lambda _, arm: 2e-3 if arm == "cuda" else 1e-3, samples=2
    )
    insight = study(replace(campaign, price=1e308), documents)
    render_markdown(insight)
    json.loads(render_json(insight))
