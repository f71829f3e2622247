"""Which cells and arms of a campaign a requirement means; what it names and no campaign has is refused."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from suite.analysis.acceptance.sheet import Requirement, SheetError
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import OVER_BUDGET, CellAnalysis, lacks_by
from suite.analysis.result.versions import VersionChange

_NEAR = 3
"""So many cells are named that may have been meant."""

Choose = Callable[[str, Sequence[str]], Sequence[str]]
"""Which of some ids a word means: an id, a receipt, or a table's name."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """A campaign beside the sheet called ``name``; ``catalogue`` are the ids of all cells that the
    suite compares.

    Everything here raises a `SheetError` where a line names a cell or an arm that is none.
    """

    name: str
    analysis: Analysis
    catalogue: Collection[str]
    choose: Choose

    def match_cells(
        self, wanted: Requirement, base: Analysis | None
    ) -> tuple[list[CellAnalysis], list[str]]:
        """The cells of the campaign that are meant, and ids that it has not measured."""
        cells = {cell.id: cell for cell in self.analysis.cells}
        word = wanted.cell or wanted.every
        if not word:
            work = [cell.id for cell in (base or self.analysis).work]
            return [cells[name] for name in work if name in cells], [
                n for n in work if n not in cells
            ]
        chosen = self._find_ids(word, list(cells))
        if wanted.cell and len(chosen) > 1:
            raise SheetError(
                self.name,
                wanted.find_line("cell"),
                f"cell: {word!r} means {len(chosen)} cells: {', '.join(chosen[:3])}, …",
                "write more of its id; or every = … for all of them",
            )
        if chosen:
            return [cells[name] for name in chosen], []
        elsewhere = self._find_ids(word, list(self.catalogue))
        if not elsewhere:
            parts = re.findall(r"\w+", word.lower())
            every = dict.fromkeys([*cells, *self.catalogue])
            near = [name for name in every if all(part in name.lower() for part in parts)]
            raise SheetError(
                self.name,
                wanted.find_line("cell", "every"),
                f"{'cell' if wanted.cell else 'every'}: no campaign has a cell {word!r} to judge",
                f"it may be {' or '.join(near[:_NEAR])}"
                if near
                else "`make list` shows their ids (what is kept going, `sustain`, is one run and can't be "
                "judged); a receipt at the end of a report's row will do, too",
            )
        return [], [word] if wanted.cell else elsewhere

    def _find_ids(self, word: str, ids: Sequence[str]) -> list[str]:
        return list(self.choose(word, ids)) or [
            name for name in ids if fnmatch.fnmatchcase(name, word)
        ]

    def take_sizes(self, wanted: Requirement, cells: Sequence[CellAnalysis]) -> list[CellAnalysis]:
        """Those of the size that is named, and larger ones."""
        sizes = {
            float(size)
            for cell in cells
            if isinstance(size := cell.params.get(wanted.of), int | float)
        }
        if cells and wanted.bound not in sizes:
            listed = ", ".join(f"{size:g}" for size in sorted(sizes))
            raise SheetError(
                self.name,
                wanted.find_line("faster_from"),
                f"faster_from: {wanted.of} {wanted.bound:g} was not measured",
                f"sizes that were: {listed}" if sizes else f"these cells have no {wanted.of}",
            )
        at = wanted.bound or 0.0
        return [
            c for c in cells if isinstance(s := c.params.get(wanted.of), int | float) and s >= at
        ]

    def choose_arms(
        self, wanted: Requirement, cell: CellAnalysis, base: Analysis | None
    ) -> list[str]:
        """The arms that are meant: that of the sheet, or the one that fits; of a gate without cells all."""
        first = self.analysis.base
        if wanted.what == "faster_from":
            arms = self.match_arms(wanted, lambda arm: arm != first)
            self._refuse_same(wanted, first, arms)
        elif wanted.than and base is None:
            arms = self.choose_rivals(wanted)
        else:
            arms = self.match_arms(wanted, lambda arm: self._means_something(cell, arm))
        if base is not None and not wanted.arm:
            arms = [arm for arm in arms if (wanted.than or arm) in base.arms]
        if base is not None and not {wanted.than or arm for arm in arms} <= {*base.arms}:
            raise SheetError(
                self.name,
                wanted.find_line("arm", "base"),
                f"{wanted.base} has no arm {wanted.than or ', '.join(arms)}",
                f"it has {', '.join(base.arms)}",
            )
        if len(arms) > 1 and not wanted.arm and not wanted.is_gate:
            raise SheetError(
                self.name,
                wanted.find_line(wanted.what),
                f"{wanted.what}: on which arm? {', '.join(arms)} have that cell",
                f'add arm = "{arms[-1]}"; or arm = "*" for all of them',
            )
        if not arms:
            raise SheetError(
                self.name,
                wanted.find_line("arm", wanted.what),
                f"{wanted.what}: no arm of this campaign fits; it has {', '.join(self.analysis.arms)}",
                "name another campaign, or leave the requirement out",
            )
        return arms

    def list_versions(self, than: str) -> dict[str, VersionChange]:
        """What an arm and each other version of it differ in, by the other."""
        pairs = (((change.base, change.other), change) for change in self.analysis.versions)
        return {
            arm: change
            for (base, other), change in pairs
            for arm, against in ((base, other), (other, base))
            if against == than
        }

    def choose_rivals(self, wanted: Requirement) -> list[str]:
        """The arms that a line holds against another of the campaign; of what must not be slower, where it
        names none, the other versions of that, if there are any."""
        self._demand_arm(wanted, wanted.than)
        family = self.list_versions(wanted.than) if wanted.what == "slower_than" else {}
        arms = self.match_arms(
            wanted, lambda arm: arm != wanted.than and (not family or arm in family)
        )
        self._refuse_same(wanted, wanted.than, arms)
        return arms

    def _means_something(self, cell: CellAnalysis, arm: str) -> bool:
        """Whether a cell is meant for an arm, be it too slow there; where it was skipped everywhere, all
        are."""
        meant = [
            name
            for name, result in cell.arms.items()
            if result.outcome != "skipped" or lacks_by(result.flags, OVER_BUDGET)
        ]
        return arm in meant or not meant

    def match_arms(self, wanted: Requirement, fits: Callable[[str], bool]) -> list[str]:
        """The arms that a line names, or else all that fit; of those that match a pattern, those that do."""
        if not wanted.arm:
            return [arm for arm in self.analysis.arms if fits(arm)]
        arms = [arm for arm in self.analysis.arms if fnmatch.fnmatchcase(arm, wanted.arm)]
        if not arms:
            self._demand_arm(wanted, wanted.arm)
        return [arm for arm in arms if "*" not in wanted.arm or fits(arm)]

    def _demand_arm(self, wanted: Requirement, arm: str) -> None:
        if arm not in self.analysis.arms:
            raise SheetError(
                self.name,
                wanted.find_line(wanted.what) if arm == wanted.than else wanted.find_line("arm"),
                f"arm: this campaign has no arm {arm!r}",
                f"it has {', '.join(self.analysis.arms)}",
            )

    def _refuse_same(self, wanted: Requirement, other: str, arms: Collection[str]) -> None:
        if other in arms:
            raise SheetError(
                self.name,
                wanted.find_line("arm"),
                f"arm: {other} beside itself: this requirement can't fail",
                f"name another arm than {other}",
            )
