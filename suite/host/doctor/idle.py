"""Who else computes on the GPU."""

from __future__ import annotations

from pathlib import PurePosixPath

from suite.host.doctor.cards import ask_smi, look_for_slice, pick_known
from suite.host.doctor.finding import Finding, Unknown, no, not_applicable, yes
from suite.host.doctor.machine import Ran
from suite.host.doctor.probe import Probe, once
from suite.host.gpu.choice import Choice
from suite.host.gpu.smi import Row
from suite.host.gpu.texts.answers import INFOROM, find_code

LITTLE_MIB = 64
"""More than a driver uses of a card on which nobody computes; CUDA takes over 100 MiB for a process."""

MUCH_MIB, MUCH_SHARE = 2048, 0.1
"""More than both is not a driver's nor a desktop's, but someone's data."""


@once
def check_idle_gpu(probe: Probe) -> Finding:
    """Whether another process computes on the GPU; looked once, before TensorFlow is started there."""
    if probe.is_elsewhere():
        raise Unknown(f"{ELSEWHERE}, so other compute processes can't be seen")
    if not probe.shows_gpu():
        return not_applicable(NO_GPU)
    row, choice = pick_known(probe)
    asked = ("--query-compute-apps=pid,process_name,used_memory", "-i", str(row.card.index))
    done = ask_smi(probe, *asked, "--format=csv,noheader")
    rows = [line.split(",") for line in done.text.splitlines() if line[:1].isdigit()]
    if not rows:
        is_slice = look_for_slice(probe, row) is not None
        hidden = _find_hidden(probe, done, is_slice=is_slice)
        return _judge_unseen(row, choice, hidden, is_slice=is_slice)
    named = ", ".join(
        f"{row[0].strip()} {_name_program(row[1].strip())} ({row[-1].strip()})"
        for row in rows[:LISTED]
    )
    count = f"{len(rows)} other process{'es' if len(rows) > 1 else ''}"
    if choice.slice is not None:
        raise Unknown(
            f"{count} computing on the GPU's MIG instances: {named}; on which one is not reported",
            "stop those on this instance (`nvidia-smi` shows which)",
        )
    return no(
        f"{count} computing on it: {named}",
        "stop them: anything measured while they run is INVALID",
        processes=len(rows),
    )


def _find_hidden(probe: Probe, done: Ran, *, is_slice: bool) -> str:
    """Why a process that computes there would not be listed; empty: it would be."""
    text = " ".join(done.text.split())
    if done.code and find_code(done.code) is not INFOROM:
        return f"nvidia-smi does not list processes: {text[:SHOWN] or f'exit code {done.code}'}"
    if text.startswith("["):
        return f"nvidia-smi answers {text[:SHOWN]}"
    if is_slice:
        return "it is a slice of a card (vGPU), and the tenants of the other slices can't be seen"
    if probe.machine.find("/dev/dxg"):
        return "WSL does not show what computes in Windows or in other distributions"
    if probe.machine.read("/proc/2/comm") != "kthreadd":
        return "this is a container, which sees its own processes alone"
    return ""


def _judge_unseen(row: Row, choice: Choice, hidden: str, *, is_slice: bool) -> Finding:
    """What it comes to that no process is listed: by the memory that is used, where one could be hidden."""
    used, total = row.used_mib, row.total_mib
    if used is None or choice.slice is not None:
        much, told = False, "and how much of its memory is used is not reported"
    else:
        much = used > max(MUCH_MIB, MUCH_SHARE * (total or 0.0))
        told = f"{_word_mib(used)} of its memory are used"
    if hidden and much:
        return no(
            f"someone uses {told.replace(' are used', '')}, and can't be seen from here: {hidden}",
            "`nvidia-smi` on the machine itself shows who; stop that, or rent another machine: anything "
            "measured while it runs is INVALID",
            processes=None,
            memory_used_mib=used,
        )
    little = used is not None and used <= LITTLE_MIB and not is_slice
    if much or (hidden and not little):
        why = hidden or (
            "no process is listed, but graphics programs and what a killed process left behind would not be"
        )
        raise Unknown(
            f"whether another process computes on it is unknown: {why}; {told}",
            "`nvidia-smi` on the machine itself shows who uses it",
        )
    more = f": {told}, too little for a process that computes ({hidden})" if hidden else ""
    return yes(f"no other process computes on it{more}", processes=0, memory_used_mib=used)


def _word_mib(number: float) -> str:
    return f"{number:.0f} MiB" if number < 1024 else f"{number / 1024:.1f} GiB"


def _name_program(path: str) -> str:
    """A program's own name, since its path can name a person; `[N/A]` and the like, as they are."""
    return path if path.startswith("[") else PurePosixPath(path).name
