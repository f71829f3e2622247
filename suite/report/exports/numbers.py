"""The numbers that a program without a place for doubts may have: measured, and not INVALID."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import ArmResult
from suite.report.render.plain import show_plainly
from suite.report.text.wording import name_banners


@dataclass(frozen=True, kw_only=True)
class Number:
    """A cell on an arm.  ``cell`` is its id, with the campaign's banners behind it: SIMULATED numbers
    never have the name of others; it has no space."""

    cell: str
    arm: str
    result: ArmResult

    @property
    def name(self) -> str:
        """The name of the cell on this arm."""
        return f"{self.cell}/arm={join(self.arm)}"


def list_numbers(analysis: Analysis) -> Iterator[Number]:
    """The numbers in the plan's order."""
    banners = [join(one) for one in name_banners(analysis.flags)]
    for one in analysis.cells:
        for arm, result in one.arms.items():
            if _tell_doubt(result) is None:
                yield Number(cell="/".join([join(one.id), *banners]), arm=arm, result=result)


def count_left_out(analysis: Analysis) -> Counter[str]:
    """How many cells on an arm have no such number, by what they are instead."""
    doubts = (_tell_doubt(result) for one in analysis.cells for result in one.arms.values())
    return Counter(filter(None, doubts))


def _tell_doubt(result: ArmResult) -> str | None:
    if result.invalid:
        return "INVALID"
    return None if result.value is not None else result.outcome


def write_json(found: object) -> bytes:
    """The content of a file."""
    text = json.dumps(found, ensure_ascii=False, indent=1, allow_nan=False)
    return f"{text}\n".encode()


def join(text: str) -> str:
    """The text without spaces, and all in letters that can be seen."""
    return re.sub(r"\s+", "-", show_plainly(text, limit=1000).strip())
