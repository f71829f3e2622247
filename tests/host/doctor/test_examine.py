"""All checks at once: none takes the others with it, and what works is no fault."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from suite import codec
from suite.fingerprint import SUITE
from suite.host.doctor import examine as doctor
from suite.host.doctor.examine import CHECKS, examine
from suite.host.doctor.finding import Finding, no, not_applicable, unknown, yes
from suite.host.doctor.probe import Machine, Probe, Question, Ran
from tests.fakes.doctor_machine import GB, FakeExamined, diagnose, line, make_machine, marks


def always(finding: Finding) -> doctor.Check:
    return lambda _: finding


@pytest.fixture
def hang() -> Any:
    """A check that answers when nobody listens any more."""
    release = threading.Event()

    def check(_: Probe) -> Finding:
        release.wait(30)
        return yes("late")

    yield check
    release.set()


def run(checks: dict[str, doctor.Check], limit_s: float = 5.0) -> doctor.Diagnosis:
    machine = Machine(open_engine=FakeExamined, root=Path("/nowhere"), run=lambda *_: None)
    asked = Question(results=Path("results"), cells=[])
    return examine(machine, asked, limit_s=limit_s, checks=checks)


REASONED = no("it can't work", "mend it", stops=4, unless="trial", way="cdi")


@pytest.mark.parametrize(
    "tried",
    [yes("it computes"), no("no", "x"), unknown("not built"), not_applicable("no GPU"), None],
    ids=lambda tried: tried.state if tried else "late",
)
def test_what_works_when_it_is_tried_is_no_fault(tried: Finding | None, hang: doctor.Check) -> None:
    checks = {"reason": always(REASONED), "other": always(yes("it works"))}
    checks["trial"] = hang if tried is None else always(tried)
    found = run(checks, limit_s=0.2 if tried is None else 5.0)
    one = line(found, "reason")
    assert found.status == one.stops
    assert one.facts == {"way": "cdi"}
    if tried and tried.state == "yes":
        assert (one.state, one.stops, one.remedy) == ("not-applicable", 0, "")
        assert one.text == "it can't work; but it works anyway (see trial)"
    else:
        assert (one.state, one.stops, one.remedy) == ("no", 4, "mend it")
        assert one.text == "it can't work"


def test_a_check_that_breaks_is_a_line_of_its_own(tmp_path: Path) -> None:
    class Strange(FakeExamined):
        def describe(self) -> dict[str, Any]:
            raise ZeroDivisionError("nobody\nthought of this")

    programs: dict[str, Ran | Exception | Callable[[], Ran]] = {
        "systemctl is-active": OSError("no")
    }
    found = diagnose(make_machine(tmp_path, Strange(), programs=programs))
    said = line(found, "engine")
    assert (said.state, said.stops) == ("unknown", 0)
    assert said.text == "this check itself failed: ZeroDivisionError: nobody thought of this"
    assert (marks(found)["updates"], marks(found)["disk"]) == ("?", "+")


def test_an_engine_that_is_no_error_of_ours_is_no_traceback(tmp_path: Path) -> None:
    found = diagnose(make_machine(tmp_path, RuntimeError("what is this")))
    assert marks(found)["engine"] == "?"


def test_what_hangs_is_given_up_and_the_rest_is_told(hang: doctor.Check) -> None:
    began = time.monotonic()
    found = run({"python": CHECKS["python"], "driver": hang}, limit_s=0.2)
    assert time.monotonic() - began < 5
    assert marks(found) == {"python": "+", "driver": "?"}
    assert "no answer within" in line(found, "driver").text


def test_the_engine_is_opened_once(tmp_path: Path) -> None:
    opened = []
    machine = make_machine(tmp_path, FakeExamined())

    def count() -> Any:
        opened.append(1)
        time.sleep(0.05)
        return machine.open_engine()

    diagnose(replace(machine, open_engine=count))
    assert opened == [1]


def test_the_clock_is_looked_at_before_anything_else() -> None:
    order: list[str] = []

    def note(name: str) -> doctor.Check:
        return lambda _: order.append(name) or yes(name)  # type: ignore[func-returns-value]

    run({name: note(name) for name in ("python", "load", "clock")})
    assert order[0] == "clock"


def test_json_is_as_its_schema_says(tmp_path: Path) -> None:
    schema = json.loads((SUITE.parent / "docs" / "doctor-schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    troubled = diagnose(make_machine(tmp_path, FakeExamined(), free=GB))
    printed = json.loads(json.dumps(codec.plain(troubled)))
    validator.validate(printed)
    assert [one["id"] for one in printed["checks"]] == list(CHECKS)
    assert set(printed) == {"schema", "suite", "status", "verdict", "took_s", "checks"}
    assert set(printed["checks"][0]) == {
        "id",
        "state",
        "text",
        "remedy",
        "stops",
        "unless",
        "facts",
    }
    assert not validator.is_valid({**printed, "status": "three"})
