"""How long the analysis of a campaign takes, and how much memory, at 10, 100 and 1,000 documents.

``python -m tests.bench.scale``; a measurement for people, not a test: it asserts nothing.  With
``archive`` as its first word: how long 100, 1,000 and 10,000 documents take into the archive, in
campaigns of 20, how large it is then, and how long a cell's history takes.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from suite.analysis.analyse import analyse
from suite.analysis.documents.read import load_campaign
from suite.cells.cell import Work
from suite.cli.archive.store import add, open_archive, read_history
from suite.cli.archive.tables import make_entry
from suite.folder import Folder
from suite.report.exports.parquet import open_duckdb
from suite.wire import dump_document
from tests import synthetic
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


def fill(place: Path, documents: int) -> tuple[float, float, int, float]:
    """Processor's seconds for adding, seconds for a history, resident bytes, and MiB on the disk."""
    archive = place / "archive"
    archive.mkdir()
    write(place / "one", DOCUMENTS)
    loaded = load_campaign(place / "one")
    spent = 0.0
    with Folder.open(archive) as door, open_duckdb() as database:
        for number in range(documents // DOCUMENTS):
            campaign = replace(loaded.campaign, id=f"campaign-{number:04d}")
            begin = time.process_time()
            again = load_campaign(place / "one")
            analysis = analyse(replace(again, campaign=campaign))
            named = replace(again, campaign=campaign)
            add(database, door, make_entry(database, named, analysis, f"m{number % 5}"))
            spent += time.process_time() - begin
    begin = time.perf_counter()
    with open_archive(archive) as database:
        found = list(read_history(database, loaded.campaign.cells[0].id, None))
    seconds = time.perf_counter() - begin
    assert sum(len(one.points) for one in found) == 2 * documents // DOCUMENTS
    size = sum(one.stat().st_size for one in archive.rglob("*.parquet"))
    resident = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return spent, seconds, resident, size / 2**20


def main_archive(counts: tuple[int, ...]) -> None:
    """As `main`, of the archive."""
    for count in counts:
        pools = multiprocessing.get_context("spawn")
        with tempfile.TemporaryDirectory() as name, pools.Pool(1) as pool:
            spent, seconds, resident, size = pool.apply(fill, (Path(name), count))
        sys.stdout.write(
            f"{count:6d} documents, {size:6.1f} MiB: added in {spent:6.1f} s of one processor, "
            f"{1000 * spent / count:5.1f} ms a document; a cell's history {seconds:5.2f} s; "
            f"{resident / 2**20:4.0f} MiB resident\n"
        )
        sys.stdout.flush()


def main() -> None:
    """Prints one line a size; each is measured in a process of its own."""
    if sys.argv[1:2] == ["archive"]:
        main_archive(tuple(map(int, sys.argv[2:])) or (100, 1_000, 10_000))
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
