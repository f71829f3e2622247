"""A campaign beside a sheet of requirements: what each line comes to, and what would decide it.  Pure.

Every check of a cell on an arm has an interval at a level that makes those of the whole sheet hold at once: of
``k`` checks, facts and controls among them, 1 - 0.05/k (Bonferroni).  A line passes where the whole interval
lies on the right side, and fails where it lies wholly on the wrong one.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from suite.analysis.acceptance.facts import KNOWN, Known, find_values, guess_kind, judge_fact, read_bound
from suite.analysis.acceptance.power import (
    Look,
    Mean,
    Sides,
    count_deciding,
    look_alone,
    look_beside,
)
from suite.analysis.acceptance.quantities import QuantityError
from suite.analysis.acceptance.sheet import Requirement, Sheet, SheetError
from suite.analysis.observations import Observation, observe, values_by_block
from suite.analysis.result.acceptance import (
    Acceptance,
    Answer,
    Check,
    Deciding,
    Line,
    conclude,
)
from suite.analysis.result.campaign import SCHEMA, Analysis
from suite.analysis.result.cells import ArmResult, CellAnalysis
from suite.analysis.result.findings import Finding
from suite.analysis.result.numbers import FEWEST, LEVEL, Estimate, Evidence, cite
from suite.analysis.result.several import list_failed
from suite.analysis.several.cells import demand_comparable, find_refused
from suite.analysis.several.eligibility import find_copies
from suite.analysis.statistics.estimate import (
    Moments,
    exponentiate,
    find_moments,
    find_spread,
)
from suite.analysis.statistics.rounding import hand_over
from suite.cells.traits import WITH_VERDICTS
from suite.errors import UsageError
from suite.flags import Flag, pick

Choose = Callable[[str, Sequence[str]], Sequence[str]]
"""Which of some ids a word means: an id, a receipt, or a table's name."""

FIRST_BLOCKS = 5
"""So many blocks tell a spread, where there are too few for that."""

