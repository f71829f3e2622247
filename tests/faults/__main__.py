"""Plants faults in campaigns at random moments, and prints what became of them.

``python -m tests.faults [COUNT [SEED]]``: exit status 1 where anything that must hold did not.
``--write`` writes ``docs/faults.md``; with ``--only`` it adds to what is there.
"""

from __future__ import annotations

import argparse
import queue
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from tests.fakes import daemons
from tests.faults.acts import compile_interposed
from tests.faults.faults import BOTH, DONE, FAULTS, Fault
from tests.faults.page import Outcome, render, write_page
from tests.faults.places import Docker, Place
from tests.faults.trials import SOON_S, End, Trial

COUNT = 250
AT_ONCE = 4
"""Trials beside each other: on two CPUs, since each waits about as long as it computes."""

MEASURES = 0.8
"""How much of its time a campaign measures, before its last report: faults come by then."""

Places = dict[str, Place]
"""Where trials of one after the other run, by name."""


def main() -> int:
    given = read_arguments()
    # Else the engines would outlive it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    say(f"{given.count} faults with seed {given.seed}")
    with tempfile.TemporaryDirectory(prefix="crossover-faults-") as name, ExitStack() as undo:
        folder = Path(name)
        if shutil.which("gcc"):
            compile_interposed(folder)
        rows = list_rows(given.only)
        lanes: list[Places] = [{"local": Place()} for _ in range(given.at_once)]
        for lane in lanes if any(engine == "docker" for _, engine in rows) else ():
            docker = lane["docker"] = Docker()
            undo.callback(docker.remove)
        order = list(islice(cycle(random.Random(given.seed).sample(rows, len(rows))), given.count))
        free: queue.SimpleQueue[Places] = queue.SimpleQueue()
        for lane in lanes:
            free.put(lane)

        expected = {
            engine: measure_undisturbed(folder / engine, lanes[0][engine])
            for engine in sorted({engine for _, engine in rows})
        }

        def run(number: int, fault: Fault, engine: str) -> Outcome:
            place, draw = folder / str(number), random.Random(f"{given.seed}/{number}")
            lane = free.get()
            try:
                outcome = try_fault(fault, place, draw, lane[engine], expected[engine])
            except Exception as error:  # noqa: BLE001  told as what it is, and the others go on
                why = f"could not be tried: {error!r}"
                outcome = Outcome(fault=fault.name, engine=engine, wrong=(why,))
            finally:
                free.put(lane)
            wrong = "".join(f"\n    {text}" for text in outcome.wrong)
            say(f"{number} {fault.name} ({engine}): {outcome.status}{wrong}")
            shutil.rmtree(place, ignore_errors=True)
            return outcome

        with ThreadPoolExecutor(len(lanes)) as pool:
            begun = [pool.submit(run, number, *row) for number, row in enumerate(order)]
            try:
                outcomes = [future.result() for future in begun]
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    sys.stdout.write(render(outcomes))
    if given.write:
        write_page(outcomes, given.seed, SOON_S, given.only)
    return int(any(outcome.wrong for outcome in outcomes))


def read_arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("count", nargs="?", type=int, default=COUNT)
    parser.add_argument("seed", nargs="?", type=int)
    parser.add_argument("--only", default="", help="faults with these words in name or engine")
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="trials beside each other")
    parser.add_argument(
        "--write", action="store_true", help="write docs/faults.md, or with --only add to it"
    )
    given = parser.parse_args()
    if given.seed is None:
        given.seed = random.SystemRandom().randrange(2**31)
    return given


