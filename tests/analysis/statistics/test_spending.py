"""What a look may spend of the chance of error."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suite.analysis.statistics.spending import find_share
from tests import synthetic

SEVERAL = replace(synthetic.make_campaign(profile="verdict", blocks=3), most_blocks=10)
FIXED = synthetic.make_campaign(profile="standard", blocks=5)


@pytest.mark.parametrize("last", range(3, 11))
def test_all_looks_of_a_campaign_spend_a_level_once(last: int) -> None:
    stopped = replace(SEVERAL, stopped="after block n: no time") if last < 10 else SEVERAL
    looks = [find_share(SEVERAL, block, early=False) or 0.0 for block in range(3, last)]
    end = find_share(stopped, last, early=False)
    assert sum([*looks, end or 0.0]) == pytest.approx(1.0)
    assert all(share > 0 for share in looks)


def test_verdicts_at_a_planned_end_have_their_whole_level() -> None:
    assert find_share(FIXED, 5, early=False) is None
    # Whatever ended it: what was said at the end of such campaigns stays what it was.
    assert find_share(FIXED, 2, early=False) is None
    early = [find_share(FIXED, block, early=True) for block in (3, 4)]
    assert early == pytest.approx([0.6, 0.2])
