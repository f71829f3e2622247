"""Cells that are kept going: once an arm, before all else, each alone, and in nobody's way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from suite.errors import GpuError, UsageError
from suite.host.campaign import durations, plan
from suite.host.campaign.arms import Arms, name_arms
from suite.host.campaign.options import Options
from suite.host.campaign.request import plan_campaign
from suite.host.engine import Job
from suite.input_limits import LENGTHS, RANGES
from suite.model import Campaign
from suite.worker import scenarios
from suite.worker.__main__ import arguments
from tests.fakes.engine import Life, asked_cells, is_on_gpu, record
from tests.host.campaign.stage import BOTH, CPU, Stage
from tests.kept import IDS

EVERY = scenarios.cells()
PRODUCT, COPY = IDS["cpu"]["product"], IDS["cpu"]["copy"]
FAST = IDS["cuda"]["product"]
FENCE = "overhead.fence"

pytestmark = pytest.mark.usefixtures("suite_identity")


def draw(arms: Arms = BOTH, **given: str) -> Campaign:
    asked = {"seed": "3", "label": "made-up", "profile": "smoke", **given}
    return plan_campaign(Options.parse(asked), arms, EVERY)


def kept(campaign: Campaign) -> Sequence[str]:
    return [cell.id for cell in campaign.sustained.cells] if campaign.sustained else []


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ({"profile": "full"}, 120.0),
        ({"profile": "full", "sustain": "30s"}, 30.0),
        ({"profile": "standard", "sustain": "2m"}, 120.0),
        ({"profile": "smoke", "sustain": "20"}, 20.0),
        ({"profile": "smoke", "sustain": "30m", "only": "sustain.* *.fence"}, 1800.0),
        ({"profile": "standard"}, None),
        ({"profile": "full", "only": "matmul.*"}, None),
    ],
)
def test_full_has_them_and_every_profile_by_request(
    given: dict[str, str], seconds: float | None
) -> None:
    campaign = draw(**given)
    assert kept(campaign) == ([] if seconds is None else [PRODUCT, FAST, COPY])
    assert (campaign.sustained and campaign.sustained.seconds) == seconds
    assert all(cell.role != "sustained" for cell in campaign.cells)
    assert not set(kept(campaign)) & set(campaign.controls)


@pytest.mark.parametrize("text", ["19s", "0.5", "31m", "2h", "soon", "", "-20s", "nan", "1e3"])
def test_a_length_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"SUSTAIN|duration") as refused:
        Options.parse({"sustain": text})
    assert "such as SUSTAIN=120s" in refused.value.remedy or "write 20m" in refused.value.remedy


def test_cells_that_only_leaves_out_and_sustain_asks_for_are_a_usage_error() -> None:
    with pytest.raises(UsageError, match="leaves out") as refused:
        draw(sustain="20s", only="*.fence")
    assert "sustain.*" in refused.value.remedy
    with pytest.raises(UsageError, match="matches no cell of the profile smoke") as refused:
        draw(only="sustain.*")
    assert "SUSTAIN=120s" in refused.value.remedy


def test_an_arm_keeps_those_going_that_mean_something_on_it_and_a_control_none() -> None:
    campaign = draw(sustain="20s")
    by_arm = {
        arm.name: [cell.id for cell in plan.sustained_of(campaign, arm.name)]
        for arm in campaign.every_arm
    }
    assert by_arm == {"cpu": [PRODUCT, COPY], "cuda": [FAST, COPY]}
    arms = name_arms(("cpu", "cpu"))
    again = draw(Arms(run=arms), sustain="20s", profile="standard")
    assert {arm.name for arm in again.every_arm} >= {"cpu-twin", "cpu-again"}
    for arm in again.every_arm:
        assert bool(plan.sustained_of(again, arm.name)) == (arm.name == "cpu")


def test_they_come_before_the_first_block_and_nowhere_else() -> None:
    campaign = draw(sustain="20s", only="sustain.* *.fence *.eager_op")
    usual = [cell.id for cell in campaign.cells]

    def order(*asked: Any) -> list[str]:
        return [cell.id for cell in plan.order_cells(campaign, *asked)]

    assert order("cpu", 0) == [PRODUCT, COPY]
    assert sorted(order("cpu", 1)) == sorted(usual)
    remaining = plan.order_cells(campaign, "cuda", 0)
    asked = []
    while remaining:
        chosen = plan.next_process(campaign, remaining)
        asked.append([cell.id for cell in chosen])
        remaining = [cell for cell in remaining if cell not in chosen]
    assert asked == [[FAST], [COPY]]
    assert plan.order_arms(campaign, 0) == ["cpu", "cuda"]
    hidden = draw(Arms(run=name_arms(("cpu", "cuda-hidden"))), sustain="20s")
    assert plan.order_arms(hidden, 0) == ["cpu"]
    assert plan.order_arms(draw(), 0) == []


def test_the_worker_is_asked_for_long_samples_after_a_rest_and_no_warm_up() -> None:
    campaign = draw(sustain="120s")
    (cell, *_) = plan.order_cells(campaign, "cuda", 0)
    parsed = arguments().parse_args(plan.arguments(campaign, "cuda", [cell]))
    assert (parsed.command, parsed.gpu, parsed.cells) == ("measure", True, [FAST])
    assert (parsed.warmup, parsed.measure, parsed.sample) == (0.0, 120.0, plan.SAMPLE_S)
    assert parsed.rest == 30.0
    assert parsed.budget > parsed.rest + parsed.measure
    assert durations.cell_deadline_s(campaign, cell) > 2 * (parsed.rest + parsed.measure)
    short = draw(sustain="20s")
    assert arguments().parse_args(plan.arguments(short, "cuda", [cell])).rest == 5.0
    # The most samples are no more than a document may have, also where they get shorter.
    assert 1.2 * RANGES["sustain"].most / plan.SAMPLE_S < LENGTHS["samples_s"]


def test_the_plan_predicts_them() -> None:
    plain, long = draw(only="*.fence"), draw(sustain="120s", only="sustain.* *.fence")
    added = long.prediction.before_s - plain.prediction.before_s
    each = 120.0 + 30.0 + durations.START_GUESS_S + durations.CELL_GUESS_S
    assert added == pytest.approx(4 * each)


@pytest.fixture
def made(stage: Stage) -> Campaign:
    stage.worker = replace(stage.worker, cells={cell.id: cell for cell in EVERY})
    return draw(sustain="20s", only="sustain.* *.fence", blocks="2")


def asked(stage: Stage) -> list[list[str]]:
    return [[name for name, _ in asked_cells(job)] for job in stage.engine.jobs]


def test_a_campaign_runs_them_once_an_arm_and_does_not_when_it_goes_on(
    stage: Stage, made: Campaign
) -> None:
    campaign = stage.run(campaign=made, arms=BOTH)
    first = [[PRODUCT], [COPY], [FAST], [COPY]]
    assert asked(stage) == [*first, *[[FENCE]] * 4]
    assert stage.said("and before that 3 cells kept going for 20 s each") == 1
    # They find no K, and the first block counts.
    assert list(campaign.calls["cpu"]) == list(campaign.calls["cuda"]) == [FENCE]
    assert stage.first_looks == [["cpu-00", "cpu-01", "cuda-00", "cuda-01"]]
    assert not campaign.excluded["cpu"]
    loaded = stage.load()
    blocks = {d.invocation.block for d in loaded.documents for c in d.cells if c.id == COPY}
    assert blocks == {0}
    (document, *_) = loaded.documents
    processes = [container.process for container in document.invocation.containers]
    assert processes == ["kept product", "kept copy"]
    report = stage.report()
    assert "calibration" not in report
    assert "What is left when hot" in report
    stage.go_on(blocks=3)
    assert asked(stage) == [[FENCE]] * 2


@pytest.mark.usefixtures("made")
def test_a_plan_of_nothing_else_starts_no_other_container(stage: Stage) -> None:
    campaign = draw(sustain="20s", only="sustain.*", profile="standard")
    assert (campaign.cells, campaign.blocks, campaign.most_blocks) == ([], 1, None)
    stage.run(campaign=campaign, arms=BOTH)
    assert asked(stage) == [[PRODUCT], [COPY], [FAST], [COPY]]
    assert "What is left when hot" in stage.report()


def test_an_arm_that_is_refused_before_its_first_block_costs_no_other(
    stage: Stage, made: Campaign
) -> None:
    refused = record("refused", reason="TensorFlow sees no GPU")

    def live(job: Job) -> Life:
        if is_on_gpu(job):
            return Life(words=[stage.worker.greeting()[0], refused], code=4)
        return stage.worker(job)

    with pytest.raises(GpuError, match="the arm cuda is unavailable"):
        stage.run(campaign=made, arms=BOTH, otherwise=live)
    assert stage.documents() == ["cpu-00", "cpu-01", "cpu-02", "cuda-00"]
    assert list(stage.load().campaign.not_run) == ["cuda"]
    assert stage.go_on().not_run == {}
    assert asked(stage) == [[FAST], [COPY], [FENCE], [FENCE]]


@pytest.mark.usefixtures("made")
def test_one_that_dies_costs_no_other_cell_and_is_told(stage: Stage) -> None:
    killed = stage.worker.dies_in(PRODUCT)
    made = draw(CPU, sustain="20s", only="sustain.* *.fence")
    stage.run(killed, killed, campaign=made, arms=CPU)
    first, second = stage.load().documents
    outcomes = {cell.id: cell.outcome for one in (first, second) for cell in one.cells}
    assert outcomes == {PRODUCT: "failed", COPY: "measured", FENCE: "measured"}
    assert [cell.id for cell in second.cells] == [FENCE]
    assert "products have no number (failed: its container died" in stage.report()
