"""The doctor's checks of the GPU itself: its driver, and who else is on it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from suite.errors import GpuError
from suite.host.doctor.finding import Finding, Unknown, no, not_applicable, yes
from suite.host.doctor.machine import COMMAND_S, Ran
from suite.host.doctor.probe import Probe, once
from suite.host.engine import Card, Slice
from suite.host.gpu.choice import Choice, find_choice, word_cards
from suite.host.gpu.commands import OLD_DRIVER
from suite.host.gpu.refusals import find_refusal
from suite.host.gpu.request import LOOKED_AT, machine_gpus, no_gpu
from suite.host.gpu.vgpu import UNLICENSED, VgpuState, find_slice, newer_image

OLDEST_DRIVER = 525
"""The first driver branch that runs CUDA 12."""

FIELDS = (
    *("index", "name", "driver_version", "memory.total", "uuid"),
    *("mig.mode.current", "persistence_mode", "compute_cap"),
)
OLD_FIELDS = FIELDS[:-1]
"""What nvidia-smi is asked; an old one does not know the last."""

WSL_SMI = "/usr/lib/wsl/lib/nvidia-smi"
"""On WSL it lies beside the driver's libraries, which is not on everybody's PATH."""

NO_GPU = "there is no GPU"
NOT_ASKED = "no requested arm uses the GPU"
ELSEWHERE = "the engine is not proven to be on this machine"

_LISTED = 3
_SLICE = re.compile(r"^\s+(MIG \S+)\s+Device\s+(\d+):\s+\(UUID: (\S+?)\)", re.MULTILINE)


class Row(NamedTuple):
    """What nvidia-smi says of a GPU; ``capability`` such as 8.9, None where this one can't say."""

    card: Card
    driver: str
    memory: str
    persistence: str
    capability: float | None


@once
def read_rows(probe: Probe) -> list[Row]:
    """The GPUs that nvidia-smi lists, with their MIG instances.

    Raises:
        Unknown: there is no nvidia-smi, or no answer.
        GpuError: it fails; with the cause and the remedy where the text is known.
    """
    done = _smi(probe, f"--query-gpu={','.join(FIELDS)}")
    if "not a valid field" in done:
        done = _smi(probe, f"--query-gpu={','.join(OLD_FIELDS)}")
    rows = []
    for line in done.splitlines():
        index, *told = (part.strip() for part in line.split(","))
        if not index.isdigit() or len(told) < len(OLD_FIELDS) - 1:
            continue
        name, driver, memory, uuid, mig, persistence, *more = told
        number = float(more[0]) if more and re.fullmatch(r"\d+\.\d+", more[0]) else None
        cut = mig == "Enabled"
        parts = _SLICE.findall(_run(probe, "-L", "-i", index).text) if cut else []
        card = Card(
            index=int(index),
            name=name,
            uuid=uuid if uuid.startswith("GPU-") else None,
            mig=cut,
            slices=tuple(Slice(index=int(at), uuid=of, name=kind) for kind, at, of in parts),
        )
        rows.append(Row(card, driver, memory, persistence, number))
    if not rows:
        raise Unknown(f"nvidia-smi lists no GPU: {done[:200]!r}")
    return rows


def _run(probe: Probe, *words: str) -> Ran:
    for program in ("nvidia-smi", WSL_SMI):
        if done := probe.machine.run([program, *words], COMMAND_S):
            return done
    raise Unknown(
        "nvidia-smi is not on PATH",
        "install the driver's tools (nvidia-utils); the driver itself may be fine",
    )


def _smi(probe: Probe, *words: str) -> str:
    done = _run(probe, *words, "--format=csv,noheader")
    if done.code and "not a valid field" not in done.text:
        row = find_refusal(done.text)
        said = " ".join(done.text.split())[:300]
        cause = row.cause if row else f"nvidia-smi fails with exit code {done.code}"
        again = "install the driver again, or reboot; `nvidia-smi` must work"
        raise GpuError(f"{cause}: {said}", row.remedy if row else again)
    return done.text


def pick_row(probe: Probe, rows: Sequence[Row]) -> tuple[Row, Choice]:
    """The GPU that was asked for, and which part of it.

    Raises:
        GpuError: there is no such one, or it is cut into MIG instances and none was named.
    """
    wanted = probe.gpu_name()
    choice = find_choice([row.card for row in rows], wanted)
    if choice.card is None:
        raise Unknown(f"nvidia-smi does not say which GPU {wanted} is")
    return next(row for row in rows if row.card == choice.card), choice


def pick_known(probe: Probe) -> tuple[Row, Choice]:
    """As `pick_row`, for the lines after the driver's, which has said already what is wrong.

    Raises:
        Unknown: which GPU it would be is not known.
    """
    try:
        return pick_row(probe, read_rows(probe))
    except GpuError as error:
        raise Unknown("which GPU it would be is not known (see driver)") from error


def look_for_slice(probe: Probe, row: Row) -> VgpuState | None:
    """What the GPU is a slice of (vGPU); None: it is a whole one."""
    details = ""
    with contextlib.suppress(Unknown):  # the name says it, too
        done = probe.machine.run(["nvidia-smi", "-q", "-i", str(row.card.index)], COMMAND_S)
        details = done.text if done else ""
    return find_slice(row.card.name, details)


