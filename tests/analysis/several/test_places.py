"""Surveys of made-up machines: what the report says is what was put in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from suite import __version__, wire
from suite.analysis.campaign.summarise import Summary, summarise
from suite.analysis.documents.read import load_campaign, load_document, load_survey
from suite.analysis.several.places import Surveyed, analyse, drop_lonely, find_overlap, middle, pool
from suite.cells.cell import Cell
from suite.errors import DocumentError
from suite.flags import raise_flag
from suite.model import Survey, SurveyMember
from suite.report.pages.places import compose_survey
from suite.report.produce import collate_survey
from suite.report.render.markdown import render_page
from suite.wire import SCHEMA, dump_document
from tests import synthetic
from tests.fakes.hosts import QUIET
from tests.flagging import codes

PRODUCT = "matmul.square/n=1000/precision=fp32/operands=device/xla=off"
BATCH = "mlp.train/net=A/batch=512/data=device/precision=fp32"
GPUS = ("0", "1", "2")


def slower(cell: Cell, arm: str, factor: float) -> float:
    return synthetic.plain_truth(cell, arm) * factor


def write_survey(
    results: Path,
    *,
    alone: Mapping[str, float],
    at_once: Mapping[str, float],
    blocks: int = 10,
    apart_s: float = 0.0,
) -> Path:
    """A survey's folder and its campaigns': how many times the plain time each GPU takes, and by how
    much the starts lie apart where all are at work."""
    members = []
    for busy, factors in ((False, alone), (True, at_once)):
        for place, (gpu, factor) in enumerate(factors.items()):
            name = f"box-gpu{gpu}" + ("-at-once" if busy else "")
            campaign = replace(
                synthetic.make_campaign(arms=["cuda"], blocks=blocks, seed=place + 10 * busy),
                id=name,
                survey="box",
                at_once=len(at_once) if busy else 1,
                calibrated_by=f"box-gpu{gpu}" if busy else None,
            )
            late = timedelta(seconds=apart_s * place if busy else 0.0)
            campaign = replace(campaign, created=campaign.created + late)
            documents = synthetic.make_documents(
                campaign,
                truth=lambda cell, arm, factor=factor: slower(cell, arm, factor),  # type: ignore[misc]
                host=QUIET,
                calibration=not busy,
            )
            synthetic.write_campaign(results / name, campaign, documents)
            members.append(SurveyMember(gpu=gpu, at_once=busy, campaign=name))
    if not at_once:
        members += [SurveyMember(gpu=g, at_once=True, campaign=f"never-{g}") for g in alone]
    survey = Survey(
        schema=SCHEMA,
        id="box",
        created=synthetic.CREATED,
        profile="standard",
        seed=7,
        label="box",
        rounds=blocks,
        gpus=list(alone),
        cpus=dict.fromkeys(alone, "0-1"),
        members=members,
        suite=synthetic.SUITE,
        command="make bench GPU=all SEED=7",
    )
    (results / "box").mkdir(parents=True)
    (results / "box" / "survey.json").write_text(dump_document(survey), encoding="utf-8")
    return results / "box"


def study(folder: Path) -> Surveyed:
    survey = load_survey(folder)
    loaded = {
        one.campaign: load_campaign(folder.parent / one.campaign)
        for one in survey.members
        if (folder.parent / one.campaign).exists()
    }
    kept, lonely = drop_lonely(survey, loaded)
    return analyse(survey, {name: summarise(one) for name, one in kept.items()}, lonely)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """GPU 2 takes 8 % more time than the others; at once, all take 1.25 times as long."""
    return write_survey(
        tmp_path_factory.mktemp("survey"),
        alone={"0": 1.0, "1": 1.0, "2": 1.08},
        at_once={"0": 1.25, "1": 1.25, "2": 1.35},
    )


def verdict(contrast: Any, name: str) -> str:
    return str(contrast.verdicts[name].name)


def test_a_slower_gpu_is_told_from_its_equals(folder: Path) -> None:
    found = study(folder)
    assert list(found.apart) == ["1", "2"]
    assert verdict(found.apart["1"], PRODUCT) == "EQUIVALENT"
    assert verdict(found.apart["2"], PRODUCT) == "SLOWER"
    assert found.apart["2"].ratios[PRODUCT].value == pytest.approx(1.08, rel=0.01)  # type: ignore[union-attr]


def test_what_being_busy_together_costs_is_known_by_gpu_and_for_the_machine(folder: Path) -> None:
    found = study(folder)
    for gpu in GPUS:
        assert found.crowded[gpu].ratios[BATCH].value == pytest.approx(1.25, rel=0.01)  # type: ignore[union-attr]
    assert found.pooled.ratios[BATCH].value == pytest.approx(1.25, rel=0.01)  # type: ignore[union-attr]
    assert verdict(found.pooled, BATCH) == "SLOWER"
    # Three GPUs that each take 1.25 times as long do 2.4 times the work of one.
    text = collate_survey(folder).files["survey.md"]
    assert "1.25 times as long as alone in the median cell" in text
    assert "together they do 2.4 times the work of one" in text


def test_medians_are_over_cells_that_time_a_gpu_again_and_again(folder: Path) -> None:
    found = study(folder)
    assert PRODUCT in found.on_gpu
    assert {"overhead.fence", "overhead.startup/stage=import"} & found.on_gpu == set()
    assert not any(name.startswith(("tfdata", "asked")) for name in found.on_gpu)


def test_the_report_stands_alone_and_names_its_campaigns(folder: Path) -> None:
    collated = collate_survey(folder)
    assert set(collated.files) == {"survey.md", "survey.html", "summary.json"}
    assert not collated.troubled
    text = collated.files["survey.md"]
    assert text.startswith("# Crossover: the 3 GPUs of one machine — SIMULATED\n")
    for member in load_survey(folder).members:
        assert f"| {member.campaign} " in text
    assert "make bench GPU=all SEED=7" in text
    assert collate_survey(folder).files == collated.files


def test_programs_get_the_same_unscaled(folder: Path) -> None:
    found = json.loads(collate_survey(folder).files["summary.json"])
    cell = found["at_once_all"]["cells"][PRODUCT]
    assert cell["ratio" if "ratio" in cell else "value"] == pytest.approx(1.25, rel=0.01)
    assert cell["verdict"] == "SLOWER"
    assert set(found["apart"]) == {"1", "2"}
    assert set(found["at_once"]) == set(GPUS)
    assert found["suite"] == wire.plain(load_survey(folder).suite)
    assert found["analysed_by"] == {"version": __version__}


def test_the_campaign_of_one_at_once_says_that_it_was_not_alone(folder: Path) -> None:
    summary = summarise(load_campaign(folder.parent / "box-gpu0-at-once"))
    assert "others-at-work" in codes(summary.flags)
    alone = summarise(load_campaign(folder.parent / "box-gpu0"))
    assert "others-at-work" not in codes(alone.flags)


def test_how_much_they_were_at_work_together_is_told(tmp_path: Path) -> None:
    factors = {"0": 1.0, "1": 1.0}
    whole = study(write_survey(tmp_path / "a", alone=factors, at_once=factors, blocks=3))
    assert whole.overlap is not None
    assert whole.overlap > 0.9
    apart = study(
        write_survey(tmp_path / "b", alone=factors, at_once=factors, blocks=3, apart_s=3600)
    )
    assert apart.overlap == 0


def test_a_survey_that_was_stopped_early_says_what_it_has(tmp_path: Path) -> None:
    folder = write_survey(tmp_path, alone={"0": 1.0, "1": 1.0}, at_once={}, blocks=3)
    survey = replace(load_survey(folder), stopped="after round 3: no time")
    (folder / "survey.json").write_text(dump_document(survey), encoding="utf-8")
    found = study(folder)
    assert (list(found.at_once), found.overlap) == ([], None)
    text = collate_survey(folder).files["survey.md"]
    assert "What being busy together costs is not known yet." in text
    assert "not begun" in text
    assert "**Stopped** after round 3: no time." in text


def test_a_turn_at_once_that_one_gpu_did_not_finish_counts_for_none(tmp_path: Path) -> None:
    folder = write_survey(
        tmp_path, alone={"0": 1.0, "1": 1.0}, at_once={"0": 2.0, "1": 2.0}, blocks=4
    )
    # In round 4 GPU 1 broke off in the middle of its cells, and GPU 0 went on as if alone.
    broken = tmp_path / "box-gpu1-at-once" / "cuda-04.json"
    document = load_document(broken)
    cut = replace(
        document,
        invocation=replace(document.invocation, status="interrupted"),
        cells=[
            one
            if index < 3
            else synthetic.lose_cell(document, one.id, "pending", None).cells[index]
            for index, one in enumerate(document.cells)
        ],
    )
    broken.write_text(dump_document(cut), encoding="utf-8")
    lone = tmp_path / "box-gpu0-at-once" / "cuda-04.json"
    alone = load_document(tmp_path / "box-gpu0" / "cuda-04.json")
    own = load_document(lone)
    lone.write_text(
        dump_document(
            replace(
                own, cells=[replace(one, container=own.cells[0].container) for one in alone.cells]
            )
        ),
        encoding="utf-8",
    )
    found = study(folder)
    assert found.lonely == (4,)
    for contrast in (*found.crowded.values(), found.pooled):
        ratio = contrast.ratios[BATCH]
        assert ratio.value == pytest.approx(2.0, rel=0.01)  # type: ignore[union-attr]
        assert ratio.n == 3  # type: ignore[union-attr]
    text = collate_survey(folder).files["survey.md"]
    assert "The turn at once of round 4 does not count" in text


def test_a_control_that_one_gpu_did_not_finish_costs_the_turn_too(folder: Path) -> None:
    survey = load_survey(folder)
    loaded = {m.campaign: load_campaign(folder.parent / m.campaign) for m in survey.members}
    for gpu in GPUS:
        name = f"box-gpu{gpu}-at-once"
        twins = [
            replace(one, invocation=replace(one.invocation, arm="cuda-twin"))
            for one in loaded[name].documents
            if (gpu, one.invocation.block) != ("1", 3)
        ]
        loaded[name] = replace(loaded[name], controls=twins)
    kept, lonely = drop_lonely(survey, loaded)
    assert lonely == (3,)
    for name in (f"box-gpu{gpu}-at-once" for gpu in GPUS):
        left = {one.invocation.block for one in (*kept[name].documents, *kept[name].controls)}
        assert left == set(range(1, 11)) - {3}
    assert kept["box-gpu1"] == loaded["box-gpu1"]


def test_shares_that_may_lie_on_the_same_cores_are_told(folder: Path, tmp_path: Path) -> None:
    told = "two shares may lie on the same cores"
    assert told in collate_survey(folder).files["survey.md"]
    survey = replace(load_survey(folder), whole_cores=True)
    (folder / "survey.json").write_text(dump_document(survey), encoding="utf-8")
    assert told not in collate_survey(folder).files["survey.md"]


@pytest.mark.parametrize("profile", ["standard", "quick"])
def test_an_invalid_cell_counts_nowhere(folder: Path, profile: Any) -> None:
    survey = load_survey(folder)
    summaries: dict[str, Summary] = {}
    for one in survey.members:
        loaded = load_campaign(folder.parent / one.campaign)
        campaign = replace(loaded.campaign, profile=profile)
        summaries[one.campaign] = summarise(replace(loaded, campaign=campaign))
    broken = summaries["box-gpu1-at-once"]
    cells = tuple(
        replace(
            one,
            arms={
                "cuda": replace(one.arms["cuda"], flags=(raise_flag("steal", severity="invalid"),))
            },
        )
        if one.cell.id == PRODUCT
        else one
        for one in broken.cells
    )
    summaries["box-gpu1-at-once"] = replace(broken, cells=cells)
    found = analyse(survey, summaries)
    if profile == "standard":
        assert verdict(found.crowded["1"], PRODUCT) == verdict(found.pooled, PRODUCT) == "INVALID"
        assert verdict(found.crowded["0"], PRODUCT) == "SLOWER"
    assert PRODUCT not in found.of_gpu(found.pooled)
    # Struck also where the profile gives no verdicts.
    text = render_page(compose_survey(found))
    (row,) = [
        line for line in text.splitlines() if "n=1000/precision=fp32" in line and "~~" in line
    ]
    assert row.count("~~") == 4


def test_pooling_takes_the_blocks_that_all_have() -> None:
    assert pool([{1: 2.0, 2: 8.0}, {1: 8.0}]) == {1: pytest.approx(4.0)}
    assert pool([]) == {}


def test_a_middle_of_nothing_is_none() -> None:
    assert middle([]) is None


def test_one_gpu_alone_overlaps_with_nobody() -> None:
    assert find_overlap([]) is None
    assert find_overlap([{}]) is None


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"gpus": ["0"]}, "$.gpus"),
        ({"rounds": 0}, "$.rounds"),
        (
            {"members": [SurveyMember(gpu="0", at_once=False, campaign="../../etc")]},
            "$.members[0].campaign",
        ),
        (
            {"members": [SurveyMember(gpu="9", at_once=False, campaign="a")]},
            "$.members[0].gpu",
        ),
        (
            {"members": [SurveyMember(gpu="0", at_once=busy, campaign="a") for busy in (0, 1)]},
            "$.members[1].campaign",
        ),
        (
            {"members": [SurveyMember(gpu=g, at_once=False, campaign=f"c{g}") for g in GPUS]},
            "$.members",
        ),
        ({"cpus": {"0": "0-1", "1": "many", "2": "2"}}, "$.cpus.1"),
    ],
    ids=[
        *("one GPU", "no round", "a path", "an unknown GPU", "one folder twice"),
        *("none at once", "no CPUs"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(
    folder: Path, tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    if "members" in change:
        change = {"members": [replace(m, at_once=bool(m.at_once)) for m in change["members"]]}
    broken = replace(load_survey(folder), **change)
    (tmp_path / "survey.json").write_text(dump_document(broken), encoding="utf-8")
    with pytest.raises(DocumentError, match=r"survey\.json") as caught:
        load_survey(tmp_path)
    assert named in str(caught.value)
