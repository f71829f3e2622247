"""How a command ended, in a file beside the campaign: `fleet/bench` names it, and the fleet's table reads it.

Its first line is ``status`` and the exit status; then come ``what`` went wrong and the ``remedy``, or, where
the suite never ran, what whoever tried it said.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from suite.cli.fleet.reasons import Reason, find_reason
from suite.errors import DocumentError
from suite.report.render.plain import show_plainly
from suite.safe_folder import Folder

PLACE = "CROSSOVER_ENDED"
"""The environment variable that names the file."""

ENDED = "ended"
"""The file's name in the folder of a machine."""

STOPPED = "stopped"
"""The same kind of file, of whatever kept the engine from running or fetching the campaign."""


@dataclass(frozen=True, kw_only=True)
class End:
    """The exit status (None: nobody knows) and the reason (None: it ended well)."""

    status: int | None
    reason: Reason | None = None

    @property
    def well(self) -> bool:
        """Whether a campaign was measured to its end; of 1 some cell failed."""
        return self.status in {0, 1} and self.reason is None


def leave_end(status: int, what: str = "", remedy: str = "") -> int:
    """Says how this command ended, if somebody wants to know; returns the exit status.

    The file is there already, and larger: a full disk keeps nobody from overwriting it.
    """
    if place := os.environ.get(PLACE):
        words = {"status": str(status), "what": what, "remedy": remedy}
        lines = [f"{n} {show_plainly(text, limit=1500)}\n" for n, text in words.items() if text]
        with contextlib.suppress(OSError), Path(place).open("r+b") as file:
            file.write("".join(lines).encode(errors="replace"))
            file.truncate()
    return status


def read_end(folder: Path, name: str = ENDED) -> End | None:
    """How the command of a folder ended; None: it has not, or was cut off."""
    try:
        with Folder.open(folder) as door:
            text = door.read(name).decode(errors="replace").strip()
    except DocumentError:
        return None
    return parse_end(text) if text else None


def parse_end(text: str) -> End:
    """What such a file says."""
    lines = text.splitlines()
    first = lines[0].removeprefix("status ").strip()
    status = int(first) if lines[0].startswith("status ") and first.isdecimal() else None
    words = dict(line.partition(" ")[::2] for line in lines)
    if "what" in words:
        reason = Reason(what=words["what"].strip(), remedy=words.get("remedy", "").strip())
        return End(status=status, reason=reason)
    said = "\n".join(line for line in lines if not line.startswith("status ")).strip()
    if said or status not in {0, 1}:
        return End(status=status, reason=find_reason(said) if said else _silent(status))
    return End(status=status)


def _silent(status: int | None) -> Reason:
    return Reason(
        what=f"it ended with exit status {status} and gave no reason",
        remedy="read its log: job.log in that folder, crossover-JOB-TASK.log of Slurm, or the engine's own",
    )