def check_driver(probe: Probe) -> Finding:
    """Whether there is a GPU, and a driver that answers for it."""
    if probe.is_elsewhere():
        return _look_elsewhere(probe)
    if not probe.shows_gpu() and not any(arm.gpu for arm in probe.named_arms()):
        return no(
            f"no NVIDIA GPU here (looked at {LOOKED_AT}): `make bench` measures the CPU alone",
            "run it where there is one, for the other half of the answer",
        )
    stops = GpuError.exit_status if probe.wants_gpu() else 0
    try:
        if not machine_gpus(probe.machine.root):
            raise no_gpu(probe.machine.root)
        rows = read_rows(probe)
        row, choice = pick_row(probe, rows)
    except GpuError as error:
        return no(error.what, error.remedy, stops=stops, unless="tensorflow")
    virtual, branch = look_for_slice(probe, row), read_branch(row)
    named = f"{row.card.name}, {virtual.what}" if virtual else f"{row.card.name}"
    if branch is not None and branch < OLDEST_DRIVER:
        return no(
            f"driver {row.driver} is older than CUDA 12 needs"
            + (f", on {named}" if virtual else ""),
            newer_image(OLDEST_DRIVER) if virtual else OLD_DRIVER,
            stops=stops,
            unless="tensorflow",
            driver=row.driver,
        )
    if virtual and virtual.is_unlicensed:
        return no(
            f"driver {row.driver}: {named}; it has no licence ({virtual.license}), so its driver slows it "
            "down soon after the virtual machine has started",
            UNLICENSED,
            driver=row.driver,
            license=virtual.license,
        )
    part = f", using {choice.slice.name}" if choice.slice else ""
    lazy = "; persistence mode is off (`sudo nvidia-smi -pm 1`), so its first use takes seconds"
    return yes(
        f"driver {row.driver}: {row.card.name}{_word_memory(row)}{part}{_word_others(rows, row)}"
        + (f"; {virtual.what}" if virtual else "")
        + (lazy if row.persistence == "Disabled" else ""),
        driver=row.driver,
        name=row.card.name,
        gpus=len(rows),
        persistence=row.persistence == "Enabled",
        slice=choice.slice.name if choice.slice else None,
    )


def read_branch(row: Row) -> int | None:
    """The branch of a GPU's driver, such as 570; None: it is not told."""
    found = re.match(r"\d+", row.driver)
    return int(found[0]) if found else None


def _word_memory(row: Row) -> str:
    """Its memory; a GPU that shares the CPU's tells none."""
    return f", {row.memory}" if row.memory[:1].isdigit() else ""


def _word_others(rows: Sequence[Row], row: Row) -> str:
    if len(rows) == 1:
        return ""
    names = {one.card.name or "" for one in rows if one is not row}
    other = f", the other{'s' if len(rows) > 2 else ''} {', '.join(sorted(names))}"
    return f"; {len(rows)} GPUs in all" + (other if names != {row.card.name} else "")


def _look_elsewhere(probe: Probe) -> Finding:
    """What a container on the engine's machine sees of its GPUs: this machine's are others."""
    engine = probe.engine()
    if not engine.has_probe_image():
        raise Unknown(f"{ELSEWHERE}, and no image is there to look with", "`make images`")
    cards = engine.list_gpus()
    if not cards:
        raise Unknown(f"{ELSEWHERE}, and a container there sees no NVIDIA GPU")
    named = f"the engine's machine has {word_cards(cards)}; its driver: see tensorflow"
    return yes(named, gpus=len(cards))


@once
def check_idle_gpu(probe: Probe) -> Finding:
    """Whether another process computes on the GPU; looked once, before TensorFlow is started there."""
    if probe.is_elsewhere():
        raise Unknown(f"{ELSEWHERE}, so other compute processes can't be seen")
    if not probe.shows_gpu():
        return not_applicable(NO_GPU)
    row, choice = pick_known(probe)
    asked = ("--query-compute-apps=pid,process_name,used_memory", "-i", str(row.card.index))
    try:
        text = _smi(probe, *asked)
    except GpuError as error:
        raise Unknown(f"who computes on it can't be seen here: {error.what}") from error
    rows = [line.split(",") for line in text.splitlines() if line[:1].isdigit()]
    if not rows:
        return yes("no other process computes on it", processes=0)
    named = ", ".join(
        f"{row[0].strip()} {_name_program(row[1].strip())} ({row[-1].strip()})"
        for row in rows[:_LISTED]
    )
    count = f"{len(rows)} other process{'es' if len(rows) > 1 else ''}"
    if choice.slice is not None:
        raise Unknown(
            f"{count} computing on the GPU's MIG instances: {named}; on which one is not reported",
            "stop them where they are on this one (`nvidia-smi` shows it)",
        )
    return no(
        f"{count} computing on it: {named}",
        "stop them: whatever is measured beside them is INVALID",
        processes=len(rows),
    )


def _name_program(path: str) -> str:
    """A program's own name, since its path can name a person; `[N/A]` and the like, as they are."""
    return path if path.startswith("[") else PurePosixPath(path).name
