"""Prints how often the report's claims are true, on campaigns with a planted truth.

``python -m tests.bench.truth [CAMPAIGNS [KIND…]]``: minutes with the default; it asserts nothing.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from statistics import mean

from tests.bench.truth.kinds import KINDS, try_kind
from tests.bench.truth.tally import Tally

CAMPAIGNS = 20


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else CAMPAIGNS
    only = sys.argv[2:]
    for name in KINDS:
        if not only or name.split()[0].strip(":") in only:
            _print(name, try_kind(name, count))


def _print(name: str, tally: Tally) -> None:
    sys.stdout.write(f"{name}\n")
    for what, outcomes in tally.hits.items():
        rate = tally[what]
        sys.stdout.write(f"  {what}: {rate.hits} of {len(outcomes)} ({rate})\n")
    for what, sizes in tally.sizes.items():
        sys.stdout.write(f"  {what}: {100 * mean(sizes):+.2f} % on the average\n")
    shapes = Counter(re.sub(r"\d[\d,.]*", "#", sentence) for sentence in tally.false)
    for shape, times in shapes.most_common(25):
        sys.stdout.write(f"    {times} × {shape}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
