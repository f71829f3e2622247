"""A "GPU machine" for the tests in this folder: TensorFlow's real GPU runtime on stand-ins for what NVIDIA
brings.  Skipped, and said so, where there is no room for the CUDA wheels or no right to a namespace;
failed there with REQUIRE_GPU_RUNTIME=1.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from docker.client import from_env

from suite.errors import EngineError
from suite.fingerprint import SUITE
from suite.host.docker.engine import DockerEngine
from suite.host.docker.leftovers import find_image
from suite.host.local.engine import HOME
from suite.host.local.environment import (
    find_interpreter,
    is_whole,
    make_environment,
    place_environment,
)
from suite.host.provision.debian_base import STAND_IN
from suite.host.provision.image_table import find_spec
from tests.commands import run_python
from tests.fakes.daemons import Daemon, carry_image, why_not
from tests.gpu_runtime import hook
from tests.gpu_runtime.build import build, install
from tests.gpu_runtime.machine import GpuMachine
from tests.gpu_runtime.rented import Rented
from tests.lacking import lack

HERE = Path(__file__).resolve().parent
ROOM_BYTES = 12e9
"""The CUDA environment takes 7 GB, and the wheels beside it while it is made."""

CONTAINERS_BYTES = 30e9
"""Both images in the machine's engine, and once more in the tests' own, beside what carries them."""

TOOLS = ("gcc", "nm")

give_up = partial(lack, required="REQUIRE_GPU_RUNTIME")


@pytest.fixture(scope="session")
def environment() -> Path:
    """The local engine's own environment of the CUDA lock, made where there is room for it."""
    for tool in TOOLS:
        if shutil.which(tool) is None:
            give_up(f"the GPU runtime is not tried: {tool} is not here (apt-get install gcc)")
    spec = find_spec("cuda")
    try:
        interpreter = find_interpreter("cuda", spec.python)
    except EngineError as error:
        give_up(f"the GPU runtime is not tried: {error.what}")
    folder = place_environment("cuda", spec.lock, interpreter, HOME)
    if not is_whole(folder):
        free = shutil.disk_usage(SUITE.parent).free
        if free < ROOM_BYTES:
            give_up(
                f"the GPU runtime is not tried: the CUDA wheels take {ROOM_BYTES / 1e9:.0f} GB of disk "
                f"while they are installed, and {free / 1e9:.1f} GB are free"
            )
        make_environment("cuda", spec.lock, interpreter, HOME, lambda _line: None)
    return folder


@pytest.fixture(scope="session")
def site(environment: Path) -> Path:
    """Its packages."""
    (found,) = (environment / "lib").glob("python3*/site-packages")
    return found


@pytest.fixture(scope="session")
def stand_ins(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled stand-ins of a machine with one healthy GPU."""
    folder = tmp_path_factory.mktemp("gpu") / "stand-ins"
    build(site, folder)
    tried = run_python(str(HERE / "enter.py"), str(folder), str(site), "true")
    if tried.returncode:
        why = (tried.stderr.strip().splitlines() or ["it ended without a word"])[-1]
        give_up(f"the GPU runtime is not tried: no namespace of our own is to be had here: {why}")
    return folder


@pytest.fixture(scope="session")
def healthy(stand_ins: Path, site: Path, environment: Path) -> GpuMachine:
    """A machine with one GPU, in which nobody plants anything."""
    return GpuMachine(folder=stand_ins, site=site, python=environment / "bin" / "python")


@pytest.fixture
def machine(healthy: GpuMachine, tmp_path: Path) -> GpuMachine:
    """A machine of one's own, to plant something in."""
    return healthy.copy(tmp_path / "stand-ins")


@pytest.fixture(scope="session")
def rented(healthy: GpuMachine) -> Iterator[Rented]:
    """Both images, built by the machine's engine and carried into one with the hook."""
    reason = why_not()
    if reason:
        give_up(f"no engine of the test's own: {reason}")
    base = os.environ.get("BASE_IMAGE") or STAND_IN
    try:
        engine = DockerEngine(base_image=base)
    except EngineError as error:
        give_up(f"no engine builds the images: {error.what}")
    if not find_image(engine._daemon, base):
        give_up(f"no base image {base} is here: `make base`")
    # The tests' own engine keeps its images in a temporary folder.
    for place in (engine.data_root or "/", tempfile.gettempdir()):
        free = shutil.disk_usage(place).free
        if free < CONTAINERS_BYTES:
            give_up(
                f"two engines' images take {CONTAINERS_BYTES / 1e9:.0f} GB, {free / 1e9:.1f} GB are "
                f"free at {place}"
            )
    images = {name: engine.provide(name, lambda _line: None) for name in ("cpu", "cuda")}
    engine.close()
    machine = healthy.copy(healthy.folder.parent / "rented")
    daemon = Daemon()
    hook.write(daemon.hook.folder, machine.folder)
    client = from_env(timeout=900)
    try:
        daemon.start()
        tags = {name: str(client.images.get(one.id).tags[0]) for name, one in images.items()}
        for name in (base, *tags.values()):
            carry_image(client.api, name, daemon.url)
        yield Rented(machine=machine, daemon=daemon, base=base, images=tags)
    finally:
        client.close()
        daemon.remove()


@pytest.fixture
def fresh(rented: Rented) -> Iterator[Rented]:
    """The rented machine, on which something may be planted that is gone afterwards."""
    plants = rented.machine.folder / "driver" / "plants.conf"
    before = plants.read_text()
    yield rented
    plants.write_text(before)
    rented.say()


@pytest.fixture
def two_gpus(rented: Rented) -> Iterator[Rented]:
    """The rented machine with a second GPU."""
    install(rented.machine.folder, devices=2)
    yield rented
    install(rented.machine.folder, devices=1)
