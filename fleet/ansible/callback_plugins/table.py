"""The table at the end, which `make fleet` has for every engine: here is what kept Ansible from a host, and
the command that completes what is missing."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: table
type: aggregate
short_description: what came home of each host, what is missing, and the command that completes it
description: [see docs/fleet.md]
"""

CHECKOUT = Path(__file__).resolve().parents[3]
PYTHON = CHECKOUT / ".venv" / "bin" / "python"

JUDGES = "Is it whole"
"""The task that only finds that something is missing; why, the folder says."""


class CallbackModule(CallbackBase):
    """Keeps of each host the text of the first task that stopped it, until its campaign is found whole."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "table"

    def __init__(self) -> None:
        super().__init__()
        self._hosts: set[str] = set()
        self._folders: dict[str, Path] = {}
        self._stopped: dict[str, str] = {}
        self._missing: set[str] = set()
        self._trial = False

    def v2_playbook_on_play_start(self, play: Any) -> None:
        """Every host that the play is for stands in the table, whatever becomes of it."""
        manager = play.get_variable_manager()
        self._trial = bool(play.check_mode)
        for host in manager._inventory.get_hosts(play.hosts):
            name = host.get_name()
            fleet = manager.get_vars(play=play, host=host).get("fleet", "fleet")
            self._hosts.add(name)
            self._folders[name] = CHECKOUT / "results" / str(fleet) / name

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """As one that can't be reached, unless the playbook goes on."""
        if not ignore_errors:
            self.v2_runner_on_unreachable(result)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Why a host goes no further: all that was said, for the table to find the line that says why."""
        said = result.result
        texts = (str(said.get(name) or "") for name in ("msg", "stdout", "stderr"))
        name = result.host.get_name()
        self._missing.add(name)
        if result.task.get_name() == JUDGES:
            return
        if "rc" in said:
            texts = (f"status {said['rc']}", *texts)
        self._stopped.setdefault(name, "\n".join(text for text in texts if text.strip()))

    def v2_playbook_on_stats(self, stats: Any) -> None:  # noqa: ARG002  as ansible calls it
        """Prints the table."""
        with tempfile.TemporaryDirectory() as elsewhere:
            fleets: dict[Path, list[str]] = {}
            for name in sorted(self._hosts):
                folder = Path(elsewhere, name) if self._trial else self._folders[name]
                if name in self._stopped:
                    folder.mkdir(parents=True, exist_ok=True)
                    (folder / "stopped").write_text(self._stopped[name] or "no reason given\n")
                elif not self._trial:
                    (folder / "stopped").unlink(missing_ok=True)
                fleets.setdefault(folder.parent, []).append(name)
            for fleet, names in fleets.items():
                self._display.display(f"\n{_draw(fleet, names)}")
        if self._missing:
            self._display.display(f"to complete it: {_word_command(sorted(self._missing))}")


def _draw(fleet: Path, names: list[str]) -> str:
    """The rows of a fleet; where its environment could not be made, only what was said."""
    words = [word for name in names for word in ("--machine", name)]
    command = [str(PYTHON), "-m", "suite", "fleet", str(fleet), *words]
    try:
        done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    except OSError as error:
        return f"no table: {error}"
    return done.stdout.rstrip() or done.stderr.rstrip()


def _word_command(hosts: list[str]) -> str:
    """The command that was given, for those hosts alone, as it is typed in the checkout."""
    words, kept = [Path(sys.argv[0]).name, *sys.argv[1:]], []
    skip = False
    for word in words:
        if skip or word in {"-l", "--limit"}:
            skip = not skip
        elif not word.startswith("--limit="):
            kept.append(word)
    return f"(cd fleet/ansible && {shlex.join([*kept, '--limit', ','.join(hosts)])})"
