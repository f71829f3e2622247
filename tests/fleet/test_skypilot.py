"""The task files by SkyPilot's own loader, which asks nobody."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from suite.content import SUITE
from tests.fleet.test_structure import TABLE, make_tasks

BRINGS = "`nox -s fleet` installs skypilot"

LOAD = """
import json, sys, sky
task = sky.Task.from_yaml(sys.argv[1])
found = [{"cloud": str(one.cloud), "spot": one.use_spot, "accelerators": one.accelerators,
          "cpus": one.cpus, "recovery": one.job_recovery} for one in task.resources]
mounts = {place: [one.name, one.mode.value] for place, one in task.storage_mounts.items()}
print(json.dumps({"name": task.name, "envs": task.envs, "run": task.run, "mounts": mounts,
                  "resources": sorted(found, key=str)}))
"""


def load(find: Callable[[str, str], str], path: Path, home: Path) -> Any:
    """What SkyPilot makes of a task file."""
    python = Path(find("sky", BRINGS)).parent / "python"
    environment = {**os.environ, "HOME": str(home), "SKYPILOT_DISABLE_USAGE_COLLECTION": "1"}
    done = subprocess.run(
        [python, "-c", LOAD, path], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_task_file_loads(find_tool: Callable[[str, str], str], tmp_path: Path) -> None:
    task = load(find_tool, SUITE.parent / "fleet" / "skypilot" / "bench.yaml", tmp_path)
    assert [one["cloud"] for one in task["resources"]] == ["AWS", "GCP"]
    assert all(one["spot"] and one["accelerators"] == {"L4": 1} for one in task["resources"])
    assert task["mounts"] == {"/results": ["crossover-results", "MOUNT_CACHED"]}
    assert task["envs"] == {"BENCH": "PROFILE=standard"}


def test_what_is_made_of_a_table_loads(
    find_tool: Callable[[str, str], str], tmp_path: Path
) -> None:
    (tmp_path / "machines.toml").write_text(TABLE)
    assert make_tasks(tmp_path / "machines.toml", tmp_path / "sky").returncode == 0
    tasks = {
        path.stem: load(find_tool, path, tmp_path) for path in (tmp_path / "sky/tasks").iterdir()
    }
    assert {one["accelerators"]["H100"] for one in tasks["h100"]["resources"]} == {1}
    assert [one["cloud"] for one in tasks["h100"]["resources"]] == ["AWS", "GCP"]
    (plain,) = tasks["cpu-16"]["resources"]
    assert (plain["cpus"], plain["spot"]) == ("16", False)
    assert tasks["cpu-16"]["envs"]["BENCH"] == "PROFILE=standard ONLY='matmul.*'"
