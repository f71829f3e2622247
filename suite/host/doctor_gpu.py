"""The doctor's checks of the GPU: driver, toolkit, passthrough, TensorFlow's view, who else uses it."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from suite import wire
from suite.errors import CrossoverError, GpuError, NoGpuError
from suite.host.doctor_finding import Finding, Unknown, no, not_applicable, yes
from suite.host.doctor_machine import COMMAND_S, Examined, Patient
from suite.host.engine import Ending, Job
from suite.host.gpu import LOOKED_AT, machine_gpus, no_gpu
from suite.host.gpu_refusals import explain_refusal, find_refusal
from suite.model import Image

OLDEST_DRIVER = 525
"""The first driver branch that runs CUDA 12."""

OLDEST_CAPABILITY, PTX_CAPABILITY, TOO_NEW_CAPABILITY = 6.0, 9.0, 10.0
"""TensorFlow 2.21 holds machine code for compute capability 6.0, 7.0, 8.0 and 8.9, and PTX for 9.0,
which the driver compiles; CUDA 12.5, which it was built with, can't compile for 10.0 and later."""

_LISTED = 3
_VIEW_S = 12.0
_CLOSING_S = 3.0

_NO_GPU = "there is no GPU"


@dataclass(frozen=True, kw_only=True)
class Card:
    """One row of nvidia-smi's; ``capability`` such as 8.9, None where this nvidia-smi can't say."""

    index: str
    name: str
    driver: str
    memory: str
    capability: float | None


def read_cards(patient: Patient) -> list[Card]:
    """The GPUs that nvidia-smi lists.

    Raises:
        Unknown: there is no nvidia-smi, or no answer.
        GpuError: it fails; with the cause and the remedy where the text is known.
    """
    fields = "index,name,driver_version,memory.total"
    done = _smi(patient, f"--query-gpu={fields},compute_cap")
    if "not a valid field" in done:
        done = _smi(patient, f"--query-gpu={fields}")
    cards = []
    for line in done.splitlines():
        parts = [part.strip() for part in line.split(",")]
        if len(parts) >= 4:
            number = parts[4] if len(parts) > 4 else ""
            known = re.fullmatch(r"\d+\.\d+", number)
            cards.append(
                Card(
                    index=parts[0],
                    name=parts[1],
                    driver=parts[2],
                    memory=parts[3],
                    capability=float(number) if known else None,
                )
            )
    if not cards:
        raise Unknown(f"nvidia-smi lists no GPU: {done[:200]!r}")
    return cards


def _smi(patient: Patient, *words: str) -> str:
    done = patient.machine.run(["nvidia-smi", *words, "--format=csv,noheader"], COMMAND_S)
    if done is None:
        raise Unknown(
            "nvidia-smi is not on PATH",
            "install the driver's tools (nvidia-utils); the driver itself may be well",
        )
    if done.code and "not a valid field" not in done.text:
        row = find_refusal(done.text)
        said = " ".join(done.text.split())[:300]
        if row is None:
            raise GpuError(
                f"nvidia-smi fails with exit code {done.code}: {said}",
                "install the driver again, or reboot; `nvidia-smi` must work",
            )
        raise GpuError(f"{row.cause}: {said}", row.remedy)
    return done.text


def check_driver(patient: Patient) -> Finding:
    """Whether there is a GPU, and a driver that answers for it."""
    wants = "cuda" in patient.question.arms
    if not patient.shows_gpu():
        if _is_remote(patient):
            raise Unknown("the engine is not proven to be on this machine, which has no GPU")
        return no(
            f"no NVIDIA GPU here (looked at {LOOKED_AT}): `make bench` measures the CPU alone",
            "run it where there is one, for the other half of the answer",
            stops=GpuError.exit_status if wants else 0,
        )
    stops = GpuError.exit_status if wants or patient.question.arms == ("auto",) else 0
    if not machine_gpus(patient.machine.root):
        error = no_gpu(patient.machine.root)
        return no(error.what, error.remedy, stops=stops)
    try:
        cards = read_cards(patient)
    except GpuError as error:
        return no(error.what, error.remedy, stops=stops)
    driver = cards[0].driver
    card = _wanted(patient, cards)
    if card is None:
        return no(
            f"no GPU {patient.question.gpu} here; nvidia-smi lists "
            + ", ".join(f"{one.index}: {one.name}" for one in cards),
            "name one of these with GPU=",
            stops=stops,
        )
    branch = re.match(r"\d+", driver)
    if branch and int(branch[0]) < OLDEST_DRIVER:
        return no(
            f"driver {driver} is older than CUDA 12 needs",
            f"a newer driver: {OLDEST_DRIVER} or later",
            stops=stops,
            driver=driver,
        )
    others = f"; {len(cards)} GPUs in all" if len(cards) > 1 else ""
    return yes(
        f"driver {driver}: {card.name}, {card.memory}{others}",
        driver=driver,
        name=card.name,
        gpus=len(cards),
    )


