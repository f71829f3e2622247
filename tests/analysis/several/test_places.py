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
from suite.analysis.analyse import analyse
from suite.analysis.documents.read import load_campaign, load_survey
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.several import Surveyed
from suite.analysis.several.places import compare_gpus, drop_unpaired, find_overlap, middle, pool
from suite.errors import DocumentError
from suite.flags import raise_flag
from suite.model import Survey, SurveyMember
from suite.report.pages.places import compose_survey
from suite.report.render.markdown import render_page
from suite.wire import SCHEMA, dump_document
from tests import synthetic
from tests.changes import invoke, plant
from tests.fakes.hosts import QUIET
from tests.flagging import codes
from tests.rendering import report_survey
from tests.report import campaigns

PRODUCT = "matmul.square/n=1000/precision=fp32/operands=device/xla=off"
BATCH = "mlp.train/net=A/batch=512/data=device/precision=fp32"
GPUS = ("0", "1", "2")
EQUAL = {"0": 1.0, "1": 1.0}


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
    for busy, factors in ((False, alone), (True, at_once)):
        for place, (gpu, factor) in enumerate(factors.items()):
            name = f"box-gpu{gpu}" + ("-at-once" if busy else "")
            campaign = synthetic.make_campaign(arms=["cuda"], blocks=blocks, seed=place + 10 * busy)
            campaign = replace(
                campaign,
                id=name,
                survey="box",
                at_once=len(at_once) if busy else 1,
                calibrated_by=f"box-gpu{gpu}" if busy else None,
                created=campaign.created + timedelta(seconds=apart_s * place if busy else 0.0),
            )
            truth = synthetic.slow_down(factor)
            documents = synthetic.make_documents(
                campaign, truth=truth, host=QUIET, calibration=not busy
            )
            synthetic.write_campaign(results / name, campaign, documents)
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
        members=[
            SurveyMember(gpu=gpu, at_once=busy, campaign=f"box-gpu{gpu}" + "-at-once" * busy)
            for busy in (False, True)
            for gpu in alone
        ],
        suite=synthetic.SUITE,
        command="make bench GPU=all SEED=7",
    )
    (results / "box").mkdir(parents=True)
    change(results / "box", survey)
    return results / "box"


def change(folder: Path, survey: Survey, **fields: Any) -> None:
    text = dump_document(replace(survey, **fields))
    (folder / "survey.json").write_text(text, encoding="utf-8")


def load(folder: Path) -> tuple[Survey, dict[str, Any]]:
    """The survey and the campaigns that there are, as loaded."""
    survey = load_survey(folder)
    names = [one.campaign for one in survey.members if (folder.parent / one.campaign).exists()]
    return survey, {name: load_campaign(folder.parent / name) for name in names}


def study(folder: Path) -> Surveyed:
    survey, loaded = load(folder)
    return compare_gpus(survey, {name: analyse(one) for name, one in loaded.items()})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """GPU 2 takes 8 % more time than the others; at once, all take 1.25 times as long."""
    return write_survey(
        tmp_path_factory.mktemp("survey"),
        alone={"0": 1.0, "1": 1.0, "2": 1.08},
        at_once={"0": 1.25, "1": 1.25, "2": 1.35},
    )


@pytest.fixture(scope="module")
def found(folder: Path) -> Surveyed:
    return study(folder)


def verdict(contrast: Any, name: str) -> str:
    return str(contrast.verdicts[name].name)


def test_a_slower_gpu_and_a_busy_machine_are_told_from_their_equals(
    folder: Path, found: Surveyed
) -> None:
    assert list(found.apart) == ["1", "2"]
    assert verdict(found.apart["1"], PRODUCT) == "EQUIVALENT"
    assert verdict(found.apart["2"], PRODUCT) == "SLOWER"
    assert found.apart["2"].sound[PRODUCT].value == pytest.approx(1.08, rel=0.01)
    assert found.spreads[PRODUCT] == pytest.approx(1.08, rel=0.01)
    for contrast in (*found.contention.values(), found.pooled):
        assert contrast.sound[BATCH].value == pytest.approx(1.25, rel=0.01)
    assert verdict(found.pooled, BATCH) == "SLOWER"
    _, loaded = load(folder)
    assert "others-at-work" in codes(analyse(loaded[found.at_once["0"]]).flags)
    assert "others-at-work" not in codes(found.flags)


def test_medians_are_over_cells_that_time_a_gpu_again_and_again(found: Surveyed) -> None:
    assert PRODUCT in found.on_gpu
    assert {"overhead.fence", "overhead.startup/stage=import"} & set(found.on_gpu) == set()
    assert not any(name.startswith(("tfdata", "asked")) for name in found.on_gpu)


def test_the_report_stands_alone_and_programs_get_it_unscaled(folder: Path) -> None:
    reported, survey = report_survey(folder), load_survey(folder)
    assert set(reported) == {"survey.md", "survey.html", "summary.json"}
    text = reported["survey.md"]
    assert text.startswith("# Crossover: the 3 GPUs of one machine — SIMULATED\n")
    for told in (
        *(f"| {member.campaign} " for member in survey.members),
        "1.25 times as long as alone in the median cell",
        # Three GPUs that each take 1.25 times as long do 2.4 times the work of one.
        "together they do 2.4 times the work of one",
        "two shares may lie on the same cores",
        "make bench GPU=all SEED=7",
    ):
        assert told in text
    told = json.loads(reported["summary.json"])
    cell = told["at_once_all"]["cells"][PRODUCT]
    assert cell["ratio"]["value"] == pytest.approx(1.25, rel=0.01)
    assert cell["verdict"]["name"] == "SLOWER"
    assert (set(told["apart"]), set(told["at_once"])) == ({"1", "2"}, set(GPUS))
    assert told["survey"]["suite"] == wire.plain(survey.suite)
    assert told["analysed_by"] == __version__
    assert report_survey(folder) == reported


