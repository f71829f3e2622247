"""What a shortlist of 10, 100 and 1,000 campaigns takes: time, memory, and bytes on the disk.

``python -m tests.bench.scale fleet``; a measurement for people, not a test.  The campaigns are made up: two
arms, three blocks, 60 cells of 30 samples; each of another instance, ten of which are of one type.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from suite.analysis.analyse import analyse_folder
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.several import Offer
from suite.analysis.several.machines import compare_machines
from suite.cells.cell import Work
from suite.cli.archive.store import add
from suite.cli.archive.tables import make_entries
from suite.cli.processes import in_processes
from suite.folder import Folder
from suite.model import Campaign, Document
from suite.report.exports.parquet import open_duckdb
from suite.report.exports.summary import render_json
from suite.report.produce import build_comparison
from tests import synthetic
from tests.changes import invoke
from tests.twelve import TODAY

CELLS, BLOCKS, SAMPLES = 60, 3, 30
INSTANCES = 10
"""Of a type."""

BETWEEN = 0.06
"""Standard deviation of the logarithm of what instances of a type differ by."""

ARCHIVED = 20
"""So many campaigns go into an archive: each adds as much as the last one."""


def draw() -> tuple[Campaign, list[Document]]:
    """The campaign that all others are made of: drawing takes longer than scaling."""
    cells = [
        synthetic.make_cell(
            "mlp", "train", {"batch": n}, Work(amount=float(n), unit="example"), sweep="batch"
        )
        for n in range(1, CELLS + 1)
    ]
    plan = replace(synthetic.make_campaign(cells=cells, blocks=BLOCKS), label=None)
    documents = [
        synthetic.make_document(plan, arm, block, samples=SAMPLES, warmup=SAMPLES)
        for arm in plan.arms
        for block in range(1, BLOCKS + 1)
    ]
    return plan, documents


def write(place: Path, count: int) -> int:
    """So many campaigns' folders, and their documents' bytes."""
    plan, documents = draw()
    for number in range(count):
        source = np.random.default_rng(number)
        folder = place / f"campaign-{number:04d}"
        levels = {
            (arm, cell.id): float(np.exp(source.normal(0, BETWEEN)))
            for arm in plan.arms
            for cell in plan.cells
        }
        moved = (_move(one, folder.name, number, levels) for one in documents)
        synthetic.write_campaign(folder, replace(plan, id=folder.name), moved)
    return weigh(place, "*-*.json")


def weigh(place: Path, pattern: str) -> int:
    """The bytes of the files of such names below a folder."""
    return sum(one.stat().st_size for one in place.rglob(pattern))


def make_archive(folder: Path, runs: Iterable[Path]) -> None:
    """Makes an archive of these campaigns."""
    folder.mkdir()
    with Folder.open(folder) as door, open_duckdb() as database:
        for entry in make_entries(runs, None):
            assert add(database, door, entry)


def _move(one: Document, name: str, number: int, levels: dict[tuple[str, str], float]) -> Document:
    """A document as another instance would have written it."""
    engine = {
        **one.invocation.engine,
        "endpoint.here": True,
        "machine.id": f"{number:08x}",
        "machine.type": _name_type(number),
    }
    cells = []
    for cell in one.cells:
        level = levels[one.invocation.arm, cell.id]
        samples = [level * sample for sample in cell.samples_s]
        warmup = [level * sample for sample in cell.warmup_s]
        cells.append(replace(cell, samples_s=samples, warmup_s=warmup))
    moved = replace(one, campaign=replace(one.campaign, id=name), cells=cells)
    return invoke(engine=engine)(moved)


def _name_type(number: int) -> str:
    return f"type-{number // INSTANCES}"


def _find_folders(place: Path) -> list[Path]:
    return sorted(place.glob("campaign-*"))


def _rank(analyses: Sequence[Analysis]) -> dict[str, str | bytes]:
    """The shortlist's files, each type at a price of its own."""
    offers = [
        Offer(type=_name_type(n), hourly=1 + n / 1000, currency="USD", source="us", date=TODAY)
        for n in range(0, len(analyses), INSTANCES)
    ]
    return build_comparison(compare_machines(analyses, offers, asked=TODAY), analyses)


def read_resident() -> int:
    """The largest resident size of this process so far, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def shortlist(place: Path) -> dict[str, float]:
    """As the command does it: every campaign from its documents; and their summaries are left there.

    The memory is that of the process that has all analyses in the end.
    """
    begin = time.perf_counter()
    analyses = list(in_processes(analyse_folder, _find_folders(place)))
    analysed = time.perf_counter() - begin
    begin = time.perf_counter()
    files = _rank(analyses)
    ranked = time.perf_counter() - begin
    found = {"analysed": analysed, "ranked": ranked, "resident": read_resident()}
    found["page"] = len(str(files["compare.md"]).encode())
    found["summaries"] = 0
    for folder, one in zip(_find_folders(place), analyses, strict=True):
        text = render_json(one)
        found["summaries"] += len(text.encode())
        (folder / "summary.json").write_text(text, encoding="utf-8")
    return found


def shortlist_summaries(place: Path) -> dict[str, float]:
    """The same of the summaries, which the command does not do: nobody has checked them."""
    begin = time.perf_counter()
    texts = (one / "summary.json" for one in _find_folders(place))
    analyses = [msgspec.json.decode(text.read_bytes(), type=Analysis) for text in texts]
    read = time.perf_counter() - begin
    _rank(analyses)
    return {"read": read, "resident": read_resident()}


def archive(place: Path) -> dict[str, float]:
    """Bytes of an archive of some of them."""
    runs = _find_folders(place)[:ARCHIVED]
    make_archive(place / "archive", runs)
    return {"bytes": weigh(place / "archive", "*.parquet"), "campaigns": len(runs)}


def ask(what: Callable[..., Any], *words: Any) -> Any:
    """What a function finds in a process of its own, whose memory is nobody else's."""
    # No pool of multiprocessing's own: what runs in one may have no processes of its own.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(what, *words).result()


def tell(place: Path, count: int) -> str:
    """What a shortlist of so many campaigns takes."""
    size = write(place, count)
    told, brief, kept = (ask(one, place) for one in (shortlist, shortlist_summaries, archive))
    return (
        f"{count:5d} campaigns, {2 * BLOCKS * count} documents, {size / 2**20:.1f} MiB: analysed in "
        f"{told['analysed']:.1f} s, set side by side in "
        f"{told['ranked']:.1f} s, {told['resident'] / 2**20:.0f} MiB resident; "
        f"a page of {told['page'] / 2**10:.0f} KiB\n"
        f"      summaries {told['summaries'] / 2**20:.1f} MiB, read in {brief['read']:.1f} s with "
        f"{brief['resident'] / 2**20:.0f} MiB resident; archive "
        f"{kept['bytes'] / kept['campaigns'] / 2**10:.0f} KiB a campaign\n"
    )
