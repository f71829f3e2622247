"""The picture of a cell's raw samples: all blocks of all arms, and what of them counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.receipt import Receipt
from suite.report.pictures.captions import title_picture
from suite.report.pictures.picture import Picture, Strip
from suite.report.text.names import name_receipt
from suite.report.text.texts import TEXTS


def depict_samples(
    analysis: Analysis, receipt: Receipt, whys: Mapping[str, Sequence[str]]
) -> Picture | None:
    """None where there is no sample.  ``whys`` are by document the reasons for which it does not count."""
    taken: dict[str, tuple[Strip, ...]] = {}
    for turn in receipt.turns:
        if not turn.samples:
            continue
        counts = not whys[turn.document]
        strip = Strip(
            # As in its document's name; short, since there can be twenty beside each other.
            label=f"{turn.block}" + (f"-r{turn.repeat}" if turn.repeat else ""),
            warmup=turn.warmup,
            samples=turn.samples,
            start=turn.start,
            counts=counts,
            value=turn.value if counts else None,
        )
        taken[turn.arm] = (*taken.get(turn.arm, ()), strip)
    if not taken:
        return None
    return title_picture(
        analysis,
        f"defend-{name_receipt(receipt.cell)}",
        f"Every sample of {receipt.cell}",
        taken,
        caption=[TEXTS["pictures"]["samples"]],
    )
