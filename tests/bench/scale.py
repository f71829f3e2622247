"""How long the analysis of a campaign takes, and how much memory, at 10, 100 and 1,000 documents.

``python -m tests.bench.scale``; a measurement for people, not a test: it asserts nothing.  With
``archive`` as its first word: how long 100, 1,000 and 10,000 documents take into the archive, in
campaigns of 20, how large it is then, and how long a cell's history takes.  With ``fleet``: see
`tests.bench.fleet`.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

from suite.analysis.documents.read import load_campaign
from suite.cells.cell import Work
from suite.cli.archive.store import add, open_archive, read_history
from suite.cli.archive.tables import make_entries
from suite.folder import Folder
from suite.report.exports.parquet import open_duckdb
from suite.wire import dump_document
from tests import synthetic
from tests.bench import fleet
from tests.fakes.hosts import SAMPLES, WARMUP
from tests.rendering import report_folder

CELLS = 60
COUNTS = (10, 100, 1000)


def write(folder: Path, documents: int) -> int:
    """A campaign of two arms with so many documents, and their bytes."""
    cells = [
        synthetic.make_cell("mlp", "train", {"batch": i}, Work(amount=1.0, unit="example"))
        for i in range(CELLS)
    ]
    campaign = synthetic.make_campaign(cells=cells, blocks=documents // 2)
    synthetic.write_campaign(folder, campaign, [])
    # Ten different invocations, written again and again under other blocks: drawing takes longer.
    originals = {
        arm: [
            synthetic.make_document(campaign, arm, block, samples=SAMPLES, warmup=WARMUP)
            for block in range(1, 6)
        ]
        for arm in campaign.arms
    }
    written = 0
    for arm, found in originals.items():
        for block in range(1, documents // 2 + 1):
            one = found[block % len(found)]
            invocation = replace(one.invocation, block=block)
            text = dump_document(replace(one, invocation=invocation))
            (folder / f"{arm}-{block:02d}.json").write_text(text, encoding="utf-8")
            written += len(text)
    return written


def measure(folder: Path) -> tuple[float, int]:
    """Seconds of the analysis, and the process's largest resident size in bytes."""
    begin = time.perf_counter()
    files = report_folder(folder).files
    seconds = time.perf_counter() - begin
    assert len(json.loads(files["summary.json"])["cells"]) == CELLS
    return seconds, 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


DOCUMENTS = 20
"""Of a campaign of two arms and ten blocks."""

VERSION = '"29.0.1"'
"""Stands in what is known of the engine, behind which a machine's hash has its place."""


def fill(place: Path, documents: int) -> tuple[float, float, int, float]:
    """Seconds for adding, seconds for a history, resident bytes of the largest process, MiB on the disk."""
    archive = place / "archive"
    archive.mkdir()
    write(place / "one", DOCUMENTS)
    plan = load_campaign(place / "one").campaign
    runs = []
    for number in range(documents // DOCUMENTS):
        # The same invocations under another name each: drawing them takes longer than reading them.
        named = replace(plan, id=f"campaign-{number:04d}")
        run = place / named.id
        synthetic.write_campaign(run, named, [])
        for one in (place / "one").glob("c*-*.json"):
            text = one.read_text(encoding="utf-8").replace(f'"{plan.id}"', f'"{named.id}"', 1)
            (run / one.name).write_text(
                text.replace(VERSION, f'{VERSION}, "machine.id": "{number % 5}"')
            )
        runs.append(run)
    begin = time.perf_counter()
    with Folder.open(archive) as door, open_duckdb() as database:
        for entry in make_entries(runs, None):
            assert add(database, door, entry)
    spent = time.perf_counter() - begin
    # What finds changes is loaded once a command, which takes 1 to 2 s whatever the archive's size.
    importlib.import_module("ruptures")
    begin = time.perf_counter()
    with open_archive(archive) as database:
        found = list(read_history(database, plan.cells[0].id, None))
    seconds = time.perf_counter() - begin
    assert sum(len(one.points) for one in found) == 2 * len(runs)
    assert len(found) == 2 * min(5, len(runs))
    size = sum(one.stat().st_size for one in archive.rglob("*.parquet"))
    resident = 1024 * max(
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return spent, seconds, resident, size / 2**20


def main_archive(counts: tuple[int, ...]) -> None:
    """As `main`, of the archive."""
    for count in counts:
        # No pool of multiprocessing's own: what runs in one may have no processes of its own.
        context = multiprocessing.get_context("spawn")
        with tempfile.TemporaryDirectory() as name, ProcessPoolExecutor(1, context) as pool:
            spent, seconds, resident, size = pool.submit(fill, Path(name), count).result()
        sys.stdout.write(
            f"{count:6d} documents, {size:6.1f} MiB: added in {spent:6.1f} s, "
            f"{1000 * spent / count:5.1f} ms a document; a cell's history {seconds:5.2f} s; "
            f"{resident / 2**20:4.0f} MiB resident\n"
        )
        sys.stdout.flush()


def main() -> None:
    """Prints one line a size; each is measured in a process of its own."""
    if sys.argv[1:2] == ["archive"]:
        main_archive(tuple(map(int, sys.argv[2:])) or (100, 1_000, 10_000))
        return
    if sys.argv[1:2] == ["fleet"]:
        fleet.main(tuple(map(int, sys.argv[2:])))
        return
    counts = tuple(map(int, sys.argv[1:])) or COUNTS
    for count in counts:
        with tempfile.TemporaryDirectory() as name:
            size = write(Path(name), count)
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                seconds, resident = pool.apply(measure, (Path(name),))
        sys.stdout.write(
            f"{count:5d} documents, {size / 2**20:6.1f} MiB: {seconds:6.2f} s, "
            f"{1000 * seconds / count:6.2f} ms a document, {resident / 2**20:5.0f} MiB resident\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
