"""Stands in for NVIDIA's container hook: lays a GPU's driver, devices and libraries into a container.

Called by the engine's runtime as ``… prestart`` with the container's state on standard input, before its
process starts and with its root to be written from outside, though the container has it read-only.
What it lays goes with the container.  `write` makes the executable that stands on the engine's PATH.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

DRIVER = "usr/lib/x86_64-linux-gnu"
SITES = "opt/*/venv/lib/python3*/site-packages"
NULL = ("c", "1", "3")
"""The numbers of /dev/null, which every container may open: nobody reads from these devices."""


def write(folder: Path, stand_ins: Path) -> None:
    """Writes the hook into a folder, under NVIDIA's name, for these stand-ins."""
    path = folder / "nvidia-container-runtime-hook"
    path.write_text(
        f'#!/bin/sh\nexec {sys.executable} -I {Path(__file__).resolve()} {stand_ins} "$@"\n',
        encoding="utf-8",
    )
    path.chmod(0o755)


def main(stand_ins: Path, state: dict[str, object]) -> int:
    """Lays the stand-ins into the container; or does what ``hook`` in the folder says: ``refuse TEXT``,
    ``hang``, ``nothing``, ``no-libraries`` (devices alone), ``no-uvm`` (without the device for memory)."""
    told, text = read_orders(stand_ins)
    if told == "refuse":
        sys.stderr.write(text + "\n")
        return 1
    while told == "hang":
        time.sleep(1)
        told, _ = read_orders(stand_ins)
    if told == "nothing":
        return 0
    config = json.loads(Path(str(state["bundle"]), "config.json").read_text(encoding="utf-8"))
    root = Path(str(state["bundle"]), config["root"]["path"])
    variables = dict(one.partition("=")[::2] for one in config["process"]["env"])
    visible = choose(variables.get("NVIDIA_VISIBLE_DEVICES", "all"), stand_ins)
    if told != "no-libraries":
        lay_libraries(root, stand_ins, visible)
    names = (stand_ins / "devices").read_text(encoding="utf-8").split()
    shown = [name for name in names if not name[6:].isdigit() or int(name[6:]) in visible]
    make_devices(
        str(state["pid"]), root, [one for one in shown if told != "no-uvm" or "uvm" not in one]
    )
    return 0


def read_orders(stand_ins: Path) -> tuple[str, str]:
    """What it is told to do instead, and with which text."""
    path = stand_ins / "hook"
    text = path.read_text(encoding="utf-8").strip() if path.exists() else ""
    told, _, rest = text.partition(" ")
    return told, rest


def choose(asked: str, stand_ins: Path) -> list[int]:
    """The GPUs that a container asks for: all, by index, or by UUID (whose digits are index + 1)."""
    nodes = (stand_ins / "devices").read_text(encoding="utf-8").split()
    there = [int(name[6:]) for name in nodes if name[6:].isdigit()]
    if asked in {"", "all"}:
        return there
    named = [int(one[4]) - 1 if one.startswith("GPU-") else int(one) for one in asked.split(",")]
    return [index for index in named if index in there]


def lay_libraries(root: Path, stand_ins: Path, visible: list[int]) -> None:
    """The driver's libraries and plants; the wheels' where the image has them."""
    target = root / DRIVER
    target.mkdir(parents=True, exist_ok=True)
    for path in (stand_ins / "driver").iterdir():
        shutil.copy(path, target / path.name)
    with (target / "plants.conf").open("a", encoding="utf-8") as plants:
        plants.write(f"visible {','.join(map(str, visible))}\n")
    shutil.copy(stand_ins / "bin/nvidia-smi", root / "usr/bin/nvidia-smi")
    for site in root.glob(SITES):
        if (site / "nvidia").is_dir():
            shutil.copytree(stand_ins / "site", site, dirs_exist_ok=True)
            for name in (stand_ins / "missing").read_text(encoding="utf-8").split():
                (site / name).unlink()


def make_devices(pid: str, root: Path, names: list[str]) -> None:
    """The device nodes, in the container's own /dev."""
    for name in names:
        node = f"{root}/dev/{name}"
        subprocess.run(
            ["nsenter", "--mount", "--target", pid, "mknod", "-m", "666", node, *NULL], check=True
        )


if __name__ == "__main__":
    if sys.argv[2:3] == ["prestart"]:
        sys.exit(main(Path(sys.argv[1]), json.load(sys.stdin)))
