"""A campaign beside a sheet of requirements: what each line comes to, and what would decide it.  Pure.

Every check of a cell on an arm has an interval at a level at which those of the whole sheet hold at once: of
``k`` checks, facts and controls among them, 1 - 0.05/k (Bonferroni).  A line passes where the whole interval
lies on the right side, and fails where it lies wholly on the wrong one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from suite.analysis.acceptance.asked import Asked, Doubt
from suite.analysis.acceptance.facts import (
    KNOWN,
    Bound,
    Known,
    Value,
    find_values,
    guess_kind,
    judge_fact,
    read_bound,
)
from suite.analysis.acceptance.power import Look, Mean, Sides, look_alone, look_beside
from suite.analysis.acceptance.quantities import QuantityError, name_many
from suite.analysis.acceptance.selection import Selection
from suite.analysis.acceptance.sheet import Requirement, Sheet, SheetError
from suite.analysis.observations import HOUR_S, Observation, observe, values_by_block
from suite.analysis.result.acceptance import Acceptance, Answer, Check, Deciding, Line, conclude
from suite.analysis.result.campaign import SCHEMA, Analysis
from suite.analysis.result.cells import ArmResult, CellAnalysis
from suite.analysis.result.findings import Finding
from suite.analysis.result.numbers import FEWEST, LEVEL, Estimate, cite
from suite.analysis.result.several import list_failed
from suite.analysis.several.cells import demand_comparable, find_refused
from suite.analysis.several.eligibility import find_copies
from suite.analysis.statistics.estimate import Moments, find_moments, find_spread
from suite.analysis.statistics.rounding import hand_over
from suite.cells.traits import WITH_CONTROLS
from suite.errors import UsageError
from suite.flags import pick

_BELOW = frozenset({"below", "far below"})

Place = dict[str, Any]
"""Where a check is: its arm, its cell, and of what it is."""


@dataclass(frozen=True, kw_only=True)
class Judge:
    """A campaign, and what it is judged with: its ``samples``' hash, which cells and arms a line means, and
    other campaigns by the name that the sheet has for them."""

    sheet: Sheet
    analysis: Analysis
    samples: str
    others: Mapping[str, Analysis]
    selection: Selection
    tables: dict[str, list[Observation]] = field(default_factory=dict)

    def judge(self) -> Acceptance:
        """The sheet's answers.

        Raises:
            SheetError: a line names a cell, an arm or a campaign that is none, or a unit that does not fit.
        """
        analysis, plan = self.analysis, self.analysis.campaign
        asked = [list(self._ask(wanted)) for wanted in self.sheet.requirements]
        counted = sum(map(len, asked))
        confidence = 1 - LEVEL / counted
        lines = tuple(
            self._make_line(number, wanted, _judge_all(of, confidence))
            for number, (wanted, of) in enumerate(
                zip(self.sheet.requirements, asked, strict=True), start=1
            )
        )
        blocks = max((len(arm.blocks) for arm in analysis.arms.values()), default=0)
        facts = {
            name: next((", ".join(map(str, v)) for v in values if v), None)
            for name, values in (
                (name, [find_values(KNOWN[name], arm) for arm in analysis.arms.values()])
                for name in ("machine type", "TensorFlow", "driver")
            )
        }
        return hand_over(
            Acceptance(
                schema=SCHEMA,
                sheet=self.sheet.name,
                digest=self.sheet.digest,
                title=self.sheet.title,
                signed_by=self.sheet.signed_by,
                answer=conclude(line.answer for line in lines),
                lines=lines,
                counted=counted,
                confidence=confidence,
                campaign=plan,
                samples=self.samples,
                suite=analysis.suite,
                analysed_by=analysis.analysed_by,
                machine=analysis.machine,
                machine_type=facts["machine type"],
                software=facts["TensorFlow"],
                driver=facts["driver"],
                arms=tuple(analysis.arms),
                blocks=blocks,
                price=analysis.price,
                flags=analysis.flags,
                wrong={arm: len(cells) for arm, cells in analysis.wrong.items()},
                failed=list_failed([analysis, *self.others.values()]),
                decides=self._decide(lines, blocks),
            )
        )

    # --- What a line asks -----------------------------------------------------------------------------

    def _ask(self, wanted: Requirement) -> Iterator[Asked | Check]:
        analysis = self.analysis
        if wanted.what == "noise_floor":
            yield self._ask_floor(wanted)
        elif wanted.what == "controls":
            yield _judge_controls(analysis)
        elif wanted.what == "machine":
            yield self._judge_machine()
        elif wanted.what == "fact":
            yield from self._ask_fact(wanted)
        elif wanted.what == "expected":
            yield from self._ask_expected(wanted)
        else:
            yield from self._ask_cells(wanted)

    def _judge_machine(self) -> Check:
        unsound = tuple(flag for flag in self.analysis.flags if flag.scope == "machine")
        if unsound:
            return Check(answer="fail", flags=unsound)
        if invalid := self.analysis.invalid:
            return Check(answer="undecided", flags=invalid)
        if wrong := self.analysis.wrong:
            return Check(answer="undecided", reason=cite("wrong-results", arms=tuple(wrong)))
        return Check(answer="pass")

    def _ask_floor(self, wanted: Requirement) -> Check:
        floor = self.analysis.noise_floor
        if floor is None:
            return Check(answer="undecided", reason=cite("no-twins"))
        bound = wanted.bound or 0.0
        held = floor < bound or (floor == bound and not wanted.strict)
        value = Estimate(value=floor, low=None, high=None, n=0)
        return Check(answer="pass" if held else "fail", value=value)

    def _ask_fact(self, wanted: Requirement) -> Iterator[Asked | Check]:
        known = self._find_fact(wanted)
        arms = self.selection.match_arms(
            wanted, lambda arm: self.analysis.arms[arm].gpu or not known.gpu
        )
        assert wanted.rest is not None  # noqa: S101  every fact has one
        try:
            bound = read_bound(known, wanted.rest)
        except QuantityError as error:
            raise SheetError(
                self.sheet.name, wanted.find_line("is"), f"is: {error.what}", error.remedy
            ) from error
        if not arms:
            yield Check(answer="undecided", reason=cite("no-gpu-arm"))
        for arm in arms:
            values = find_values(known, self.analysis.arms[arm])
            answer = judge_fact(values, bound)
            yield Check(
                answer=answer,
                arm=arm,
                found=", ".join(dict.fromkeys(_show(value, bound) for value in values)),
                reason=cite("fact-unknown") if answer == "undecided" else None,
            )

    def _find_fact(self, wanted: Requirement) -> Known:
        by_name = {name.lower(): known for name, known in KNOWN.items()}
        if wanted.of.lower() in by_name:
            return by_name[wanted.of.lower()]
        having = {
            arm: about.facts[wanted.of]
            for arm, about in self.analysis.arms.items()
            if wanted.of in about.facts
        }
        values = [value for of in having.values() for value in of if value is not None]
        if values:
            gpu = all(self.analysis.arms[arm].gpu for arm in having)
            return Known(kind=guess_kind(values), gpu=gpu, names=(wanted.of,))
        if having:
            return Known(kind="text", gpu=False, names=(wanted.of,))
        raise SheetError(
            self.sheet.name,
            wanted.find_line("fact"),
            f"fact: {wanted.of!r} is neither a fact that a sheet can name nor one of this campaign's",
            f"known are: {', '.join(KNOWN)}; and every fact in the appendix of report.html",
        )

    def _ask_expected(self, wanted: Requirement) -> Iterator[Asked | Check]:
        rows = self.analysis.find("expected")
        named = list(dict.fromkeys(row.of for row in rows))
        if wanted.of and rows and wanted.of not in named:
            raise SheetError(
                self.sheet.name,
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
        mean = _take_mean(row.value)
        return Asked(
            **place,
            mean=mean,
            sides=Sides(math.log(share * high), math.log(share * low), high=True),
            looks=self._look(mean, self._find_usual(row.arm)),
            turn=1 / low,
            lost=self._count_lost(row.arm, mean.n),
            gap=cite("figures-differ"),
            doubt=doubt,
            may_fail=held,
        )

    # --- What is asked of cells -----------------------------------------------------------------------

    def _ask_cells(self, wanted: Requirement) -> Iterator[Asked | Check]:
        base = self._find_base(wanted)
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
        ask = self._ask_pairs if wanted.what in {"as_fast_as", "faster_from"} else self._ask_own
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
                self.sheet.name, wanted.find_line("base"), f"base: {error.what}", error.remedy
            ) from error
        return base

    # --- What is known of a cell ----------------------------------------------------------------------

    def _ask_own(self, wanted: Requirement, cell: CellAnalysis, arm: str) -> Asked | Check:
        """A rate, a time, a first call or a price."""
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
            if values:
                moments = find_moments(list(map(math.log, values.values())))
                mean = Mean(moments.mean, moments.error, moments.freedom, len(values))
                if wanted.what == "rate":
                    amount = result.work.bytes if wanted.of == "byte" else result.work.amount
                    mean = mean._replace(value=math.log(amount or 1.0) - mean.value)
                return self._make(wanted, mean, doubt, place, self._find_usual(arm))
        if found is None:
            return _leave_open(doubt, place)
        return self._make(wanted, _take_mean(found), doubt, place, self._find_usual(arm))

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
                    self.sheet.name,
                    wanted.find_line("rate"),
                    f"rate: {wanted.unit!r} does not fit {cell.id}, whose work is counted in "
                    f"{' and '.join(names)}",
                    "write the rate in that, or name another cell",
                )
        if wanted.what == "price" and price is not None:
            if price.currency != wanted.unit:
                raise SheetError(
                    self.sheet.name,
                    wanted.find_line("price"),
                    f"price: {wanted.unit} does not fit the campaign, whose PRICE is in {price.currency}",
                    f"write the price in {price.currency}",
                )
            if (
                not self.analysis.find("cost", cell=cell.id, of=wanted.of)
                and result.value is not None
            ):
                raise SheetError(
                    self.sheet.name,
                    wanted.find_line("cell", "every"),
                    f"price: {cell.id} is not a cell that has a price for a million {wanted.of}",
                    "name a cell that trains, such as one of mlp.train",
                )

    def _ask_pairs(self, wanted: Requirement, cell: CellAnalysis, arm: str) -> Asked | Check:
        """An arm beside another of the same campaign, paired by block: times of the other over its own."""
        than = wanted.than or self.analysis.base
        own, other = (values_by_block(self._rows(cell.id, name)) for name in (arm, than))
        logs = [
            math.log(other[block]) - math.log(own[block]) for block in sorted(own) if block in other
        ]
        place: Place = {"arm": arm, "cell": cell.id}
        doubt = self._doubt([cell.arms[name] for name in (arm, than)])
        if not logs:
            return _leave_open(doubt, place)
        moments = find_moments(logs)
        mean = Mean(moments.mean, moments.error, moments.freedom, len(logs))
        usual = self._find_usual_pair(arm, than)
        if wanted.what == "faster_from":
            # By less than the margin nothing is called faster: what shows it is code that lies elsewhere.
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

    # --- What it comes to -----------------------------------------------------------------------------

    def _make_line(self, number: int, wanted: Requirement, checks: Sequence[Check]) -> Line:
        return Line(
            number=number,
            line=wanted.find_line(),
            clause=wanted.clause,
            what=wanted.what,
            wanted=wanted.wanted,
            of=wanted.of,
            cells=wanted.cell or wanted.every,
            arm=wanted.arm,
            against=wanted.base
            or wanted.than
            or self.analysis.base * (wanted.what == "faster_from"),
            side=wanted.side,
            bound=wanted.bound,
            scale=wanted.scale,
            unit=wanted.unit,
            answer=conclude(check.answer for check in checks),
            checks=tuple(checks),
        )

    def _decide(self, lines: Sequence[Line], blocks: int) -> Deciding | None:
        """What more blocks of this campaign decide, and what they take at its own pace; None: nothing."""
        needed = {
            line.number: most
            for line in lines
            if line.answer == "undecided"
            and (most := max((c.blocks or 0 for c in line.checks if not c.both), default=0))
            > blocks
        }
        if not needed:
            return None
        most, analysis = max(needed.values()), self.analysis
        turns = blocks + any(arm.calibrated for arm in analysis.arms.values())
        total = math.fsum(spent.total_s for spent in analysis.spent.values())
        seconds = total / turns * (most - blocks) if turns and total else None
        money = analysis.price.hourly * seconds / HOUR_S if analysis.price and seconds else None
        return Deciding(
            blocks=most, more=most - blocks, lines=tuple(needed), seconds=seconds, money=money
        )


def _take_mean(found: Estimate) -> Mean:
    """The mean of logarithms behind an estimate of one sample."""
    spread = find_spread(found)
    error = 0.0 if spread is None else spread / math.sqrt(found.n)
    return Mean(math.log(found.value), error, found.n - 1, found.n)


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


def _is_sound(analysis: Analysis, cell: str, arm: str) -> bool:
    """Whether a campaign has a number of a cell that is to be believed."""
    result = analysis.results(arm).get(cell)
    return result is not None and result.value is not None and not result.invalid


def _leave_open(doubt: Doubt | None, place: Place) -> Check:
    """What has no number."""
    reason, flags = doubt or (cite("no-such-number"), ())
    return Check(answer="undecided", reason=reason, flags=flags, **place)


def _judge_all(asked: Sequence[Asked | Check], confidence: float) -> list[Check]:
    return [each.judge(confidence) if isinstance(each, Asked) else each for each in asked]


def _judge_controls(analysis: Analysis) -> Check:
    controls = analysis.controls
    families = [
        *controls.twins,
        *controls.again,
        *([controls.cuda_hidden] if controls.cuda_hidden else []),
    ]
    told = [
        *(family.answer for family in families),
        *(extra.answer for extra in controls.extra_work),
    ]
    if controls.failed:
        return Check(
            answer="fail",
            reason=cite("control-failed", campaign=analysis.campaign.id, controls=controls.failed),
        )
    answer: Answer = "pass" if told and "too wide" not in told else "undecided"
    reason = None if answer == "pass" else cite("controls-wide" if told else "no-twins")
    return Check(answer=answer, reason=reason, found=", ".join(sorted(set(told))))


def _show(value: Value, bound: Bound) -> str:
    """A fact's value, in the unit that the sheet has for it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        return value
    return f"{value / bound.scale:.4g} {bound.unit}".rstrip()
