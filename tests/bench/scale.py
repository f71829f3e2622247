"""How long the analysis of a campaign takes, and how much memory, at 10, 100 and 1,000 documents.

``python -m tests.bench.scale``; a measurement for people, not a test: it asserts nothing.
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

from suite.cells.cell import Work
from suite.wire import dump_document
from tests import synthetic
from tests.fakes.hosts import SAMPLES, WARMUP
from tests.rendering import collate

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
    files = collate(folder).files
    seconds = time.perf_counter() - begin
    assert len(json.loads(files["summary.json"])["cells"]) == CELLS
    return seconds, 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    """Prints one line a size; each is measured in a process of its own."""
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
