"""Prints how often the report's claims are true, on campaigns with a planted truth.

``python -m tests.bench.truth [CAMPAIGNS [KIND…]]``: minutes with the default; it asserts nothing.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from statistics import mean

from tests.bench.truth import reasons, settling, winners
from tests.bench.truth.tally import Tally

CAMPAIGNS = 20

KINDS: Mapping[str, Callable[[int], Tally]] = {
    "null": winners.try_null,
    "effects of 15 %, 5 blocks": partial(winners.try_effects, size=0.15),
    "effects of 20 %, 5 blocks": partial(winners.try_effects, size=0.20),
    "effects of 20 %, 5 blocks, a rough machine": partial(
        winners.try_effects, size=0.20, host=winners.ROUGH
    ),
    "slow: effects of 15 %, 10 blocks, one of 20 invocations by 30 %": partial(
        winners.try_effects, size=0.15, blocks=10, slow=0.30
    ),
    "slow: effects of 15 %, 5 blocks, one of 10 invocations by 30 %": partial(
        winners.try_effects, size=0.15, blocks=5, slow=0.30
    ),
    "slow: effects of 15 %, 5 blocks, one of 10 invocations by 30 %, and again each time": partial(
        winners.try_effects, size=0.15, blocks=5, slow=0.30, lasts=True
    ),
    "crossovers": winners.try_crossovers,
    "quick": winners.try_quick,
    "roles": winners.try_roles,
    "settling": settling.try_settling,
    **{
        f"calls: K of {base} and {other}": partial(winners.try_calls, base=base, other=other)
        for base, other in ((1, 1), (1, 10), (1, 100), (1, 1000), (1000, 1))
    },
    "causes": reasons.try_causes,
    "controls that fail": reasons.try_controls,
}
"""What is tried, by a name of which the first word chooses it."""


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else CAMPAIGNS
    only = sys.argv[2:]
    for name, run in KINDS.items():
        if not only or name.split()[0].strip(":") in only:
            _print(name, run(count))


def _print(name: str, tally: Tally) -> None:
    sys.stdout.write(f"{name}\n")
    for what, outcomes in tally.hits.items():
        rate = tally[what]
        sys.stdout.write(f"  {what}: {rate.hits} of {len(outcomes)} ({rate})\n")
    for what, sizes in tally.sizes.items():
        sys.stdout.write(f"  {what}: {100 * mean(sizes):+.2f} % on the average\n")
    shapes = Counter(re.sub(r"\d[\d,.]*", "#", one) for one in tally.false)
    for shape, times in shapes.most_common(25):
        sys.stdout.write(f"    {times} × {shape}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
