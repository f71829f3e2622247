"""Task files for SkyPilot from a table of machines (docs/fleet.md has the command).

A row is a kind of machine:
    [h100]
    accelerators = "H100:1"         # or cpus = "16", without a GPU; what SkyPilot's `resources` take
    infra = ["aws", "gcp"]          # where; any of its clouds unless given
    spot = true                     # unless given, not
    instances = 3                   # one unless given; from three on the kind's spread is known
    bench = "PROFILE=standard"      # of `make bench`
    bucket = "crossover-results"    # with store = "s3"; bucket names are global: choose your own
    folder = "/shared/results"      # instead of the bucket, where all machines share one, as with Slurm
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
OUT = HERE / "tasks"
SALT = HERE.parent / ".salt"
"""The fleet's secret; SkyPilot takes its value from the environment."""
OURS = {"infra": list, "spot": bool, "instances": int, "bench": str}
KEPT = {"bucket": str, "store": str, "folder": str}
THEIRS = {"accelerators": str, "cpus": str, "memory": str, "disk_size": int, "instance_type": str}
KNOWN = {**OURS, **KEPT, **THEIRS}


class WrongTableError(ValueError):
    """The table says something that no task file can be made of."""


def write_task(name: str, row: dict[str, Any], template: str) -> str:
    """The task file of a row: the template with its name, resources, words and bucket.

    Raises:
        WrongTableError: the row has an unknown name or a value of a wrong kind, or names no machine.
    """
    for key, value in row.items():
        kind = KNOWN.get(key)
        if kind is None:
            raise WrongTableError(f"[{name}] {key}: known are {', '.join(KNOWN)}")
        if type(value) is not kind:
            raise WrongTableError(f"[{name}] {key} = {value!r}: a {kind.__name__} is wanted")
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,30}", name):
        raise WrongTableError(f"[{name}]: small letters, digits and hyphens")
    if not row.keys() & {"accelerators", "cpus", "instance_type"}:
        raise WrongTableError(f"[{name}]: give accelerators, cpus or instance_type")
    machine = {key: row[key] for key in THEIRS if key in row and key != "disk_size"}
    places = [{"infra": one, **machine} for one in row.get("infra", [])] or [machine]
    resources = {
        "any_of": places,
        "use_spot": row.get("spot", False),
        "disk_size": row.get("disk_size", 100),
        "job_recovery": {"strategy": "EAGER_NEXT_REGION", "max_restarts_on_errors": 0},
    }
    if "folder" in row:
        if row.keys() & {"bucket", "store"}:
            raise WrongTableError(f"[{name}]: a folder or a bucket, not both")
        mounts = ""
    else:
        bucket = {"name": row.get("bucket", "crossover-results"), "store": row.get("store", "s3")}
        mounts = f"file_mounts: {json.dumps({'/results': {**bucket, 'mode': 'MOUNT_CACHED'}})}\n"
    parts = {  # JSON is YAML
        r"name: .*": f"name: crossover-{name}",
        r"resources:\n(?:  .*\n)+": f"resources: {json.dumps(resources)}\n",
        r"  BENCH: .*": f"  BENCH: {json.dumps(row.get('bench', 'PROFILE=standard'))}",
        r"  RESULTS: .*": f"  RESULTS: {json.dumps(row.get('folder', '/results'))}",
        r"# What outlives .*\nfile_mounts:\n  /results: .*\n": mounts,
    }
    for pattern, text in parts.items():
        template, count = re.subn(rf"(?m)^{pattern}", lambda _, text=text: text, template)
        if count != 1:
            raise WrongTableError(f"bench.yaml: {pattern} stands there {count} times")
    return template


def main(words: list[str]) -> int:
    """Writes the files and prints the commands; the exit status."""
    try:
        table = "".join(words[:1])
        if not table:
            raise WrongTableError("no table of machines is named")
        rows = tomllib.loads(Path(table).read_text(encoding="utf-8"))
        template = (HERE / "bench.yaml").read_text(encoding="utf-8")
        files = {name: write_task(name, row, template) for name, row in rows.items()}
    except (OSError, ValueError, AttributeError) as error:
        sys.stderr.write(
            f"tasks.py: {error}\n  what to do: name a table of machines; {__file__} says what it holds\n"
        )
        return 2
    if SALT.exists():
        sys.stdout.write(f'export CROSSOVER_SALT="$(cat {shlex.quote(str(SALT))})"\n')
    OUT.mkdir(exist_ok=True)
    for name, text in files.items():
        path = OUT / f"{name}.yaml"
        path.write_text(text, encoding="utf-8")
        for number in range(rows[name].get("instances", 1)):
            # Where machines share a folder there is no preemption for a managed job to mend.
            how = ["launch", "-c"] if "folder" in rows[name] else ["jobs", "launch", "-n"]
            job = ["sky", *how, f"{name}-{number + 1}", "--yes", "--detach-run"]
            job += ["--secret", "CROSSOVER_SALT"] if SALT.exists() else []
            sys.stdout.write(f"{shlex.join([*job, str(path)])}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
