"""The playbook on a host of another kind: one that systemd has started, one with an engine of its own."""

from __future__ import annotations

import io
import subprocess
import tarfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.commands import run
from tests.fakes.daemons import Daemon, why_not
from tests.fleet.machines import SYSTEMD, Machine, find_groups
from tests.fleet.trials import BLOCKS, OURS, Play, await_second_block, finish


def list_units(machine: Machine) -> list[str]:
    """The transient units that are on it now."""
    said = machine.run("systemctl", "list-units", "--plain", "--no-legend", "--all", "run-*")
    return [line.split()[0] for line in said.splitlines()]


def test_under_systemd_a_campaign_is_a_unit_that_outlives_what_began_it(
    build: Callable[..., Machine], play_on: Callable[..., Play], checkout: Path
) -> None:
    """Its first process is systemd itself, which knows no units but sshd's."""
    groups = find_groups()
    if not SYSTEMD.exists() or groups is None:
        pytest.skip("a host with systemd takes systemd and control groups of the second version")
    (checkout / "fleet" / ".salt").write_text(OURS)
    machine = build("first", groups=groups, settings="SetEnv DOCKER_HOST=unix:///nowhere\n")
    first = play_on({"first": machine})()
    await_second_block(machine, first)
    (unit,) = list_units(machine)
    told = machine.run("systemctl", "show", unit)
    assert "fleet/job run " in told
    assert "DOCKER_HOST=unix:///nowhere" in told
    assert OURS not in told
    # Every process that ssh has begun ends by this.
    machine.run("systemctl", "restart", "ssh.service")
    assert machine.run("systemctl", "is-active", unit) == "active\n"
    status, said, table = finish(first)
    assert status == 0, said
    assert table == {"first": ("whole", "")}
    log = (checkout / "results" / "fleet" / "first" / "job.log").read_text()
    assert log.count(f"cells on cpu, {BLOCKS} blocks") == 1, "it went on, and did not begin anew"
    assert list_units(machine) == []


@pytest.fixture
def engine() -> Iterator[Daemon]:
    """An engine that has no image yet."""
    reason = why_not()
    if reason:
        pytest.skip(f"an engine of the test's own: {reason}")
    daemon = Daemon()
    try:
        daemon.start()
        yield daemon
    finally:
        daemon.remove()


@pytest.fixture
def images(find_tool: Callable[[str, str], str], tmp_path: Path) -> Iterator[list[str]]:
    """Two images of a file each in this machine's engine."""
    docker = find_tool("docker", "an engine")
    if subprocess.run([docker, "version"], check=False, capture_output=True).returncode:
        pytest.skip("no docker engine answers here")
    made = [f"crossover/carried:{uuid.uuid4().hex[:12]}" for _ in range(2)]
    for name in made:
        with tarfile.open(tmp_path / "root.tar", "w") as tar:
            entry = tarfile.TarInfo("name")
            entry.size = len(name)
            tar.addfile(entry, io.BytesIO(name.encode()))
        subprocess.run([docker, "import", tmp_path / "root.tar", name], check=True)
    try:
        yield made
    finally:
        subprocess.run([docker, "rmi", *made], check=True)


def look(name: str, *words: str) -> str:
    """The identity of an image, by the engine that these words name; without it, nothing."""
    return run("docker", *words, "image", "inspect", "--format", "{{.Id}}", name).stdout.strip()


def test_images_are_brought_once_to_an_engine_that_lacks_them(
    build: Callable[..., Machine],
    play_on: Callable[..., Play],
    engine: Daemon,
    images: list[str],
) -> None:
    machine = build("first", settings=f"SetEnv DOCKER_HOST={engine.url}\n")
    play = play_on({"first": machine})

    def bring(name: str) -> tuple[int, str, dict[str, tuple[str, str]]]:
        return finish(play("--tags", "images", "-e", f"images={name}"))

    for name in images:
        assert not look(name, "--host", engine.url)
        status, said, _ = bring(name)
        assert (status, "changed=2" in said or "changed=3" in said) == (0, True), said
        assert look(name, "--host", engine.url) == look(name)
        assert not list(machine.home.glob("*.tar"))
    status, said, _ = bring(images[0])
    assert (status, "changed=0" in said) == (0, True), said
    status, said, table = bring("crossover/carried:nowhere")
    assert status == 2, said
    assert table["first"][1].startswith("Error response from daemon: "), said
