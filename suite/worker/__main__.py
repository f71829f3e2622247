"""The worker's commands ``describe``, ``measure``, ``script`` and ``why``: arguments in, JSON records out.

The image's entry point.  Records: ``hello``, ``startup``, ``facts``, ``cell_started``, ``cell``,
``bye``; ``refused`` where this container can't be the arm, ``unfit`` where its TensorFlow is
too old, or can't say where work ran.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from suite import __version__, codec
from suite.clock import now
from suite.model import AT_END, FINE, Scalar
from suite.worker.session.channel import Channel
from suite.worker.session.startup import Refused

if TYPE_CHECKING:
    from suite.worker.session.cell import Request
    from suite.worker.session.session import Runner

CPU = "/CPU:0"

SCRIPT_VARIABLE = "CROSSOVER_SCRIPT"
"""The environment variable that names the folder of a person's script."""

EXIT_REFUSED = 4
"""The worker's exit status where the arm can't be had: the same number as the suite's own."""

EXIT_UNFIT = 3
"""The worker's exit status where this TensorFlow can't carry it: as the suite's own for an engine."""

EXIT_LOST = 7
"""The worker's exit status where the GPU went away while it measured."""


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m suite.worker",
        description="Measures cells in this process and writes one JSON record a line.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    describe = commands.add_parser("describe", help="start TensorFlow and say what is here")
    measure = commands.add_parser("measure", help="measure cells, in the order given")
    script = commands.add_parser(
        "script", help="run the script of these cells, which share a process"
    )
    why = commands.add_parser(
        "why", help="run a person's script, as it is or with one thing changed"
    )
    for command in (describe, measure, script, why):
        command.add_argument(
            "--gpu",
            action="store_true",
            help="on the GPU, or not at all; without it none is touched",
        )
    measure.add_argument("--warmup", type=float, default=0.3, metavar="SECONDS")
    measure.add_argument("--measure", type=float, default=0.7, metavar="SECONDS")
    measure.add_argument("--budget", type=float, default=60.0, metavar="SECONDS", help="a cell")
    measure.add_argument("--rest", type=float, default=0.0, metavar="SECONDS", help="before a cell")
    measure.add_argument(
        "--sample", type=float, default=0.0, metavar="SECONDS", help="the least that one takes"
    )
    measure.add_argument(
        "--brief", action="store_true", help="the cells' dear checks have held before"
    )
    script.add_argument("cells", nargs="+", metavar="CELL", help="a cell's id")
    why.add_argument("--folder", metavar="PATH", default=os.environ.get(SCRIPT_VARIABLE))
    why.add_argument("--script", metavar="NAME", required=True, help="its file, within the folder")
    why.add_argument("--seconds", type=float, default=3.0, help="of a window")
    why.add_argument(
        "--runs", metavar="JSON", required=True, help="a list of suite.worker.why.run.Task"
    )
    why.add_argument("words", nargs="*", metavar="ARG", help="the script's own arguments, after --")
    measure.add_argument(
        "cells",
        nargs="+",
        metavar="CELL[@K[:SECONDS]]",
        help="a cell's id; with @K a sample is K calls, without it K is found first; with :SECONDS a call "
        "takes so long that the first one is all of its warm-up",
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Returns:
        0, `EXIT_REFUSED`, `EXIT_UNFIT` or `EXIT_LOST`.  Wrong words end with 2 and a message on
        standard error.
    """
    parser = arguments()
    options = parser.parse_args(argv)
    # The scenarios need NumPy; who imports TensorFlow pays for it, so it is booked there.
    began = time.perf_counter_ns()
    import numpy as np

    numpy_s = (time.perf_counter_ns() - began) / 1e9
    del np
    requests = _requests(parser, options)
    channel = Channel()
    channel.send("hello", schema=codec.SCHEMA, version=__version__, pid=os.getpid(), at=now())
    if options.command == "why":
        return _run_why(channel, options)
    if options.command == "script":
        return _run_script(channel, requests, gpu=options.gpu)
    return _run_cells(channel, options, requests, numpy_s)


def _run_cells(
    channel: Channel, options: argparse.Namespace, requests: Sequence[Request], numpy_s: float
) -> int:
    """Starts TensorFlow as every arm has it, tells what is here, and measures the cells, if any."""
    from suite.worker.loop.measure import Loop
    from suite.worker.proof import facts, gpu, libraries
    from suite.worker.scenario import allocator
    from suite.worker.session import session, startup

    began = time.perf_counter_ns()
    looked = _look_before(gpu=options.gpu)
    looked_s = (time.perf_counter_ns() - began) / 1e9
    try:
        stages, device = startup.start(numpy_s, gpu=options.gpu)
    except (Refused, AttributeError, ImportError, TypeError) as error:
        return _tell_unable(channel, error)
    channel.send("startup", stages=stages, device=device)
    began = time.perf_counter_ns()
    # After the start-up sequence, whose first kernel has to be the first.
    trouble = gpu.find_trouble(device) if device != CPU else None
    if trouble is not None:
        return _tell_unable(channel, Refused(trouble))
    import tensorflow as tf

    # Not before: a start is measured as everybody has it.
    allocated = allocator.hold_still()
    loop = Loop(
        clock=time.perf_counter_ns,
        cpu_clock=time.process_time_ns,
        fence=tf.test.experimental.sync_devices,
        least_s=getattr(options, "sample", 0.0),
    )
    own_facts = {
        **facts.machine_facts(),
        **facts.tensorflow_facts(),
        "fence_s": loop.fence_s,
        "sample_floor_s": loop.floor_s,
        **looked,
        **allocated,
    }
    spent_s = looked_s + (time.perf_counter_ns() - began) / 1e9
    channel.send("facts", facts=own_facts, seconds=spent_s)

    lost = None
    if options.command == "measure":
        runner = session.Runner(
            loop=loop,
            device=device,
            warmup_s=options.warmup,
            measure_s=options.measure,
            budget_s=options.budget,
            rest_s=options.rest,
            brief=options.brief,
            stages=stages,
        )
        lost = _measure(channel, runner, requests)
    if device != CPU:
        began = time.perf_counter_ns()
        # cuDNN and NCCL are loaded at their first use, so what is loaded is asked again.
        own_facts |= {} if lost else gpu.loaded_versions()
        own_facts |= {**facts.switches(), **libraries.cache_facts("end")}
        own_facts[AT_END] = lost or gpu.find_trouble(device) or FINE
        channel.send("facts", facts=own_facts, seconds=(time.perf_counter_ns() - began) / 1e9)
    if lost:
        sys.stderr.write(f"the GPU is lost: {lost}\n")
        return EXIT_LOST
    channel.send("bye")
    return 0


def _run_script(channel: Channel, requests: Sequence[Request], *, gpu: bool) -> int:
    """Runs the script of these cells in this process, which has done nothing yet."""
    from suite.worker.session import script

    try:
        script.measure(channel.send, requests, _look_before(gpu=gpu), on_gpu=gpu)
    except (Refused, AttributeError, ImportError, TypeError) as error:
        return _tell_unable(channel, error)
    channel.send("bye")
    return 0


def _run_why(channel: Channel, options: argparse.Namespace) -> int:
    """Makes runs of a person's script, each in a process of its own."""
    from suite.worker.session.preflight import Unfit
    from suite.worker.why.run import Place, Task
    from suite.worker.why.server import serve

    tasks = [Task(**task) for task in codec.parse_json(options.runs)]
    place = Place(
        folder=Path(options.folder),
        script=options.script,
        arguments=options.words,
        seconds=options.seconds,
        gpu=options.gpu,
    )
    try:
        serve(channel.send, place, tasks, _look_before(gpu=options.gpu))
    except (Refused, Unfit) as error:
        return _tell_unable(channel, error)
    channel.send("bye")
    return 0


def _tell_unable(channel: Channel, error: Exception) -> int:
    """Why this process can't be the arm, or what its TensorFlow lacks; any other error goes on its way."""
    from suite.worker.session import preflight

    if isinstance(error, Refused):
        channel.send("refused", reason=str(error))
        return EXIT_REFUSED
    lack = str(error) if isinstance(error, preflight.Unfit) else preflight.explain(error)
    if lack is None:
        raise error
    channel.send("unfit", reason=lack)
    return EXIT_UNFIT


def _look_before(*, gpu: bool) -> dict[str, Scalar]:
    """What has to be done before TensorFlow starts, which fills the compile cache and wants the library and
    the compilers, and outside of what is timed."""
    from suite.worker.proof import libraries

    if not gpu:
        return {}
    return {
        **libraries.cache_facts("start"),
        **libraries.open_unfound(),
        **libraries.lead_with_compilers(),
    }


def _requests(parser: argparse.ArgumentParser, options: argparse.Namespace) -> list[Request]:
    """The cells that were asked for; ends the process where one is not, or not measured by this command."""
    from suite.worker import scenarios
    from suite.worker.session.cell import Request

    requests = []
    for word in getattr(options, "cells", []):
        identity, _, known = word.partition("@")
        calls, _, usual_s = known.partition(":")
        try:
            scenario, cell = scenarios.find(identity)
        except KeyError as error:
            parser.error(str(error.args[0]))
        if cell.by_host or cell.scripted != (options.command == "script"):
            parser.error(f"{identity} is not measured by the command `{options.command}`")
        if (calls or known) and (not calls.isdigit() or int(calls) < 1):
            parser.error(f"{word}: K is a whole number from 1")
        if usual_s and not re.fullmatch(r"\d+(\.\d+)?", usual_s):
            parser.error(f"{word}: SECONDS is a number such as 1.5")
        requests.append(
            Request(
                scenario=scenario,
                cell=cell,
                calls=int(calls) if calls else None,
                usual_s=float(usual_s or 0),
            )
        )
    if len({request.cell.process for request in requests}) > 1:
        parser.error("these cells are not all of one process")
    return requests


def _measure(channel: Channel, runner: Runner, requests: Sequence[Request]) -> str | None:
    """Runs the cells in their order and sends each outcome; why the GPU was lost on the way, or None.

    What is left then is for a fresh container, which begins by proving its GPU.
    """
    from suite.worker.proof import facts, gpu
    from suite.worker.session.cell import fail

    def describe(switches: Mapping[str, Scalar]) -> str:
        return ", ".join(f"{name} {value}" for name, value in switches.items())

    watched = runner.device != CPU
    usual = facts.switches() if watched else {}
    for request in requests:
        channel.send("cell_started", id=request.cell.id)
        result = runner.run(request)
        left = facts.switches() if watched else {}
        if left != usual:
            result = fail(result, f"it left {describe(left)} behind, where {describe(usual)} was")
        if result.outcome == "failed" and watched:
            lost = gpu.find_trouble(runner.device)
            if lost is not None:
                # Not the cell's own failure: it stays in flight, as where the process dies.
                return lost
        channel.send("cell", cell=result)
    return None


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Python's own way out looks through all that TensorFlow has made, which takes up to half a second.
    os._exit(status)
