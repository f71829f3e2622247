"""`make doctor`: what this machine can run and why not, with the remedy for each "no".

Changes nothing, builds nothing, fetches nothing.  A check that breaks, or does not answer, is a line
that says so; it never takes the others with it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from suite import __version__
from suite.errors import CrossoverError, EngineError
from suite.host.doctor import engine, gpu, host, tensorflow
from suite.host.doctor.finding import Finding, Unknown, no, shorten_uuids, unknown
from suite.host.doctor.probe import Machine, Probe, Question
from suite.host.machine.output import MORE_PROCESSES

SCHEMA = 1
"""The number of the JSON that `--json` prints.  History: 1, November 2026, the first."""

LIMIT_S = 60.0
"""After so long the answers that are still missing are given up.  TensorFlow of a CUDA image that is read
for the first time took more than 12 s to start."""

Check = Callable[[Probe], Finding]

CHECKS: Mapping[str, Check] = {
    "python": engine.check_python,
    "rights": engine.check_rights,
    "engine": engine.check_engine,
    "architecture": host.check_architecture,
    "driver": gpu.check_driver,
    "toolkit": gpu.check_toolkit,
    "passthrough": gpu.check_passthrough,
    "capability": gpu.check_capability,
    "images": engine.check_images,
    "base": engine.check_base,
    "disk": engine.check_disk,
    "tensorflow": tensorflow.check_tensorflow,
    "idle-gpu": gpu.check_idle_gpu,
    "updates": host.check_updates,
    "load": host.check_load,
    "clock": host.check_clock,
    "cpu": host.check_cpu,
    "cloud": host.check_cloud,
    "expected": gpu.check_expected,
    "duration": host.check_duration,
}
"""Every check by its id, in the order in which `make bench` would come across them; the last ones
only say what to expect."""

DEMANDS = ("engine", "rights", "images", "base")
"""The checks of what ``make bench`` itself demands: where they meet an error, it would end with that."""

ALONE = "clock"
"""The check that runs before all others, since they would be the noise that it measures."""


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """What ``--json`` prints.

    ``status`` is the exit status: 0 where ``make bench`` would run, else the one that it would end
    with.  ``verdict`` says so in words; ``took_s`` is how long the looking took, in seconds.
    """

    schema: int
    suite: str
    status: int
    verdict: str
    took_s: float
    checks: list[Finding]


def examine(
    machine: Machine,
    question: Question,
    *,
    limit_s: float = LIMIT_S,
    checks: Mapping[str, Check] = CHECKS,
) -> Diagnosis:
    """Makes every check, all at once but for the one that has to be alone."""
    began = time.monotonic()
    probe = Probe(machine, question, began + limit_s)
    found: dict[str, Finding] = {}
    if ALONE in checks:
        found[ALONE] = make_check(ALONE, checks[ALONE], probe)

    def look(name: str, check: Check) -> None:
        found[name] = make_check(name, check, probe)

    # Daemons: a driver that hangs must not keep the answers of the others from being told.
    threads = [
        threading.Thread(target=look, args=(name, check), daemon=True)
        for name, check in checks.items()
        if name != ALONE
    ]
    try:
        for thread in threads:
            thread.start()
    except RuntimeError as error:
        raise EngineError(f"nothing can be looked at: {error}", MORE_PROCESSES) from error
    for thread in threads:
        thread.join(max(0.0, began + limit_s - time.monotonic()))
    late = unknown(f"no answer within {limit_s:.0f} s", "run it again; `dmesg` may say what hangs")
    given = dict(found)
    lines = [_hide_uuids(name, _try(given.get(name, late), given)) for name in checks]
    status = next((line.stops for line in lines if line.stops), 0)
    return Diagnosis(
        schema=SCHEMA,
        suite=__version__,
        status=status,
        verdict=_judge(lines, status),
        took_s=round(time.monotonic() - began, 3),
        checks=lines,
    )


def diagnosis_schema() -> dict[str, Any]:
    """The JSON Schema of what ``--json`` prints."""
    (reference,), definitions = msgspec.json.schema_components(
        [Diagnosis], ref_template="#/$defs/{name}"
    )
    for definition in definitions.values():
        definition["description"] = " ".join(definition.get("description", "").split())
    definitions["Diagnosis"]["properties"]["schema"] = {"const": SCHEMA}
    definitions["Finding"]["properties"]["id"] = {"enum": list(CHECKS)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What `make doctor` finds, as JSON",
        **reference,
        "$defs": definitions,
    }


def make_check(name: str, check: Check, probe: Probe) -> Finding:
    """One check's finding; whatever goes wrong in it is a finding, too."""
    try:
        return check(probe)
    except CrossoverError as error:
        if name in DEMANDS and not isinstance(error, Unknown):
            return no(error.what, error.remedy, stops=error.exit_status)
        return unknown(error.what, error.remedy)
    except Exception as error:  # noqa: BLE001  the others' answers are worth more than this one's
        said = " ".join(str(error).split())[:200]
        return unknown(f"this check itself failed: {type(error).__name__}: {said}")


def _try(finding: Finding, found: Mapping[str, Finding]) -> Finding:
    """The finding; where it was only reasoned and a trial went well, that it is none: what works is no
    fault."""
    tried = found.get(finding.unless)
    if tried is None or tried.state != "yes":
        return finding
    text = f"{finding.text}; but it works anyway (see {finding.unless})"
    return replace(finding, state="not-applicable", text=text, remedy="", stops=0)


def _hide_uuids(name: str, finding: Finding) -> Finding:
    """The finding of that check as it is printed: a GPU's full UUID is never shown."""
    facts = {
        key: shorten_uuids(value) if isinstance(value, str) else value
        for key, value in finding.facts.items()
    }
    text, remedy = shorten_uuids(finding.text), shorten_uuids(finding.remedy)
    return replace(finding, id=name, text=text, remedy=remedy, facts=facts)


def _judge(lines: list[Finding], status: int) -> str:
    stopping = [line.id for line in lines if line.stops]
    wrong = [line.id for line in lines if line.state == "no" and not line.stops]
    mind = f"; warnings: {', '.join(wrong)}" if wrong else ""
    if status:
        return f"`make bench` would end with exit status {status}: {', '.join(stopping)}{mind}"
    return f"`make bench` would run{mind}"
