"""What was made of a value, kept for as long as somebody has that value: a campaign is analysed after every
block, and its documents stay the same."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

Of = TypeVar("Of")
Made = TypeVar("Made")


class Kept(Generic[Of, Made]):
    """Makes something of each of many values, and of a value that it has met nothing again.

    A value is known by identity, since a frozen dataclass that holds lists has no hash; nobody may change it
    in place.  ``make`` gets those together that are new, each once; what it makes must not hold the value,
    which would never end.
    """

    def __init__(self, make: Callable[[Sequence[Of]], Iterable[Made]]) -> None:
        self._make = make
        self._made: dict[int, tuple[weakref.ref[Of], Made]] = {}

    def take(self, values: Iterable[Of]) -> list[Made]:
        """What is made of the values, in their order."""
        asked = list(values)
        new = [*{id(value): value for value in asked if id(value) not in self._made}.values()]
        for value, made in zip(new, self._make(new) if new else (), strict=True):
            # Gone as the value ends, before another can lie in its place.
            gone = functools.partial(self._made.pop, id(value))
            self._made[id(value)] = weakref.ref(value, gone), made
        return [self._made[id(value)][1] for value in asked]
