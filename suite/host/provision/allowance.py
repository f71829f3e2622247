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
    known = engine.cpus()
    missing = sorted(set(wanted or ()) - set(known))
    if missing:
        raise UsageError(
            f"CPUS={write_cpus(wanted or ())}: there is no CPU {write_cpus(missing)} to be "
            f"had here; there are {write_cpus(known)}",
            "name some of those, or leave CPUS out",
        )
    return wanted or known


def allow_memory(engine: Engine) -> int | None:
    """The bytes that a container may use; None: this engine can't bound them."""
    memory = engine.memory_bytes()
    if not memory or engine.isolation != "container":
        return None
    return int(memory * MEMORY_SHARE)
