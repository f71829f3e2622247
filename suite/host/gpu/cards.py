"""The GPUs of a machine: `python -m suite.host.gpu.cards` lists them as JSON.

NVIDIA's library is asked in a process of its own, which ends with its answer: a driver that hangs
holds up nobody, and nothing of it stays loaded beside what is measured.
"""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from suite.content import SUITE
from suite.host.engine import Card
from suite.host.gpu.nvml import NoLibrary, list_gpus, load_library
from suite.host.gpu.readings import normalise_pci
from suite.host.gpu.request import machine_gpus
from suite.wire import parse_json

LIBRARY_S = 10.0
"""A driver that is not kept loaded takes seconds to answer the first time."""


def list_driver(root: Path) -> Iterator[str]:
    """The driver's list, by GPU one line of JSON: its PCI address, and what the driver says of it.
    Empty where it keeps none (as on WSL).  A container sees it without having been given
    a GPU, and runs these very lines, so that they use nothing of the suite's.
    """

    def read(path: Path) -> str:
        try:
            return path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    for folder in (root / "proc/driver/nvidia/gpus").glob("*"):
        yield json.dumps([folder.name, read(folder / "information")])


DRIVER_PROBE = (
    "from __future__ import annotations\nimport json\nfrom pathlib import Path\n"
    f"{inspect.getsource(list_driver)}\nprint(*list_driver(Path('/')), sep='\\n')"
)
"""Python that prints the driver's list."""


def read_probe(lines: Iterable[str]) -> tuple[Card, ...]:
    """The GPUs by what `DRIVER_PROBE` printed; nvidia-smi counts them by their PCI addresses, too."""
    rows = []
    for line in lines:
        try:
            pci, information = msgspec.convert(parse_json(line), tuple[str, str])
        except ValueError:
            continue  # what else a container's Python may have to say
        rows.append((normalise_pci(pci), information))
    rows.sort(key=lambda row: row[0] or "")
    return tuple(
        Card(
            index=index,
            name=_find(r"^Model:\s*(\S.*?)\s*$", information),
            # Unread, it is written as question marks.
            uuid=_find(r"^GPU UUID:\s*(GPU-[0-9a-f-]{36})\s*$", information),
            pci=pci,
        )
        for index, (pci, information) in enumerate(rows)
    )


def _find(pattern: str, text: str) -> str | None:
    found = re.search(pattern, text, re.MULTILINE)
    return found[1] if found else None


def machine_cards(root: Path = Path("/")) -> tuple[Card, ...]:
    """The GPUs of this machine: by NVIDIA's library, else by the driver's list, else by nodes.

    WSL's single node says nothing of how many there are, so that only the library can tell.
    """
    nodes = machine_gpus(root)
    if not nodes:
        return ()
    cards = ask_library() or read_probe(list_driver(root))
    if not cards and nodes != ("dxg",):
        return tuple(Card(index=index) for index in range(len(nodes)))
    return cards


def ask_library() -> tuple[Card, ...] | None:
    """The GPUs by NVIDIA's library, asked in a process of its own; None: it does not answer."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "suite.host.gpu.cards"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIBRARY_S,
            check=False,
            cwd=SUITE.parent,
        )
        if done.returncode == 0:
            return msgspec.json.decode(done.stdout, type=tuple[Card, ...])
    except (OSError, subprocess.TimeoutExpired, ValueError):
        pass
    return None


def main() -> int:
    """Lists them; 1 where NVIDIA's library does not answer."""
    try:
        cards = list_gpus(load_library())
    except NoLibrary as reason:
        sys.stderr.write(f"{reason}\n")
        return 1
    sys.stdout.write(msgspec.json.encode(cards).decode() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
