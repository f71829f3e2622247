"""The table at the end: what came home of each host, what is missing and why, and what completes it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: table
type: aggregate
short_description: what came home of each host, what is missing, and the command that completes it
description: [see docs/fleet.md]
"""

WORDS = 150
"""Characters of a reason; the whole stands above, in the play's own output."""


class CallbackModule(CallbackBase):
    """Knows of each host the task that stopped it, or what its folder was found to be."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "table"

    def __init__(self) -> None:
        super().__init__()
        self._hosts: set[str] = set()
        self._missing: dict[str, str] = {}
        self._status: dict[str, str] = {}
        self._unsound: dict[str, str] = {}

    def v2_playbook_on_play_start(self, play: Any) -> None:
        """Every host that the play is for stands in the table, whatever becomes of it."""
        manager = play.get_variable_manager()
        self._hosts.update(h.get_name() for h in manager._inventory.get_hosts(play.hosts))

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """As one that can't be reached, unless the playbook goes on."""
        if not ignore_errors:
            self.v2_runner_on_unreachable(result)

    def v2_runner_on_ok(self, result: Any) -> None:
        """A task that looks at what is at home says so in its last line."""
        lines = str(result.result.get("stdout", "")).splitlines()
        if lines and lines[-1].startswith("status "):
            status = lines[-1].removeprefix("status ")
            name = result.host.get_name()
            self._status[name] = status
            said = [one for one in lines if status == "7" and one.startswith("crossover: ")]
            self._unsound[name] = "".join(said).removeprefix("crossover: the machine is unsound: ")

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Why a host goes no further; its campaign's status may be told all the same."""
        said = result.result
        # The last word of the first that said anything: the program, its diary, ansible.
        texts = [str(said.get(name) or "").splitlines() for name in ("stdout", "stderr", "msg")]
        words = [
            [one for one in lines if one.strip() and not one.startswith("status ")]
            for lines in texts
        ]
        why = next(
            (lines[-1].strip().removeprefix("Task failed: ") for lines in words if lines),
            "no reason given",
        )
        name = result.host.get_name()
        self._missing[name] = f"{result.task.get_name()}: {why[:WORDS]}"
        self.v2_runner_on_ok(result)

    def v2_playbook_on_stats(self, stats: Any) -> None:  # noqa: ARG002  as ansible calls it
        """Prints the table."""
        rows = [("host", "came home", "missing")]
        for name in sorted(self._hosts):
            status = self._status.get(name)
            came = {
                None: "nothing",
                "none": "nothing",
                "0": "whole",
                "1": "whole; some cell failed",
                "7": "unsound:",
            }.get(status, "a part")
            why = self._missing.get(name, self._unsound.get(name, "")[:WORDS])
            rows.append((name, came, why))
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        self._display.display("")
        for row in rows:
            self._display.display(f"{row[0]:{widths[0]}}  {row[1]:{widths[1]}}  {row[2]}".rstrip())
        if self._missing:
            self._display.display(f"to complete it: {_word_command(sorted(self._missing))}")


def _word_command(hosts: list[str]) -> str:
    """The command that was given, for those hosts alone."""
    words, kept = [Path(sys.argv[0]).name, *sys.argv[1:]], []
    skip = False
    for word in words:
        if skip or word in {"-l", "--limit"}:
            skip = not skip
        elif not word.startswith("--limit="):
            kept.append(word)
    return shlex.join([*kept, "--limit", ",".join(hosts)])
