"""What changed from one version of an arm to the next: the part that did, by how much, and at which step.

Only a verdict says that something changed; what computes otherwise is told before any speed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import CellAnalysis, Checked
from suite.analysis.result.numbers import Ratio, Verdict
from suite.analysis.result.versions import (
    PartChange,
    PartRow,
    VersionChange,
    VersionCourse,
    VersionPart,
    VersionStep,
    VersionSteps,
)
from suite.report.sections.deciding import name_sizes
from suite.report.sections.tables.cells import show_time
from suite.report.text.names import name_cells
from suite.report.text.page import NO_NUMBER, Page, Row, point_to_rows
from suite.report.text.texts import TEXTS
from suite.report.text.units import (
    Quantity,
    join_words,
    show_difference,
    show_more,
    show_p,
    show_relative,
    show_seconds,
    show_things,
    show_times,
)
from suite.report.text.wording import word_verdict

_PARTS, _MEANINGS, _WORDS = TEXTS["version-parts"], TEXTS["version-meanings"], TEXTS["versions"]

_SHORT = 12
"""So many characters tell a commit from any other."""

_MOST_SOFTWARE = 20
"""Of what two versions ran otherwise so many are listed; summary.json has all."""


# --- Sentences ----------------------------------------------------------------------------------------


def tell_versions(analysis: Analysis) -> list[list[str]]:
    """What changed, the part first: of each list of versions at which step, and of each other two; a list of
    sentences each."""
    return [
        *(list(_tell_steps(analysis, steps)) for steps in analysis.version_steps),
        *(list(_tell_change(analysis, change)) for change in _list_pairs(analysis)),
    ]


def _list_pairs(analysis: Analysis) -> list[VersionChange]:
    """Each two versions that are in no list."""
    within = {arm for steps in analysis.version_steps for arm in steps.arms}
    return [change for change in analysis.versions if change.base not in within]


def tell_differing(analysis: Analysis) -> list[str]:
    """The versions that compute otherwise; where a check refused a result, that is told of its arm."""
    names, sentences = _name_cells(analysis), []
    for change in analysis.versions:
        cells = [cell for cell in change.differs if not cell.wrong]
        if not cells:
            continue
        first, several = cells[0], len(cells) > 1
        example = names[first.cell]
        if first.base and first.other:
            was, now = _show_checked(first.base), _show_checked(first.other)
            example += f" ({now} instead of {was})"
        where = (
            f"{len(cells)} cells, such as {example}: they have" if several else f"{example}: it has"
        )
        sentences.append(
            f"{change.other} COMPUTES OTHERWISE THAN {change.base} in {where} no verdict on speed."
        )
    return sentences


def _show_checked(checked: Checked) -> str:
    ends = dict.fromkeys(f"{end:.6g}" for end in (checked.low, checked.high))
    return " to ".join(ends)


def tell_software(analysis: Analysis) -> list[str]:
    """What two versions ran otherwise, in a sentence for each two, or for each step of a list."""
    differing = [
        (name_step(*pair), steps.software.get(pair[1], {}))
        for steps in analysis.version_steps
        for pair in pairwise(steps.arms)
    ]
    differing += [
        (name_step(change.base, change.other), change.software) for change in _list_pairs(analysis)
    ]
    return [f"{step}: {_list_software(software)}." for step, software in differing]


def _list_software(software: Mapping[str, tuple[str, str]]) -> str:
    if not software:
        return _WORDS["same-software"]
    told = [
        f"{name} {_shorten(before)} → {_shorten(after)}"
        for name, (before, after) in software.items()
    ]
    more = len(told) - _MOST_SOFTWARE
    return ", ".join(told[:_MOST_SOFTWARE]) + (f", and {more} more" if more > 0 else "")


def _shorten(version: str) -> str:
    """A version as it is; a commit by its beginning."""
    if not version:
        return _WORDS["no-package"]
    is_commit = len(version) > _SHORT and all(c in "0123456789abcdef" for c in version)
    return version[:_SHORT] if is_commit else version


def list_versions(analysis: Analysis) -> list[str]:
    """The versions of a campaign that is about nothing else, the oldest first where that is known."""
    if analysis.version_steps:
        return list(analysis.version_steps[0].arms)
    change = analysis.versions[0]
    return [change.base, change.other]


def name_step(before: str, after: str) -> str:
    """``cpu@2.20 → cpu``."""
    return f"{before} → {after}"


def _tell_change(analysis: Analysis, change: VersionChange) -> Iterator[str]:
    """``cpu@2.20 → cpu: Keras fit's own loop: +38.2 ± 1.4 µs a step (+12 %). Equal: kernels.``"""
    step = name_step(change.base, change.other)
    changed = change.changed
    if not change.parts:
        yield f"{step}: {_WORDS['no-parts']}."
    elif changed:
        names = _name_cells(analysis)
        yield f"{step}: {'; '.join(_tell_part(part, names) for part in changed)}."
    else:
        yield f"{step}: {_WORDS['no-change']}."
    open_ = [part for part in change.parts if part not in changed and part not in change.equal]
    for what, parts in (("Equal", change.equal), ("Undecided", open_)):
        if parts:
            yield f"{what}: {', '.join(map(_name_part, parts))}."
    verdicts = {cell: row.verdict for cell, row in change.cells.items()}
    ratios = {cell: row.ratio for cell, row in change.cells.items() if row.ratio}
    yield from _tell_cells(analysis, verdicts, ratios)


