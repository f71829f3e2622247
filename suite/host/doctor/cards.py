"""The doctor's look at the GPU itself: its driver, and what nvidia-smi says of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from suite.errors import TOO_OLD, CrossoverError, GpuError
from suite.host.doctor.finding import Finding, Unknown, no, yes
from suite.host.doctor.machine import COMMAND_S, Ran
from suite.host.doctor.probe import Probe, once
from suite.host.engine import Slice
from suite.host.gpu import smi
from suite.host.gpu.choice import Choice, find_choice, word_cards
from suite.host.gpu.commands import OLD_DRIVER
from suite.host.gpu.refusals import find_refusal
from suite.host.gpu.request import LOOKED_AT, count_on_bus, machine_gpus, no_gpu
from suite.host.gpu.smi import FIELDS, Answer, Lost, Row
from suite.host.gpu.texts.answers import ANSWERS, INFOROM, REPAIR, find_code
from suite.host.gpu.texts.drivers import last_branch
from suite.host.gpu.vgpu import UNLICENSED, VgpuState, find_slice, newer_image
from suite.host.machine.refusal import find_row

OLDEST_DRIVER = 525
"""The first driver branch that runs CUDA 12."""

WSL_SMI = "/usr/lib/wsl/lib/nvidia-smi"
"""On WSL it lies beside the driver's libraries, which is not on everybody's PATH."""

NO_GPU = "there is no GPU"
NOT_ASKED = "no requested arm uses the GPU"
ELSEWHERE = "the engine is not proven to be on this machine"

LISTED = 3
"""Devices or processes that a line names, of however many."""

SHOWN = 300
"""Characters of what nvidia-smi says."""

OTHERWISE = f"try this first: {REPAIR}; `make bench ARMS=cpu` runs without a GPU"

_SLICE = re.compile(r"^\s+(MIG \S+)\s+Device\s+(\d+):\s+\(UUID: (\S+?)\)", re.MULTILINE)


@once
def read_answer(probe: Probe) -> Answer:
    """What nvidia-smi says of the GPUs, with their MIG instances.

    Raises:
        Unknown: there is no nvidia-smi, or no answer.
        GpuError: it fails; with the cause and the remedy where the text is known.
    """
    fields = list(FIELDS)
    done = ask_smi(probe, *_query(fields))
    while (unknown := smi.UNKNOWN_FIELD.search(done.text)) and unknown[1] in fields:
        fields.remove(unknown[1])
        done = ask_smi(probe, *_query(fields))
    answer = smi.read_answer(done.text, done.code, fields)
    if not answer.rows:
        raise _explain(done, answer)
    rows = tuple(_find_slices(probe, row) if row.card.mig else row for row in answer.rows)
    return answer._replace(rows=rows)


def _query(fields: Sequence[str]) -> tuple[str, str]:
    return f"--query-gpu={','.join(fields)}", "--format=csv,noheader"


def _find_slices(probe: Probe, row: Row) -> Row:
    listed = _SLICE.findall(ask_smi(probe, "-L", "-i", str(row.card.index)).text)
    slices = tuple(Slice(index=int(at), uuid=of, name=kind) for kind, at, of in listed)
    return replace(row, card=replace(row.card, slices=slices))


def ask_smi(probe: Probe, *words: str) -> Ran:
    """What nvidia-smi says to these words.

    Raises:
        Unknown: there is none, or it hangs.
    """
    for program in ("nvidia-smi", WSL_SMI):
        try:
            done = probe.machine.run([program, *words], COMMAND_S)
        except Unknown as late:
            remedy = f"run `make doctor` again; if it keeps hanging: {REPAIR}"
            raise Unknown(late.what, remedy) from late
        if done:
            return done
    raise Unknown(
        "nvidia-smi is not on PATH",
        "install nvidia-smi of the loaded driver's branch (`cat /proc/driver/nvidia/version` shows it), such "
        "as `sudo apt-get install nvidia-utils-570`, on Debian `sudo apt-get install nvidia-smi`; the driver "
        "itself may be fine",
    )


def _explain(done: Ran, answer: Answer) -> CrossoverError:
    """The error for an answer without a GPU's row: by its text, else by its exit code, else as it is."""
    if answer.lost:
        return _lose(answer.lost[0])
    said = " ".join(done.text.split())[:SHOWN]
    row = find_refusal(done.text) or find_code(done.code)
    if row is not None:
        return GpuError(f"{row.cause}: {said or f'exit code {done.code}'}", row.remedy)
    if not done.code:
        return Unknown(f"nvidia-smi lists no GPU: {said!r}")
    return GpuError(
        f"nvidia-smi fails with exit code {done.code}, and its message is not listed here: "
        f"{said or 'nothing'}",
        OTHERWISE,
    )


