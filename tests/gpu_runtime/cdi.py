"""The stand-ins' GPU as a CDI specification: what NVIDIA's toolkit would write for a real one."""

from __future__ import annotations

import json
from pathlib import Path

from tests.gpu_runtime.hook import DRIVER, NULL

SITE = "/opt/crossover/venv/lib/python3.13/site-packages"
"""Where the images' packages lie."""


def specify(stand_ins: Path, *, wheels: bool) -> str:
    """The specification of its GPUs; with ``wheels`` their libraries too, which a real one leaves alone."""
    nodes = (stand_ins / "devices").read_text(encoding="utf-8").split()
    gpus = [name for name in nodes if name[6:].isdigit()]
    shared = [name for name in nodes if name not in gpus]
    files = {path: f"/{DRIVER}/{path.name}" for path in (stand_ins / "driver").iterdir()}
    files[stand_ins / "bin" / "nvidia-smi"] = "/usr/bin/nvidia-smi"
    if wheels:
        for path in (stand_ins / "site").rglob("*"):
            if path.is_file():
                files[path] = f"{SITE}/{path.relative_to(stand_ins / 'site')}"
    return json.dumps(
        {
            "cdiVersion": "0.5.0",
            "kind": "nvidia.com/gpu",
            "containerEdits": {
                "env": ["NVIDIA_VISIBLE_DEVICES=void"],
                "deviceNodes": [describe_node(name) for name in shared],
                "mounts": [
                    {
                        "hostPath": str(path),
                        "containerPath": target,
                        "options": ["ro", "nosuid", "nodev", "bind"],
                    }
                    for path, target in files.items()
                ],
            },
            "devices": [
                {"name": name[6:], "containerEdits": {"deviceNodes": [describe_node(name)]}}
                for name in gpus
            ],
        }
    )


def describe_node(name: str) -> dict[str, object]:
    """A device node with the numbers of /dev/null, which every container may open."""
    kind, major, minor = NULL
    return {"path": f"/dev/{name}", "type": kind, "major": int(major), "minor": int(minor)}
