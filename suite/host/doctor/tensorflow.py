"""The doctor's check of the TensorFlow that would run: started for real where an arm has a GPU, and where
it is none of ours.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from suite import codec
from suite.errors import CrossoverError, EngineError, GpuError
from suite.host.doctor.finding import Finding, Unknown, no, not_applicable, yes
from suite.host.doctor.gpu import NO_GPU, NOT_ASKED, check_idle_gpu
from suite.host.doctor.probe import Probe
from suite.host.engine import Ending, Engine, GpuRequest, Job, Stock
from suite.host.gpu.refusals import name_harmless
from suite.host.gpu.remedies import explain_worker
from suite.host.provision.custom_image import OTHER_TENSORFLOW
from suite.host.provision.resources import choose_environment, compile_cache
from suite.model import SIMULATED, Arm, Image, Scalar

_NO_MEMORY = re.compile(r"device:GPU:\d+ with 0 MB memory")
"""What TensorFlow says of a GPU whose memory another process has, whole."""

_CLOSING_S = 3.0


def check_tensorflow(probe: Probe) -> Finding:
    """What the arm's TensorFlow sees; only where its image or environment is here already."""
    engine = probe.open_engine()
    arm = next((candidate for candidate in probe.arms() if candidate.gpu), None)
    if arm is None:
        return _check_given(probe, engine)
    (stock,) = probe.take_stocks(arm.image)
    place = _name_place(engine, stock)
    if stock.image is None:
        raise Unknown(f"{place} is not built yet", "`make images`, and run `make doctor` again")
    try:
        request = probe.gpu()
    except GpuError as error:
        raise Unknown("TensorFlow can't be shown a GPU (see passthrough)") from error
    # Before we are one of them; what comes of it, or does not, is the line idle-gpu's.
    with suppress(CrossoverError):
        check_idle_gpu(probe)
    return _try_out(probe, _describe_job(engine, arm, stock, request), place)


def _check_given(probe: Probe, engine: Engine) -> Finding:
    """Whether the TensorFlow of LOCAL_PYTHON carries the worker without a GPU; ours does, and an image's
    was looked at when the suite was laid on it."""
    ours = not_applicable(NO_GPU if probe.wants_gpu() else NOT_ASKED)
    try:
        arm = probe.arms()[0]
        stock = engine.take_stock(arm.image)
    except CrossoverError:
        return ours  # `check_images` says what is wrong
    if stock.from_lock or stock.image is None or engine.isolation == "container":
        return ours
    return _try_out(probe, _describe_job(engine, arm, stock, None), _name_place(engine, stock))


def _name_place(engine: Engine, stock: Stock) -> str:
    """Where that TensorFlow is."""
    if engine.isolation == "container":
        return "the CUDA image"
    return "the CUDA environment" if stock.from_lock else "LOCAL_PYTHON"


def _try_out(probe: Probe, job: Job, place: str) -> Finding:
    """What starting it comes to."""
    records, ending = _start(probe, job)
    if "unfit" in records:
        return no(records["unfit"]["reason"], OTHER_TENSORFLOW, stops=EngineError.exit_status)
    if "refused" in records or "facts" not in records:
        what = f"TensorFlow in {place} did not come up: {ending.phrase}"
        if job.gpu is None:
            return no(what, OTHER_TENSORFLOW, stops=CrossoverError.exit_status)
        what = records["refused"]["reason"] if "refused" in records else what
        error = explain_worker(what, ending.diary, probe.engine().kind)
        return no(error.what, error.remedy, stops=error.exit_status)
    facts = records["facts"]["facts"]
    version = facts.get("tensorflow.version")
    named = f"TensorFlow {version} in {place}"
    if bounds := find_bounds(facts):
        return no(
            f"{named} starts with {' '.join(bounds)} in its environment, which can keep some of its "
            f"{facts['cpu.usable']} CPUs idle",
            "take them out of the image (`ENV` in its Dockerfile) or of what LOCAL_PYTHON names",
            tensorflow=version,
        )
    if job.gpu is None:
        return yes(f"{named} starts on the CPU", tensorflow=version)
    name, capability = facts.get("gpu.0.name"), facts.get("gpu.0.capability")
    stands_in = ", a stand-in: no GPU is there" if facts.get(SIMULATED) is True else ""
    harmless = "".join(f"; harmless: {why}" for why in name_harmless(ending.diary))
    return yes(
        f"{named} sees {name} (compute capability {capability}) and computes on it{stands_in}{harmless}",
        tensorflow=version,
        name=name,
        capability=capability,
    )


_BOUNDS = ("OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
"""What limits the threads of an operation on the CPU, in one build of TensorFlow or another.  The caller's
environment reaches no worker; an image's own does, and that of a wrapper around an interpreter."""


def find_bounds(facts: Mapping[str, Scalar]) -> list[str]:
    """The variables of a worker's environment that allow fewer threads than it has CPUs."""
    usable = facts.get("cpu.usable")
    bounds = {name: str(facts.get(f"environment.{name}", "")) for name in _BOUNDS}
    return [
        f"{name}={value}"
        for name, value in bounds.items()
        if value.isdigit() and isinstance(usable, int) and 0 < int(value) < usable
    ]


def _describe_job(engine: Engine, arm: Arm, stock: Stock, request: GpuRequest | None) -> Job:
    """TensorFlow's start-up sequence, as a campaign's arm has it.

    With the compile cache where a campaign has made one; it is not made here.
    """
    base, lock = stock.recorded
    recorded = Image(
        id=stock.image or "", content=None, base=base, digests=[], lock=lock, origin="here"
    )
    arguments = ("describe", "--gpu") if arm.gpu else ("describe",)
    plain = Job(image=recorded, arguments=arguments, cpus=engine.cpus(), gpu=request)
    cache = None if request is None else compile_cache(recorded, request)
    if cache is None or cache.name not in stock.caches:
        return plain
    return replace(plain, environment=choose_environment(request), volumes=(cache,))


def _start(probe: Probe, job: Job) -> tuple[dict[str, Any], Ending]:
    """The records of a worker by name, and how it ended; one that had to be stopped, since no more time
    was left, has told its trouble in its diary.

    Raises:
        Unknown: that is not enough, and no trouble is known.
    """
    limit = probe.left_s - _CLOSING_S
    if limit < 1.0:
        raise Unknown("there is no time left to start TensorFlow", "run `make doctor` again")
    records: dict[str, Any] = {}
    stopped = False
    run = probe.engine().start(job)
    deadline = time.monotonic() + limit
    try:
        while (line := run.next_line(max(0.0, deadline - time.monotonic()))) is not None:
            with suppress(ValueError):
                record = codec.parse_record(line)
                records[record["record"]] = record
    except TimeoutError:
        stopped = True
    finally:
        run.stop()
        ending = run.close()
    if not stopped:
        return records, ending
    # TensorFlow waits 10 s for memory that another process has.
    if job.gpu is not None and "facts" not in records and _NO_MEMORY.search(ending.diary):
        return records, replace(ending, phrase=f"not within {limit:.0f} s")
    raise Unknown(
        f"TensorFlow did not come up within {limit:.0f} s: what is read for the first time takes longer",
        "run `make doctor` again",
    )