def _tell_part(part: PartChange, names: Mapping[str, str]) -> str:
    """A part that changed: how much more it takes; or of one whose cells have no mean in seconds the ratio,
    and the cell that has most of it."""
    name = _name_part(part)
    if part.seconds is not None:
        more = f" ({show_more(part.ratio.value - 1)})" if part.ratio else ""
        return f"{name}: {show_difference(part.seconds)} a {part.unit}{more}"
    told = f"{name}: {show_relative(part.ratio) if part.ratio else _judge(part.verdict)}"
    # An example goes the way that the part went.
    way = part.verdict.name if part.verdict else ""
    rows = {cell: row for cell, row in part.rows.items() if row.verdict and row.verdict.name == way}
    if not rows:
        return told
    most = max(rows, key=lambda cell: abs(rows[cell].seconds.value))
    return f"{told}, such as {names.get(most, most)}: {show_difference(rows[most].seconds)}"


def _name_part(part: PartChange) -> str:
    """A part; with those that nothing in the campaign tells from it."""
    return " with ".join(_PARTS[name] for name in (part.name, *part.contains))


def _tell_cells(
    analysis: Analysis, verdicts: Mapping[str, Verdict | None], ratios: Mapping[str, Ratio]
) -> Iterator[str]:
    """How many cells of work became slower and faster, and which of them most."""
    work = [cell.id for cell in analysis.work if cell.id in verdicts]
    if not work:
        return
    counts = Counter(_judge(verdicts[cell]) for cell in work)
    changed = [cell for cell in work if _judge(verdicts[cell]) in _CHANGED]
    rest = [f"{counts[name]} {name}" for name in _RESTS if counts[name]]
    of = f"Of {show_things(len(work), 'cell')} of work"
    if not changed:
        yield f"{of} none is shown to be faster or slower: {', '.join(rest)}."
        return
    words = " and ".join(f"{counts[way]} became {way}" for way in _CHANGED if counts[way])
    first = max(changed, key=lambda cell: _size(ratios.get(cell)))
    example = f"{_name_cells(analysis)[first]}, {show_relative(ratios[first])}"
    yield f"{of} {words}{_lead_to(changed)}{'; '.join([example, *rest])}."


def _lead_to(cells: Sequence[object]) -> str:
    """What stands between a number of cells and the one of them that is named."""
    return ", most of all " if len(cells) > 1 else ": "


_CHANGED = ("slower", "faster")
_RESTS = ("equal", "undecided", "INVALID", "without a verdict")


def _judge(verdict: Verdict | None) -> str:
    """What became of a cell or a part, in a word."""
    if verdict is None:
        return "without a verdict"
    return {"EQUIVALENT": "equal", "INCONCLUSIVE": "undecided", "INVALID": "INVALID"}.get(
        verdict.name, verdict.name.lower()
    )


