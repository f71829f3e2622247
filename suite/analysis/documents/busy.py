"""Whether an arm without a GPU used the CPUs that it had: by the CPU time of its largest products.

Such a product is cut into pieces for every core, so what keeps few of them busy is no property of the work:
isolated CPUs, over which the kernel balances no threads; a limit on threads in the environment; a quota of a
control group that can't be seen from within.  Every ratio of a GPU to that arm is too good by as much.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping

from suite.analysis.documents.telemetry import read_number
from suite.cells.cell import Cell
from suite.flags import Flag, raise_flag
from suite.model import Campaign, CellResult, Document, Scalar

LEAST_SHARE = 0.6
"""Of the cores.  Sound machines keep over 0.9 of them busy (0.98 in the committed sample), and over 0.75
where the work of a core is as little as `LEAST_WORK`; one thread on two cores, the least that a fault takes
away, keeps 0.5.  Of cores, not of their threads: a library may start one thread a core."""

LEAST_WORK = 1e8
"""FLOP a core: 0.3 ms on the fastest cores (two units of 512 bits at 5 GHz), and a call and the waking of its
threads take 0.1 ms."""

MOST_WITHHELD = 0.5
"""Of the machine's cores: who has no use of more has to know it to read the numbers."""

THREADS_A_CORE = 2
"""The most of any processor that TensorFlow's wheels are for; where the kernel does not tell its cores."""


def find_idle(campaign: Campaign, counted: Mapping[str, Mapping[int, Document]]) -> Iterator[Flag]:
    """The flags of a campaign whose CPU arms did not use the machine's cores; ``counted`` are the
    documents that count, by arm and block."""
    products = [cell for cell in campaign.cells if is_large(cell)]
    for arm in campaign.arms:
        if campaign.arm(arm).gpu:
            continue
        where, documents = {"arm": arm}, list(counted.get(arm, {}).values())
        if (idle := _find_least(documents, products)) is not None:
            busy, cores = idle
            yield raise_flag("cpus-idle", where, busy=busy, cores=cores, factor=cores / busy)
        if (bound := _find_bound(documents)) is not None:
            used, given = bound
            yield raise_flag("cpus-withheld", where, used=used, cores=given)


def is_large(cell: Cell) -> bool:
    """Whether a cell is a product that any number of cores can share, by what it declares."""
    return (
        (cell.role, cell.kind, cell.work.unit) == ("work", "product", "FLOP")
        and (cell.precision, cell.data, cell.dispatch) == ("fp32", "device", "eager")
        and cell.device == "arm"
        and cell.process is None
        and not cell.one_shot
    )


def _find_least(
    documents: Iterable[Document], products: Iterable[Cell]
) -> tuple[float, float] | None:
    """The CPUs that were kept busy by the product that kept most busy, in the median invocation, and the
    cores that there are; None: enough, or not known."""
    work = {cell.id: cell.work.amount for cell in products}
    shares: dict[str, list[tuple[float, float, float]]] = {}
    for document in documents:
        cores = count_cores(document.facts) or 0.0
        for cell in document.cells if cores > 1 else ():
            busy = cell.evidence.get("own_cpus")
            if busy and work.get(cell.id, 0.0) >= LEAST_WORK * cores:
                share = (busy + _find_taken(cell, document.facts)) / cores
                shares.setdefault(cell.id, []).append((share, busy, cores))
    medians = map(statistics.median_low, shares.values())
    share, busy, cores = max(medians, default=(1.0, 0.0, 0.0))
    return (busy, cores) if share < LEAST_SHARE else None


def _find_bound(documents: Iterable[Document]) -> tuple[float, float] | None:
    """The cores that the command could use, and those that its control group gives it; None: most of them,
    or not known."""
    for document in documents:
        engine = document.invocation.engine
        given, withheld = (read_number(engine.get(name)) for name in ("cores", "cores_withheld"))
        if given and withheld and withheld >= MOST_WITHHELD * given:
            return given - withheld, given
    return None


def count_cores(facts: Mapping[str, Scalar]) -> float | None:
    """The cores that a worker may use, of a quota as many; where the kernel did not tell, at least so many.
    None: unknown."""
    usable, cores = (read_number(facts.get(f"cpu.{name}")) for name in ("usable", "cores_usable"))
    if usable is None:
        return None
    return min(usable, cores or max(1.0, usable / THREADS_A_CORE), read_quota(facts) or math.inf)


def read_quota(facts: Mapping[str, Scalar]) -> float | None:
    """The CPU quota in CPUs, which a document has as a text; None: there is none, or it is not known."""
    try:
        quota = float(str(facts.get("cpu.quota")))
    except ValueError:
        return None
    return quota if math.isfinite(quota) else None


def _find_taken(cell: CellResult, facts: Mapping[str, Scalar]) -> float:
    """The CPUs that others had meanwhile, which is told elsewhere."""
    usable = read_number(facts.get("cpu.usable")) or 0.0
    stolen = usable * (cell.evidence.get("steal_share") or 0.0)
    return (cell.evidence.get("foreign_cpus") or 0.0) + stolen