_BELOW = frozenset({"below", "far below"})


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One check to come: its place, and what is known of it.

    ``mean`` is of logarithms, to be held against ``sides``; ``looks`` are what more blocks of this campaign
    would show, ``wider`` what more of both would.  ``turn`` makes of the mean's exponential what is
    shown, and ``lost`` are the blocks that have no value.  ``settled`` is the check itself where no interval
    decides it, ``doubt`` what speaks against any answer.  What lies between both sides neither passes nor
    fails, as the ``gap`` says.
    """

    arm: str = ""
    cell: str = ""
    of: str = ""
    mean: Mean | None = None
    sides: Sides = Sides(0.0, 0.0, high=True)
    looks: tuple[Look, ...] = ()
    wider: tuple[Look, ...] = ()
    turn: float = 1.0
    lost: int = 0
    gap: Evidence = cite("across")
    settled: Check | None = None
    doubt: tuple[Evidence | None, tuple[Flag, ...]] | None = None
    may_fail: bool = True


@dataclass(frozen=True, kw_only=True)
class Judge:
    """A campaign, and what it is judged with: its ``samples``' hash, other campaigns by the name that a sheet
    has for them, all ids of the suite, and what a word means."""

    sheet: Sheet
    analysis: Analysis
    samples: str
    others: Mapping[str, Analysis]
    catalogue: Collection[str]
    choose: Choose
    tables: dict[str, list[Observation]] = field(default_factory=dict)

    def judge(self) -> Acceptance:
        """The sheet's answers.

        Raises:
            SheetError: a line names a cell, an arm or a campaign that is none, or a unit that does not fit it.
        """
        analysis, plan = self.analysis, self.analysis.campaign
        asked = [list(self._ask(requirement)) for requirement in self.sheet.requirements]
        counted = sum(map(len, asked))
        confidence = 1 - LEVEL / counted
        lines = tuple(
            self._make_line(number, requirement, [_check(each, confidence) for each in of])
            for number, (requirement, of) in enumerate(
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
                failed=list_failed([analysis, *self.others.values()]),
                decides=self._decide(lines, blocks),
            )
        )

    # --- What a line asks -----------------------------------------------------------------------------

    def _ask(self, wanted: Requirement) -> Iterator[Asked]:
        analysis = self.analysis
        if wanted.what == "noise_floor":
            yield self._ask_floor(wanted)
        elif wanted.what == "controls":
            yield Asked(settled=_judge_controls(analysis))
        elif wanted.what == "machine":
            unsound = tuple(flag for flag in analysis.flags if flag.scope == "machine")
            yield Asked(settled=Check(answer="fail" if unsound else "pass", flags=unsound))
        elif wanted.what == "fact":
            yield from self._ask_fact(wanted)
        elif wanted.what == "expected":
            yield from self._ask_expected(wanted)
        else:
            yield from self._ask_cells(wanted)

    def _ask_floor(self, wanted: Requirement) -> Asked:
        floor = self.analysis.noise_floor
        if floor is None:
            return Asked(settled=Check(answer="undecided", reason=cite("no-twins")))
        bound = wanted.bound or 0.0
        held = floor < bound or (floor == bound and not wanted.strict)
        value = Estimate(value=floor, low=None, high=None, n=0)
        return Asked(settled=Check(answer="pass" if held else "fail", value=value))

    def _ask_fact(self, wanted: Requirement) -> Iterator[Asked]:
        known = self._find_fact(wanted)
        arms = self._match_arms(wanted, lambda arm: self.analysis.arms[arm].gpu or not known.gpu)
        assert wanted.rest is not None  # noqa: S101  every fact has one
        try:
            bound = read_bound(known, wanted.rest)
        except QuantityError as error:
            raise SheetError(
                self.sheet.name, wanted.find_line("is"), f"is: {error.what}", error.remedy
            ) from error
        if not arms:
            yield Asked(settled=Check(answer="undecided", reason=cite("no-gpu-arm")))
        for arm in arms:
            values = find_values(known, self.analysis.arms[arm])
            answer = judge_fact(values, bound)
            yield Asked(
                settled=Check(
                    answer=answer,
                    arm=arm,
                    found=", ".join(dict.fromkeys(_show(value, bound.scale) for value in values)),
                    reason=cite("fact-unknown") if answer == "undecided" else None,
                )
            )

    def _find_fact(self, wanted: Requirement) -> Known:
        by_name = {name.lower(): known for name, known in KNOWN.items()}
        if wanted.of.lower() in by_name:
            return by_name[wanted.of.lower()]
        having = {arm: about.facts[wanted.of] for arm, about in self.analysis.arms.items() if wanted.of in about.facts}
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

    def _ask_expected(self, wanted: Requirement) -> Iterator[Asked]:
        rows = self.analysis.find("expected")
        named = list(dict.fromkeys(row.of for row in rows))
        if wanted.of and rows and wanted.of not in named:
            raise SheetError(
                self.sheet.name,
                wanted.find_line("of"),
                f"of: {wanted.of!r} is not what was measured beside a figure",
                f"measured were: {', '.join(named)}",
            )
        arms = self._match_arms(wanted, lambda _: True)
        rows = [row for row in rows if row.arm in arms and wanted.of in {"", row.of}]
        if not rows:
            yield Asked(of=wanted.of, settled=Check(answer="undecided", of=wanted.of, reason=cite("no-figure")))
        for row in rows:
            yield self._hold_against_figures(wanted, row)

    def _hold_against_figures(self, wanted: Requirement, row: Finding) -> Asked:
        place = {"arm": row.arm, "cell": row.cell, "of": row.of}
        figures = row.evidence[0].values if row.evidence else {}
        low = figures.get("low")
        if row.value is None or not isinstance(low, int | float) or low <= 0:
            return Asked(settled=Check(answer="undecided", reason=cite("no-figure"), **place))
        named = figures.get("high", low)
        high = max(float(named), low) if isinstance(named, int | float) else low
        share = wanted.bound or 1.0
        # Who copies with memory that is not pinned reaches less than is published: then the report's word counts.
        held = row.verdict != "" and (row.verdict in _BELOW or not row.of.startswith("copy"))
        result = self._find_cell(row.cell)
        doubt = self._doubt([result.arms[row.arm]] if result and row.arm in result.arms else [])
        mean = _take_mean(row.value)
        return Asked(
            **place,
            mean=mean,
            sides=Sides(math.log(share * high), math.log(share * low), high=True),
            looks=_look(mean),
            turn=1 / low,
            lost=self._count_lost(row.arm, mean.n),
            gap=cite("figures-differ"),
            doubt=doubt,
            may_fail=held,
        )

    # --- What is asked of cells -----------------------------------------------------------------------

    def _ask_cells(self, wanted: Requirement) -> Iterator[Asked]:
        base = self._find_base(wanted)
        cells, unmeasured = self._match_cells(wanted, base)
        if wanted.what == "faster_from":
            cells = self._take_sizes(wanted, cells)
        for name in unmeasured:
            yield Asked(
                cell=name, settled=Check(answer="undecided", cell=name, reason=cite("cell-unplanned"))
            )
        for cell in cells:
            for arm in self._choose_arms(wanted, cell, base):
                if base is not None:
                    yield self._ask_other(wanted, cell, arm, base)
                elif wanted.what in {"as_fast_as", "faster_from"}:
                    yield self._ask_pairs(wanted, cell, arm)
                else:
                    yield self._ask_own(wanted, cell, arm)

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

    def _match_cells(
        self, wanted: Requirement, base: Analysis | None
    ) -> tuple[list[CellAnalysis], list[str]]:
        """The cells of the campaign that are meant, and ids that it has not measured."""
        cells = {cell.id: cell for cell in self.analysis.cells}
        word = wanted.cell or wanted.every
        if not word:
            work = [cell.id for cell in (base or self.analysis).work]
            return [cells[name] for name in work if name in cells], [n for n in work if n not in cells]
        chosen = self._find_ids(word, list(cells))
        if wanted.cell and len(chosen) > 1:
            raise SheetError(
                self.sheet.name,
                wanted.find_line("cell"),
                f"cell: {word!r} means {len(chosen)} cells: {', '.join(chosen[:3])}, …",
                "write more of its id; or every = … for all of them",
            )
        if chosen:
            return [cells[name] for name in chosen], []
        elsewhere = self._find_ids(word, list(self.catalogue))
        if not elsewhere:
            raise SheetError(
                self.sheet.name,
                wanted.find_line("cell", "every"),
                f"{'cell' if wanted.cell else 'every'}: no campaign has a cell {word!r}",
                "`make list` shows their ids; a receipt at the end of a report's row will do, too",
            )
        return [], [word] if wanted.cell else elsewhere

    def _find_ids(self, word: str, ids: Sequence[str]) -> list[str]:
        return list(self.choose(word, ids)) or [name for name in ids if fnmatch.fnmatchcase(name, word)]

    def _take_sizes(self, wanted: Requirement, cells: Sequence[CellAnalysis]) -> list[CellAnalysis]:
        """Those of the size that is named, and larger ones."""
        sizes = {
            float(size)
            for cell in cells
            if isinstance(size := cell.params.get(wanted.of), int | float)
        }
        if cells and wanted.bound not in sizes:
            listed = ", ".join(f"{size:g}" for size in sorted(sizes))
            raise SheetError(
                self.sheet.name,
                wanted.find_line("faster_from"),
                f"faster_from: {wanted.of} {wanted.bound:g} was not measured",
                f"sizes that were: {listed}" if sizes else f"these cells have no {wanted.of}",
            )
        at = wanted.bound or 0.0
        return [c for c in cells if isinstance(s := c.params.get(wanted.of), int | float) and s >= at]

    def _choose_arms(
        self, wanted: Requirement, cell: CellAnalysis, base: Analysis | None
    ) -> list[str]:
        """The arms that are meant: that of the sheet, or the one that fits; of a gate without cells all."""
        first = self.analysis.base
        if wanted.what == "faster_from":
            arms = self._match_arms(wanted, lambda arm: arm != first)
            self._refuse_same(wanted, first, arms)
        elif wanted.what == "as_fast_as" and base is None:
            self._demand_arm(wanted, wanted.than)
            arms = self._match_arms(wanted, lambda arm: arm != wanted.than)
            self._refuse_same(wanted, wanted.than, arms)
        else:
            arms = self._match_arms(wanted, lambda arm: self._means_something(cell, arm))
        if base is not None and not wanted.arm:
            arms = [arm for arm in arms if (wanted.than or arm) in base.arms]
        if base is not None and not {wanted.than or arm for arm in arms} <= {*base.arms}:
            raise SheetError(
                self.sheet.name,
                wanted.find_line("arm", "base"),
                f"{wanted.base} has no arm {wanted.than or ', '.join(arms)}",
                f"it has {', '.join(base.arms)}",
            )
        gate = wanted.what == "slower_than" and not wanted.cell and not wanted.every
        if len(arms) > 1 and not wanted.arm and not gate:
            raise SheetError(
                self.sheet.name,
                wanted.find_line(wanted.what),
                f"{wanted.what}: on which arm? {', '.join(arms)} have that cell",
                f'add arm = "{arms[-1]}"; or arm = "*" for all of them',
            )
        if not arms:
            raise SheetError(
                self.sheet.name,
                wanted.find_line("arm", wanted.what),
                f"{wanted.what}: no arm of this campaign fits; it has {', '.join(self.analysis.arms)}",
                "name another campaign, or leave the requirement out",
            )
        return arms

    def _means_something(self, cell: CellAnalysis, arm: str) -> bool:
        """Whether a cell is meant for an arm: where it was skipped everywhere, all are."""
        measured = [name for name, result in cell.arms.items() if result.outcome != "skipped"]
        return arm in measured or not measured

    def _match_arms(self, wanted: Requirement, fits: Callable[[str], bool]) -> list[str]:
        if not wanted.arm:
            return [arm for arm in self.analysis.arms if fits(arm)]
        arms = [arm for arm in self.analysis.arms if fnmatch.fnmatchcase(arm, wanted.arm)]
        if not arms:
            self._demand_arm(wanted, wanted.arm)
        return [arm for arm in arms if "*" not in wanted.arm or fits(arm)]

    def _demand_arm(self, wanted: Requirement, arm: str) -> None:
        if arm not in self.analysis.arms:
            raise SheetError(
                self.sheet.name,
                wanted.find_line(wanted.what) if arm == wanted.than else wanted.find_line("arm"),
                f"arm: this campaign has no arm {arm!r}",
                f"it has {', '.join(self.analysis.arms)}",
            )

    def _refuse_same(self, wanted: Requirement, other: str, arms: Collection[str]) -> None:
        if other in arms:
            raise SheetError(
                self.sheet.name,
                wanted.find_line("arm"),
                f"arm: {other} beside itself: this requirement can't fail",
                f"name another arm than {other}",
            )

    # --- What is known of a cell ----------------------------------------------------------------------

    def _ask_own(self, wanted: Requirement, cell: CellAnalysis, arm: str) -> Asked:
        """A rate, a time, a first call or a price."""
        result = cell.arms[arm]
        self._demand_unit(wanted, cell, result)
        doubt = self._doubt([result])
        place = {"arm": arm, "cell": cell.id}
        found = None
        if wanted.what == "first_call":
            found = result.first_call
        elif wanted.what == "price":
            price = self.analysis.price
            rows = self.analysis.find("cost", arm=arm, cell=cell.id, of=wanted.of)
            found = rows[0].value if rows else None
            if price is None:
                return Asked(settled=Check(answer="undecided", reason=cite("no-price"), **place))
        else:
            values = values_by_block(self._rows(cell.id, arm))
            if values:
                moments = find_moments(list(map(math.log, values.values())))
                mean = Mean(moments.mean, moments.error, moments.freedom, len(values))
                if wanted.what == "rate":
                    amount = result.work.bytes if wanted.of == "byte" else result.work.amount
                    mean = mean._replace(value=math.log(amount or 1.0) - mean.value)
                return self._make(wanted, mean, doubt, place)
        if found is None:
            return Asked(settled=_leave_open(doubt, cite("no-such-number")), **place)
        return self._make(wanted, _take_mean(found), doubt, place)

    def _make(
        self,
        wanted: Requirement,
        mean: Mean,
        doubt: tuple[Evidence | None, tuple[Flag, ...]] | None,
        place: Mapping[str, str],
    ) -> Asked:
        bound = math.log(wanted.bound or 1.0)
        sides = Sides(bound, bound, high=wanted.side == "at least")
        lost = self._count_lost(place["arm"], mean.n)
        return Asked(**place, mean=mean, sides=sides, looks=_look(mean), lost=lost, doubt=doubt)

    def _count_lost(self, arm: str, n: int) -> int:
        return max(0, len(self.analysis.arms[arm].blocks) - n)

    def _demand_unit(self, wanted: Requirement, cell: CellAnalysis, result: ArmResult) -> None:
        """Refuses a rate in what the cell does not count, and a price of what nobody pays for."""
        price = self.analysis.price
        if wanted.what == "rate":
            counts = {result.work.unit: result.work.amount, "byte": result.work.bytes or 0.0}
            if not counts.get(wanted.of):
                names = [{"byte": "B"}.get(unit, unit) for unit, amount in counts.items() if amount]
                raise SheetError(
                    self.sheet.name,
                    wanted.find_line("rate"),
                    f"rate: {wanted.unit!r} does not fit {cell.id}, whose work is counted in {' and '.join(names)}",
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
            if not self.analysis.find("cost", cell=cell.id, of=wanted.of) and result.value is not None:
                raise SheetError(
                    self.sheet.name,
                    wanted.find_line("cell", "every"),
                    f"price: {cell.id} is not a cell that has a price for a million {wanted.of}",
                    "name a cell that trains, such as one of mlp.train",
                )

    def _ask_pairs(self, wanted: Requirement, cell: CellAnalysis, arm: str) -> Asked:
        """An arm beside another of the same campaign, paired by block: times of the other over its own."""
        than = wanted.than or self.analysis.base
        own, other = (values_by_block(self._rows(cell.id, name)) for name in (arm, than))
        logs = [math.log(other[block]) - math.log(own[block]) for block in sorted(own) if block in other]
        place = {"arm": arm, "cell": cell.id}
        doubt = self._doubt([cell.arms[name] for name in (arm, than)])
        if not logs:
            return Asked(settled=_leave_open(doubt, cite("no-such-number")), **place)
        moments = find_moments(logs)
        mean = Mean(moments.mean, moments.error, moments.freedom, len(logs))
        if wanted.what == "faster_from":
            # By less than the margin nothing is called faster: what shows it is code that lies elsewhere.
            sides = Sides(math.log(1 + self.analysis.margin), 0.0, high=True)
            lost = self._count_lost(arm, mean.n)
            return Asked(
                **place,
                mean=mean,
                sides=sides,
                looks=_look(mean),
                lost=lost,
                gap=cite("under-the-margin"),
                doubt=doubt,
            )
        return self._make(wanted, mean, doubt, place)

    def _ask_other(self, wanted: Requirement, cell: CellAnalysis, arm: str, base: Analysis) -> Asked:
        """A campaign beside another, by Welch: times there over times here."""
        than = wanted.than or arm
        place = {"arm": arm, "cell": cell.id}
        theirs = base.results(than).get(cell.id)
        if theirs is None:
            return Asked(settled=Check(answer="undecided", reason=cite("cell-unplanned"), **place))
        refused = find_refused(theirs, cell.arms[arm], names=(than, arm))
        copied = find_copies([base, self.analysis])
        flags = (refused,) if refused else tuple(copied.values())
        doubt = (None, flags) if flags else self._doubt([theirs, cell.arms[arm]], base)
        sides = [
            list(map(math.log, values_by_block(rows).values()))
            for rows in (self._rows(cell.id, than, base), self._rows(cell.id, arm))
        ]
        if not all(sides):
            return Asked(settled=_leave_open(doubt, cite("no-such-number")), **place)
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
        deviations = [of.error * math.sqrt(n) for of, n in zip((first, second), counts, strict=True)]
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

    def _doubt(
        self, results: Sequence[ArmResult], base: Analysis | None = None
    ) -> tuple[Evidence | None, tuple[Flag, ...]] | None:
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
            if analysis.campaign.profile not in WITH_VERDICTS:
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
            against=wanted.base or wanted.than,
            side=wanted.side,
            bound=wanted.bound,
            scale=wanted.scale,
            unit=wanted.unit,
            answer=conclude(check.answer for check in checks),
            checks=tuple(checks),
        )

    def _decide(self, lines: Sequence[Line], blocks: int) -> Deciding | None:
        """What more blocks of this campaign would decide, and what they take by its own pace; None: nothing."""
        needed = {
            line.number: most
            for line in lines
            if line.answer == "undecided"
            and (most := max((c.blocks or 0 for c in line.checks if not c.both), default=0)) > blocks
        }
        if not needed:
            return None
        most, analysis = max(needed.values()), self.analysis
        turns = blocks + any(arm.calibrated for arm in analysis.arms.values())
        total = math.fsum(spent.total_s for spent in analysis.spent.values())
        seconds = total / turns * (most - blocks) if turns and total else None
        money = analysis.price.hourly * seconds / 3600 if analysis.price and seconds else None
        return Deciding(
            blocks=most, more=most - blocks, lines=tuple(needed), seconds=seconds, money=money
        )


def _check(asked: Asked, confidence: float) -> Check:
    """The check at the sheet's level."""
    if asked.settled is not None:
        return structs.replace(
            asked.settled,
            arm=asked.settled.arm or asked.arm,
            cell=asked.settled.cell or asked.cell,
            of=asked.settled.of or asked.of,
        )
    mean, sides = asked.mean, asked.sides
    assert mean is not None  # noqa: S101  it is one or the other
    found = exponentiate(Moments(mean=mean.value, error=mean.error, freedom=mean.freedom), mean.n, confidence)
    shown = {n: None if (end := getattr(found, n)) is None else asked.turn * end for n in ("low", "high")}
    value = Estimate(value=asked.turn * found.value, n=mean.n, **shown)
    check = Check(answer="undecided", arm=asked.arm, cell=asked.cell, of=asked.of, value=value)
    if asked.doubt is not None:
        reason, flags = asked.doubt
        return structs.replace(check, reason=reason, flags=flags)
    if mean.n < FEWEST:
        reason, blocks = cite("few-for-interval", fewest=FEWEST), FIRST_BLOCKS + asked.lost
        return structs.replace(check, reason=reason, blocks=blocks)
    if mean.error == 0:
        return structs.replace(check, reason=cite("no-resolution"))
    low, high = (0.0 if end is None else end for end in (found.low, found.high))
    if low > 0:
        passed = math.log(low) > sides.passes if sides.high else math.log(high) < sides.passes
        failed = math.log(high) < sides.fails if sides.high else math.log(low) > sides.fails
        if passed or (failed and asked.may_fail):
            return structs.replace(check, answer="pass" if passed else "fail")
        if failed:
            return structs.replace(check, reason=cite("not-held"))
    if not asked.may_fail:
        sides = sides._replace(fails=-math.inf)
    ends = sorted(sides[:2])
    between = ends[0] < mean.value < ends[1]
    apart = math.exp(min(abs(mean.value - end) for end in ends)) - 1
    alone = count_deciding(mean, sides, confidence, asked.looks) if asked.looks else None
    wider = None
    if alone is None and asked.wider:
        wider = count_deciding(mean, sides, confidence, asked.wider)
    blocks = alone or wider
    return structs.replace(
        check,
        reason=asked.gap if between else cite("across"),
        blocks=None if blocks is None else blocks + asked.lost,
        both=wider is not None,
        apart=apart,
    )


