"""What this machine itself shows of an NVIDIA GPU: device nodes, driver, container toolkit.

For the reader of a refusal: the engine's text says what failed, this says what there is to fail.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from suite.host.gpu.commands import CDI_FOLDERS
from suite.kernel import read_version

_TOOLS = ("nvidia-ctk", "nvidia-container-cli", "nvidia-container-runtime-hook")
_ASKED_S = 5.0


def tool_version(name: str) -> str | None:
    """The version of one of NVIDIA's programs on PATH, ``?`` where it does not say it; None: there is no
    such program."""
    path = shutil.which(name)
    if path is None:
        return None
    try:
        done = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ASKED_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "?"
    number = re.search(r"\d+(\.\d+)+\S*", done.stdout)
    return number[0] if number else "?"


def describe_machine(root: Path = Path("/")) -> str:
    """One line on the device nodes, the driver and the toolkit of this machine."""
    nodes = sorted(path.name for path in (root / "dev").glob("nvidia*") if not path.is_dir())
    nodes += ["dxg"] if (root / "dev/dxg").exists() else []
    driver = read_version(root)
    tools = {name: tool_version(name) for name in _TOOLS}
    there = [
        name if number == "?" else f"{name} {number}" for name, number in tools.items() if number
    ]
    missing = [name for name, number in tools.items() if not number]
    specifications = [
        f"/{path.relative_to(root)}"
        for folder in CDI_FOLDERS
        for path in sorted((root / folder.lstrip("/")).glob("*nvidia*"))
    ]
    return "; ".join(
        (
            "device nodes " + (", ".join(f"/dev/{name}" for name in nodes) if nodes else "none"),
            f"driver {driver}" if driver else "driver none loaded (/proc/driver/nvidia/version)",
            "toolkit " + (", ".join(there) if there else "none"),
            *((f"not on PATH: {', '.join(missing)}",) if missing else ()),
            "CDI specification "
            + (", ".join(specifications) or f"none in {', '.join(CDI_FOLDERS)}"),
        )
    )
