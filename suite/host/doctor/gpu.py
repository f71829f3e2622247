"""The doctor's checks of the GPU: its driver, how a container gets it, whether TensorFlow has code for it,
and who else computes on it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePosixPath

from suite.errors import OTHER_BUILD, TOO_OLD, CrossoverError, GpuError, NoGpuError
from suite.host.doctor.finding import Finding, Unknown, no, not_applicable, yes
from suite.host.doctor.probe import COMMAND_S, Probe, Ran, once
from suite.host.engine import Engine, GpuSupport, Slice, find_row
from suite.host.gpu import smi
from suite.host.gpu.choice import (
    Choice,
    describe_cards,
    explain_visible,
    find_choice,
)
from suite.host.gpu.drivers import last_branch
from suite.host.gpu.refusals import (
    GROUPS,
    INFOROM,
    OLD_DRIVER,
    OLD_FOR_PTX,
    REPAIR,
    UNLICENSED,
    WORDS,
    WRITE_SPEC,
    find_code,
    reword,
)
from suite.host.gpu.remedies import explain_refusal, find_refusal
from suite.host.gpu.smi import (
    FIELDS,
    WSL_SMI,
    Answer,
    Lost,
    Row,
    describe_vgpu,
    find_licence,
)
from suite.host.gpu.visible_devices import (
    count_on_bus,
    machine_gpus,
    no_gpu,
    pci_gpus,
)
from suite.host.machine.identity import describe_machine
from suite.host.provision.image_table import ARM
from suite.model import Scalar
from suite.procfs import read_version
from suite.slices import read_virtual_gpu

OLDEST_DRIVER = 525
"""The first driver branch that runs CUDA 12."""

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
    while True:
        done = ask_smi(probe, f"--query-gpu={','.join(fields)}", "--format=csv,noheader")
        unknown = smi.UNKNOWN_FIELD.search(done.stdout)
        if unknown is None or unknown[1] not in fields:
            break
        fields.remove(unknown[1])
    answer = smi.read_answer(done.stdout, done.returncode, fields)
    if not answer.rows:
        raise _explain(done, answer)
    rows = tuple(_find_slices(probe, row) if row.card.mig else row for row in answer.rows)
    return answer._replace(rows=rows)


def _find_slices(probe: Probe, row: Row) -> Row:
    listed = _SLICE.findall(ask_smi(probe, "-L", "-i", str(row.card.index)).stdout)
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
    raise Unknown("nvidia-smi is not on PATH", WORDS["INSTALL_SMI"])


def _explain(done: Ran, answer: Answer) -> CrossoverError:
    """The error for an answer without a GPU's row: by its text, else by its exit code, else as it is."""
    if answer.lost:
        return _lose(answer.lost[0])
    said = " ".join(done.stdout.split())[:SHOWN]
    row = find_refusal(done.stdout) or find_code(done.returncode)
    if row is not None:
        return GpuError(f"{row.cause}: {said or f'exit code {done.returncode}'}", row.remedy)
    if not done.returncode:
        return Unknown(f"nvidia-smi lists no GPU: {said!r}")
    return GpuError(
        f"nvidia-smi fails with exit code {done.returncode}, and its message is not listed here: "
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
    silent = answer.silent
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
        raise _lose(row.as_lost)
    return row, choice


def pick_known(probe: Probe) -> tuple[Row, Choice]:
    """As `pick_row`, for the lines after the driver's, which has said already what is wrong.

    Raises:
        Unknown: which GPU it would be is not known.
    """
    try:
        return pick_row(probe, read_answer(probe))
    except GpuError as error:
        raise Unknown("which GPU it would be is not known (see driver)") from error


@once
def read_details(probe: Probe) -> str:
    """What ``nvidia-smi -q`` prints of the GPU that was asked for, and that has answered before; empty where
    it does not now."""
    row, _ = pick_row(probe, read_answer(probe))
    with suppress(Unknown):
        return ask_smi(probe, "-q", "-i", str(row.card.index)).stdout
    return ""


def check_driver(probe: Probe) -> Finding:
    """Whether there is a GPU, and a driver that answers for it."""
    if probe.is_elsewhere():
        return _look_elsewhere(probe)
    stops = GpuError.exit_status if probe.wants_gpu() else 0
    try:
        if not machine_gpus(probe.machine.root):
            raise no_gpu(probe.machine.root, probe.question.environment)
        answer = read_answer(probe)
        row, choice = pick_row(probe, answer)
    except GpuError as error:
        left_out = isinstance(error, NoGpuError) and not probe.named_arms()
        return no(error.what, error.remedy, stops=0 if left_out else stops, unless="tensorflow")
    details, branch = read_details(probe), read_branch(row)
    virtual, licence = describe_vgpu(row.card.name, details), find_licence(details)
    named = f"{row.card.name}, {virtual}" if virtual else f"{row.card.name}"
    if branch is not None and branch < OLDEST_DRIVER:
        what, remedy = f"driver {row.driver} is older than CUDA 12 needs", OLD_DRIVER
        last = last_branch(row.capability, row.card.name)
        if last is not None and last < OLDEST_DRIVER:
            what += f", and there is none after branch {last} for this GPU ({row.card.name})"
            remedy = TOO_OLD
        elif virtual:
            what, remedy = f"{what}, on {named}", WORDS["OLD_IMAGE"].format(least=OLDEST_DRIVER)
        return no(what, remedy, stops=stops, unless="tensorflow", driver=row.driver)
    if virtual and (licence or "").lower().startswith("unlicensed"):
        return no(
            f"driver {row.driver}: {named}; it has no licence ({licence}), so its driver slows it "
            "down soon after the virtual machine has started",
            UNLICENSED,
            driver=row.driver,
            license=licence,
        )
    # One that shares the CPU's memory tells none of its own.
    memory = f", {row.memory}" if row.memory[:1].isdigit() else ""
    part = f", using {choice.slice.name}" if choice.slice else ""
    cards = [other.card for other in answer.rows]
    several = f"; {len(cards)} GPUs in all: {describe_cards(cards)}" if len(cards) > 1 else ""
    cautions = "".join(f"; {caution}" for caution in _find_cautions(probe, answer, row))
    return yes(
        f"driver {row.driver}: {row.card.name}{memory}{part}{several}"
        f"{f'; {virtual}' if virtual else ''}{cautions}",
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
    known = find_row(answer.rest, (INFOROM, *GROUPS["driver"])) or find_code(code)
    said = f" ({answer.rest[:SHOWN]})" if answer.rest else ""
    if known is not None:
        yield f"caution: {known.cause}{said}; {known.remedy}"
    elif code:
        yield f"caution: nvidia-smi ends with exit code {code}{said}"
    for name, word in row.errors.items():
        yield f"caution: nvidia-smi says {word!r} for its {name}"
    for lost in answer.silent:
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


def _look_elsewhere(probe: Probe) -> Finding:
    """What a container on the engine's machine sees of its GPUs: this machine's are others."""
    engine = probe.engine()
    if not engine.has_probe_image():
        raise Unknown(f"{ELSEWHERE}, and no image is there to look with", "`make images`")
    cards = engine.list_gpus()
    if not cards:
        raise Unknown(f"{ELSEWHERE}, and a container there sees no NVIDIA GPU")
    named = f"the engine's machine has {describe_cards(cards)}; its driver: see tensorflow"
    return yes(named, gpus=len(cards))


OLDEST_CAPABILITY, PTX_CAPABILITY, TOO_NEW_CAPABILITY = 6.0, 9.0, 10.0
"""TensorFlow 2.21 holds machine code for compute capability 6.0, 7.0, 8.0, 8.9 and, in what nvcc built,
9.0; its 1,149 one-kernel modules (the operations by elements) are PTX for 9.0, of which a campaign needs
some 24.  CUDA 12.5, which it was built with, can't compile for 10.0 and later."""

PTX_DRIVER = 555
"""The wheel's PTX is of version 8.5 (read out of its library), which is CUDA 12.5's.  A driver compiles
no newer PTX than that of its own CUDA; TensorFlow then warns, and goes on with wrong results."""


def check_capability(probe: Probe) -> Finding:
    """Whether the TensorFlow that would run has code for this GPU."""
    if not probe.wants_gpu():
        return not_applicable(NOT_ASKED)
    if probe.is_elsewhere():
        raise Unknown(f"{ELSEWHERE}: see tensorflow instead")
    if not probe.shows_gpu():
        return not_applicable(NO_GPU)
    row, _ = pick_known(probe)
    if row.capability is None:
        raise Unknown("nvidia-smi does not say the compute capability")
    try:
        custom = probe.other_tensorflow()
    except CrossoverError as error:
        raise Unknown("which TensorFlow would run can't be told (see images)") from error
    if custom is not None:
        return yes(
            f"compute capability {row.capability}; {custom} has its own TensorFlow, which "
            "reports support at start-up",
            capability=row.capability,
        )
    if probe.architecture() in ARM:
        raise Unknown(
            f"compute capability {row.capability}; which TensorFlow would run on it is not known (see "
            "architecture)"
        )
    engine = probe.try_engine()
    other_build = reword(OTHER_BUILD, engine.kind if engine else "docker")
    return _hold_against_lock(row.capability, row, other_build)


def _hold_against_lock(number: float, row: Row, other_build: str) -> Finding:
    """What the locked TensorFlow does on a GPU of this compute capability."""
    branch = read_branch(row)
    what, remedy, unless = f"compute capability {number}", other_build, ""
    if number >= TOO_NEW_CAPABILITY:
        what += " (Blackwell or later): the locked TensorFlow can't run on it"
    elif number < OLDEST_CAPABILITY:
        what += f" is older than the locked TensorFlow has code for ({OLDEST_CAPABILITY} and later)"
        remedy = TOO_OLD
    elif number >= PTX_CAPABILITY and branch is not None and branch < PTX_DRIVER:
        what += (
            ": the locked TensorFlow brings some of its kernels for it as CUDA 12.5's PTX, which "
            f"driver {row.driver} is too old to compile: their results are wrong, with a warning alone"
        )
        is_slice = read_virtual_gpu(row.card.name) is not None
        remedy = WORDS["OLD_IMAGE"].format(least=PTX_DRIVER) if is_slice else OLD_FOR_PTX
        unless = "tensorflow"
    else:
        return yes(f"{what}: TensorFlow holds code for it", capability=number)
    return no(what, remedy, stops=GpuError.exit_status, unless=unless, capability=number)


_KIND = re.compile(r"""(?:^|[{,\s])"?kind"?\s*:\s*"?([\w./-]+)""")
"""What a specification says that it is about, in YAML and in JSON."""

_UVM = "/dev/nvidia-uvm"
"""The device by which CUDA manages memory: without it `cuInit` fails, whatever else is there."""

CDI_FOLDERS = ("/var/run/cdi", "/etc/cdi")
"""Where specifications lie: of a device that both name, the first folder's counts."""

_HOOK_SETTINGS = "/etc/nvidia-container-runtime/config.toml"


def check_toolkit(probe: Probe) -> Finding:
    """Whether the engine has a way to give a GPU to a container."""
    engine = probe.open_engine()
    if engine.isolation != "container":
        return not_applicable("no container is started that could be given a GPU")
    if engine.is_here and not probe.shows_gpu():
        return not_applicable(NO_GPU)
    support, podman = engine.gpu_support(), engine.kind == "podman"
    reads_cdi = podman or support.devices or support.cdi_folders
    finding = _find_cdi(probe, engine, support) if reads_cdi else None
    if finding is None and engine.is_here and not podman:
        finding = _find_hook(probe, engine)
    if finding is None and "nvidia" in support.runtimes:
        finding = yes("the engine has the runtime nvidia", way="runtime")
    if finding is None and not engine.is_here:
        raise Unknown("the engine does not say; see passthrough")
    return finding or no(
        "neither the NVIDIA container toolkit nor a CDI specification is here",
        explain_refusal(
            'could not select device driver "" with capabilities', kind=engine.kind
        ).remedy,
        unless="passthrough",
    )


def _find_cdi(probe: Probe, engine: Engine, support: GpuSupport) -> Finding | None:
    """How the engine's CDI stands; None: it has neither a device nor a specification.

    Its own folders count where it names them, of these the last first.
    """
    folders = (support.cdi_folders[::-1] or CDI_FOLDERS) if engine.is_here else ()
    specs = next(filter(None, (_find_specs(probe, folder) for folder in folders)), [])
    if fault := next(filter(None, (_find_fault(probe, path) for path in specs)), None):
        return fault
    if support.devices:
        more = len(support.devices) - LISTED
        listed = ", ".join(support.devices[:LISTED]) + (f" and {more} more" if more > 0 else "")
        return yes(f"CDI: the engine lists {listed}", way="cdi")
    if not specs:
        return None
    return yes(f"CDI is on, and there is a specification ({specs[0]})", way="cdi")


def _find_specs(probe: Probe, folder: str) -> list[str]:
    """A folder's specifications of NVIDIA's GPUs: one of another kind, as of a cluster's plugin, is none."""
    machine = probe.machine
    paths = [path for end in ("yaml", "json") for path in machine.find(f"{folder}/*.{end}")]
    kinds = {path: _KIND.search(machine.read(path) or "") for path in paths}
    return [
        path
        for path, kind in kinds.items()
        # One that can't be read, or is broken, is judged by its name.
        if (kind[1] == "nvidia.com/gpu" if kind else "nvidia" in path)
    ]


def _find_fault(probe: Probe, path: str) -> Finding | None:
    """The finding for a specification that names libraries of another driver than the loaded one, or
    lacks a device that CUDA needs."""
    text = probe.machine.read(path) or ""
    # Where it lies: one in the folder that counts first would hide what is written to the other.
    remedy = WRITE_SPEC.replace("/etc/cdi/nvidia.yaml", path)
    loaded = read_version(probe.machine.root)
    written = re.findall(r"libcuda\.so\.(\d+\.\d+(?:\.\d+)?)", text)
    if loaded is not None and written and loaded not in written:
        fault = f"was written for driver {written[0]}, and {loaded} is loaded"
    elif re.search(r"/dev/nvidia\d", text) and not re.search(rf"{_UVM}(?![-\w])", text):
        fault = f"does not name {_UVM}, without which CUDA can't start"
        remedy = f"`sudo nvidia-modprobe -u -c=0` makes the device, then {remedy}"
    else:
        return None
    return no(f"the CDI specification {path} {fault}", remedy, unless="tensorflow", way="cdi")


def _find_hook(probe: Probe, engine: Engine) -> Finding | None:
    """How NVIDIA's toolkit stands; None: it is not here."""
    done = probe.machine.run(["nvidia-ctk", "--version"], COMMAND_S)
    version = re.search(r"version (\S+)", done.stdout) if done and done.returncode == 0 else None
    if version is None and not probe.machine.find("/usr/bin/nvidia-container-runtime-hook"):
        return None
    hook = "NVIDIA container toolkit" + (f" {version[1]}" if version else "")
    settings = probe.machine.read(_HOOK_SETTINGS) or ""
    lifted = re.search(r"^\s*no-cgroups\s*=\s*true", settings, re.MULTILINE)
    if not engine.describe().get("rootless") or lifted:
        return yes(hook, way="hook")
    return no(
        f"{hook}, whose hook a rootless engine has no right to run as it is set",
        explain_refusal("bpf_prog_query(BPF_CGROUP_DEVICE) failed", kind=engine.kind).remedy,
        unless="passthrough",
        way="hook",
    )


def check_passthrough(probe: Probe) -> Finding:
    """Whether a container really gets the GPU: tried with a trivial one."""
    if not probe.wants_gpu():
        return not_applicable(NOT_ASKED)
    probe.open_engine()
    try:
        request = probe.gpu()
    except GpuError as error:
        return _judge_refusal(probe, error)
    except Unknown as reason:
        toolkit = check_toolkit(probe)
        if toolkit.unless != "passthrough":
            raise
        return no(
            f"not tried ({reason.what}), and without a toolkit it would be refused",
            toolkit.remedy,
            stops=GpuError.exit_status,
        )
    if request.driver == "none":
        return not_applicable(f"no container is used{_explain_visible(probe)}")
    through = "CDI" if request.driver == "cdi" else "NVIDIA's hook"
    return yes(
        f"a trivial container sees the GPU, asked for through {through}{_explain_visible(probe)}",
        way=request.driver,
    )


def _judge_refusal(probe: Probe, error: GpuError) -> Finding:
    """The finding where no GPU is available.

    Raises:
        Unknown: it only took too long to tell.
    """
    if isinstance(error, NoGpuError) and probe.question.arms == ("auto",):
        root = probe.machine.root
        there = machine_gpus(root) or pci_gpus(root)
        # One that is hidden from this shell, or was not given to this container, is there all the same.
        return (
            no(error.what, error.remedy)
            if there and not probe.is_elsewhere()
            else not_applicable(NO_GPU)
        )
    if isinstance(error.__cause__, TimeoutError):
        remedy = f"run `make doctor` again, since a busy machine takes longer; {error.remedy}"
        raise Unknown(error.what, remedy) from error
    return no(error.what, error.remedy, stops=error.exit_status)


def _explain_visible(probe: Probe) -> str:
    """What becomes of the caller's CUDA_VISIBLE_DEVICES, as a clause; nothing where it changes nothing."""
    contained = probe.engine().isolation == "container"
    asked, environment = probe.question.gpu, probe.question.environment
    words = explain_visible(asked, environment, contained=contained)
    return f"; {words}" if words and not probe.is_elsewhere() else ""


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
    rows = [line.split(",") for line in done.stdout.splitlines() if line[:1].isdigit()]
    if not rows:
        is_slice = describe_vgpu(row.card.name, read_details(probe)) is not None
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
    text = " ".join(done.stdout.split())
    if done.returncode and find_code(done.returncode) is not INFOROM:
        return (
            f"nvidia-smi does not list processes: {text[:SHOWN] or f'exit code {done.returncode}'}"
        )
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
    used = row.used_mib
    memory, much = "and how much of its memory is used is not reported", False
    if used is not None and choice.slice is None:
        memory = f"{_format_mib(used)} of its memory are used"
        much = used > max(MUCH_MIB, MUCH_SHARE * (row.total_mib or 0.0))
    if hidden and much:
        return no(
            f"{memory} by someone who can't be seen from here: {hidden}",
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
            f"whether another process computes on it is unknown: {why}; {memory}",
            "`nvidia-smi` on the machine itself shows who uses it",
        )
    more = f": {memory}, too little for a process that computes ({hidden})" if hidden else ""
    return yes(f"no other process computes on it{more}", processes=0, memory_used_mib=used)


def _format_mib(number: float) -> str:
    return f"{number:.0f} MiB" if number < 1024 else f"{number / 1024:.1f} GiB"


def _name_program(path: str) -> str:
    """A program's own name, since its path can name a person; `[N/A]` and the like, as they are."""
    return path if path.startswith("[") else PurePosixPath(path).name


def check_expected(probe: Probe) -> Finding:
    """What is published of a machine of this type with this GPU, before anything is measured."""
    kind: Scalar = probe.question.type
    names: list[str] = []
    if not probe.is_elsewhere():
        kind = kind or describe_machine(probe.machine.root)["machine.type"]
        with suppress(CrossoverError):
            names = [row.card.name for row in read_answer(probe).rows if row.card.name]
    return probe.question.expect(None if kind is None else str(kind), names)
