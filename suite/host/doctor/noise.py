"""The doctor's checks of what would disturb a campaign: updates, load, a clock that is not alone, and who
else computes on the GPU."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from suite.host.doctor.cards import (
    ELSEWHERE,
    NO_GPU,
    SHOWN,
    ask_smi,
    look_for_slice,
    pick_known,
)
from suite.host.doctor.finding import Finding, Unknown, no, not_applicable, yes
from suite.host.doctor.machine import COMMAND_S, Ran
from suite.host.doctor.probe import Probe, once
from suite.host.gpu.choice import Choice
from suite.host.gpu.smi import Row
from suite.host.gpu.texts.answers import INFOROM, find_code

INSTALLERS = (
    *("apt", "apt-get", "aptitude", "dpkg", "unattended-upgr"),
    *("dnf", "yum", "rpm", "zypper", "pacman"),
)
"""Programs that change a machine's packages, as the kernel names them (15 letters)."""

TIMERS = ("apt-daily.timer", "apt-daily-upgrade.timer", "dnf-automatic.timer")

LOOK_NS = 30_000_000
GAP_NS = 20_000
"""Two readings of the clock that are further apart than this had something else between them: a
reading takes some 50 ns, an interrupt a few µs."""

NOISY_SHARE = 0.02
"""A program that does nothing but read the clock and loses more than this is not alone."""

LOAD_SHARE = 0.25
LOAD_FLOOR = 0.5
"""A load of over a quarter of the CPUs, and over this, is more than a machine's own services."""

SLOW_CLOCKS = ("hpet", "acpi_pm", "jiffies", "refined-jiffies")
"""Clock sources that cost a microsecond a reading, or tick too coarsely."""

LITTLE_MIB = 64
"""More than a driver uses of a card on which nobody computes; CUDA takes over 100 MiB for a process."""

MUCH_MIB, MUCH_SHARE = 2048, 0.1
"""More than both is no driver's and no desktop's, but someone's data."""

_LISTED = 3


def check_updates(probe: Probe) -> Finding:
    """Whether packages are being changed, or soon will be."""
    machine = probe.machine
    comms = machine.find("/proc/[0-9]*/comm")
    if not comms:
        raise Unknown("the list of processes can't be read")
    found = {
        str(name)
        for path in comms
        if (name := machine.read(path)) in INSTALLERS
        and not _waits_for_shutdown(probe, path)
        and not _is_contained(probe, path)
    }
    if running := ", ".join(sorted(found)):
        return no(
            f"packages are being changed right now: {running}",
            "wait until it is done; a driver that is swapped in mid-run ends the campaign",
            running=running,
        )
    if machine.read("/proc/1/comm") != "systemd":
        return yes("nothing changes packages now, and no timer of systemd's is here")
    done = machine.run(["systemctl", "is-active", *TIMERS], COMMAND_S)
    states = done.text.split() if done else []
    if len(states) != len(TIMERS):
        raise Unknown("nothing changes packages now; systemctl does not say what is planned")
    active = [name for name, state in zip(TIMERS, states, strict=True) if state == "active"]
    if active:
        installs = _installs_itself(probe)
        what = {
            True: "updates install automatically, drivers included",
            False: "package lists are refreshed automatically (unattended-upgrades is off)",
            None: "updates start automatically",
        }[installs]
        return no(
            f"{what}: {', '.join(active)}",
            f"until the campaign is over: `sudo systemctl stop {' '.join(active)}`",
            timers=", ".join(active),
            installs=installs,
        )
    return yes("nothing changes packages, now or by a timer")


def _waits_for_shutdown(probe: Probe, comm: str) -> bool:
    """Whether it is the part of unattended-upgrades that Ubuntu starts with the machine, and that
    only waits for its end; the kernel cuts both names to the same one."""
    words = (probe.machine.read(comm.replace("/comm", "/cmdline")) or "").split("\0")
    return any(PurePosixPath(word).name == _WAITING for word in words)


