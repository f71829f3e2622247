"""The doctor's checks of Python, the engine, its images and its disk.  Knows no docker."""

from __future__ import annotations

import platform
from pathlib import Path

from suite.errors import MORE_DISK, CrossoverError, EngineError, RightsError
from suite.host.doctor.finding import Finding, Unknown, no, not_applicable, unknown, yes
from suite.host.doctor.probe import Probe
from suite.host.engine import Engine, Stock
from suite.host.machine.surroundings import find_container
from suite.host.provision.images import count_room

_WHERE = {
    True: "on this machine",
    False: "on another machine, whose noise can't be seen from here",
    None: "not proven to be on this machine, so its noise can't be seen from here",
}

_SNAP = (
    "installed as a snap, which is confined itself: where containers end with `exec …: operation not "
    "permitted`, `sudo snap refresh docker`, or docker.io in its place"
)

_GB = 1e9


def check_python(_: Probe) -> Finding:
    """The Python of the host side; the images bring their own."""
    version = platform.python_version()
    return yes(
        f"{platform.python_implementation()} {version} runs the host side (3.10 or newer)",
        version=version,
    )


def check_engine(probe: Probe) -> Finding:
    """Which engine would be taken, and whether it answers."""
    engine = probe.engine()
    environment = probe.question.environment
    if engine.isolation == "unseen":
        if probe.question.engine == "inside":
            return yes("inside, as asked: CONTAINER, ENGINE NOT SEEN", name=engine.name)
        container = find_container(environment, probe.machine.root)
        return yes(
            f"this is a container that the suite did not start ({container}), and no engine is in it: the "
            "worker "
            "runs as a plain process (ENGINE=inside), and every table says CONTAINER, ENGINE NOT SEEN",
            name=engine.name,
        )
    if engine.name == "local":
        if probe.question.engine == "local":
            return yes("local, as asked: NOT CONTAINERIZED", name="local")
        return no(
            "no docker engine is here: `make bench` would run NOT CONTAINERIZED (ENGINE=local)",
            "in a job of Slurm's: set ENGINE=local to confirm that this is intended; docs/fleet.md has a "
            "way with Apptainer"
            if environment.get("SLURM_JOB_ID")
            else "install one (`sudo apt-get install docker.io`) and start it, or name one with "
            "DOCKER_HOST",
            name="local",
        )
    facts = engine.describe()
    parts = [f"{facts.get('product')} {facts.get('version')}, {_WHERE[engine.is_here]}"]
    parts += [_SNAP] if engine.kind == "snap" else []
    parts += [f"storage {facts['storage.driver']}"] if facts.get("storage.driver") else []
    parts += [f"cgroup {facts['cgroup.version']}"] if facts.get("cgroup.version") else []
    parts += ["rootless"] if facts.get("rootless") else []
    return yes(
        "; ".join(parts),
        name=engine.name,
        product=facts.get("product"),
        version=facts.get("version"),
        here=engine.is_here,
    )


def check_rights(probe: Probe) -> Finding:
    """Whether this user may write results and talk to the engine, in the order of bench's own looks."""
    probe.machine.try_results(probe.question.results)
    try:
        engine = probe.engine()
    except RightsError as error:
        return no("this user may not talk to the engine", error.remedy, stops=error.exit_status)
    except CrossoverError as error:
        raise Unknown("there is no engine to ask") from error
    if engine.is_here is not False:
        probe.machine.try_machine()
    if engine.isolation != "container":
        return yes("this user may write the results")
    engine.look_at_leftovers()
    return yes("this user may talk to the engine and write the results")


def check_images(probe: Probe) -> Finding:
    """Which images are built from what the checkout holds now."""
    engine = probe.open_engine()
    noun = "image" if engine.isolation == "container" else "environment"
    stocks = [engine.take_stock(name) for name in probe.images()]
    built = {stock.name: stock.image is not None for stock in stocks}
    return yes("; ".join(_describe_stock(stock, noun) for stock in stocks), **built)


