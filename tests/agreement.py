"""The judge of whether `make doctor` and `make bench` agree about a machine.

Both are given what the commands themselves printed; nothing here knows how either comes to its answer.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suite.host.doctor.finding import shorten_uuids

REMEDY = "  what to do: "
"""What stands before a remedy on standard error."""


CELLS_FAILED = 1
"""The exit status of a campaign that ran, and some cell of it failed."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a command ended: its exit status, and what it said on standard error."""

    status: int
    said: str

    @property
    def remedy(self) -> str:
        """What it told people to do, in one line and with UUIDs as the doctor has them."""
        _, found, told = f"\n{self.said}".rpartition(f"\n{REMEDY}")
        return _one_line(told) if found else ""

    @property
    def broke(self) -> bool:
        """Whether the command itself broke down; one that refuses may quote what another said."""
        refuses = any(line.startswith("crossover: ") for line in self.said.splitlines())
        return "Traceback (most recent call last)" in self.said and not refuses


def find_disagreements(
    diagnosis: Mapping[str, Any], bench: Outcome, *, unseen: str = ""
) -> list[str]:
    """What the doctor's JSON and the end of bench differ in, in words; empty: they agree.

    ``unseen`` is why no look beforehand could see what was planted; bench then has to end with 1,
    after a doctor who found nothing.
    """
    status = diagnosis["status"]
    found = _find_contradictions(diagnosis)
    if bench.broke:
        found.append(f"bench broke down: {_last_line(bench.said)}")
    if status == 0:
        wanted = CELLS_FAILED if unseen else 0
        if bench.status != wanted:
            why = f" ({unseen})" if unseen else ""
            found.append(
                f"the doctor says 0, and bench ends with {bench.status}, not {wanted}{why}"
            )
        return found
    if unseen:
        found.append(f"the doctor says {status} of what none could see: {unseen}")
    if bench.status != status:
        found.append(f"the doctor says {status}, and bench ends with {bench.status}")
    elif status == CELLS_FAILED:
        return found  # it ran, and its report says why
    elif not bench.remedy:
        found.append("bench refuses without a remedy")
    else:
        given = [_one_line(one["remedy"]) for one in diagnosis["checks"] if one["stops"] == status]
        if bench.remedy not in given:
            found.append(f"bench's remedy {bench.remedy!r} is none of the doctor's {given}")
    return found


def compare(
    doctor: subprocess.CompletedProcess[str],
    bench: subprocess.CompletedProcess[str],
    *,
    unseen: str = "",
) -> list[str]:
    """As `find_disagreements`, of two commands that have ended: the doctor's with ``--json``.

    A doctor who refuses the words of the command prints no JSON; what it says then counts as bench's.
    """
    heard = Outcome(status=bench.returncode, said=bench.stderr)
    own = Outcome(status=doctor.returncode, said=doctor.stderr)
    if own.broke:
        return [f"the doctor broke down: {_last_line(own.said)}"]
    try:
        diagnosis = json.loads(doctor.stdout)
    except ValueError:
        if own.status == 0:
            return ["the doctor ends with 0 and prints no JSON"]
        line = {"id": "command", "state": "no", "remedy": own.remedy, "stops": own.status}
        diagnosis = {"status": own.status, "checks": [line]}
    found = find_disagreements(diagnosis, heard, unseen=unseen)
    if diagnosis["status"] != own.status:
        found.append(f"the doctor prints {diagnosis['status']} and ends with {own.status}")
    return found


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