def _size(ratio: Ratio | None) -> float:
    return abs(math.log(ratio.value)) if ratio else 0.0


def _name_cells(analysis: Analysis) -> dict[str, str]:
    return name_cells(analysis.cells) | name_sizes(analysis)


def list_open(analysis: Analysis, cells: Sequence[CellAnalysis]) -> list[str]:
    """Of which of these cells it is not known yet what changed, of each two versions and each list."""
    names, told = _name_cells(analysis), []
    for steps in analysis.version_steps:
        open_ = [
            names[cell.id]
            for cell in cells
            if (course := steps.cells.get(cell.id))
            if course.answer == "open" and not is_drift(course)
        ]
        if open_:
            told.append(f"at which step of {' → '.join(steps.arms)} {', '.join(open_)} changed")
    for change in _list_pairs(analysis):
        open_ = [
            names[cell.id]
            for cell in cells
            if (row := change.cells.get(cell.id)) and row.ratio
            if row.verdict is None or row.verdict.name == "INCONCLUSIVE"
        ]
        if open_:
            told.append(
                f"what {name_step(change.base, change.other)} changed at {', '.join(open_)}"
            )
    return told


# --- A list of versions -------------------------------------------------------------------------------


def _tell_steps(analysis: Analysis, steps: VersionSteps) -> Iterator[str]:
    """``cpu@2.18 → cpu@2.20: Keras fit's own loop: 1.12× slower (1.09–1.15). Equal throughout: kernels.``"""
    names = _name_parts(steps)
    found = False
    for before, after in pairwise(steps.arms):
        changed = [
            (names[part], step)
            for part, course in steps.parts.items()
            for step in course.changes
            if step.other == after
        ]
        if changed:
            found = True
            changed.sort(key=lambda named: -_size(named[1].ratio))
            told = (f"{name}: {_say_step(step)}" for name, step in changed)
            yield f"{name_step(before, after)}: {'; '.join(told)}."
    if not found:
        what = "no-step" if steps.parts else "no-parts"
        yield f"{' → '.join(steps.arms)}: {_WORDS[what]}."
    for part, course in steps.parts.items():
        if is_drift(course):
            yield f"{names[part].capitalize()}: {_say_drift(course)}."
    sorted_parts = {
        answer: [
            names[part]
            for part, course in steps.parts.items()
            if course.answer == answer and not is_drift(course)
        ]
        for answer in ("equal", "open")
    }
    for what, answer in (("Equal throughout", "equal"), ("Undecided", "open")):
        if sorted_parts[answer]:
            yield f"{what}: {', '.join(sorted_parts[answer])}."
    yield from _tell_courses(analysis, steps)


def is_drift(course: VersionCourse) -> bool:
    """Whether the ends differ by a verdict, and no two neighbours do."""
    verdict = course.whole.verdict
    return course.answer == "open" and verdict is not None and verdict.names_winner


def _say_drift(course: VersionCourse) -> str:
    ends = name_step(course.whole.base, course.whole.other)
    return f"{_WORDS['drift']} ({ends}: {_say_step(course.whole)})"


def _say_step(step: VersionStep) -> str:
    return str(show_relative(step.ratio)) if step.ratio else _judge(step.verdict)


def _name_parts(steps: VersionSteps) -> dict[VersionPart, str]:
    return {
        part: " with ".join(_PARTS[name] for name in (part, *course.contains))
        for part, course in steps.parts.items()
    }