def _lose(lost: Lost) -> GpuError:
    row = find_refusal(lost.said)
    what = f"{lost.name} does not answer: nvidia-smi says: {lost.said}"
    return GpuError(what, row.remedy if row else REPAIR)


def pick_row(probe: Probe, answer: Answer) -> tuple[Row, Choice]:
    """The GPU that was asked for, and which part of it.

    Raises:
        GpuError: there is no such one, it does not answer, or it is cut into MIG instances and none was
            named.
    """
    wanted = probe.gpu_name()
    number = wanted.partition(":")[0]
    if lost := next((lost for lost in answer.lost if str(lost.number) == number), None):
        raise _lose(lost)
    silent = _find_silent(answer)
    try:
        choice = find_choice([row.card for row in answer.rows], wanted)
    except GpuError as error:
        # It may be the one whose UUID nobody can read.
        if silent and not number.isdigit():
            raise GpuError(f"{error.what}; {_lose(silent[0]).what}", REPAIR) from error
        raise
    if choice.card is None:
        if silent:
            raise _lose(silent[0])
        raise Unknown(f"nvidia-smi does not say which GPU {wanted} is")
    row = next(row for row in answer.rows if row.card == choice.card)
    if row.dead:
        raise _lose(_describe_dead(row))
    return row, choice


def _find_silent(answer: Answer) -> list[Lost]:
    """The GPUs that do not answer, whether nvidia-smi gives them a row or not."""
    return [*answer.lost, *(_describe_dead(row) for row in answer.rows if row.dead)]


def _describe_dead(row: Row) -> Lost:
    words = " and ".join(dict.fromkeys(row.errors.values())) or "nothing"
    return Lost(
        row.card.index,
        f"GPU {row.card.index}" + (f" ({row.card.name})" if row.card.name else ""),
        f"{words} for {', '.join(row.errors) or 'its name and UUID'}",
    )


def pick_known(probe: Probe) -> tuple[Row, Choice]:
    """As `pick_row`, for the lines after the driver's, which has said already what is wrong.

    Raises:
        Unknown: which GPU it would be is not known.
    """
    try:
        return pick_row(probe, read_answer(probe))
    except GpuError as error:
        raise Unknown("which GPU it would be is not known (see driver)") from error


def look_for_slice(probe: Probe, row: Row) -> VgpuState | None:
    """What the GPU is a slice of (vGPU); None: it is a whole one."""
    return find_slice(row.card.name, read_details(probe))


@once
def read_details(probe: Probe) -> str:
    """What ``nvidia-smi -q`` prints of the GPU that was asked for, and that has answered before; empty where
    it does not now."""
    row, _ = pick_row(probe, read_answer(probe))
    with suppress(Unknown):
        return ask_smi(probe, "-q", "-i", str(row.card.index)).text
    return ""


