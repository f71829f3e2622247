"""CPU arms that used few of the CPUs that they had: what is told, and what must not be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from suite.analysis.analyse import analyse
from suite.analysis.documents.busy import LEAST_WORK, count_cores, find_idle, is_large
from suite.cells.cell import Cell
from suite.model import Campaign, Document, Scalar
from suite.report.pages.brief import compose_screen
from suite.report.render.terminal import render_lines
from suite.report.text.wording import name_banners, word
from suite.worker import scenarios
from tests import synthetic
from tests.changes import in_cell, invoke, plant, tell
from tests.rendering import load

DECLARED = {"work_key": "product/n", "data": "device", "dispatch": "eager"}


def product(n: int, **fields: Any) -> Cell:
    return replace(synthetic.make_product(n), **{**DECLARED, **fields})


LARGE, SMALL = product(4000), product(100)
CAMPAIGN = synthetic.make_campaign(blocks=3, cells=[LARGE, SMALL])
EIGHT: Mapping[str, Scalar] = {"cpu.usable": 8, "cpu.cores_usable": 8, "cpu.count": 8}


def measure(
    cell: Cell = LARGE,
    facts: Mapping[str, Scalar] = EIGHT,
    campaign: Campaign = CAMPAIGN,
    arm: str = "cpu",
    **evidence: float,
) -> list[Document]:
    documents = synthetic.make_documents(campaign, calibration=False)
    return plant(plant(documents, tell(facts), arm), in_cell(cell.id, evidence=evidence), arm)


def find(documents: list[Document], campaign: Campaign = CAMPAIGN) -> list[str]:
    counted: dict[str, dict[int, Document]] = {}
    for one in documents:
        counted.setdefault(one.invocation.arm, {})[one.invocation.block] = one
    return [one.code for one in find_idle(campaign, counted)]


HYPER: Mapping[str, Scalar] = {"cpu.usable": 16, "cpu.cores_usable": 8}
UNTOLD: Mapping[str, Scalar] = {"cpu.usable": 16, "cpu.cores_usable": None}
ONE: Mapping[str, Scalar] = {"cpu.usable": 1, "cpu.cores_usable": 1}
HALF: Mapping[str, Scalar] = {"cpu.usable": 2, "cpu.cores_usable": 1}
WIDE: Mapping[str, Scalar] = {"cpu.usable": 64, "cpu.cores_usable": 32}
TWO: Mapping[str, Scalar] = {"cpu.usable": 2, "cpu.cores_usable": 2}


@pytest.mark.parametrize(
    ("facts", "evidence", "idle"),
    [
        (EIGHT, {"own_cpus": 1.0}, True),
        (EIGHT, {"own_cpus": 0.5, "foreign_cpus": 0.1}, True),
        (EIGHT, {"own_cpus": 7.9}, False),
        (EIGHT, {"own_cpus": 5.0}, False),
        (TWO, {"own_cpus": 1.01}, True),
        (TWO, {"own_cpus": 1.87}, False),
        # One thread a core, and both of each.
        (HYPER, {"own_cpus": 7.8}, False),
        (HYPER, {"own_cpus": 15.7}, False),
        (HYPER, {"own_cpus": 3.9}, True),
        # Two threads of one core: all that can be had.
        (HALF, {"own_cpus": 1.0}, False),
        (ONE, {"own_cpus": 1.0}, False),
        (ONE, {"own_cpus": 0.3}, False),
        (UNTOLD, {"own_cpus": 7.8}, False),
        (UNTOLD, {"own_cpus": 1.0}, True),
        ({"cpu.usable": None}, {"own_cpus": 1.0}, False),
        # A quota is told as such.
        ({**WIDE, "cpu.quota": "8"}, {"own_cpus": 8.0}, False),
        ({**WIDE, "cpu.quota": "8"}, {"own_cpus": 4.0}, True),
        ({**WIDE, "cpu.quota": "none"}, {"own_cpus": 8.0}, True),
        ({**WIDE, "cpu.quota": None}, {"own_cpus": 8.0}, True),
        ({**WIDE, "cpu.quota": "100"}, {"own_cpus": 30.0}, False),
        # Others' work and the hypervisor's share are told as such.
        (EIGHT, {"own_cpus": 3.0, "foreign_cpus": 4.9}, False),
        (EIGHT, {"own_cpus": 3.0, "steal_share": 0.5}, False),
        (EIGHT, {}, False),
    ],
)
def test_few_busy_cores_are_told(
    facts: Mapping[str, Scalar], evidence: dict[str, float], idle: bool
) -> None:
    assert find(measure(facts=facts, **evidence)) == (["cpus-idle"] if idle else [])


def test_a_gpus_arm_and_small_work_say_nothing() -> None:
    assert find(measure(arm="cuda", own_cpus=1.0)) == []
    assert find(measure(SMALL, own_cpus=1.0)) == []
    # 2e9 FLOP are enough for 8 cores and too few for 96.
    small = product(1000)
    campaign = synthetic.make_campaign(blocks=3, cells=[small])
    for cores, told in ((8, ["cpus-idle"]), (96, [])):
        facts: Mapping[str, Scalar] = {"cpu.usable": cores, "cpu.cores_usable": cores}
        documents = measure(small, facts, campaign, own_cpus=1.0)
        assert find(documents, campaign) == told


def test_one_large_product_that_kept_all_cores_busy_is_enough() -> None:
    other = product(8000)
    campaign = synthetic.make_campaign(blocks=3, cells=[LARGE, other])
    documents = measure(campaign=campaign, own_cpus=1.0)
    assert find(documents, campaign) == ["cpus-idle"]
    spread = plant(documents, in_cell(other.id, evidence={"own_cpus": 7.8}), "cpu")
    assert find(spread, campaign) == []
    # Of the invocations the median counts.
    once = plant(documents, in_cell(LARGE.id, evidence={"own_cpus": 7.8}), "cpu", 2)
    assert find(once, campaign) == ["cpus-idle"]


@pytest.mark.parametrize(
    "fields",
    [
        {"dispatch": "xla"},
        {"dispatch": "graph"},
        {"data": "host"},
        {"precision": "bf16"},
        {"work_key": "training at width/2048"},
        {"role": "reference"},
        {"device": "cpu"},
        {"process": "a-script"},
        {"one_shot": True},
    ],
)
def test_what_a_cell_declares_decides_whether_it_tells(fields: dict[str, Any]) -> None:
    assert is_large(LARGE)
    assert not is_large(product(4000, **fields))


def test_some_cell_of_every_profile_but_smoke_tells_on_large_machines() -> None:
    for profile, cores in (("smoke", 16), ("verdict", 256), ("standard", 1024), ("full", 1024)):
        work = [
            one.work.amount
            for one in scenarios.cells()
            if profile in one.profiles and is_large(one)
        ]
        assert max(work) >= LEAST_WORK * cores, profile


@pytest.mark.parametrize(
    ("cores", "withheld", "told"), [(64, 63, True), (2, 1, True), (64, 8, False), (8, 0, False)]
)
def test_cores_that_the_command_could_not_use_are_told(
    cores: int, withheld: int, told: bool
) -> None:
    engine = {"cores": cores, "cores_withheld": withheld}
    documents = plant(measure(own_cpus=7.9), invoke(engine=engine))
    assert find(documents) == (["cpus-withheld"] if told else [])


def test_the_report_says_it_in_its_title_and_first_lines() -> None:
    analysis = analyse(load(CAMPAIGN, measure(own_cpus=1.0)))
    (flag,) = (one for one in analysis.flags if one.code == "cpus-idle")
    assert (flag.severity, flag.scope) == ("caution", "campaign")
    assert name_banners([flag]) == ("CPU CORES IDLE",)
    text = render_lines(compose_screen(analysis))
    assert "CPU CORES IDLE" in text.splitlines()[0]
    text = " ".join(text.split())
    assert text.count(f"{word(flag)}.") == 1
    assert "kept only 1.0 of 8 CPU cores busy, so CPU times are up to 8.0 times too long" in text
    assert "CORES" not in render_lines(compose_screen(analyse(load(CAMPAIGN, measure(own_cpus=8)))))


def test_cores_are_at_least_half_of_the_cpus() -> None:
    assert count_cores({"cpu.usable": 7, "cpu.cores_usable": None}) == 3.5
    assert count_cores({"cpu.usable": 4, "cpu.cores_usable": 8}) == 4
    assert count_cores({}) is None
