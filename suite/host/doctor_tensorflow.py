"""The doctor's check of what TensorFlow in the CUDA image makes of the GPU: started for real."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from suite import wire
from suite.errors import CrossoverError, EngineError, GpuError
from suite.host.custom_image import WAYS_OUT
from suite.host.doctor_capability import check_capability, compiles_first
from suite.host.doctor_cards import NO_GPU, NOT_ASKED, check_idle_gpu
from suite.host.doctor_finding import Finding, Unknown, no, not_applicable, yes
from suite.host.doctor_machine import Patient
from suite.host.doctor_passthrough import open_examined
from suite.host.engine import Ending, GpuRequest, Job, Stock
from suite.host.gpu_refusals import explain_refusal, find_refusal
from suite.host.volumes import choose_environment, compile_cache
from suite.model import Image

_VIEW_S = 12.0
_CLOSING_S = 3.0


def check_tensorflow(patient: Patient) -> Finding:
    """What TensorFlow in the CUDA image sees; only where that image is here already."""
    engine = open_examined(patient)
    if not patient.wants_gpu():
        return not_applicable(NOT_ASKED)
    if "cuda" not in patient.arms():
        return not_applicable(NO_GPU)
    try:
        stock = engine.take_stock("cuda")
    except CrossoverError as error:
        raise Unknown("what the engine has can't be told (see images)") from error
    if stock.image is None:
        noun = "environment" if engine.isolation == "none" else "image"
        raise Unknown(f"the CUDA {noun} is not built yet", "`make images`, and ask again")
    try:
        request = patient.gpu()
    except GpuError as error:
        raise Unknown("TensorFlow can't be shown a GPU (see passthrough)") from error
    _look_before(patient)
    limit = min(_VIEW_S, patient.left_s - _CLOSING_S)
    if limit < 1.0:
        raise Unknown("there is no time left to start TensorFlow", "ask again")
    job = _describe_job(stock, stock.image, engine.cpus(), request)
    try:
        records, ending = _hear(patient, job, limit)
    except TimeoutError as error:
        raise _word_delay(patient, job, limit) from error
    return _judge_start(patient, records, ending)


def _judge_start(patient: Patient, records: dict[str, Any], ending: Ending) -> Finding:
    """What a start-up that has ended comes to."""
    if "refused" in records:
        reason = records["refused"]["reason"]
        row = find_refusal(ending.diary) or find_refusal(reason)
        cause = f": {row.cause}" if row else ""
        remedy = row.remedy if row else "the CUDA image's diary says more: `make bench`, logs/"
        return no(f"{reason}{cause}", remedy, stops=GpuError.exit_status)
    if "unfit" in records:
        return no(records["unfit"]["reason"], WAYS_OUT, stops=EngineError.exit_status)
    if "facts" not in records:
        return no(
            f"TensorFlow in the CUDA image did not come up: {ending.phrase}",
            explain_refusal(f"{ending.phrase}; {ending.diary[-300:]}").remedy,
            stops=GpuError.exit_status,
        )
    facts = records["facts"]["facts"]
    name, capability = facts.get("gpu.0.name"), facts.get("gpu.0.capability")
    return yes(
        f"TensorFlow {facts.get('tensorflow.version')} in the CUDA image sees {name} "
        f"(compute capability {capability})" + _hold_against_capability(patient),
        tensorflow=facts.get("tensorflow.version"),
        name=name,
        capability=capability,
    )


def _look_before(patient: Patient) -> None:
    """Has it looked who computes on the GPU, before we are one of them."""
    # What comes of it, or does not, is the line idle-gpu's.
    with suppress(CrossoverError, Unknown):
        check_idle_gpu(patient)


def _describe_job(stock: Stock, image: str, cpus: tuple[int, ...], request: GpuRequest) -> Job:
    """TensorFlow's start-up sequence, as a campaign's cuda arm has it.

    With the compile cache where a campaign has made one; it is not made here.
    """
    base, lock = stock.recorded
    recorded = Image(id=image, content=None, base=base, digests=[], lock=lock, origin="here")
    cache = compile_cache(recorded, request)
    there = cache.name in stock.caches
    return Job(
        image=recorded,
        arguments=("describe", "--arm", "cuda"),
        cpus=cpus,
        gpu=request,
        environment=choose_environment(request) if there else {},
        volumes=(cache,) if there else (),
    )


def _word_delay(patient: Patient, job: Job, limit_s: float) -> Unknown:
    late = f"TensorFlow did not come up within {limit_s:.0f} s"
    if not compiles_first(patient):
        return Unknown(
            f"{late}: an image that is read for the first time takes longer", "ask again"
        )
    if job.volumes:
        return Unknown(
            f"{late}: the driver compiles its code for this GPU first",
            "ask again, which goes on from the compile cache; or `make bench`, which waits for it",
        )
    return Unknown(
        f"{late}: the driver compiles its code for this GPU first, and there is no compile cache "
        "yet that would keep it",
        "`make bench`, which waits for it and fills the cache; asking again begins anew",
    )


def _hold_against_capability(patient: Patient) -> str:
    """What a start-up that went well says about a line that only reasoned."""
    try:
        reasoned = check_capability(patient)
    except Unknown:
        return ""
    careful = reasoned.state == "no" and not reasoned.stops
    return ", and computes on it: the capability line was too careful" if careful else ""


def _hear(patient: Patient, job: Job, limit_s: float) -> tuple[dict[str, Any], Ending]:
    """The records of a worker by name, and how it ended.

    Raises:
        TimeoutError: it has not ended within the limit, and was stopped.
    """
    records: dict[str, Any] = {}
    run = patient.engine().start(job)
    deadline = time.monotonic() + limit_s
    try:
        while (line := run.next_line(max(0.0, deadline - time.monotonic()))) is not None:
            try:
                record = wire.parse_record(line)
            except ValueError:
                continue
            records[record["record"]] = record
    finally:
        run.stop()
        ending = run.close()
    return records, ending
