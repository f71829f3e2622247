"""Of what a machine and an arm are made, in the columns that other programs get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from suite.analysis.result.arms import Fact

FACTS: Mapping[str, tuple[str, ...]] = {
    "driver": ("gpu.driver",),
    "kernel": ("os.kernel",),
    "microcode": ("cpu.microcode",),
    "tensorflow": ("tensorflow.version",),
    "engine": ("engine.product", "engine.version"),
}
"""Of what a machine and an arm are made, by column: the facts that tell it."""


def tell_facts(facts: Mapping[str, Sequence[Fact]]) -> dict[str, str | None]:
    """The columns of `FACTS`, from all facts: several values where one changed meanwhile."""
    told = {}
    for column, names in FACTS.items():
        known = ["; ".join(str(v) for v in facts.get(name, ()) if v is not None) for name in names]
        told[column] = " ".join(filter(None, known)) or None
    return told
