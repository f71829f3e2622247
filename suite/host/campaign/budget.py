"""What a campaign's invocations have taken and will take, and when a budget forbids going on."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from suite.model import Document, container_seconds


class Budget:
    """The seconds that are spent and expected, against a limit (None: there is none).

    What an earlier command measured, and this one only goes on with, is spent, and not on this budget.
    """

    def __init__(self, limit_s: float | None) -> None:
        self.spent_s = 0.0
        """What every invocation took, those of earlier commands among them."""
        self._limit_s = limit_s
        self._own_s = 0.0
        self._expected_s: dict[str, float] = {}

    def resume(self, documents: Iterable[Document]) -> None:
        """Books the invocations of earlier commands."""
        for document in documents:
            self.book(document)
        self._own_s = 0.0

    def book(self, document: Document) -> None:
        """Books an invocation that has ended."""
        taken_s = container_seconds(document)
        self.spent_s += taken_s
        self._own_s += taken_s

    def expect(self, arm: str, seconds: float) -> None:
        """What an invocation of an arm is expected to take from now on."""
        self._expected_s[arm] = seconds

    def need_s(self, arms: Collection[str]) -> float | None:
        """What one invocation of each of these should take; None before they are calibrated."""
        if not set(arms) <= set(self._expected_s):
            return None
        return math.fsum(self._expected_s[arm] for arm in arms)

    def bars_repeat(self, document: Document) -> bool:
        """Whether the limit leaves no time for an invocation like this one, which is booked."""
        arm = document.invocation.arm
        more_s = self._expected_s.get(arm, container_seconds(document))
        return forbid("", self._limit_s, self._own_s, more_s) is not None

    def refuse(self, block: int, arms: Collection[str]) -> str | None:
        """Why a block of which these arms are missing may not begin; None: it may."""
        needed_s = self.need_s(arms)
        if not needed_s:
            return None
        return forbid(f"block {block - 1}", self._limit_s, self._own_s, needed_s)


def forbid(after: str, limit_s: float | None, spent_s: float, more_s: float) -> str | None:
    """Why another block, or round, may not begin that takes so long; None: it may."""
    if limit_s is None or spent_s + more_s <= limit_s:
        return None
    return (
        f"after {after}: the next one was predicted to cross the budget of "
        f"{limit_s:g} s ({spent_s:.0f} s spent, {more_s:.0f} s more)"
    )
