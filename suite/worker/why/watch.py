"""What is only watched: it chooses what is tried and says where, and names no cause."""

from __future__ import annotations

from suite.worker.why import watch_data, watch_training
from suite.worker.why.run import ScriptRun


def install(run: ScriptRun) -> None:
    """Watches all of it."""
    watch_data.install(run)
    watch_training.install(run)
