"""Follows a campaign on a host until it ends: a line whenever it has come further, and patience where the
host does not answer."""

from __future__ import annotations

import time
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

EVERY_S = 5.0
"""Between two looks: seldom enough that nobody who is measured notices."""

display = Display()


class ActionModule(ActionBase):
    """``state`` is the command that says how far it is; ``patience_s`` how long no answer is waited out."""

    _requires_connection = True

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """The result: the state in which it was found to have ended, or to be lost."""
        super().run(tmp, task_vars)
        del tmp
        host = (task_vars or {}).get("inventory_hostname", "?")
        patience_s = float(self._task.args["patience_s"])
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
                return {"state": state, "changed": False}
            if state != told:
                told = state
                display.display(f"{host}: {state.removeprefix('running').strip(' ;') or 'begins'}")
            time.sleep(EVERY_S)

    def _ask(self) -> str:
        done = self._low_level_execute_command(self._task.args["state"], sudoable=False)
        if done["rc"] == 255:  # ssh's own: the connection, and not the command
            raise AnsibleConnectionFailure(done.get("stderr", ""))
        return str(done["stdout"]).strip() or f"unknown: {done.get('stderr', '').strip()}"