_WAITING = "unattended-upgrade-shutdown"


def _is_contained(probe: Probe, comm: str) -> bool:
    """Whether a process is in a container that we are not in: it changes no package of this machine's.

    That it takes the CPU's time, the load says.
    """
    groups = probe.machine.read(comm.replace("/comm", "/cgroup")) or ""
    own = probe.machine.read("/proc/self/cgroup") or ""
    return _CONTAINERS.search(groups) is not None and _CONTAINERS.search(own) is None


_CONTAINERS = re.compile(r"[/:-](?:(?:docker|libpod|containerd|lxc)[-/]|kubepods)")
"""What container engines call their control groups."""


_UNATTENDED = re.compile(r'^\s*APT::Periodic::Unattended-Upgrade\s+"([^"]*)"', re.MULTILINE)


def _installs_itself(probe: Probe) -> bool | None:
    """Whether apt is set to install updates unasked; None: it does not say.  Later files win."""
    found = None
    for path in probe.machine.find("/etc/apt/apt.conf.d/*"):
        text = probe.machine.read(path) or ""
        for value in _UNATTENDED.findall(text):
            found = value not in {"", "0"}
    return found


def look_at_clock(
    clock_ns: Callable[[], int], span_ns: int = LOOK_NS
) -> tuple[float, int, int, int]:
    """Reads the clock again and again, and nothing else; every gap was somebody else's.

    Returns:
        in nanoseconds the usual step, the time that went to something else, the longest such gap, and how
        long it was read.
    """
    count = lost = longest = 0
    began = last = clock_ns()
    while last - began < span_ns:
        now = clock_ns()
        step = now - last
        last = now
        if step > GAP_NS:
            lost += step
            longest = max(longest, step)
        else:
            count += 1
    span = last - began
    return (span - lost) / max(1, count), lost, longest, span


def check_clock(probe: Probe) -> Finding:
    """How fine the clock is, and what others take of a moment on this machine."""
    source = probe.machine.read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    step_ns, lost_ns, longest_ns, span_ns = look_at_clock(probe.machine.clock_ns)
    share = lost_ns / span_ns
    text = (
        f"a reading takes {step_ns:.0f} ns ({source or 'source unknown'}); others took "
        f"{100 * share:.1f} % of {span_ns / 1e6:.0f} ms, at most {longest_ns / 1e3:.0f} µs "
        "at once"
    )
    facts: dict[str, Any] = {
        "source": source,
        "step_s": step_ns / 1e9,
        "lost_share": share,
        "longest_gap_s": longest_ns / 1e9,
    }
    remedy = ""
    if source in SLOW_CLOCKS:
        remedy = (
            "another clock source (tsc, kvm-clock), if the machine has one: short cells get coarse"
        )
    elif share > NOISY_SHARE:
        remedy = (
            "stop what else runs here; a machine shared with others stays noisy, and the report's "
            "noise floor will say so"
        )
    return no(text, remedy, **facts) if remedy else yes(text, **facts)


def check_load(probe: Probe) -> Finding:
    """Whether the machine is busy already."""
    machine = probe.machine
    try:
        load = float((machine.read("/proc/loadavg") or "").split()[0])
    except (ValueError, IndexError) as error:
        raise Unknown("/proc/loadavg does not say") from error
    cpus = len(machine.cpus())
    pressure = re.search(r"some avg10=([\d.]+)", machine.read("/proc/pressure/cpu") or "")
    waited = f"; in the last 10 s a task waited {pressure[1]} % of the time" if pressure else ""
    text = f"load {load:g} on {cpus} CPUs in the last minute{waited}"
    facts: dict[str, Any] = {"load": load, "pressure": float(pressure[1]) if pressure else None}
    busy = load > max(LOAD_FLOOR, LOAD_SHARE * cpus)
    remedy = "wait, or stop what runs (`top` shows it): it would be measured, too"
    return no(text, remedy, **facts) if busy else yes(text, **facts)


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
        for row in rows[:_LISTED]
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
