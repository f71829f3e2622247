"""The judge of whether `make doctor` and `make bench` agree about a machine.

Both are given what the commands themselves printed; nothing here knows how either comes to its answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from subprocess import CompletedProcess
from typing import Any

from suite.host.doctor.finding import shorten_uuids

REMEDY = "  what to do: "
"""What stands before a remedy on standard error."""


CELLS_FAILED = 1
"""The exit status of a campaign that ran, and some cell of it failed."""


def compare(
    doctor: CompletedProcess[str], bench: CompletedProcess[str], *, unseen: str = ""
) -> list[str]:
    """What the doctor's JSON and the end of bench differ in, in words; empty: they agree.

    ``unseen`` is why no look beforehand could see what was planted; bench then has to end with 1,
    after a doctor who found nothing.  A doctor who refuses the words of the command prints no JSON; what it
    says then counts as bench's.
    """
    if _broke(doctor.stderr):
        return [f"the doctor broke down: {_last_line(doctor.stderr)}"]
    try:
        diagnosis = json.loads(doctor.stdout)
    except ValueError:
        status = doctor.returncode
        if status == 0:
            return ["the doctor ends with 0 and prints no JSON"]
        remedy = _find_remedy(doctor.stderr)
        line = {"id": "command", "state": "no", "remedy": remedy, "stops": status}
        diagnosis = {"status": status, "checks": [line]}
    found = [*_find_contradictions(diagnosis), *_find_disagreements(diagnosis, bench, unseen)]
    if diagnosis["status"] != doctor.returncode:
        found.append(f"the doctor prints {diagnosis['status']} and ends with {doctor.returncode}")
    return found


def _find_disagreements(
    diagnosis: Mapping[str, Any], bench: CompletedProcess[str], unseen: str
) -> Iterator[str]:
    status = diagnosis["status"]
    if _broke(bench.stderr):
        yield f"bench broke down: {_last_line(bench.stderr)}"
    if status == 0:
        wanted = CELLS_FAILED if unseen else 0
        if bench.returncode != wanted:
            why = f" ({unseen})" if unseen else ""
            ended = f"bench ends with {bench.returncode}"
            yield f"the doctor says 0, and {ended}, not {wanted}{why}"
        return
    if unseen:
        yield f"the doctor says {status} of what none could see: {unseen}"
    remedy = _find_remedy(bench.stderr)
    if bench.returncode != status:
        yield f"the doctor says {status}, and bench ends with {bench.returncode}"
    elif status == CELLS_FAILED:
        return  # it ran, and its report says why
    elif not remedy:
        yield "bench refuses without a remedy"
    else:
        given = [_one_line(one["remedy"]) for one in diagnosis["checks"] if one["stops"] == status]
        if remedy not in given:
            yield f"bench's remedy {remedy!r} is none of the doctor's {given}"


def _find_remedy(said: str) -> str:
    """What a command told people to do, in one line and with UUIDs as the doctor has them."""
    _, found, told = f"\n{said}".rpartition(f"\n{REMEDY}")
    return _one_line(told) if found else ""


def _broke(said: str) -> bool:
    """Whether a command itself broke down; one that refuses may quote what another said."""
    refuses = any(line.startswith("crossover: ") for line in said.splitlines())
    return "Traceback (most recent call last)" in said and not refuses


def _find_contradictions(diagnosis: Mapping[str, Any]) -> list[str]:
    """What a diagnosis says against itself."""
    lines: Sequence[Mapping[str, Any]] = diagnosis["checks"]
    found = []
    first = next((one["stops"] for one in lines if one["stops"]), 0)
    if first != diagnosis["status"]:
        found.append(
            f"the doctor's status is {diagnosis['status']}, and its checks stop with {first}"
        )
    for one in lines:
        if one["state"] == "no" and not one["remedy"]:
            found.append(f"the doctor's check {one['id']} says no without a remedy")
        if one["stops"] and one["state"] != "no":
            found.append(f"the doctor's check {one['id']} stops bench and is {one['state']!r}")
        if "this check itself failed" in one.get("text", ""):
            found.append(f"the doctor's check {one['id']} broke down: {one['text']}")
    return found


def _one_line(text: str) -> str:
    return shorten_uuids(" ".join(text.split()))


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]
