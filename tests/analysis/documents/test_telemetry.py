"""What telemetry says beside a number, against it, and in the report: all of it made up."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from suite.analysis.campaign.validity import find_cell_disturbance, find_labels
from suite.analysis.documents.telemetry import (
    find_window,
    join_document,
    measure_window,
    pick,
)
from suite.model import Document, Scalar, Telemetry
from tests import synthetic
from tests.changes import plant
from tests.rendering import render_markdown, render_whole, study, sum_up

pytestmark = pytest.mark.simulated

Series = Mapping[str, Callable[[float], float | None]]
"""By name the value at a number of seconds after the start."""

HEALTHY: Series = {
    "gpu.clock_sm_mhz": lambda _: 1980,
    "gpu.power_w": lambda _: 300.0,
    "gpu.temperature_c": lambda _: 60,
    "gpu.reasons_bits": lambda _: 0,
    "gpu.energy_j": lambda at: 1e6 + 300.0 * at,
    "gpu.held_by_power_s": lambda _: 7.0,
    "gpu.held_by_heat_s": lambda _: 3.0,
    "gpu.pcie_generation": lambda _: 5,
    "gpu.pcie_width": lambda _: 16,
    "gpu.own_processes": lambda _: 1,
    "gpu.other_processes": lambda _: 0,
    "gpu.own_processes_elsewhere": lambda _: 0,
    "cpu.clock_mhz": lambda _: 2400.0,
    "cpu.throttle_events": lambda _: 4,
    "cpu.temperature_c": lambda _: 55.0,
}
HOST_ONLY: Series = {name: one for name, one in HEALTHY.items() if name.startswith("cpu.")}
FACTS: dict[str, Scalar] = {
    "driver.version": "550.90.07",
    "gpu.name": "Made-Up Accelerator",
    "gpu.uuid": "sha256:0123456789abcdef",
    "gpu.clock_sm_most_mhz": 1980,
    "gpu.power_limit_w": 700.0,
    "sampler.cpu_s": 0.3,
    "sampler.wall_s": 100.0,
}


def watch(
    document: Document,
    series: Series = HEALTHY,
    facts: Mapping[str, Scalar] = FACTS,
    every_s: float = 0.25,
) -> Document:
    """The document with what a sampler would have seen from before its start to behind its end."""
    invocation = document.invocation
    assert invocation.ended is not None
    started = invocation.started - timedelta(seconds=1)
    last = (invocation.ended - started).total_seconds() + 1
    at_s = [round(every_s * i, 3) for i in range(int(last / every_s) + 1)]
    telemetry = Telemetry(
        started=started,
        facts=dict(facts),
        at_s=at_s,
        series={name: [read(at) for at in at_s] for name, read in series.items()},
    )
    absent = {name: why for name, why in document.absent.items() if name != "telemetry"}
    return replace(document, telemetry=telemetry, absent=absent)


CELLS = [one for one in synthetic.make_cells() if one.scenario in {"matmul", "mlp"}]
CAMPAIGN = synthetic.make_campaign(blocks=6, cells=CELLS)
DOCUMENTS = [
    watch(one) if one.invocation.arm == "cuda" else watch(one, HOST_ONLY, {})
    for one in synthetic.make_documents(CAMPAIGN, samples=60, calibration=False)
]
ONE = next(one for one in DOCUMENTS if one.invocation.arm == "cuda")
WATCHED = ONE.telemetry or pytest.fail("nobody watched")


def labels(document: Document) -> set[str]:
    return {code for cell in document.cells for code, _ in find_labels(cell)}


def test_a_short_trouble_is_held_against_the_cells_beside_it_only() -> None:
    last = ONE.cells[-1]
    window = find_window(last, WATCHED)
    assert window is not None
    # The watch begins anew with other series, at the same instant.
    shared = {**HEALTHY, "gpu.other_processes": lambda at: 1 if at >= window[0] else 0}
    joined = join_document(watch(ONE, shared, every_s=0.05))
    faults = [find_cell_disturbance(cell) for cell in joined.cells]
    assert faults[-1] == "gpu-shared"
    assert faults[0] is None


def test_a_worker_that_is_not_recognised_is_nobody_else() -> None:
    unseen = {**HEALTHY, "gpu.own_processes": lambda _: 0, "gpu.other_processes": lambda _: 1}
    joined = join_document(watch(ONE, unseen))
    assert not any(find_cell_disturbance(cell) for cell in joined.cells)
    assert all("gpu.other_processes" not in cell.evidence for cell in joined.cells)


def test_cpu_heat_is_a_label() -> None:
    hot = join_document(watch(ONE, {**HEALTHY, "cpu.throttle_events": lambda at: int(at * 4)}))
    assert labels(hot) == {"cpu-thermal"}
    inside = [replace(cell, evidence={"thermal_events": 2.0}) for cell in ONE.cells]
    assert labels(replace(ONE, telemetry=None, cells=inside)) == {"cpu-thermal"}


def test_another_driver_half_way_makes_the_arm_invalid() -> None:
    other = {**FACTS, "driver.version": "560.28.03"}
    swapped = plant(DOCUMENTS, lambda one: watch(one, facts=other), "cuda", 4, 5, 6)
    result = sum_up(CAMPAIGN, swapped).cells[0].arms["cuda"]
    assert [one.values["facts"] for one in result.invalid] == [["driver.version"]]
    blind = plant(DOCUMENTS, lambda one: replace(one, telemetry=None), None, 4)
    assert sum_up(CAMPAIGN, blind).cells[0].arms["cuda"].invalid == ()


def test_what_no_sample_saw_is_unknown() -> None:
    late = replace(WATCHED, started=WATCHED.started + timedelta(hours=1))
    joined = join_document(replace(ONE, telemetry=late))
    assert all("gpu.mean_power_w" not in cell.evidence for cell in joined.cells)
    assert measure_window(replace(WATCHED, series={}), (1.0, 2.0)) == {}
    assert pick(WATCHED, "gpu.power_w", (0.3, 0.31)) == [300.0, 300.0]
    assert pick(WATCHED, "gpu.power_w", (-5.0, -4.0)) == []
    assert pick(WATCHED, "gpu.power_w", (1e6, 1e6 + 1)) == []


def test_the_window_is_when_the_cell_was_sampled_if_it_says_so() -> None:
    began = WATCHED.started.timestamp()
    cell = replace(ONE.cells[0], evidence={"from_s": began + 10.0, "to_s": began + 11.5})
    assert find_window(cell, WATCHED) == pytest.approx((10.0, 11.5))
    assert find_window(replace(cell, evidence={"from_s": 5.0, "to_s": 5.0}), WATCHED) is None
    skipped = replace(ONE.cells[0], outcome="skipped", reason="no", samples_s=[], warmup_s=[])
    assert find_window(skipped, WATCHED) is None


def test_power_between_two_samples_is_interpolated() -> None:
    draw = random.Random(4)
    at_s = sorted(draw.uniform(0, 100) for _ in range(400))
    energy = [1e5 + 250.0 * at for at in at_s]
    telemetry = Telemetry(
        started=synthetic.CREATED, at_s=at_s, series={"gpu.energy_j": [*energy[:-1], energy[-1]]}
    )
    for _ in range(50):
        low = draw.uniform(2, 90)
        found = measure_window(telemetry, (low, low + draw.uniform(0.001, 5)))
        assert found["gpu.mean_power_w"] == pytest.approx(250.0)


def test_a_reading_that_failed_is_as_if_it_were_not_there() -> None:
    draw = random.Random(5)
    at_s = sorted(draw.uniform(0, 50) for _ in range(200))
    energy = [None if draw.random() < 0.4 else 1e5 + 250.0 * at for at in at_s]
    known = [(at, value) for at, value in zip(at_s, energy, strict=True) if value is not None]
    gaps, whole = (
        Telemetry(started=synthetic.CREATED, at_s=list(instants), series={"gpu.energy_j": values})
        for instants, values in ((at_s, energy), (dict(known), [value for _, value in known]))
    )
    windows = [(low, low + draw.uniform(0.001, 5)) for low in at_s[::4]]
    windows += [(at_s[n], at_s[n + 7]) for n in range(0, 190, 3)]
    found = [measure_window(gaps, window) for window in windows]
    assert found == [measure_window(whole, window) for window in windows]
    assert len([each for each in found if each]) > 100


def test_the_report_tells_clocks_power_heat_and_energy() -> None:
    text = render_whole(study(CAMPAIGN, DOCUMENTS))
    assert "### The machine during the measurement" in text
    for words in (
        "GPU clock 1,980 MHz, of at most 1,980 MHz",
        "power 300 W, limit 700 W",
        "at most 60 °C",
        "held back by the power limit in 0 of",
        "PCIe generation 5, 16 lanes under load",
        "another process on the GPU in 0 of",
        "CPU clock 2,400 MHz",
        "the CPU throttled due to heat in 0 of 36 cells",
        "Telemetry took 0.3 % of one CPU's time; its effect on the numbers was not measured",
        "Table: energy on cuda",
        "/J",
        "outside.driver.version",
    ):
        assert words in text, words
    assert "sampler.cpu" not in text
    assert "Table: energy on cpu" not in text


def test_the_report_says_what_is_unknown_and_why() -> None:
    dumb = {name: f for name, f in HEALTHY.items() if name == "gpu.clock_sm_mhz"}
    far = {"telemetry": "the engine is far"}

    def blind(one: Document) -> Document:
        seen = watch(one, dumb)
        absent = {"gpu.energy_j": "Not Supported"}
        return replace(seen, telemetry=replace(seen.telemetry or WATCHED, absent=absent))

    changed = plant(DOCUMENTS, lambda one: replace(one, telemetry=None, absent=far), "cpu")
    text = render_markdown(study(CAMPAIGN, plant(changed, blind, "cuda")))
    assert "cpu: clocks, power, heat and throttling unknown: the engine is far." in text
    assert "cuda: unknown here: gpu.energy_j (Not Supported)." in text
    assert "slowed down by heat or hardware in an unknown number of cells" in text
    assert "other processes on the GPU unknown" in text
    assert "can't be verified from outside" in text
    assert "Table: energy" not in text


def test_the_cost_of_watching_is_told_where_it_was_measured() -> None:
    campaign = synthetic.make_campaign(arms=("cpu", "cpu-again"), blocks=5)
    spent: dict[str, Scalar] = {"sampler.cpu_s": 0.2, "sampler.wall_s": 100.0}
    unwatched = {"telemetry": "left without telemetry, to measure what telemetry costs"}
    made = synthetic.make_documents(campaign, samples=60)
    documents = plant(made, lambda one: watch(one, HOST_ONLY, spent), "cpu")
    documents = plant(documents, lambda one: replace(one, absent=unwatched), "cpu-again")
    text = render_markdown(study(campaign, documents))
    assert "measured against cpu-again, which ran without it and takes" in text
    assert "cpu-again: clocks, power, heat and throttling unknown: left without telemetry" in text
