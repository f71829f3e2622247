"""The doctor's checks of what would disturb a campaign: updates, load, a clock that is not alone, and who
else computes on the GPU."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from suite.host.doctor.finding import Finding, Unknown, no, yes
from suite.host.doctor.machine import COMMAND_S
from suite.host.doctor.probe import Probe

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
    """Reads the clock again and again, and nothing else; every gap was another's.

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


