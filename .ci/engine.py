"""What .ci/run asks of a docker engine: whether one answers, what the samples are under another Python, and
whether tests left containers."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from docker.client import from_env

from suite.errors import EngineError
from suite.host.docker.engine import DockerEngine
from suite.host.engine import LABEL
from suite.host.machine.machine import is_alive

ROOT = Path(__file__).resolve().parent.parent

_CHECK = """
import sys
from pathlib import Path
sys.path[:0] = ["/checkout", "/packages"]
from suite.cli.entry import main
runs = [path.parent for path in Path("/checkout/results/samples").glob("*/campaign.json")]
sys.exit(max(main(["check", str(run)]) for run in runs))
"""


def answers() -> int:
    """0 where an engine answers; else says why not."""
    try:
        engine = DockerEngine()
    except EngineError as error:
        sys.stderr.write(f"{error.what}; {error.remedy}\n")
        return 1
    described = engine.describe()
    engine.close()
    sys.stdout.write(f"{described['product']} {described['version']} answers\n")
    return 0


def leftovers() -> int:
    """0 where every container of this project has a living owner; else names the others."""
    client = from_env()
    # With the value: what runs by hand from our images inherits their label.
    found = client.api.containers(all=True, filters={"label": f"{LABEL}=run"})
    client.close()
    nobodys = [c for c in found if is_alive(c["Labels"].get(f"{LABEL}.owner", "")) is not True]
    for container in nobodys:
        sys.stderr.write(f"left behind: {container['Names'][0]} ({container['Status']})\n")
    return 1 if nobodys else 0


def version(base: str) -> int:
    """Prints the version of a base image's Python."""
    return _run(base, "import platform; print(platform.python_version())", {})


def check(base: str, packages: str) -> int:
    """0 where every sample follows from its documents under a base image's Python; prints the checks.

    Args:
        base: the image.
        packages: a folder with the packages of that Python.
    """
    return _run(base, _CHECK, {packages: "/packages", str(ROOT): "/checkout"})


def _run(base: str, code: str, shown: dict[str, str]) -> int:
    """How Python ends in a container of the image, without network, that sees these folders; prints what
    it says."""
    volumes = {here: {"bind": there, "mode": "ro"} for here, there in shown.items()}
    with closing(from_env()) as client:
        container = client.containers.run(
            base,
            ["python3", "-B", "-c", code],
            detach=True,
            network_mode="none",
            volumes=volumes,
            environment={"MPLCONFIGDIR": "/tmp", "LC_ALL": "C.UTF-8"},  # noqa: S108  the container's own
        )
        try:
            status = int(container.wait()["StatusCode"])
            sys.stdout.write(container.logs().decode())
        finally:
            container.remove(force=True)
    return status


if __name__ == "__main__":
    commands = {"answers": answers, "leftovers": leftovers, "version": version, "check": check}
    sys.exit(commands[sys.argv[1]](*sys.argv[2:]))
