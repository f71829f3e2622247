"""The method's rates and coverage by host and number of blocks, other tools' rules beside ours.

``python -m tests.bench.method [CELLS]``: minutes with the default; it asserts nothing.  Prints the
tables that docs/method-in-detail.md shows.
"""

from __future__ import annotations

import sys
import zlib
from typing import Any

import numpy as np
from tabulate import tabulate

from suite.analysis.statistics.estimate import estimate
from suite.analysis.statistics.ratio import find_paired_ratio
from tests.bench.rates import contains, count, judge_tables
from tests.bench.rivals import RULES, decide_by_runs, read_values
from tests.fakes.hosts import HOSTS, SAMPLES, WARMUP, Array, Host, draw_levels, draw_series

CELLS = 1000
BLOCKS = (5, 7, 10, 20)
JUDGED_BLOCKS = 10
SLOWER = 0.05
SLOWDOWNS = (2.0, 2.2, 2.5, 2.8, 3.0, 3.5, 4.0, 5.0, 7.0, 10.0, 15.0)
"""Per cent."""


def seed(*words: object) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(" ".join(map(str, words)).encode()))


def draw_arm(host: Host, draw: np.random.Generator, cells: int, blocks: int) -> Array:
    levels = draw_levels(host, draw, cells=cells, blocks=blocks)
    return draw_series(host, draw, levels, WARMUP + SAMPLES)


def tabulate_coverage(cells: int) -> str:
    """Coverage of the interval of a value and of a ratio, through the search for a steady part."""
    rows = []
    for name, host in HOSTS.items():
        draw = seed("coverage", name)
        arms = [
            [read_values(logs) for logs in draw_arm(host, draw, cells, max(BLOCKS))]
            for _ in range(2)
        ]
        value, ratio = [], []
        for blocks in BLOCKS:
            # Drift is centred on all blocks; the first few are faster than that.
            truth = float(np.exp(host.offset + host.drift * (blocks - max(BLOCKS)) / 2))
            cut = [
                [{b: v for b, v in values.items() if b <= blocks} for values in arm] for arm in arms
            ]
            value.append(count([contains(estimate([*v.values()]), truth) for v in cut[0]]))
            pairs = [find_paired_ratio(a, b) for a, b in zip(*cut, strict=True)]
            ratio.append(count([contains(pair, 1.0) for pair in pairs if pair]))
        rows += [[name, "value", *map(str, value)], ["", "ratio", *map(str, ratio)]]
    headers = ["host", "interval of the", *(f"{blocks} blocks" for blocks in BLOCKS)]
    return tabulate(rows, headers=headers, tablefmt="pipe", disable_numparse=True)


def tabulate_rules(cells: int, slower: float) -> str:
    """How often each rule calls two arms different of which one is this much slower."""
    rows = []
    for name, host in HOSTS.items():
        draw = seed("rules", name, slower)
        base, other = (draw_arm(host, draw, cells, 2 * JUDGED_BLOCKS) for _ in range(2))
        other = other + np.log1p(slower)
        rates = []
        for rule in RULES.values():
            # All see as many processes; one arm after the other takes twice the time.
            blocks = 2 * JUDGED_BLOCKS if rule is decide_by_runs else JUDGED_BLOCKS
            pairs = zip(base[:, :blocks], other[:, :blocks], strict=True)
            rates.append(count([rule(a, b, draw) for a, b in pairs]))
        rows.append([name, *(f"{100 * rate.value:.0f} %" for rate in rates)])
    headers = ["host", *RULES]
    return tabulate(rows, headers=headers, tablefmt="pipe", disable_numparse=True)


def tabulate_power(tables: int) -> str:
    """The smallest slowdown of one cell among 60 that is found in 80 % of tables, after Holm."""
    rows = []
    for name in ("quiet", "typical", "bimodal", "drifting"):
        row = [name]
        for blocks in BLOCKS:
            sizes: Any = {"tables": tables, "cells": 60, "blocks": blocks}
            for slower in SLOWDOWNS:
                _, found = judge_tables(HOSTS[name], **sizes, slower=slower / 100)
                if found.value >= 0.8:
                    row.append(f"{slower} %")
                    break
            else:
                row.append(f"over {SLOWDOWNS[-1]} %")
        rows.append(row)
    headers = ["host", *(f"{blocks} blocks" for blocks in BLOCKS)]
    return tabulate(rows, headers=headers, tablefmt="pipe", disable_numparse=True)


def main() -> None:
    cells = int(sys.argv[1]) if len(sys.argv) > 1 else CELLS
    for title, text in (
        (f"Coverage of 95 % CIs, {cells} cells each", tabulate_coverage(cells)),
        ("Called different, although the same", tabulate_rules(cells, 0.0)),
        ("The smallest slowdown found in 80 % of tables", tabulate_power(max(20, cells // 5))),
        (f"Called different, {100 * SLOWER:.0f} % slower", tabulate_rules(cells, SLOWER)),
    ):
        sys.stdout.write(f"{title}\n\n{text}\n\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
