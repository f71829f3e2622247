"""Begins a campaign on a host and follows it until it ends: a line whenever it has come further, and patience
where the host does not answer."""

from __future__ import annotations

import fcntl
import time
from pathlib import Path
from typing import IO, Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

EVERY_S = 5.0
"""Between two looks: seldom enough that nobody who is measured notices."""

display = Display()


class ActionModule(ActionBase):
    """``start`` is the command that begins it, or goes on with it, ``state`` the one that says how far it is;
    ``patience_s`` is how long no answer is waited out.  Of hosts that measure ``at_once`` (0: all) each holds
    a lock in the folder ``slots``."""

    _requires_connection = True

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """The result: the state in which it was found to have ended, or to be lost."""
        super().run(tmp, task_vars)
        del tmp
        host = (task_vars or {}).get("inventory_hostname", "?")
        patience_s = float(self._task.args["patience_s"])
        # Held until this process, which Ansible starts for each task, is gone.
        self._slot = _take_slot(
            Path(self._task.args["slots"]), int(self._task.args["at_once"]), host
        )
        words = self._compute_environment_string() + " " + self._task.args["start"]
        begun = self._low_level_execute_command(words.strip(), sudoable=False)
        _demand_connection(begun)
        if begun["rc"]:
            return {"failed": True, **begun}
        changed = begun["stdout"].strip() == "started"
        told, answered = "", time.monotonic()
        while True:
            try:
                state = self._ask()
                answered = time.monotonic()
            except AnsibleConnectionFailure:
                if time.monotonic() - answered > patience_s:
                    raise
                state = "running; it does not answer, and is waited for"
                self._connection.reset()
            if not state.startswith("running"):
                return {"state": state, "changed": changed}
            if state != told:
                told = state
                display.display(f"{host}: {state.removeprefix('running').strip(' ;') or 'begins'}")
            time.sleep(EVERY_S)

    def _ask(self) -> str:
        done = self._low_level_execute_command(self._task.args["state"], sudoable=False)
        _demand_connection(done)
        return str(done["stdout"]).strip() or f"unknown: {done.get('stderr', '').strip()}"


def _demand_connection(done: dict[str, Any]) -> None:
    if done["rc"] == 255:  # ssh's own: the connection, and not the command
        raise AnsibleConnectionFailure(done.get("stderr", ""))


def _take_slot(folder: Path, count: int, host: str) -> IO[str] | None:
    """One of so many locks, once it is to be had."""
    told = False
    while count:
        for number in range(count):
            slot = (folder / f"turn-{number}").open("a")
            try:
                fcntl.flock(slot, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                slot.close()
            else:
                return slot
        if not told:
            display.display(f"{host}: waits for its turn, {count} at a time")
            told = True
        time.sleep(EVERY_S)
    return None