def test_how_much_they_were_at_work_together_is_told(tmp_path: Path, found: Surveyed) -> None:
    assert (found.overlap or 0) > 0.9
    apart = write_survey(tmp_path, alone=EQUAL, at_once=EQUAL, blocks=3, apart_s=3600)
    assert study(apart).overlap == 0
    assert find_overlap([]) is find_overlap([{}]) is middle([]) is None
    assert pool([{1: 2.0, 2: 8.0}, {1: 8.0}]) == {1: pytest.approx(4.0)}


def test_a_survey_that_was_stopped_early_says_what_it_has(tmp_path: Path) -> None:
    folder = write_survey(tmp_path, alone=EQUAL, at_once={}, blocks=3)
    change(folder, load_survey(folder), stopped="after round 3: no time", whole_cores=True)
    text = report_survey(folder)["survey.md"]
    for told in (
        "What contention costs is not known yet.",
        "not begun",
        "**Stopped** after round 3: no",
    ):
        assert told in text
    assert "two shares may lie on the same cores" not in text


def test_a_turn_at_once_that_one_gpu_did_not_finish_counts_for_none(tmp_path: Path) -> None:
    folder = write_survey(tmp_path, alone=EQUAL, at_once={"0": 2.0, "1": 2.0}, blocks=6)
    survey, loaded = load(folder)

    # GPU 1 broke off in round 4, and in round 5 before its twin; what GPU 0 then had, it had alone.
    for gpu in ("0", "1"):
        name = f"box-gpu{gpu}-at-once"
        documents = list(loaded[name].documents)
        twins = plant(documents, invoke(arm="cuda-twin"))
        if gpu == "1":
            documents[3] = invoke(status="interrupted")(documents[3])
            del twins[4]
        loaded[name] = replace(loaded[name], documents=documents, controls=twins)
    kept, unpaired = drop_unpaired(survey, loaded)
    assert unpaired == (4, 5)
    assert kept["box-gpu1"] == loaded["box-gpu1"]
    for name in ("box-gpu0-at-once", "box-gpu1-at-once"):
        left = [one.invocation.block for one in (*kept[name].documents, *kept[name].controls)]
        assert left == [1, 2, 3, 6] * 2
    analyses = {name: analyse(one) for name, one in kept.items()}
    found = compare_gpus(survey, analyses, unpaired)
    assert found.pooled.sound[BATCH].n == found.contention["0"].sound[BATCH].n == 4
    assert "The turn at once of rounds 4, 5 does not count" in render_page(
        compose_survey(found, analyses)
    )


@pytest.mark.parametrize("profile", ["standard", "quick"])
def test_an_invalid_cell_counts_nowhere(folder: Path, profile: Any) -> None:
    survey, loaded = load(folder)
    summaries: dict[str, Analysis] = {
        name: analyse(replace(one, campaign=replace(one.campaign, profile=profile)))
        for name, one in loaded.items()
    }
    broken = summaries["box-gpu1-at-once"]
    steal = (raise_flag("steal", severity="invalid"),)
    summaries["box-gpu1-at-once"] = campaigns.change(broken, PRODUCT, "cuda", flags=steal)
    found = compare_gpus(survey, summaries)
    if profile == "standard":
        assert (
            verdict(found.contention["1"], PRODUCT) == verdict(found.pooled, PRODUCT) == "INVALID"
        )
        assert verdict(found.contention["0"], PRODUCT) == "SLOWER"
    assert PRODUCT not in found.of_gpu(found.pooled)
    # Struck also where the profile gives no verdicts: one GPU's factor and the mean.
    text = render_page(compose_survey(found, summaries))
    (row,) = [
        line for line in text.splitlines() if "n=1000/precision=fp32" in line and "~~" in line
    ]
    assert row.count("~~") == 4


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"gpus": ["0"]}, "$.gpus"),
        ({"rounds": 0}, "$.rounds"),
        ({"members": [("0", False, "../../etc")]}, "$.members[0].campaign"),
        ({"members": [("0", False, "a"), ("0", True, "a")]}, "$.members[1].campaign"),
        ({"members": [("9", False, "a")]}, "$.members"),
        ({"members": [(gpu, False, f"c{gpu}") for gpu in GPUS]}, "$.members"),
        ({"cpus": {"0": "0-1", "1": "many", "2": "2"}}, "$.cpus.1"),
    ],
    ids=["one GPU", "no round", "a path", "twice", "an unknown GPU", "none at once", "no CPUs"],
)
def test_a_plan_that_makes_no_sense_is_refused(
    folder: Path, tmp_path: Path, changed: dict[str, Any], named: str
) -> None:
    if "members" in changed:
        names = ("gpu", "at_once", "campaign")
        members = [SurveyMember(**dict(zip(names, m, strict=True))) for m in changed["members"]]
        changed = {"members": members}
    change(tmp_path, load_survey(folder), **changed)
    with pytest.raises(DocumentError, match=r"survey\.json") as caught:
        load_survey(tmp_path)
    assert f" {named}: " in str(caught.value)
