"""What a requirement asks of cells: of their own numbers, of ratios, and of what is published.  Pure.

Every check becomes a mean of logarithms and the sides of a bound, which is judged at the sheet's level.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from msgspec import structs

from suite.analysis.ablation.expected import OF_ALL_TYPES
from suite.analysis.acceptance.asked import FIRST_BLOCKS, Asked, Doubt
from suite.analysis.acceptance.power import Look, Mean, Sides, look_alone, look_beside, take_mean
from suite.analysis.acceptance.quantities import name_many
from suite.analysis.acceptance.selection import Selection
from suite.analysis.acceptance.sheet import Requirement, SheetError
from suite.analysis.campaign.consistency import find_disagreement
from suite.analysis.observations import Observation, observe, values_by_block
from suite.analysis.result.acceptance import Check
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import ArmResult, CellAnalysis
from suite.analysis.result.findings import Finding
from suite.analysis.result.numbers import FEWEST, Estimate, Ratio, cite
from suite.analysis.result.several import list_failed
from suite.analysis.result.versions import VersionChange
from suite.analysis.several.cells import demand_comparable, find_refused
from suite.analysis.several.eligibility import find_copies
from suite.analysis.statistics.estimate import Moments, find_moments, find_spread
from suite.analysis.statistics.ratio import pair_logs
from suite.cells.traits import WITH_CONTROLS
from suite.errors import UsageError
from suite.flags import pick

_BELOW = frozenset({"below", "far below"})

Place = dict[str, Any]
"""Where a check is: its arm, its cell, and of what it is."""


@dataclass(frozen=True, kw_only=True)
class Cells:
    """A campaign, by which of its cells and arms a line means, and other campaigns by the name that the sheet
    has for them.

    Everything here raises a `SheetError` where a line names a cell, an arm or a campaign that is none, or a
    unit that does not fit.
    """

    selection: Selection
    others: Mapping[str, Analysis]
    tables: dict[str, list[Observation]] = field(default_factory=dict)

    @property
    def analysis(self) -> Analysis:
        """The campaign."""
        return self.selection.analysis

    def ask(self, wanted: Requirement) -> Iterator[Asked | Check]:
        """The checks that a requirement of cells comes to."""
        base = self._find_base(wanted)
        if wanted.part:
            for arm in self.selection.choose_rivals(wanted):
                yield self._ask_part(wanted, arm)
            return
        cells, unmeasured = self.selection.match_cells(wanted, base)
        if wanted.what == "faster_from":
            cells = self.selection.take_sizes(wanted, cells)
        for name in unmeasured:
            yield Check(answer="undecided", cell=name, reason=cite("cell-unplanned"))
        places = [
            (cell, arm) for cell in cells for arm in self.selection.choose_arms(wanted, cell, base)
        ]
        if base is not None:
            yield from self._ask_others(wanted, places, base)
            return
        if wanted.is_gate:
            # What the other arm has no number of is nobody's loss, but where nobody knows which is wrong.
            differing = {
                (differs.cell, arm)
                for arm, change in self.selection.list_versions(wanted.than).items()
                for differs in change.differs
                if wanted.than not in differs.wrong
            }
            places = [
                (cell, arm)
                for cell, arm in places
                if _is_sound(self.analysis, cell.id, wanted.than) or (cell.id, arm) in differing
            ]
            if not places:
                yield Check(answer="undecided", reason=cite("no-such-number"))
        ask = self._ask_pairs if wanted.than or wanted.what == "faster_from" else self._ask_own
        for cell, arm in places:
            yield ask(wanted, cell, arm)

    def _ask_others(
        self, wanted: Requirement, places: Sequence[tuple[CellAnalysis, str]], base: Analysis
    ) -> Iterator[Asked | Check]:
        """A campaign beside another; a gate asks of all that the base has a number of."""
        if not wanted.is_gate:
            yield from (self._ask_other(wanted, cell, arm, base) for cell, arm in places)
            return
        if not wanted.arm:
            # Otherwise a driver that breaks the GPU would pass.
            for arm in base.arms:
                if arm not in self.analysis.arms:
                    yield Check(answer="undecided", arm=arm, reason=cite("arm-lacking"))
        asked = [(c, arm) for c, arm in places if _is_sound(base, c.id, wanted.than or arm)]
        if not asked:
            yield Check(answer="undecided", reason=cite("no-such-number"))
        yield from (self._ask_other(wanted, cell, arm, base) for cell, arm in asked)

    def _find_base(self, wanted: Requirement) -> Analysis | None:
        if not wanted.base:
            return None
        base = self.others[wanted.base]
        try:
            demand_comparable([base, self.analysis])
        except UsageError as error:
            raise SheetError(
                self.selection.name, wanted.find_line("base"), f"base: {error.what}", error.remedy
            ) from error
        return base

    # --- What is published ----------------------------------------------------------------------------

    def ask_expected(self, wanted: Requirement) -> Iterator[Asked | Check]:
        """Each rate that a figure is published of, beside that figure."""
        rows = self.analysis.find("expected")
        named = list(dict.fromkeys(row.of for row in rows))
        if wanted.of and rows and wanted.of not in named:
            raise SheetError(
                self.selection.name,
                wanted.find_line("of"),
                f"of: {wanted.of!r} is not what was measured beside a figure",
                f"measured were: {', '.join(named)}",
            )
        arms = self.selection.match_arms(wanted, lambda _: True)
        rows = [row for row in rows if row.arm in arms and wanted.of in {"", row.of}]
        # Unless the line names it, what nothing is published of requires nothing, nor does a copy that is
        # in its band: of memory that is not pinned it can't be shown to reach more.
        known = [
            row
            for row in rows
            if row.evidence
            and (wanted.of or row.verdict in _BELOW or not row.of.startswith("copy"))
        ]
        if not known:
            yield Check(answer="undecided", of=wanted.of, reason=cite("no-figure"))
        for row in known:
            yield self._hold_against_figures(wanted, row)

    def _hold_against_figures(self, wanted: Requirement, row: Finding) -> Asked | Check:
        figure = row.evidence[0] if row.evidence else None
        place: Place = {"arm": row.arm, "cell": row.cell, "of": row.of, "figure": figure}
        figures = figure.values if figure else {}
        low = figures.get("low")
        if row.value is None or not isinstance(low, int | float) or low <= 0:
            return Check(answer="undecided", reason=cite("no-figure"), **place)
        named = figures.get("high", low)
        high = max(float(named), low) if isinstance(named, int | float) else low
        share = wanted.bound or 1.0
        # A copy of memory that is not pinned reaches less than is published: the report's word counts.
        held = row.verdict != "" and (row.verdict in _BELOW or not row.of.startswith("copy"))
        result = self._find_cell(row.cell)
        doubt = self._doubt([result.arms[row.arm]] if result and row.arm in result.arms else [])
        mean = take_mean(row.value)
        return Asked(
            **place,
            mean=mean,
            sides=Sides(math.log(share * high), math.log(share * low), high=True),
            looks=self._look(mean, self._find_usual(row.arm)),
            turn=1 / low,
            lost=self._count_lost(row.arm, mean.n),
            gap=cite("type-unknown" if OF_ALL_TYPES in row.evidence else "figures-differ"),
            doubt=doubt,
            may_fail=held,
        )

    # --- What is known of a cell ----------------------------------------------------------------------

    def _ask_own(self, wanted: Requirement, cell: CellAnalysis, arm: str) -> Asked | Check:
        """A rate, a time, a first call, a price, or how far its blocks lie apart."""
        result = cell.arms[arm]
        self._demand_unit(wanted, cell, result)
        doubt = self._doubt([result])
        place: Place = {"arm": arm, "cell": cell.id}
        found = None
        if wanted.what == "first_call":
            found = result.first_call
        elif wanted.what == "price":
            price = self.analysis.price
            rows = self.analysis.find("cost", arm=arm, cell=cell.id, of=wanted.of)
            found = rows[0].value if rows else None
            if price is None:
                return Check(answer="undecided", reason=cite("no-price"), **place)
        else:
            values = values_by_block(self._rows(cell.id, arm))
            if wanted.what == "spread":
                return _judge_spread(wanted, list(values.values()), doubt, place)
            if values:
                moments = find_moments(list(map(math.log, values.values())))
                mean = Mean(moments.mean, moments.error, moments.freedom, len(values))
                if wanted.what == "rate":
                    amount = result.work.bytes if wanted.of == "byte" else result.work.amount
                    mean = mean._replace(value=math.log(amount or 1.0) - mean.value)
                return self._make(wanted, mean, doubt, place, self._find_usual(arm))
        if found is None:
            return _leave_open(doubt, place)
        return self._make(wanted, take_mean(found), doubt, place, self._find_usual(arm))

    def _make(
        self,
        wanted: Requirement,
        mean: Mean,
        doubt: Doubt | None,
        place: Place,
        usual: float,
    ) -> Asked:
        bound = math.log(wanted.bound or 1.0)
        sides = Sides(bound, bound, high=wanted.side == "at least")
        lost = self._count_lost(place["arm"], mean.n)
        return Asked(
            **place, mean=mean, sides=sides, looks=self._look(mean, usual), lost=lost, doubt=doubt
        )

    def _look(self, mean: Mean, usual: float) -> tuple[Look, ...]:
        """What more blocks would show; ``usual`` is the spread that is usual here."""
        if mean.n < FEWEST or mean.error == 0:
            return ()
        # Where a few blocks agree more than others do, they do so by chance.
        return look_alone(max(mean.error * math.sqrt(mean.n), usual), mean.n)

    def _find_usual(self, arm: str) -> float:
        """The median spread of the values of an arm's cells."""
        estimates = (cell.arms[arm].estimate for cell in self.analysis.cells)
        spreads = [spread for found in estimates if found and (spread := find_spread(found))]
        return median(spreads) if spreads else 0.0

    def _find_usual_pair(self, arm: str, than: str) -> float:
        """The same of pairs of two arms."""
        ratios = (
            cell.comparisons.get(name) for cell in self.analysis.cells for name in (arm, than)
        )
        spreads = [
            spread for row in ratios if row and row.ratio and (spread := find_spread(row.ratio))
        ]
        return median(spreads) if spreads else 0.0

    def _count_lost(self, arm: str, n: int) -> int:
        return max(0, len(self.analysis.arms[arm].blocks) - n)

    def _demand_unit(self, wanted: Requirement, cell: CellAnalysis, result: ArmResult) -> None:
        """Refuses a rate in what the cell does not count, and a price of what nobody pays for."""
        price = self.analysis.price
        if wanted.what == "rate":
            counts = {result.work.unit: result.work.amount, "byte": result.work.bytes or 0.0}
            if not counts.get(wanted.of):
                names = [name_many(unit) for unit, amount in counts.items() if amount]
                raise SheetError(
                    self.selection.name,
                    wanted.find_line("rate"),
                    f"rate: {wanted.unit!r} does not fit {cell.id}, whose work is counted in "
                    f"{' and '.join(names)}",
                    "write the rate in that, or name another cell",
                )
        if wanted.what == "price" and price is not None:
            if price.currency != wanted.unit:
                raise SheetError(
                    self.selection.name,
                    wanted.find_line("price"),
                    f"price: {wanted.unit} does not fit the campaign, whose PRICE is in {price.currency}",
                    f"write the price in {price.currency}",
                )
            if (
                not self.analysis.find("cost", cell=cell.id, of=wanted.of)
                and result.value is not None
            ):
                raise SheetError(
                    self.selection.name,
                    wanted.find_line("cell", "every"),
                    f"price: {cell.id} is not a cell that has a price for a million {wanted.of}",
                    "name a cell that trains, such as one of mlp.train",
                )

    def _ask_pairs(self, wanted: Requirement, cell: CellAnalysis, arm: str) -> Asked | Check:
        """An arm beside another of the same campaign, paired by block: times of the other over its own."""
        than = wanted.than or self.analysis.base
        own, other = (values_by_block(self._rows(cell.id, name)) for name in (arm, than))
        logs = pair_logs(own, other)
        place: Place = {"arm": arm, "cell": cell.id}
        doubt = self._doubt([cell.arms[name] for name in (arm, than)])
        if differs := find_disagreement({name: cell.arms[name].check for name in (arm, than)}):
            return Check(answer="undecided", flags=(differs,), **place)
        if not logs:
            return _leave_open(doubt, place)
        moments = find_moments(logs)
        mean = Mean(moments.mean, moments.error, moments.freedom, len(logs))
        usual = self._find_usual_pair(arm, than)
        if wanted.what in {"faster_from", "slower_than"}:
            sides = self._find_slower_sides(wanted)
            if wanted.what == "faster_from":
                sides = Sides(math.log(1 + self.analysis.margin), 0.0, high=True)
            lost = self._count_lost(arm, mean.n)
            return Asked(
                **place,
                mean=mean,
                sides=sides,
                looks=self._look(mean, usual),
                lost=lost,
                gap=cite("under-the-margin"),
                doubt=doubt,
            )
        return self._make(wanted, mean, doubt, place, usual)

    def _find_slower_sides(self, wanted: Requirement) -> Sides:
        """Where an arm is slower than another by more than it may be, in logarithms of the other's time over
        its own: by less than the margin nothing is called slower, as nothing is called faster, since what
        shows it is code that lies elsewhere."""
        slower = -math.log(1 + (wanted.bound or 0.0))
        return Sides(slower, min(slower, -math.log(1 + self.analysis.margin)), high=True)

    def _ask_part(self, wanted: Requirement, arm: str) -> Asked | Check:
        """A part of what an arm takes beside the same of another version."""
        place: Place = {"arm": arm, "cell": "", "of": wanted.part}
        change, doubt = self._find_change(wanted, arm), self._doubt([])
        part = next((part for part in change.parts if part.name == wanted.part), None)
        if part is None:
            return _leave_open(doubt, place)
        ratio, least = part.ratio, part.least
        if change.other == arm:
            ratio, least = _turn(ratio), _turn(least)
        if part.contains or ratio is None:
            reason = cite("part-untold" if part.contains else "lost-in-noise")
            return Check(answer="undecided", reason=reason, **place)
        mean = take_mean(ratio)
        return Asked(
            **place,
            mean=mean,
            least=take_mean(least) if least else None,
            sides=self._find_slower_sides(wanted),
            looks=self._look(mean, 0.0),
            lost=self._count_lost(arm, mean.n),
            gap=cite("under-the-margin"),
            doubt=doubt,
        )

    def _find_change(self, wanted: Requirement, arm: str) -> VersionChange:
        """What two versions differ in, whose parts a line is about."""
        if change := self.selection.list_versions(wanted.than).get(arm):
            return change
        pairs = [f"{change.other} beside {change.base}" for change in self.analysis.versions]
        raise SheetError(
            self.selection.name,
            wanted.find_line("part"),
            f"part: {arm} and {wanted.than} are not two versions whose parts are compared",
            f"compared are: {', '.join(pairs)}" if pairs else "name cells instead",
        )

    def _ask_other(
        self, wanted: Requirement, cell: CellAnalysis, arm: str, base: Analysis
    ) -> Asked | Check:
        """A campaign beside another, by Welch: times there over times here."""
        than = wanted.than or arm
        place: Place = {"arm": arm, "cell": cell.id}
        theirs = base.results(than).get(cell.id)
        if theirs is None:
            return Check(answer="undecided", reason=cite("cell-unplanned"), **place)
        refused = find_refused(theirs, cell.arms[arm], names=(f"{wanted.base}: {than}", arm))
        copied = find_copies([base, self.analysis])
        flags = (refused,) if refused else tuple(copied.values())
        doubt: Doubt | None = self._doubt([theirs, cell.arms[arm]], base)
        doubt = (None, flags) if flags else doubt
        sides = [
            list(map(math.log, values_by_block(rows).values()))
            for rows in (self._rows(cell.id, than, base), self._rows(cell.id, arm))
        ]
        if not all(sides):
            return _leave_open(doubt, place)
        first, second = map(find_moments, sides)
        counts = len(sides[0]), len(sides[1])
        mean = _join(first, second, counts)
        noise = max(self.analysis.noise_floor or 0.0, base.noise_floor or 0.0)
        bound, slower = wanted.bound or 1.0, wanted.what == "slower_than"
        # Slower by a share is so many times as fast.
        times = 1 / (1 + bound) if slower else bound
        high = slower or wanted.side == "at least"
        # Drift between campaigns is in no interval: a small miss has to be more than their noise makes.
        apart = 1 / (1 + noise) if high else 1 + noise
        least = min(times, max(times, 1.0) * apart) if high else max(times, min(times, 1.0) * apart)
        deviations = [
            max(of.error * math.sqrt(n), usual)
            for of, n, usual in zip(
                (first, second), counts, map(self._find_usual, (arm, arm)), strict=True
            )
        ]
        known = mean.error > 0 and min(counts) >= FEWEST
        looks = [
            look_beside((deviations[0], deviations[1]), counts, both=both) if known else ()
            for both in (False, True)
        ]
        return Asked(
            **place,
            mean=mean,
            sides=Sides(math.log(times), math.log(least), high=high),
            looks=looks[0],
            wider=looks[1],
            lost=self._count_lost(arm, counts[1]),
            gap=cite("under-the-noise"),
            doubt=doubt,
        )

    def _rows(self, cell: str, arm: str, analysis: Analysis | None = None) -> list[Observation]:
        analysis = analysis or self.analysis
        name = analysis.campaign.id
        if name not in self.tables:
            self.tables[name] = observe(analysis)
        return [row for row in self.tables[name] if (row.cell, row.arm) == (cell, arm)]

    def _find_cell(self, name: str) -> CellAnalysis | None:
        return next((cell for cell in self.analysis.cells if cell.id == name), None)

    def _doubt(self, results: Sequence[ArmResult], base: Analysis | None = None) -> Doubt | None:
        """Why no number of these decides anything; None: nothing speaks against it."""
        analyses = [self.analysis, *([base] if base else [])]
        for analysis in analyses:
            if analysis.invalid:
                return None, analysis.invalid
        for result in results:
            if result.invalid:
                return None, result.invalid
            if missing := pick(result.flags, "missing"):
                return None, missing
        for analysis in analyses:
            if analysis.campaign.profile not in WITH_CONTROLS:
                return cite("profile-provisional", profile=analysis.campaign.profile), ()
        for name, codes in list_failed(analyses).items():
            return cite("control-failed", campaign=name, controls=codes), ()
        return None


