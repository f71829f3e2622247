"""How long the analysis of a campaign takes, and how much memory, at 10, 100 and 1,000 documents.

``python -m tests.bench.scale``; a measurement for people, not a test: it asserts nothing.  With
``archive`` as its first word: how long 100, 1,000 and 10,000 documents take into the archive, in
campaigns of 20, how large it is then, and how long a cell's history takes.  With ``fleet``: see
`tests.bench.fleet`.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from suite.analysis.documents.read import load_campaign
from suite.cells.cell import Work
from suite.cli.archive.store import open_archive, read_history
from tests import synthetic
from tests.bench import fleet
from tests.changes import invoke
from tests.fakes.hosts import SAMPLES, WARMUP
from tests.rendering import report_folder

CELLS = 60


def write(folder: Path, documents: int) -> int:
    """A campaign of two arms with so many documents, and their bytes."""
    cells = [
        synthetic.make_cell("mlp", "train", {"batch": i}, Work(amount=1.0, unit="example"))
        for i in range(CELLS)
    ]
    campaign = synthetic.make_campaign(cells=cells, blocks=documents // 2)
    # Ten different invocations, written again and again under other blocks: drawing takes longer.
    originals = [
        [
            synthetic.make_document(campaign, arm, block, samples=SAMPLES, warmup=WARMUP)
            for block in range(1, 6)
        ]
        for arm in campaign.arms
    ]
    again = (
        invoke(block=block)(found[block % len(found)])
        for found in originals
        for block in range(1, documents // 2 + 1)
    )
    synthetic.write_campaign(folder, campaign, again)
    return fleet.weigh(folder, "*-*.json")


def measure(folder: Path) -> tuple[float, int]:
    """Seconds of the analysis, and the process's largest resident size in bytes."""
    begin = time.perf_counter()
    files = report_folder(folder).files
    seconds = time.perf_counter() - begin
    assert len(json.loads(files["summary.json"])["cells"]) == CELLS
    return seconds, fleet.read_resident()


DOCUMENTS = 20
"""Of a campaign of two arms and ten blocks."""

VERSION = '"29.0.1"'
"""Stands in what is known of the engine, behind which a machine's hash has its place."""


def fill(place: Path, documents: int) -> tuple[float, float, int, float]:
    """Seconds for adding, seconds for a history, resident bytes of the largest process, MiB on the disk."""
    archive = place / "archive"
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
    fleet.make_archive(archive, runs)
    spent = time.perf_counter() - begin
    begin = time.perf_counter()
    with open_archive(archive) as database:
        found = list(read_history(database, plan.cells[0].id, None))
    seconds = time.perf_counter() - begin
    assert sum(len(one.points) for one in found) == 2 * len(runs)
    assert len(found) == 2 * min(5, len(runs))
    resident = 1024 * max(
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return spent, seconds, resident, fleet.weigh(archive, "*.parquet") / 2**20


def tell_documents(place: Path, count: int) -> str:
    """What a campaign of so many documents takes."""
    size = write(place, count)
    seconds, resident = fleet.ask(measure, place)
    return (
        f"{count:5d} documents, {size / 2**20:6.1f} MiB: {seconds:6.2f} s, "
        f"{1000 * seconds / count:6.2f} ms a document, {resident / 2**20:5.0f} MiB resident\n"
    )


def tell_archive(place: Path, count: int) -> str:
    """What an archive of so many documents takes."""
    spent, seconds, resident, size = fleet.ask(fill, place, count)
    return (
        f"{count:6d} documents, {size:6.1f} MiB: added in {spent:6.1f} s, "
        f"{1000 * spent / count:5.1f} ms a document; a cell's history {seconds:5.2f} s; "
        f"{resident / 2**20:4.0f} MiB resident\n"
    )


BENCHES: dict[str, tuple[tuple[int, ...], Callable[[Path, int], str]]] = {
    "documents": ((10, 100, 1000), tell_documents),
    "archive": ((100, 1_000, 10_000), tell_archive),
    "fleet": ((10, 100, 1000), fleet.tell),
}
"""By its name of how many is told, and how."""


def main() -> None:
    """Prints what is told of each count; each is measured in a process of its own."""
    words = sys.argv[1:]
    name = words.pop(0) if words and words[0] in BENCHES else "documents"
    counts, tell = BENCHES[name]
    for count in tuple(map(int, words)) or counts:
        with tempfile.TemporaryDirectory() as folder:
            sys.stdout.write(tell(Path(folder), count))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