def _tell_courses(analysis: Analysis, steps: VersionSteps) -> Iterator[str]:
    """How many cells of work changed at which step, and how many did not."""
    courses = {cell.id: steps.cells[cell.id] for cell in analysis.work if cell.id in steps.cells}
    if not courses:
        return
    of = f"Of {show_things(len(courses), 'cell')} of work"
    by_step: dict[str, list[tuple[str, VersionStep]]] = {}
    for cell, course in courses.items():
        for step in course.changes:
            by_step.setdefault(name_step(step.base, step.other), []).append((cell, step))
    names = _name_cells(analysis)
    order = [name_step(*pair) for pair in pairwise(steps.arms)]
    parts = []
    for name in filter(by_step.__contains__, order):
        cell, step = max(by_step[name], key=lambda named: _size(named[1].ratio))
        example = f"{names[cell]}, {_say_step(step)}"
        parts.append(f"{len(by_step[name])} changed at {name}{_lead_to(by_step[name])}{example}")
    counts = Counter(
        "drifting" if is_drift(course) else course.answer for course in courses.values()
    )
    rests = [
        f"{counts[answer]} {_WORDS[answer]}"
        for answer in ("equal", "open", "drifting")
        if counts[answer]
    ]
    yield f"{of} {'; '.join([*(parts or [_WORDS['none-at-a-step']]), *rests])}."


# --- Tables -------------------------------------------------------------------------------------------


def write_versions(page: Page, analysis: Analysis, room: int | None) -> None:
    """By part and by cell what changed; of a list of versions at which step, and between its ends.

    ``room``: of each table of cells so many rows.
    """
    for steps in analysis.version_steps:
        names = _name_parts(steps)
        courses = sorted(steps.parts.items(), key=lambda of: -_find_most(of[1]))
        rows = [_show_course(names[part], course, "part") for part, course in courses]
        page.table(TEXTS["captions"]["steps-by-part"], rows)
        _write_courses(page, analysis, steps, room)
        if room is None:
            _write_parts(page, _find_ends(analysis, steps))
    for change in _list_pairs(analysis):
        _write_parts(page, change)
        _write_cells(page, analysis, change, room)


def _find_ends(analysis: Analysis, steps: VersionSteps) -> VersionChange:
    """The last of a list of versions against the first."""
    ends = steps.arms[0], steps.arms[-1]
    return next(change for change in analysis.versions if (change.base, change.other) == ends)


def _write_parts(page: Page, change: VersionChange) -> None:
    caption = TEXTS["captions"]["versions-by-part"]
    page.table(caption.format(before=change.base, after=change.other), _list_parts(change))


def write_screen(page: Page, analysis: Analysis) -> None:
    """By part what changed between two versions, or may have; of a list the sentences tell it all."""
    for change in _list_pairs(analysis):
        equal = change.equal
        rows = [
            {
                "part": _name_part(part),
                f"more on {change.other}": _show_more(part),
                f"against {change.base}": show_relative(part.ratio) if part.ratio else NO_NUMBER,
                **({"verdict": _judge(part.verdict)} if _is_judged(change) else {}),
            }
            for part in change.parts
            if part not in equal
        ]
        page.table("", rows)


def _is_judged(change: VersionChange) -> bool:
    return any(part.verdict is not None for part in change.parts)


def _list_parts(change: VersionChange) -> list[Row]:
    """The rows of the table of parts."""
    judged = _is_judged(change)
    return [
        {
            "part": f"{_name_part(part)}: {_WORDS['untold'] if part.contains else _MEANINGS[part.name]}",
            change.base: _show_own(part),
            f"more on {change.other}": _show_more(part),
            f"{change.other} against {change.base}": show_relative(part.ratio)
            if part.ratio
            else NO_NUMBER,
            **({"verdict": _show_judged(part.verdict)} if judged else {}),
            **({"work takes": show_more(part.effect) if part.changed else ""} if judged else {}),
        }
        for part in change.parts
    ]


def _show_own(part: PartChange | PartRow) -> str:
    return show_seconds(part.own) if part.own is not None and part.own > 0 else NO_NUMBER


def _show_more(part: PartChange) -> str | Quantity:
    return NO_NUMBER if part.seconds is None else show_difference(part.seconds)


_PARTICULAR = frozenset(
    {"resolution", "part-untold", "cells-apart", "lost-in-noise", "within-noise"}
)
"""Why a verdict is undecided, where it is not that the interval is wide."""


def _show_judged(verdict: Verdict | None) -> str:
    word = _judge(verdict)
    if verdict is None or verdict.reason is None or verdict.reason.code not in _PARTICULAR:
        return word
    return f"{word}: {word_verdict(verdict)}"


