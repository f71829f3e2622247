"""The doctor's checks of the machine itself: what it is, what it has, how long a campaign takes, and what
would disturb one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from suite import __version__
from suite.errors import ARM_BUILD, CrossoverError, EngineError
from suite.host.campaign.arms import AUTO, Arms, auto_arms
from suite.host.campaign.options import Options
from suite.host.campaign.plan import PROFILES
from suite.host.campaign.request import plan_campaign
from suite.host.doctor.finding import Finding, Unknown, no, yes
from suite.host.doctor.probe import COMMAND_S, Probe
from suite.host.gpu.refusals import JETSON, USE_JETSON
from suite.host.gpu.visible_devices import is_jetson
from suite.host.machine.identity import describe_machine
from suite.host.machine.machine import cpus_withheld, find_cores, parse_cpus
from suite.host.provision.image_table import ARM, find_spec, has_wheels, no_cuda, no_wheels
from suite.model import SuiteIdentity
from suite.procfs import groups, write_cpus

NOBODYS = SuiteIdentity(version=__version__, commit=None, content="")
"""The suite of plans that are made for their length alone: it is not looked up."""


def check_cpu(probe: Probe) -> Finding:
    """What the CPU arm gets: CPUs, cores, sockets, memory nodes; or a quota in its way."""
    machine, engine, cpus = probe.machine, probe.try_engine(), _list_cpus(probe)
    if engine is None and not cpus:
        raise Unknown("there is no engine to ask, and this process sees no CPU")
    if probe.is_elsewhere():
        return yes(f"the engine has {len(cpus)} CPUs; their topology can't be seen from here")
    facts: dict[str, Any] = {
        "usable": len(cpus),
        "count": len(machine.find("/sys/devices/system/cpu/cpu[0-9]*")) or None,
        "cores": _count(probe, cpus, "thread_siblings_list"),
        "sockets": _count(probe, cpus, "physical_package_id"),
        "numa": len(machine.find("/sys/devices/system/node/node[0-9]*")) or None,
    }
    of = f" of {facts['count']}" if facts["count"] not in (None, len(cpus)) else ""
    cores, sockets, nodes = (facts[name] or "unknown" for name in ("cores", "sockets", "numa"))
    text = f"{len(cpus)}{of} logical CPUs; cores {cores}, sockets {sockets}, NUMA nodes {nodes}"
    quota = _find_quota(probe)
    if quota is None:
        return _judge_binding(probe, cpus, text, facts)
    topmost = quota.group.name == "/"
    where = "every process here" if topmost else f"the control group {quota.group.name}"
    return no(
        f"{text}; a quota of {quota.value:g} CPUs throttles {where}",
        f"{_LIFT_OUTSIDE if topmost else _LIFT}: TensorFlow starts a thread for each CPU that it sees",
        quota=quota.value,
        **facts,
    )


def _list_cpus(probe: Probe) -> tuple[int, ...]:
    engine = probe.try_engine()
    return probe.machine.cpus() if engine is None else engine.cpus()


_ISOLATED = "take `isolcpus` out of the kernel's command line (`cat /proc/cmdline`) and reboot"


def _judge_binding(
    probe: Probe, cpus: tuple[int, ...], text: str, facts: dict[str, Any]
) -> Finding:
    """Whether threads spread over these CPUs, and whether they are all that this process is given."""
    machine = probe.machine
    listed = machine.read("/sys/devices/system/cpu/isolated") or ""
    # Where there is none, some kernels write `(null)`.
    isolated = {*parse_cpus(listed)} if listed[:1].isdigit() else set()
    if used := sorted(isolated & {*cpus}):
        rest = sorted({*cpus} - isolated)
        aside = f"`CPUS={write_cpus(rest)}` leaves them out; or " if rest else ""
        return no(
            f"{text}; CPUs {write_cpus(used)} are isolated, and the kernel spreads no threads over those",
            aside + _ISOLATED,
            **facts,
        )
    every, withheld = cpus_withheld(cpus, machine.root, probe.question.environment) or ((), ())
    # Of a core whose other thread may be used, most of its speed is there.
    whole = [core for core in find_cores(every, machine.root) if {*core} <= {*withheld}]
    if not whole:
        unused = f"; CPUs {write_cpus(withheld)} are not used" if withheld else ""
        return yes(text + unused, **facts)
    why = (
        f"the others are isolated: {_ISOLATED}; or leave it, and CPU times are of these CPUs alone"
        if {*withheld} <= isolated
        else "start from a shell that is not pinned (`taskset -cp $$` shows it), and under Slurm with "
        "`--cpus-per-task` or `--cpu-bind=none`; otherwise CPU times are of these CPUs alone"
    )
    return no(
        f"{text}; only CPUs {write_cpus(cpus)} of the available {write_cpus(every)} can be used: this "
        "process is bound to them",
        why,
        **facts,
    )


_LIFT = (
    "start from a shell outside that group, or lift its quota (`systemctl show -p CPUQuotaPerSecUSec UNIT` "
    "shows it, `CPUQuota=` sets it), or give CPUs as a set instead (`AllowedCPUs=`)"
)
_LIFT_OUTSIDE = (
    "whoever started this container or pod lifts the quota (`--cpus` of docker, `resources.limits.cpu` of a "
    "pod, `limits.cpu.allowance` of LXD or Incus), or gives CPUs as a set instead (`--cpuset-cpus`, "
    "`limits.cpu`)"
)
"""The topmost group that can be seen is the one that whoever started all this has made."""


_OF_USER = re.compile(r"/user\.slice(/user-\d+\.slice)?")
"""The groups of all that a user has started: sessions, services, and the containers of a rootless engine."""


def _find_quota(probe: Probe) -> groups.Bound | None:
    """The quota that would hold the worker back: a plain process is in this one's control groups; a container
    on this machine has groups of its own, below the topmost that is seen from here, and if the engine is the
    user's, below those of the user as well."""
    visible = groups.list_groups("cpu", probe.machine.root)
    engine = probe.try_engine()
    if engine is not None and engine.isolation != "container":
        return groups.find_quota(visible)
    rootless = engine is not None and engine.describe().get("rootless")
    users = [group for group in visible[:-1] if rootless and _OF_USER.fullmatch(group.name)]
    return groups.find_quota([*users, *visible[-1:]])


