"""Plants faults in campaigns at random moments, and prints what became of them.

``python -m tests.faults [COUNT [SEED]]``: exit status 1 where anything that must hold did not.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from tabulate import tabulate

from tests.faults.faults import DONE, FAULTS, Fault
from tests.faults.trials import SOON_S, End, Trial

COUNT = 250
LASTS_S = 8.0
"""About as long as a campaign lasts: a fault comes before that."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a campaign: what must not be (``wrong``), and what the table tells."""

    fault: str
    status: int | None
    lost: int
    seconds: float
    message: str
    wrong: tuple[str, ...]


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(2**31)
    there = [one for one in FAULTS if one.needs is None or shutil.which(one.needs)]
    for one in FAULTS:
        if one not in there:
            sys.stdout.write(f"not tried, for want of {one.needs}: {one.name}\n")
    sys.stdout.write(f"{count} faults with seed {seed}\n")
    with tempfile.TemporaryDirectory(prefix="crossover-faults-") as name:
        folder = Path(name)
        expected = measure_undisturbed(folder / "undisturbed")
        order = list(islice(cycle(random.Random(seed).sample(there, len(there))), count))

        def run(number: int, fault: Fault) -> Outcome:
            draw = random.Random(f"{seed}/{number}")
            found = try_fault(fault, folder / str(number), draw, expected)
            told = "".join(f"\n    {one}" for one in found.wrong)
            sys.stdout.write(f"{number} {fault.name}: {found.status}{told}\n")
            sys.stdout.flush()
            if not found.wrong:
                shutil.rmtree(folder / str(number))
            return found

        outcomes = [run(number, fault) for number, fault in enumerate(order)]
    sys.stdout.write(render(outcomes))
    return int(any(one.wrong for one in outcomes))


def measure_undisturbed(folder: Path) -> dict[str, Any]:
    """What a campaign comes to that nothing happens to.

    Raises:
        RuntimeError: it does not end well by itself.
    """
    trial = Trial(folder=folder, draw=random.Random(0))
    trial.start()
    end = trial.wait()
    if end.status != 0:
        raise RuntimeError(f"undisturbed it ended with {end.status}: {end.err}")
    return trial.result()


def try_fault(fault: Fault, folder: Path, draw: random.Random, expected: dict[str, Any]) -> Outcome:
    """A campaign with the fault, then `RESUME` without it, held to all that must hold."""
    trial = Trial(folder=folder, draw=draw)
    if fault.before:
        fault.before(trial)
    trial.start()
    if fault.during and trial.wait_for_plan():
        time.sleep(draw.uniform(0, LASTS_S))
        trial.mark()
        fault.during(trial)
    end = trial.wait()
    lost = max(0, sum((trial.told() - trial.kept()).values()))
    wrong = list(judge(fault, trial, lost, end))
    if end.status == 0 and fault.statuses == DONE and trial.result() != expected:
        wrong.append("it came to another result than a campaign that nothing happened to")
    if fault.after:
        fault.after(trial)
    wrong += resume(fault, trial, expected)
    lines = [line for line in end.err.splitlines() if line.startswith("crossover: ")]
    return Outcome(
        fault=fault.name,
        status=end.status,
        lost=lost,
        seconds=end.seconds,
        message=lines[-1].removeprefix("crossover: ") if lines else "",
        wrong=tuple(wrong),
    )


def judge(fault: Fault, trial: Trial, lost: int, end: End) -> Iterator[str]:
    """What must not be once the command has ended."""
    if end.status not in fault.statuses:
        yield f"ended with {end.status}: {end.err[-500:]}"
    if "Traceback" in end.err:
        yield f"a traceback: {end.err[-1500:]}"
    if lost > fault.cells:
        yield f"{lost} cells lost"
    if end.status in {130, -9} and end.seconds > SOON_S:
        yield f"ended after {end.seconds:.0f} s"
    if end.status != -9 and (left := trial.left_behind()):
        yield f"left behind: {', '.join(left)}"


def resume(fault: Fault, trial: Trial, expected: dict[str, Any]) -> Iterator[str]:
    """What must not be after `RESUME`."""
    try:
        trial.campaign  # noqa: B018  whether there is one
    except FileNotFoundError:
        return
    end = trial.resume()
    if end.status not in fault.resumed:
        yield f"RESUME ended with {end.status}: {end.err[-500:]}"
    if "Traceback" in end.err:
        yield f"RESUME, a traceback: {end.err[-1500:]}"
    if left := trial.left_behind():
        yield f"left behind after RESUME: {', '.join(left)}"
    if end.status == 0 and trial.result() != expected:
        yield "RESUME came to another result than a campaign that nothing happened to"


def render(outcomes: list[Outcome]) -> str:
    """A row for each fault."""
    rows = []
    for name in sorted({one.fault for one in outcomes}):
        found = [one for one in outcomes if one.fault == name]
        statuses = sorted({str(one.status) for one in found})
        messages = sorted({one.message for one in found if one.message}, key=len)
        rows.append(
            [
                name,
                len(found),
                max(one.lost for one in found),
                sum(bool(one.wrong) for one in found),
                f"{max(one.seconds for one in found):.0f} s",
                ", ".join(statuses),
                messages[0][:90] if messages else "",
            ]
        )
    heads = ["fault", "times", "cells lost", "wrong", "longest to the end", "status", "message"]
    return tabulate(rows, headers=heads, tablefmt="github") + "\n"


if __name__ == "__main__":
    sys.exit(main())