def _write_cells(page: Page, analysis: Analysis, change: VersionChange, room: int | None) -> None:
    """The cells of work that became faster or slower, the largest change first."""
    names = _name_cells(analysis)
    changed = [
        (cell, row.ratio, row.verdict)
        for cell in analysis.work
        if (row := change.cells.get(cell.id)) and row.ratio and row.verdict
        if row.verdict.names_winner
    ]
    changed.sort(key=lambda found: -_size(found[1]))
    rows = [
        {
            "cell": names[cell.id],
            **{arm: _show_bare_time(cell, arm) for arm in (change.base, change.other)},
            f"{change.other} against {change.base}": show_relative(ratio),
            "p, n": f"p={show_p(verdict.p)} n={ratio.n}" if verdict.p is not None else NO_NUMBER,
        }
        for cell, ratio, verdict in changed
    ]
    caption = TEXTS["captions"]["versions-by-cell"]
    _write_some(page, caption.format(before=change.base, after=change.other), rows, room)


def _show_bare_time(cell: CellAnalysis, arm: str) -> str:
    """An arm's time without its footnotes, which the brief has no room for."""
    return show_time(cell.arms[arm]).text


def _write_some(page: Page, caption: str, rows: Sequence[Row], room: int | None) -> None:
    page.table(caption, rows[:room])
    if room is not None and len(rows) > room:
        page.blocks.append(point_to_rows(len(rows) - room))


def _write_courses(page: Page, analysis: Analysis, steps: VersionSteps, room: int | None) -> None:
    """The cells of work that changed at a step, or drifted, the largest change first."""
    names = _name_cells(analysis)
    courses = [
        (names[cell.id], course)
        for cell in analysis.work
        if (course := steps.cells.get(cell.id)) and (course.changes or is_drift(course))
    ]
    courses.sort(key=lambda named: -_find_most(named[1]))
    rows = [_show_course(name, course, "cell") for name, course in courses]
    _write_some(page, TEXTS["captions"]["steps-by-cell"], rows, room)


def _find_most(course: VersionCourse) -> float:
    """The largest change of a course that a verdict shows; 0: none."""
    steps = (*course.changes, *([course.whole] if is_drift(course) else []))
    return max((_size(step.ratio) for step in steps), default=0.0)


def _show_course(name: str, course: VersionCourse, head: str) -> Row:
    """A row: what became of a cell or a part at each step, and between the ends."""
    return {
        head: name,
        **{name_step(step.base, step.other): _show_step(step) for step in course.steps},
        name_step(course.whole.base, course.whole.other): _show_step(course.whole),
        "answer": _say_where(course),
    }


def _show_step(step: VersionStep) -> str:
    """A ratio where it changed; else whether it is equal, and a ratio where nobody knows."""
    if step.ratio is None:
        return _judge(step.verdict) if step.verdict else NO_NUMBER
    if step.verdict is None or step.verdict.names_winner:
        return show_relative(step.ratio)
    word = _judge(step.verdict)
    return word if word == "equal" else f"{word}: {show_times(step.ratio)}"


def _say_where(course: VersionCourse) -> str:
    if course.changes:
        return f"at {join_words([name_step(step.base, step.other) for step in course.changes])}"
    return _WORDS["drift" if is_drift(course) else course.answer]


def write_part_rows(page: Page, analysis: Analysis) -> None:
    """The appendix's part on what each part takes of each cell that it was read off."""
    names = name_cells(analysis.cells)
    heading = False
    for change in analysis.versions:
        rows: list[Row] = [
            {
                "part": _PARTS[part.name],
                "cell": names.get(cell, cell),
                change.base: _show_own(row),
                f"more on {change.other}": show_difference(row.seconds),
                f"{change.other} against {change.base}": show_relative(row.ratio)
                if row.ratio
                else NO_NUMBER,
                "verdict": _show_judged(row.verdict),
            }
            for part in change.parts
            for cell, row in part.rows.items()
        ]
        if rows and not heading:
            page.heading("The parts of versions, cell by cell", level=3)
            heading = True
        caption = TEXTS["captions"]["versions-by-row"]
        page.table(caption.format(before=change.base, after=change.other), rows)