def _take_mean(found: Estimate) -> Mean:
    """The mean of logarithms behind an estimate of one sample."""
    spread = find_spread(found)
    error = 0.0 if spread is None else spread / math.sqrt(found.n)
    return Mean(math.log(found.value), error, found.n - 1, found.n)


def _look(mean: Mean) -> tuple[Look, ...]:
    if mean.n < FEWEST or mean.error == 0:
        return ()
    return look_alone(mean.error * math.sqrt(mean.n), mean.n)


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


def _leave_open(
    doubt: tuple[Evidence | None, tuple[Flag, ...]] | None, otherwise: Evidence
) -> Check:
    reason, flags = doubt or (otherwise, ())
    return Check(answer="undecided", reason=reason, flags=flags)


def _judge_controls(analysis: Analysis) -> Check:
    controls = analysis.controls
    families = [*controls.twins, *controls.again, *([controls.cuda_hidden] if controls.cuda_hidden else [])]
    told = [*(family.answer for family in families), *(extra.answer for extra in controls.extra_work)]
    if controls.failed:
        return Check(
            answer="fail",
            reason=cite("control-failed", campaign=analysis.campaign.id, controls=controls.failed),
        )
    answer: Answer = "pass" if told and "too wide" not in told else "undecided"
    reason = None if answer == "pass" else cite("controls-wide" if told else "no-twins")
    return Check(answer=answer, reason=reason, found=", ".join(sorted(set(told))))


def _show(value: str | float | bool, scale: float) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return value if isinstance(value, str) else f"{value / scale:.4g}"
