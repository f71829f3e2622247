"""What was seen in some of a cell's blocks, told with how many, or briefly beside its number."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Label:
    """Something that ``blocks`` of a cell's ``of`` blocks have.

    ``text`` says in how many; ``brief`` is the same in every table, so that footnotes are few.
    """

    text: str
    brief: str
    blocks: int
    of: int

    @property
    def is_common(self) -> bool:
        """Whether it is said of the number, not of a block: most blocks have it.

        What fewer have is in the interval already, and stands in the files for programs.
        """
        return 2 * self.blocks > self.of


def share(blocks: int, of: int) -> str:
    """``2 of 5 blocks``."""
    return f"{blocks} of {of} blocks"


MOST = "most blocks"
"""Stands in a brief label where a text has the share."""
