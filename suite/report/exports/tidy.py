"""One table for several campaigns: each row says all that it needs to stand alone."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from suite.analysis.result.arms import ArmAnalysis, Fact
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import ArmResult, CellAnalysis
from suite.report.exports.table import COLUMNS, Entry, Row, describe, write_table
from suite.report.render.plain import show_plainly
from suite.report.text.wording import name_banners

FACTS: Mapping[str, tuple[str, ...]] = {
    "driver": ("gpu.driver",),
    "kernel": ("os.kernel",),
    "microcode": ("cpu.microcode",),
    "tensorflow": ("tensorflow.version",),
    "engine": ("engine.product", "engine.version"),
}
"""Of what a machine and an arm are made, by column: the facts that tell it."""

_CONTEXT: Mapping[str, type] = {
    "campaign": str,
    "created": datetime,
    **dict.fromkeys(("profile", "machine", "cpu", "cpus_used"), str),
    "memory_bytes": float,
    "gpu": str,
    **dict.fromkeys(FACTS, str),
    **dict.fromkeys(("image", "image_digest", "suite_version", "suite_content"), str),
    "price_hourly": float,
    "price_currency": str,
    **dict.fromkeys(("banners", "flags"), str),
}

_IDENTITY = ("gpu.0.uuid", "engine.machine.id")
"""Facts, hashed, that tell one machine from another that is built alike; the first one told counts, since in
somebody else's container a machine's id lasts until it boots again."""


def export_csv(analysis: Analysis) -> dict[str, bytes]:
    """The table as CSV, an empty field for none."""
    rows = list(list_rows(analysis))
    columns = list(type_columns(rows))
    text = write_table(columns, [[*map(row.get, columns)] for row in rows])
    return {f"{analysis.campaign.folder}.csv": text.encode()}


def list_rows(analysis: Analysis) -> Iterator[Row]:
    """A row a cell and arm: the campaign, the machine, the arm, the numbers, the axes."""
    for arm, about in analysis.arms.items():
        context = _tell_context(analysis, about)
        for one in analysis.cells:
            result = one.arms[arm]
            axes = {f"axis_{name}": value for name, value in one.params.items()}
            flags = " ".join(_list_flags(analysis, one, arm, result))
            yield {**context, **describe(one, arm, result), **axes, "flags": flags}


def type_columns(rows: Sequence[Row]) -> dict[str, type]:
    """The columns that these rows have, and what stands in them: an axis is a number where all are."""
    found: dict[str, type] = {**_CONTEXT, **COLUMNS}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row[name] for row in rows if row.get(name) is not None]
        found.setdefault(name, float if not any(isinstance(v, str) for v in values) else str)
    return found


def name_machine_key(analysis: Analysis) -> str:
    """A name for the machine that stays the same while its parts do, and tells nobody whose it is.

    A processor, how many are used, memory in GiB, GPUs; and four letters more where a GPU's hashed UUID, or
    the machine's own hash, tells machines that are built alike apart.
    """
    machine = analysis.machine
    memory = f"{machine.memory_bytes / 2**30:.0f}GiB" if machine.memory_bytes else None
    used = f"{machine.cpus_used}cpus" if machine.cpus_used else None
    parts = [machine.cpu or "unknown", used, memory, *machine.gpus]
    every = (
        [
            str(value)
            for arm in analysis.arms.values()
            for value in arm.facts.get(fact, ())
            if value is not None
        ]
        for fact in _IDENTITY
    )
    told = next(filter(None, every), [])
    name = "-".join(filter(None, parts))
    mark = hashlib.sha256("/".join(sorted({name, *told})).encode()).hexdigest()[:4] if told else ""
    plain = re.sub(r"[^a-z0-9]+", "-", show_plainly(name, 100).lower()).strip("-")
    return "-".join(filter(None, [plain or "unknown", mark]))


def tell_facts(facts: Mapping[str, Sequence[Fact]]) -> dict[str, str | None]:
    """The columns of `FACTS`, from all facts: several values where one changed meanwhile."""
    told = {}
    for column, names in FACTS.items():
        known = ["; ".join(str(v) for v in facts.get(name, ()) if v is not None) for name in names]
        told[column] = " ".join(filter(None, known)) or None
    return told


def _tell_context(analysis: Analysis, about: ArmAnalysis) -> dict[str, Entry]:
    plan, machine, price = analysis.campaign, analysis.machine, analysis.price
    own = about.facts.get("gpu.0.name", ()) if about.device is not None else machine.gpus
    return {
        "campaign": plan.id,
        "created": plan.created.isoformat(),
        "profile": plan.profile,
        "machine": name_machine_key(analysis),
        "cpu": machine.cpu,
        "cpus_used": machine.cpus_used,
        "memory_bytes": machine.memory_bytes,
        "gpu": "; ".join(str(name) for name in own if name) or None,
        **tell_facts(about.facts),
        "image": "; ".join(str(one) for one in about.image.get("content", ()) if one) or None,
        "image_digest": " ".join(about.digests) or None,
        "suite_version": analysis.suite.version,
        "suite_content": analysis.suite.content,
        "price_hourly": price.hourly if price else None,
        "price_currency": price.currency if price else None,
        "banners": "; ".join(name_banners(analysis.flags)) or None,
    }


def _list_flags(
    analysis: Analysis, one: CellAnalysis, arm: str, result: ArmResult
) -> dict[str, None]:
    """The codes of all that speaks for or against the number, the campaign's first."""
    compared = one.comparisons.get(arm)
    common = [flag for flag in analysis.flags if flag.where.get("arm", arm) == arm]
    beside = (*compared.beside, *compared.invalid) if compared else ()
    return dict.fromkeys(flag.code for flag in (*common, *result.flags, *beside))
