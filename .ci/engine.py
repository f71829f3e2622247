"""What .ci/run asks of a docker engine: whether one answers, and whether tests left containers."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from docker.client import from_env

from suite.errors import EngineError
from suite.host.docker.engine import DockerEngine
from suite.host.engine import LABEL
from suite.host.machine.machine import is_alive


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


if __name__ == "__main__":
    sys.exit({"answers": answers, "leftovers": leftovers}[sys.argv[1]]())