def say(line: str) -> None:
    """A line, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def list_rows(only: str) -> list[tuple[Fault, str]]:
    """What can be tried here: each fault on each of its engines."""
    for fault in FAULTS:
        if fault.needs is not None and not shutil.which(fault.needs):
            say(f"not tried, for want of {fault.needs}: {fault.name}")
    why_not = daemons.why_not()
    if why_not is not None:
        say(f"not tried, on the docker engine: {why_not}")
    engines = BOTH if why_not is None else ("local",)
    return [
        (fault, engine)
        for fault in FAULTS
        for engine in engines
        if engine in fault.engines
        and (fault.needs is None or shutil.which(fault.needs))
        and only in f"{fault.name} ({engine})"
    ]


@dataclass(frozen=True, kw_only=True)
class Undisturbed:
    """What a campaign comes to that nothing happens to, and how long it lasts from its plan on."""

    result: dict[str, Any]
    seconds: float


def measure_undisturbed(folder: Path, place: Place) -> Undisturbed:
    """A campaign that nothing happens to.

    Raises:
        RuntimeError: it does not end well by itself.
    """
    trial = Trial(folder=folder, draw=random.Random(0), place=place)
    trial.start()
    trial.wait_for_plan()
    trial.mark()
    end = trial.wait()
    lost, left = trial.lost(end), trial.left_behind()
    if end.status != 0 or lost or left or not trial.kept():
        raise RuntimeError(f"undisturbed: {end}, {lost} cells lost, left behind: {left}")
    if not place.told(folder, end.at):
        raise RuntimeError("nobody hears what the worker tells")
    say(f"undisturbed ({place.name}): {end.seconds:.0f} s")
    return Undisturbed(result=trial.result(), seconds=end.seconds)


def try_fault(
    fault: Fault, folder: Path, draw: random.Random, place: Place, expected: Undisturbed
) -> Outcome:
    """A campaign with the fault, then `RESUME` without it, held to all that must hold."""
    trial = Trial(folder=folder, draw=draw, place=place)
    with trial.undo:
        if fault.before:
            fault.before(trial)
        trial.start()
        if fault.during and trial.wait_for_plan():
            time.sleep(draw.uniform(0, MEASURES * expected.seconds))
            trial.mark()
            fault.during(trial)
        end = trial.wait()
        may_leave = fault.leaves and end.status != 0
        left = [] if may_leave else trial.left_behind()
        lost = trial.lost(end)
        wrong = list(judge(fault, lost, left, end))
        if end.status == 0 and fault.statuses == DONE:
            wrong += compare("the campaign", trial, expected)
        if fault.after:
            fault.after(trial)
    wrong += resume(fault, trial, expected)
    lines = [line for line in end.err.splitlines() if line.startswith("crossover: ")]
    return Outcome(
        fault=fault.name,
        engine=place.name,
        status=end.status,
        lost=lost,
        left=len(left),
        seconds=end.seconds,
        message=lines[-1].removeprefix("crossover: ") if lines else "",
        wrong=tuple(wrong),
    )


def judge(fault: Fault, lost: int, left: list[str], end: End) -> Iterator[str]:
    """What must not be once the command has ended."""
    if end.status not in fault.statuses:
        yield f"ended with {end.status}: {end.err[-500:]}"
    if "Traceback" in end.err:
        yield f"a traceback: {end.err[-1500:]}"
    if lost > fault.cells:
        yield f"{lost} cells lost"
    if end.status in {130, -9} and end.seconds > SOON_S:
        yield f"ended after {end.seconds:.0f} s"
    if left:
        yield f"left behind: {', '.join(left)}"
    # Rows end with 1 for a cell that has failed, which the report tells.
    if end.status not in {0, 1, -9} and "crossover: " not in end.err:
        yield f"nothing said of {end.status}"


def resume(fault: Fault, trial: Trial, expected: Undisturbed) -> Iterator[str]:
    """What must not be after `RESUME`."""
    if not trial.plans:
        return
    end = trial.resume()
    if end.status not in fault.resumed:
        yield f"RESUME ended with {end.status}: {end.err[-500:]}"
    if "Traceback" in end.err:
        yield f"RESUME, a traceback: {end.err[-1500:]}"
    if left := trial.left_behind():
        yield f"left behind after RESUME: {', '.join(left)}"
    if end.status == 0:
        yield from compare("RESUME", trial, expected)


def compare(what: str, trial: Trial, expected: Undisturbed) -> Iterator[str]:
    """Where the result is another than that of a campaign that nothing happened to."""
    result = trial.result()
    differing = [
        name
        for name in {**expected.result, **result}
        if result.get(name) != expected.result.get(name)
    ]
    if differing:
        first = differing[0]
        yield (
            f"{what} came to another result than undisturbed, in {len(differing)} cells: "
            f"{first}: {result.get(first)} in place of {expected.result.get(first)}"
        )


if __name__ == "__main__":
    sys.exit(main())