def _count(probe: Probe, cpus: tuple[int, ...], name: str) -> int | None:
    """How many different sockets, or cores, these CPUs lie on."""
    places = (f"/sys/devices/system/cpu/cpu{cpu}/topology/{name}" for cpu in cpus)
    found = {probe.machine.read(place) for place in places}
    return None if None in found else len(found)


def check_duration(probe: Probe) -> Finding:
    """How long a campaign of each profile should take, before anything has run."""
    try:
        arms, once = probe.arms(), ""
    except CrossoverError:
        arms = probe.named_arms() or auto_arms(gpu=probe.shows_gpu())
        once = "; once an engine answers"
    run = Arms(run=arms, cpus=len(_list_cpus(probe)))
    plans = {
        name: plan_campaign(Options(profile=name), run, probe.question.cells, suite=NOBODYS)
        for name in PROFILES
    }
    guesses = {name: sketch.prediction.before_s for name, sketch in plans.items()}
    words = ", ".join(f"{name} {_format_duration(guess)}" for name, guess in guesses.items())
    return yes(
        f"{words} ({' and '.join(arm.name for arm in arms)}; an estimate until a block has run, images "
        f"not counted{once})",
        **{f"{name}_s": round(guess, 1) for name, guess in guesses.items()},
    )


def _format_duration(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def check_cloud(probe: Probe) -> Finding:
    """What type of machine the documents will say that this is, as far as it knows itself without any
    network."""
    machine = probe.machine
    kind = describe_machine(machine.root)["machine.type"]
    vendor, product = (
        machine.read(f"/sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name")
    )
    facts = {"type": kind or product, "vendor": vendor}
    if kind is None and vendor is None and product is None:
        raise Unknown("neither cloud-init nor DMI says what machine this is")
    origin = "" if kind else " (DMI; no cloud-init)"
    return yes(
        f"{vendor or 'unknown vendor'}: {kind or product or 'unknown product'}{origin}", **facts
    )


def check_architecture(probe: Probe) -> Finding:
    """Whether the locks hold wheels for this processor."""
    name = probe.architecture()
    return replace(_judge_architecture(probe, name), facts={"architecture": name})


def _judge_architecture(probe: Probe, name: str) -> Finding:
    if name in ARM:
        return _judge_arm(probe, name)
    if name not in {"x86_64", "amd64"}:
        return no(
            f"{name}: the locked TensorFlow has no wheel for it",
            "an x86-64 or aarch64 machine",
            stops=EngineError.exit_status,
        )
    flags = re.search(r"^flags\s*:(.*)$", probe.machine.read("/proc/cpuinfo") or "", re.MULTILINE)
    if flags and "avx" not in flags[1].split() and not probe.is_elsewhere():
        return no(
            f"{name} without AVX: TensorFlow's wheels end with an illegal instruction",
            "a processor of 2013 or later; a virtual machine may hide AVX (choose the CPU type host)",
            stops=CrossoverError.exit_status,
        )
    return yes(f"{name}: the locks hold wheels for it")


def _judge_arm(probe: Probe, name: str) -> Finding:
    """As some TensorFlow has no wheel for ARM, and none has one with CUDA: whether an arm needs it, and has
    it from elsewhere."""
    for arm in probe.named_arms() or auto_arms(gpu=False):
        spec = find_spec(arm.image)
        if not spec.gpu and not has_wheels(spec, name):
            return no(*no_wheels(spec, name), stops=EngineError.exit_status)
    if is_jetson(probe.machine.root) and not probe.is_elsewhere() and not probe.other_tensorflow():
        needs = any(arm.gpu for arm in probe.named_arms())
        return no(f"{name}: {JETSON}", USE_JETSON, stops=EngineError.exit_status if needs else 0)
    shown = probe.shows_gpu() and not probe.is_elsewhere()
    needs = any(arm.gpu or arm.control == "hidden" for arm in probe.named_arms())
    if not needs and not (shown and probe.question.arms == (AUTO,)):
        return yes(f"{name}: the CPU arm alone, as TensorFlow has no CUDA for it")
    if other := probe.other_tensorflow():
        return yes(f"{name}: {other} brings the cuda arm's TensorFlow")
    return no(no_cuda(name), ARM_BUILD, stops=EngineError.exit_status)


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
        )
    if machine.read("/proc/1/comm") != "systemd":
        return yes("nothing changes packages now, and no timer of systemd's is here")
    done = machine.run(["systemctl", "is-active", *TIMERS], COMMAND_S)
    states = done.stdout.split() if done else []
    if len(states) != len(TIMERS):
        raise Unknown("nothing changes packages now; systemctl does not say what is planned")
    active = [name for name, state in zip(TIMERS, states, strict=True) if state == "active"]
    if active:
        return no(
            f"timers of the package manager are active ({', '.join(active)}); they may install "
            "updates, drivers too",
            f"until the campaign is over: `sudo systemctl stop {' '.join(active)}`",
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
