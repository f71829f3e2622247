"""The worker's one way out: JSON lines on a private copy of standard output.

Descriptor 1 itself is pointed at standard error, so that whatever Python or C++ prints becomes
diary and can't break a record.
"""

from __future__ import annotations

import os
from typing import Any

from suite import codec


class Channel:
    """Sends records; made before anything else can print."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def send(self, record: str, **fields: Any) -> None:
        """Sends one record at once.

        Raises:
            BrokenPipeError: nobody listens any more.
        """
        self._out.write(codec.dump_record({"record": record, **fields}) + "\n")
        self._out.flush()
