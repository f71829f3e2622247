"""After how much work a script breaks even on the GPU.  Pure."""

from __future__ import annotations

from suite.analysis.ablation.catalogue import Catalogue, mean
from suite.analysis.ablation.waterfall import find_path
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.numbers.ratio import compare
from suite.analysis.result.numbers import Evidence, cite


def find_break_even(catalogue: Catalogue, one: CellSummary, arm: str) -> Evidence | None:
    """After how much of the fair work the GPU has made up for its longer start, against the CPU."""
    cpu = catalogue.cpu
    path = find_path(catalogue, one, arm)
    rival = find_path(catalogue, one, cpu) if path and cpu and cpu != arm else []
    call = catalogue.seconds(one, arm)
    if not rival or rival[-1].cell != path[-1].cell or not call:
        return None
    own, fair = (mean(stage.values) or 0.0 for stage in (path[0], path[-1]))
    theirs, their_fair = (mean(stage.values) or 0.0 for stage in (rival[0], rival[-1]))
    longer, saving = (own - fair) - (theirs - their_fair), their_fair - fair
    if not own or longer <= 0:
        return None
    ratio = compare(path[-1].values, rival[-1].values)
    if ratio is None:
        return None
    if ratio.most <= 1:
        return cite("never-repaid")
    # Only a saving that the interval bears out is one.
    if saving <= 0 or ratio.least <= 1:
        return cite("repayment-unknown")
    return cite("repaid", units=longer / own * call / saving, unit=path[0].unit)