def check_toolkit(patient: Patient) -> Finding:
    """Whether the engine has a way to give a GPU to a container."""
    engine = _engine(patient)
    if engine.isolation == "none":
        return not_applicable("there is no container to give a GPU to")
    if engine.is_here and not patient.shows_gpu():
        return not_applicable(_NO_GPU)
    found = _find_way(patient, engine)
    if found is not None:
        return found
    if not engine.is_here:
        raise Unknown("the engine does not say; passthrough tells")
    row = find_refusal('could not select device driver "" with capabilities')
    return no(
        "neither the NVIDIA container toolkit nor a CDI specification is here",
        row.remedy if row else "install nvidia-container-toolkit",
    )


def _find_way(patient: Patient, engine: Examined) -> Finding | None:
    support, machine = engine.gpu_support(), patient.machine
    if support.devices:
        return yes(f"CDI: the engine lists {', '.join(support.devices[:_LISTED])}", way="cdi")
    if engine.is_here:
        specs = [*machine.find("/etc/cdi/*nvidia*"), *machine.find("/var/run/cdi/*nvidia*")]
        if support.cdi_folders and specs:
            return yes(f"CDI is on, and there is a specification ({specs[0]})", way="cdi")
        done = machine.run(["nvidia-ctk", "--version"], COMMAND_S)
        version = re.search(r"version (\S+)", done.text) if done and done.code == 0 else None
        if version or machine.find("/usr/bin/nvidia-container-runtime-hook"):
            number = f" {version[1]}" if version else ""
            return yes(f"NVIDIA container toolkit{number}", way="hook")
    if "nvidia" in support.runtimes:
        return yes("the engine has the runtime nvidia", way="runtime")
    return None


def check_passthrough(patient: Patient) -> Finding:
    """Whether a container really gets the GPU: tried with a trivial one."""
    if patient.question.arms != ("auto",) and "cuda" not in patient.question.arms:
        return not_applicable("no arm was asked for that needs a GPU")
    _engine(patient)
    try:
        request = patient.gpu()
    except GpuError as error:
        return _word_refusal(patient, error)
    except Unknown as reason:
        toolkit = check_toolkit(patient)
        if toolkit.state != "no":
            raise
        return no(
            f"not tried ({reason.why}), and without a toolkit it would be refused",
            toolkit.remedy,
            stops=GpuError.exit_status,
        )
    if request.driver == "none":
        return not_applicable("there is no container to give it to")
    through = "CDI" if request.driver == "cdi" else "NVIDIA's hook"
    return yes(f"a trivial container sees the GPU, asked for through {through}", way=request.driver)


def _word_refusal(patient: Patient, error: GpuError) -> Finding:
    if isinstance(error, NoGpuError):
        if patient.question.arms == ("auto",):
            return not_applicable(_NO_GPU)
        return no(error.what, "run where there is one, or ARMS=cpu", stops=error.exit_status)
    if isinstance(error.__cause__, TimeoutError):
        raise Unknown(error.what, "ask again; a busy machine takes longer") from error
    return no(error.what, error.remedy, stops=error.exit_status)