def check_driver(probe: Probe) -> Finding:
    """Whether there is a GPU, and a driver that answers for it."""
    if probe.is_elsewhere():
        return _look_elsewhere(probe)
    if not probe.shows_gpu() and not any(arm.gpu for arm in probe.named_arms()):
        return no(
            f"no NVIDIA GPU here (looked at {LOOKED_AT}): `make bench` measures the CPU alone",
            "run it on a machine with an NVIDIA GPU to get the other half",
        )
    stops = GpuError.exit_status if probe.wants_gpu() else 0
    try:
        if not machine_gpus(probe.machine.root):
            raise no_gpu(probe.machine.root)
        answer = read_answer(probe)
        row, choice = pick_row(probe, answer)
    except GpuError as error:
        return no(error.what, error.remedy, stops=stops, unless="tensorflow")
    virtual, branch = look_for_slice(probe, row), read_branch(row)
    named = f"{row.card.name}, {virtual.what}" if virtual else f"{row.card.name}"
    if branch is not None and branch < OLDEST_DRIVER:
        what, remedy = f"driver {row.driver} is older than CUDA 12 needs", OLD_DRIVER
        last = last_branch(row.capability, row.card.name)
        if last is not None and last < OLDEST_DRIVER:
            what += f", and there is none after branch {last} for this GPU ({row.card.name})"
            remedy = TOO_OLD
        elif virtual:
            what, remedy = f"{what}, on {named}", newer_image(OLDEST_DRIVER)
        return no(what, remedy, stops=stops, unless="tensorflow", driver=row.driver)
    if virtual and virtual.is_unlicensed:
        return no(
            f"driver {row.driver}: {named}; it has no licence ({virtual.license}), so its driver slows it "
            "down soon after the virtual machine has started",
            UNLICENSED,
            driver=row.driver,
            license=virtual.license,
        )
    part = f", using {choice.slice.name}" if choice.slice else ""
    cautions = "".join(f"; {caution}" for caution in _find_cautions(probe, answer, row))
    return yes(
        f"driver {row.driver}: {row.card.name}{_word_memory(row)}{part}"
        f"{_word_others(answer.rows, row)}{f'; {virtual.what}' if virtual else ''}{cautions}",
        driver=row.driver,
        name=row.card.name,
        gpus=len(answer.rows),
        persistence=row.persistence == "Enabled",
        slice=choice.slice.name if choice.slice else None,
        cautions=cautions.removeprefix("; ") or None,
    )


def _find_cautions(probe: Probe, answer: Answer, row: Row) -> Iterator[str]:
    """What speaks against a GPU that answers, and stops nothing."""
    if row.persistence == "Disabled":
        yield "persistence mode is off (`sudo nvidia-smi -pm 1`), so its first use takes seconds"
    # A GPU that can't be reached explains the exit code.
    code = 0 if answer.lost else answer.code
    known = find_row(answer.rest, (INFOROM, *ANSWERS)) or find_code(code)
    said = f" ({answer.rest[:SHOWN]})" if answer.rest else ""
    if known is not None:
        yield f"caution: {known.cause}{said}; {known.remedy}"
    elif code:
        yield f"caution: nvidia-smi ends with exit code {code}{said}"
    for name, word in row.errors.items():
        yield f"caution: nvidia-smi says {word!r} for its {name}"
    for lost in _find_silent(answer):
        yield f"caution: {_lose(lost).what}; CUDA may fail on every GPU: {REPAIR}"
    on_bus = count_on_bus(probe.machine.root, probe.question.environment) or 0
    if (unlisted := on_bus - len(answer.rows) - len(answer.lost)) > 0:
        yield (
            f"caution: the PCI bus has {on_bus} NVIDIA GPUs, and nvidia-smi does not list {unlisted} of "
            f"them: {REPAIR}"
        )
    for pending in smi.find_pending(read_details(probe)):
        yield f"caution: {pending}; {REPAIR}"


def read_branch(row: Row) -> int | None:
    """The branch of a GPU's driver, such as 570; None: unknown."""
    found = re.match(r"\d+", row.driver)
    return int(found[0]) if found else None


def _word_memory(row: Row) -> str:
    """Its memory; a GPU that shares the CPU's tells none."""
    return f", {row.memory}" if row.memory[:1].isdigit() else ""


def _word_others(rows: Sequence[Row], row: Row) -> str:
    if len(rows) == 1:
        return ""
    names = {other.card.name or "name unknown" for other in rows if other is not row}
    rest = f", the other{'s' if len(rows) > 2 else ''} {', '.join(sorted(names))}"
    return f"; {len(rows)} GPUs in all" + (rest if names != {row.card.name} else "")


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