def _describe_stock(stock: Stock, noun: str) -> str:
    name = stock.name
    if not stock.from_lock:
        laid = f"the suite laid on {stock.base}"
        own = laid if noun == "image" else f"{stock.base} as LOCAL_PYTHON names it"
        name += f" ({own}, not from the lock)"
    if stock.image is not None:
        return f"the {noun} {name} is built"
    how = "in minutes" if stock.room_bytes else "in seconds, from existing layers"
    return f"`make bench` builds the {noun} {name} {how}"


def check_base(probe: Probe) -> Finding:
    """Whether the base of an image that has to be built is here, or can be fetched."""
    engine = probe.open_engine()
    stocks = probe.take_stocks()
    if engine.isolation != "container":
        return _look_at_interpreter(engine, stocks)
    # Both images have one base, unless CUDA_IMAGE names another for the GPU's.
    missing = {stock.base: stock for stock in stocks if stock.image is None}
    if not missing:
        return not_applicable("every image is built already")
    findings = [_look_for_base(engine, stock) for stock in missing.values()]
    if unsure := [finding for finding in findings if finding.state != "yes"]:
        return unsure[0]
    return yes("; ".join(finding.text for finding in findings))


def _look_at_interpreter(engine: Engine, stocks: list[Stock]) -> Finding:
    """What makes the environments, and whether it could where one is missing."""
    base = " and ".join(dict.fromkeys(stock.base for stock in stocks))
    if not stocks[0].from_lock:
        return yes(f"{base} (LOCAL_PYTHON) stands in for the environments")
    if all(stock.image is not None for stock in stocks):
        return yes(f"{base} makes the environments")
    if engine.reach_base(base) is None:
        raise Unknown(f"{base} makes the environments; its pip can't ask the package index")
    return yes(f"{base} makes the environments; the package index answers")


def _look_for_base(engine: Engine, stock: Stock) -> Finding:
    base = stock.base.partition("@")[0]
    if stock.base_here:
        return yes(f"{base} is in the engine")
    try:
        reached = engine.reach_base(stock.base)
    except CrossoverError as error:
        if "timed out" not in error.what.lower():
            raise
        what = f"{base} is not here, and the check of its registry timed out"
        raise Unknown(what, error.remedy) from error
    if reached is None:
        return unknown(f"{base} is not here; this engine can't ask its registry without fetching")
    return yes(f"{base} is not here; its registry answers")


def check_disk(probe: Probe) -> Finding:
    """Whether the engine's disk has the room that building the images takes."""
    engine = probe.try_engine()
    if engine is None:
        free = probe.machine.free_bytes(Path("/"))
        has = "" if free is None else f", / has {free / _GB:.0f} GB free"
        raise Unknown(f"no engine to ask where its disk is; both images take 20 GB{has}")
    if engine.data_root is None:
        raise Unknown("the engine's disk can't be seen from here")
    free = probe.machine.free_bytes(Path(engine.data_root))
    if free is None:
        raise Unknown(f"the engine's folder {engine.data_root} can't be looked at")
    stocks = probe.take_stocks()
    room = count_room(stock.room_bytes for stock in stocks)
    has = f"{free / _GB:.0f} GB free in {engine.data_root}"
    if free < room:
        return no(
            f"{has}; building {' and '.join(s.name for s in stocks if s.room_bytes)} takes "
            f"{room / _GB:.0f} GB",
            MORE_DISK
            if engine.isolation == "container"
            else "free some, or LOCAL_PYTHON=path of an interpreter that already has TensorFlow",
            stops=EngineError.exit_status if engine.isolation == "container" else 0,
            free_bytes=free,
            needed_bytes=room,
        )
    needs = f"building takes {room / _GB:.0f} GB" if room else "nothing large has to be built"
    return yes(f"{has}; {needs}", free_bytes=free, needed_bytes=room)
