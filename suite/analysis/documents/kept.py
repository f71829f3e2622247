"""What was made of a value, kept for as long as somebody has that value: a campaign is analysed after every
block, and its documents stay the same."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

Of = TypeVar("Of")
Made = TypeVar("Made")


class _Reference(weakref.ref[Of]):
    """A reference that keeps nothing alive, and knows where its value lay."""

    __slots__ = ("place",)

    place: int


class Kept(Generic[Of, Made]):
    """Makes something of each of many values, and of a value that it has met nothing again.

    A value is known by identity, since a frozen dataclass that holds lists has no hash; nobody may change it
    in place.  ``make`` gets those together that are new, each once; what it makes must not hold the value,
    which would never end.
    """

    def __init__(self, make: Callable[[Sequence[Of]], Iterable[Made]]) -> None:
        self._make = make
        self._made: dict[int, tuple[_Reference[Of], Made]] = {}

    def take(self, values: Iterable[Of]) -> list[Made]:
        """What is made of the values, in their order."""
        asked = list(values)
        new = [*{id(value): value for value in asked if id(value) not in self._made}.values()]
        forget = self._forget
        for value, made in zip(new, self._make(new) if new else (), strict=True):
            reference = _Reference(value, forget)
            reference.place = id(value)
            self._made[id(value)] = reference, made
        return [self._made[id(value)][1] for value in asked]

    def _forget(self, reference: weakref.ref[Of]) -> None:
        """Called as a value ends, before another can lie in its place."""
        assert isinstance(reference, _Reference)  # noqa: S101  nobody makes another
        del self._made[reference.place]
