"""The judge of doctor and bench can fail: each way to disagree is shown to it once."""

from __future__ import annotations

import json
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.agreement import compare

REMEDY = "start it, and ask again"
REFUSED = f"a line before\ncrossover: no engine is here\n  what to do: {REMEDY}\n"


def line(state: str = "yes", stops: int = 0, **more: Any) -> dict[str, Any]:
    remedy = REMEDY if state == "no" else ""
    return {"id": "engine", "state": state, "text": "so it is", "remedy": remedy, **more} | {
        "stops": stops
    }


def diagnosis(*lines: dict[str, Any], status: int | None = None) -> dict[str, Any]:
    lines = lines or (line(),)
    stops = next((line["stops"] for line in lines if line["stops"]), 0)
    return {"status": stops if status is None else status, "checks": list(lines)}


def ended(status: int, out: str = "", err: str = "") -> CompletedProcess[str]:
    return CompletedProcess([], status, out, err)


def judge(doctor: dict[str, Any], status: int, said: str, unseen: str = "") -> list[str]:
    return compare(
        ended(doctor["status"], json.dumps(doctor)), ended(status, err=said), unseen=unseen
    )


WELL = diagnosis()
ILL = diagnosis(line(), line("no", 3))
OTHER = diagnosis(line("no", 3, remedy="another"), line("no", remedy=REMEDY))
FAILED = "this check itself failed: x"
BROKE = "Traceback (most recent call last)\nKeyError: 1"


@pytest.mark.parametrize(
    ("doctor", "status", "said", "unseen"),
    [
        (WELL, 0, "measured", ""),
        (diagnosis(line("no")), 0, "", ""),
        (ILL, 3, REFUSED, ""),
        (WELL, 1, "", "a cell fails in its middle"),
        (ILL, 3, f"pip: Traceback (most recent call last)\n{REFUSED}", ""),
        (diagnosis(line("no", 1)), 1, "", ""),
    ],
)
def test_what_agrees_passes(doctor: dict[str, Any], status: int, said: str, unseen: str) -> None:
    assert judge(doctor, status, said, unseen) == []


@pytest.mark.parametrize(
    ("doctor", "status", "said", "unseen", "named"),
    [
        (WELL, 3, REFUSED, "", "says 0, and bench ends with 3"),
        (WELL, 3, "", "a cell fails", "says 0, and bench ends with 3, not 1"),
        (ILL, 4, REFUSED, "", "says 3, and bench ends with 4"),
        (ILL, 3, REFUSED, "a cell fails", "of what none could see"),
        (ILL, 3, "crossover: no\n", "", "without a remedy"),
        (ILL, 3, REFUSED.replace("start", "stop"), "", "is none of the doctor's"),
        (OTHER, 3, REFUSED, "", "is none of the doctor's ['another']"),
        (WELL, 0, BROKE, "", "bench broke down: KeyError"),
        (diagnosis(line("no", 3), status=4), 4, REFUSED, "", "its checks stop with 3"),
        (diagnosis(line("no", remedy="")), 0, "", "", "no without a remedy"),
        (diagnosis(line("unknown", 3)), 3, REFUSED, "", "is 'unknown'"),
        (diagnosis(line("unknown", text=FAILED)), 0, "", "", "check engine broke down"),
    ],
)
def test_what_disagrees_is_named(
    doctor: dict[str, Any], status: int, said: str, unseen: str, named: str
) -> None:
    disagreements = judge(doctor, status, said, unseen)
    assert any(named in text for text in disagreements), disagreements


def test_the_doctor_is_held_to_its_own_exit_status_and_words() -> None:
    (said,) = compare(ended(0, json.dumps(ILL)), ended(3, err=REFUSED))
    assert said == "the doctor prints 3 and ends with 0"
    assert compare(ended(2, err=REFUSED), ended(2, err=REFUSED)) == []
    assert compare(ended(2, err=REFUSED), ended(3, err=REFUSED))
    assert compare(ended(2, err=REFUSED), ended(2, err=REFUSED.replace("start", "stop")))
    assert compare(ended(0), ended(0)) == ["the doctor ends with 0 and prints no JSON"]
    assert compare(ended(1, err=BROKE), ended(1)) == ["the doctor broke down: KeyError: 1"]


def test_a_gpus_uuid_is_the_same_in_the_doctors_short_form() -> None:
    uuid = "GPU-11111111-2222-3333-4444-555555555555"
    doctor = diagnosis(line("no", 4, remedy="name GPU-11111111…"))
    said = f"crossover: no\n  what to do: name {uuid}\n"
    assert judge(doctor, 4, said) == []
