"""What telemetry says beside a number, against it, and in the report: all of it made up."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from suite import flags
from suite.analysis.analyse import analyse
from suite.analysis.campaign.summarise import Summary, summarise
from suite.analysis.campaign.validity import (
    find_cell_disturbance,
    find_labels,
)
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.documents.rules import judge_document
from suite.analysis.documents.telemetry import (
    IS_NAMED,
    find_window,
    gauge,
    is_named,
    join_document,
    pick,
)
from suite.model import Campaign, Document, Scalar, Telemetry
from tests import synthetic
from tests.rendering import render_markdown

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


@pytest.fixture
def campaign() -> Campaign:
    cells = [one for one in synthetic.make_cells() if one.scenario in {"matmul", "mlp"}]
    return synthetic.make_campaign(blocks=6, cells=cells)


@pytest.fixture
def documents(campaign: Campaign) -> list[Document]:
    made = synthetic.make_documents(campaign, samples=60, calibration=False)
    return [
        watch(one) if one.invocation.arm == "cuda" else watch(one, HOST_ONLY, {}) for one in made
    ]


@pytest.fixture
def one(documents: list[Document]) -> Document:
    return next(one for one in documents if one.invocation.arm == "cuda")


def summarise_these(campaign: Campaign, documents: list[Document]) -> Summary:
    return summarise(LoadedCampaign(folder="made-up", campaign=campaign, documents=documents))


def labels(document: Document) -> set[str]:
    return {code for cell in document.cells for code, _ in find_labels(cell)}


def test_a_healthy_gpu_says_nothing_against_its_numbers(one: Document) -> None:
    assert list(judge_document(one)) == []
    joined = join_document(one)
    for cell in joined.cells:
        assert cell.evidence["gpu.mean_power_w"] == pytest.approx(300.0)
        assert cell.evidence["gpu.slowdown_share"] == 0.0
        assert cell.evidence["gpu.capped_share"] == 0.0
        assert cell.evidence["gpu.other_processes"] == 0.0
        assert cell.evidence["cpu.throttle_events"] == 0.0
        assert find_cell_disturbance(cell) is None
        assert find_labels(cell) == []
    assert joined.telemetry is not None
    assert joined.telemetry.facts[IS_NAMED] is True
    assert join_document(replace(one, telemetry=None)) == replace(one, telemetry=None)


def test_a_power_cap_is_a_label_by_counter_or_by_samples(one: Document) -> None:
    counted = {**HEALTHY, "gpu.held_by_power_s": lambda at: 0.6 * at}
    polled = {
        **{name: f for name, f in HEALTHY.items() if not name.startswith("gpu.held")},
        "gpu.reasons_bits": lambda _: 0x4,
    }
    for series in (counted, polled):
        joined = join_document(watch(one, series))
        assert labels(joined) == {"power-capped"}
        assert not any(find_cell_disturbance(cell) for cell in joined.cells)


@pytest.mark.parametrize(
    "changed",
    [
        {"gpu.held_by_heat_s": lambda at: 0.05 * at},
        {"gpu.reasons_bits": lambda _: 0x8},
        {"gpu.reasons_bits": lambda _: 0x80},
        {"gpu.held_by_heat_s": lambda _: None, "gpu.reasons_bits": lambda _: 0x20},
        {"gpu.held_by_heat_s": lambda _: None, "gpu.reasons_bits": lambda _: 0x40},
    ],
)
def test_heat_and_hardware_slowdowns_are_faults(changed: Series, one: Document) -> None:
    joined = join_document(watch(one, {**HEALTHY, **changed}))
    assert {find_cell_disturbance(cell) for cell in joined.cells} == {"gpu-slowdown"}


def test_under_one_per_cent_of_heat_is_none(one: Document) -> None:
    cool = {**HEALTHY, "gpu.held_by_heat_s": lambda at: 0.005 * at}
    assert not any(find_cell_disturbance(cell) for cell in join_document(watch(one, cool)).cells)


def test_a_short_trouble_is_held_against_the_cells_beside_it_only(one: Document) -> None:
    assert one.telemetry is not None
    last = one.cells[-1]
    window = find_window(last, one.telemetry)
    assert window is not None
    # The watch begins anew with other series, at the same instant.
    shared = {**HEALTHY, "gpu.other_processes": lambda at: 1 if at >= window[0] else 0}
    joined = join_document(watch(one, shared, every_s=0.05))
    faults = [find_cell_disturbance(cell) for cell in joined.cells]
    assert faults[-1] == "gpu-shared"
    assert faults[0] is None


def test_a_worker_that_is_not_recognised_is_nobody_else(one: Document) -> None:
    unseen = {**HEALTHY, "gpu.own_processes": lambda _: 0, "gpu.other_processes": lambda _: 1}
    joined = join_document(watch(one, unseen))
    assert not any(find_cell_disturbance(cell) for cell in joined.cells)
    assert all("gpu.other_processes" not in cell.evidence for cell in joined.cells)


def test_cpu_heat_is_a_label(one: Document) -> None:
    hot = join_document(watch(one, {**HEALTHY, "cpu.throttle_events": lambda at: int(at * 4)}))
    assert labels(hot) == {"cpu-thermal"}
    inside = [replace(cell, evidence={"thermal_events": 2.0}) for cell in one.cells]
    assert labels(replace(one, telemetry=None, cells=inside)) == {"cpu-thermal"}


@pytest.mark.parametrize(
    ("series", "facts", "named"),
    [
        ({}, {}, True),
        ({"gpu.own_processes": lambda _: 0}, {}, None),
        (
            {"gpu.own_processes": lambda _: 0, "gpu.own_processes_elsewhere": lambda _: 1},
            {},
            False,
        ),
        ({"gpu.own_processes": lambda _: None}, {"gpu.name": "Another"}, False),
    ],
)
def test_the_named_gpu_is_told_from_another(
    series: Series, facts: dict[str, Scalar], named: bool | None, one: Document
) -> None:
    document = watch(one, {**HEALTHY, **series}, {**FACTS, **facts})
    assert document.telemetry is not None
    assert is_named(document, document.telemetry) is named


def test_another_gpu_sets_the_invocation_aside(
    campaign: Campaign, documents: list[Document]
) -> None:
    away = {
        **HEALTHY,
        "gpu.own_processes": lambda _: 0,
        "gpu.own_processes_elsewhere": lambda _: 1,
    }
    changed = [
        watch(one, away) if one.invocation.arm == "cuda" and one.invocation.block == 2 else one
        for one in documents
    ]
    (flag,) = flags.pick(summarise_these(campaign, changed).flags, "excluded")
    assert (flag.code, flag.where) == ("gpu-other", {"arm": "cuda", "block": 2, "repeat": 0})


def test_another_driver_half_way_makes_the_arm_invalid(
    campaign: Campaign, documents: list[Document]
) -> None:
    swapped = [
        watch(one, facts={**FACTS, "driver.version": "560.28.03"})
        if one.invocation.arm == "cuda" and one.invocation.block > 3
        else one
        for one in documents
    ]
    result = summarise_these(campaign, swapped).cells[0].arms["cuda"]
    assert [one.values["facts"] for one in result.invalid] == [["driver.version"]]
    blind = [
        replace(one, telemetry=None) if one.invocation.block == 4 else one for one in documents
    ]
    assert summarise_these(campaign, blind).cells[0].arms["cuda"].invalid == ()


def test_a_hot_gpu_in_two_blocks_of_six_is_invalid_and_one_is_set_aside(
    campaign: Campaign, documents: list[Document]
) -> None:
    hot = {**HEALTHY, "gpu.held_by_heat_s": lambda at: 0.3 * at}

    def heat(*blocks: int) -> Summary:
        changed = [
            watch(one, hot)
            if one.invocation.arm == "cuda" and one.invocation.block in blocks
            else one
            for one in documents
        ]
        return summarise_these(campaign, changed)

    once = heat(3).cells[0].arms["cuda"]
    assert once.invalid == ()
    assert sorted(once.values) == [1, 2, 4, 5, 6]
    twice = heat(3, 5)
    assert twice.cells[0].arms["cuda"].invalid
    assert "thermal or hardware slowdown" in render_markdown(analyse(twice.loaded))


def test_what_no_sample_saw_is_unknown(one: Document) -> None:
    assert one.telemetry is not None
    late = replace(one.telemetry, started=one.telemetry.started + timedelta(hours=1))
    joined = join_document(replace(one, telemetry=late))
    assert all("gpu.mean_power_w" not in cell.evidence for cell in joined.cells)
    assert gauge(replace(one.telemetry, series={}), (1.0, 2.0)) == {}
    assert pick(one.telemetry, "gpu.power_w", (0.3, 0.31)) == [300.0, 300.0]
    assert pick(one.telemetry, "gpu.power_w", (-5.0, -4.0)) == []
    assert pick(one.telemetry, "gpu.power_w", (1e6, 1e6 + 1)) == []


def test_the_window_is_when_the_cell_was_sampled_if_it_says_so(one: Document) -> None:
    assert one.telemetry is not None
    began = one.telemetry.started.timestamp()
    cell = replace(one.cells[0], evidence={"from_s": began + 10.0, "to_s": began + 11.5})
    assert find_window(cell, one.telemetry) == pytest.approx((10.0, 11.5))
    assert find_window(replace(cell, evidence={"from_s": 5.0, "to_s": 5.0}), one.telemetry) is None
    skipped = replace(one.cells[0], outcome="skipped", reason="no", samples_s=[], warmup_s=[])
    assert find_window(skipped, one.telemetry) is None


def test_power_between_two_samples_is_interpolated() -> None:
    draw = random.Random(4)
    at_s = sorted(draw.uniform(0, 100) for _ in range(400))
    energy = [1e5 + 250.0 * at for at in at_s]
    telemetry = Telemetry(
        started=synthetic.CREATED, at_s=at_s, series={"gpu.energy_j": [*energy[:-1], energy[-1]]}
    )
    for _ in range(50):
        low = draw.uniform(2, 90)
        found = gauge(telemetry, (low, low + draw.uniform(0.001, 5)))
        assert found["gpu.mean_power_w"] == pytest.approx(250.0)


def test_the_report_tells_clocks_power_heat_and_energy(
    campaign: Campaign, documents: list[Document]
) -> None:
    text = render_markdown(analyse(summarise_these(campaign, documents).loaded))
    assert "### The machine while it measured" in text
    for words in (
        "GPU clock 1,980 MHz, of at most 1,980 MHz",
        "power 300 W, limit 700 W",
        "at most 60 °C",
        "held back by the power limit in 0 of",
        "PCIe generation 5, 16 lanes under load",
        "another process on the GPU in 0 of",
        "CPU clock 2,400 MHz",
        "the CPU slowed itself down for heat in 0 of 36 cells",
        "Watching took 0.3 % of one CPU's time; what that did to the numbers was not measured",
        "Table: energy on cuda",
        "/J",
        "outside.driver.version",
    ):
        assert words in text, words
    assert "sampler.cpu" not in text
    assert "Table: energy on cpu" not in text


def test_a_unit_of_work_is_text_in_the_table_of_energy() -> None:
    cells = [replace(one, work=replace(one.work, unit="<b>x")) for one in synthetic.make_cells()]
    campaign = synthetic.make_campaign(blocks=3, cells=cells)
    documents = [
        watch(one) if one.invocation.arm == "cuda" else one
        for one in synthetic.make_documents(campaign, samples=60, calibration=False)
    ]
    text = render_markdown(analyse(summarise_these(campaign, documents).loaded))
    assert r"\<b\>xs/J" in text
    assert "<b>" not in text


def test_the_report_says_what_is_unknown_and_why(
    campaign: Campaign, documents: list[Document]
) -> None:
    dumb = {name: f for name, f in HEALTHY.items() if name == "gpu.clock_sm_mhz"}
    changed = []
    for one in documents:
        if one.invocation.arm == "cpu":
            changed.append(replace(one, telemetry=None, absent={"telemetry": "the engine is far"}))
            continue
        blind = watch(one, dumb)
        assert blind.telemetry is not None
        absent = {"gpu.energy_j": "Not Supported"}
        changed.append(replace(blind, telemetry=replace(blind.telemetry, absent=absent)))
    text = render_markdown(analyse(summarise_these(campaign, changed).loaded))
    assert "cpu: clocks, power, heat and throttling unknown: the engine is far." in text
    assert "cuda: unknown here: gpu.energy_j (Not Supported)." in text
    assert "slowed down by heat or hardware in an unknown number of cells" in text
    assert "other processes on the GPU unknown" in text
    assert "can't be told from outside" in text
    assert "Table: energy" not in text


def test_the_cost_of_watching_is_told_where_it_was_measured() -> None:
    campaign = synthetic.make_campaign(arms=("cpu", "cpu-again"), blocks=5)
    documents = [
        watch(one, HOST_ONLY, {"sampler.cpu_s": 0.2, "sampler.wall_s": 100.0})
        if one.invocation.arm == "cpu"
        else replace(one, absent={"telemetry": "left unwatched, to measure what watching costs"})
        for one in synthetic.make_documents(campaign, samples=60)
    ]
    text = render_markdown(analyse(summarise_these(campaign, documents).loaded))
    assert "measured against cpu-again, which nobody watched: that one takes" in text
    assert "cpu-again: clocks, power, heat and throttling unknown: left unwatched" in text