def _judge_spread(
    wanted: Requirement, values: Sequence[float], doubt: Doubt | None, place: Place
) -> Check:
    """How far a cell's blocks lie apart, which is what was seen and no estimate."""
    if doubt or not values:
        return _leave_open(doubt, place)
    spread, bound = max(values) / min(values) - 1, wanted.bound or 0.0
    check = Check(
        answer="undecided",
        value=Estimate(value=spread, low=None, high=None, n=len(values)),
        apart=abs(spread - bound),
        **place,
    )
    if spread > bound or (spread == bound and wanted.strict):
        return structs.replace(check, answer="fail")
    if len(values) < FEWEST:
        few = cite("few-for-interval", fewest=FEWEST)
        return structs.replace(check, reason=few, blocks=FIRST_BLOCKS)
    return structs.replace(check, answer="pass")


def _join(first: Moments, second: Moments, counts: tuple[int, int]) -> Mean:
    """The mean log-ratio first over second, with Welch's error and Satterthwaite's degrees of freedom."""
    error = math.sqrt(first.error * first.error + second.error * second.error)
    freedom = float(min(counts) - 1)
    if error > 0:
        freedom = 1 / math.fsum(
            (side.error / error) ** 4 / side.freedom for side in (first, second) if side.error
        )
    n = counts[1] if min(counts) >= FEWEST else min(counts)
    return Mean(first.mean - second.mean, error, freedom, n)


def _turn(ratio: Ratio | None) -> Ratio | None:
    """The ratio the other way round."""
    if ratio is None or ratio.low is None or ratio.high is None:
        return ratio and structs.replace(ratio, value=1 / ratio.value)
    return structs.replace(ratio, value=1 / ratio.value, low=1 / ratio.high, high=1 / ratio.low)


def _is_sound(analysis: Analysis, cell: str, arm: str) -> bool:
    """Whether a campaign has a number of a cell that is to be believed."""
    result = analysis.results(arm).get(cell)
    return result is not None and result.value is not None and not result.invalid


def _leave_open(doubt: Doubt | None, place: Place) -> Check:
    """What has no number."""
    reason, flags = doubt or (cite("no-such-number"), ())
    return Check(answer="undecided", reason=reason, flags=flags, **place)
