"""Writes what a command on a host prints into a file here, so that a full disk there does not matter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

CHANGED = 1
"""tar's exit status where a file grew while it was packed, as of a campaign that runs."""


class ActionModule(ActionBase):
    """``command`` is run there; its output becomes the file ``to``.  None: nothing is ``there``."""

    _requires_connection = True

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """The result: failed, with what the command said, unless the file is whole."""
        super().run(tmp, task_vars)
        del tmp
        status, content, said = self._connection.exec_command(
            self._task.args["command"], sudoable=False
        )
        if status == 255:  # ssh's own: the connection, and not the command
            raise AnsibleConnectionFailure(said.decode(errors="replace"))
        if status not in {0, CHANGED}:
            return {"failed": True, "msg": said.decode(errors="replace")}
        if not content:
            return {"changed": False, "there": False}
        path = Path(self._task.args["to"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return {"changed": True, "there": True}
