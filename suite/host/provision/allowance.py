"""What an invocation may use of its engine's machine: CPUs and memory."""

from __future__ import annotations

from suite.errors import UsageError
from suite.host.engine import Engine
from suite.kernel import write_cpus

MEMORY_SHARE = 0.9
"""A container may use this share of the engine's memory: what it takes beyond must kill it, and not
the machine."""


def allow_cpus(engine: Engine, wanted: tuple[int, ...] | None) -> tuple[int, ...]:
    """The CPUs to use: those wanted, or all that the engine has for us.

    Raises:
        UsageError: one that is wanted is not among them.
    """
    available = engine.cpus()
    missing = sorted(set(wanted or ()) - set(available))
    if missing:
        raise UsageError(
            f"CPUS={write_cpus(wanted or ())}: CPU {write_cpus(missing)} is not available; "
            f"available: {write_cpus(available)}",
            "name some of those, or leave CPUS out",
        )
    return wanted or available


def allow_memory(engine: Engine, at_once: int) -> int | None:
    """The bytes that each of so many containers at once may use; None: this engine can't bound them."""
    memory = engine.memory_bytes()
    if not memory or engine.isolation != "container":
        return None
    return int(memory * (MEMORY_SHARE / at_once))