def check_tensorflow(patient: Patient) -> Finding:
    """What TensorFlow in the CUDA image sees; only where that image is here already."""
    engine = _engine(patient)
    if "cuda" not in patient.arms():
        return not_applicable(_NO_GPU)
    try:
        stock = engine.take_stock("cuda")
    except CrossoverError as error:
        raise Unknown("what the engine has can't be told (see images)") from error
    if stock.image is None:
        raise Unknown("the CUDA image is not built yet", "`make images`, and ask again")
    try:
        request = patient.gpu()
    except GpuError as error:
        raise Unknown("TensorFlow can't be shown a GPU (see passthrough)") from error
    limit = min(_VIEW_S, patient.left_s - _CLOSING_S)
    if limit < 1.0:
        raise Unknown("there is no time left to start TensorFlow", "ask again")
    job = Job(
        image=Image(id=stock.image, content=None, base="", digests=[], lock="", origin="here"),
        arguments=("describe", "--arm", "cuda"),
        cpus=engine.cpus(),
        gpu=request,
    )
    records, ending = _hear(patient, job, limit)
    if "refused" in records:
        row = find_refusal(ending.diary)
        cause = f": {row.cause}" if row else ""
        remedy = row.remedy if row else "the CUDA image's diary says more: `make bench`, logs/"
        return no(f"{records['refused']['reason']}{cause}", remedy, stops=GpuError.exit_status)
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
        f"(compute capability {capability})",
        tensorflow=facts.get("tensorflow.version"),
        name=name,
        capability=capability,
    )


def _hear(patient: Patient, job: Job, limit_s: float) -> tuple[dict[str, Any], Ending]:
    """The records of a worker by name, and how it ended; it is stopped after the limit."""
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
    except TimeoutError as error:
        raise Unknown(
            f"TensorFlow did not come up within {limit_s:.0f} s: an image that is read for the "
            "first time takes longer",
            "ask again",
        ) from error
    finally:
        run.stop()
        ending = run.close()
    return records, ending


def check_capability(patient: Patient) -> Finding:
    """Whether the locked TensorFlow has code for this GPU."""
    if not patient.shows_gpu():
        return not_applicable(_NO_GPU)
    if "cuda" not in patient.question.arms and patient.question.arms != ("auto",):
        return not_applicable("no arm that was asked for takes the GPU")
    try:
        card = _wanted(patient, read_cards(patient))
    except GpuError as error:
        raise Unknown("the driver does not answer") from error
    if card is None or card.capability is None:
        raise Unknown("nvidia-smi does not say the compute capability")
    number = card.capability
    if number >= TOO_NEW_CAPABILITY:
        row = find_refusal("does not support target 'sm_120'")
        return no(
            f"compute capability {number} (Blackwell or later): the locked TensorFlow can't run "
            "on it",
            row.remedy if row else "another build of TensorFlow",
            stops=GpuError.exit_status,
            capability=number,
        )
    if number < OLDEST_CAPABILITY:
        return no(
            f"compute capability {number} is older than the locked TensorFlow has code for "
            f"({OLDEST_CAPABILITY})",
            "another build of TensorFlow, as an image of your own",
            stops=GpuError.exit_status,
            capability=number,
        )
    if number >= PTX_CAPABILITY:
        return yes(
            f"compute capability {number}: the driver compiles PTX first, minutes in a fresh "
            "container",
            capability=number,
        )
    return yes(f"compute capability {number}: TensorFlow holds code for it", capability=number)


def check_idle_gpu(patient: Patient) -> Finding:
    """Whether another process computes on the GPU."""
    if not patient.shows_gpu():
        return not_applicable(_NO_GPU)
    try:
        text = _smi(
            patient, "--query-compute-apps=pid,process_name,used_memory", "-i", patient.question.gpu
        )
    except GpuError as error:
        raise Unknown("the driver does not answer") from error
    rows = [line.split(",") for line in text.splitlines() if line[:1].isdigit()]
    if not rows:
        return yes("no other process computes on it", processes=0)
    # A path can name a person; the program's own name does not.
    named = ", ".join(
        f"{row[0].strip()} {PurePosixPath(row[1].strip()).name} ({row[-1].strip()})"
        for row in rows[:_LISTED]
    )
    return no(
        f"{len(rows)} other process{'es' if len(rows) > 1 else ''} computing on it: {named}",
        "stop them: whatever is measured beside them is INVALID",
        processes=len(rows),
    )


def _wanted(patient: Patient, cards: list[Card]) -> Card | None:
    wanted = patient.question.gpu
    if not wanted.isdigit():
        return cards[0]  # by UUID; which row it is, the engine knows
    return next((card for card in cards if card.index == wanted), None)


def _is_remote(patient: Patient) -> bool:
    try:
        return patient.engine().is_here is not True
    except CrossoverError:
        return False


def _engine(patient: Patient) -> Examined:
    try:
        return patient.engine()
    except CrossoverError as error:
        raise Unknown("there is no engine that could be asked") from error
