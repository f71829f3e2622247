"""The section that tells how a naive script's number becomes a fair one.  Words only."""

from __future__ import annotations

from collections.abc import Iterable

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.findings import NaiveGap, Step, Waterfall
from suite.report.text.names import list_values, name_changes, name_place
from suite.report.text.page import Code, Page, Runs
from suite.report.text.units import show_gain, show_relative, show_seconds

WARM = "as asked, in a warm process"
"""What was not measured by the script itself, in a process that had done nothing before."""

_NO_ERROR = (
    ' gives no error in eager TensorFlow 2: the work runs on the CPU, and such a script prints a "GPU time" '
    "that is the CPU's."
)
SOFT: Runs = ("Where there is no GPU, ", Code("tf.device('/GPU:0')"), _NO_ERROR)
"""What a script that compares both does where there is nothing to compare."""

TOLD = 3
LITTLE = 0.05
"""So many changes are told of the way to the fair difference, and none that makes less than this share."""


def write_waterfalls(page: Page, analysis: Analysis) -> None:
    """The section "From the naive script to the fair number"; absent where no case was measured."""
    if not analysis.waterfalls:
        return
    page.heading("From the naive script to the fair number")
    page.paragraph(
        "What people who ask have timed, and what is left when one mistake after the other is "
        "corrected. Where a stage was not measured, the next one includes all changes since the "
        "previous one."
    )
    if analysis.gpu is None and any(one.posted for one in analysis.waterfalls):
        page.paragraph(*SOFT)
    for name in dict.fromkeys(one.name for one in analysis.waterfalls):
        found = [one for one in analysis.waterfalls if one.name == name]
        misled = [one for one in analysis.misled if one.name == name]
        page.heading(f"{name}: {found[0].title}", level=3)
        _write_steps(page, found)
        page.bullets(_tell(found, misled))


def _write_steps(page: Page, found: list[Waterfall]) -> None:
    case = found[0]
    rows = [
        {
            "where": ", ".join(filter(None, [list_values(one.fixed), name_place(one.spot)])),
            "what changed": _list_changes(one, step),
            f"time per {case.unit}": show_seconds(step.value),
            "against the previous step": "" if step.factor is None else show_gain(step.factor),
        }
        for one in found
        for step in one.steps
    ]
    page.table(
        f"Table: {case.name}, time per {case.unit} from what was asked to the fair number, and "
        "its 95 % CI.",
        rows,
    )


def _list_changes(one: Waterfall, step: Step) -> str:
    if one.posted or step is not one.steps[0]:
        return "; ".join(step.changes)
    return "; ".join([WARM, *step.changes[1:]])


def _tell(found: list[Waterfall], misled: list[NaiveGap]) -> Iterable[str]:
    """A paragraph for every waterfall of a case: each place's way, and what the script misleads to."""
    for fixed in {tuple(one.fixed.items()): one.fixed for one in found}.values():
        sentences = [_tell_naive_gap(one) for one in misled if one.fixed == fixed]
        sentences += [_tell_way(one) for one in found if one.fixed == fixed]
        yield ": ".join(filter(None, [list_values(fixed), " ".join(sentences)]))


def _tell_way(one: Waterfall) -> str:
    """A waterfall in words: both ends, the whole way, and its largest step."""
    first, last = one.steps[0].value.value, one.steps[-1].value.value
    told = " the script prints" if one.posted else f", {WARM}, it takes"
    text = (
        f"On {name_place(one.spot)}{told} {show_seconds(first)} "
        f"per {one.unit}, and the fair number is {show_seconds(last)}, "
        f"{show_gain(one.factor)}"
    )
    largest = one.largest
    if len(one.steps) > 2 and largest is not None and largest.factor is not None:
        text += (
            f"; the largest step is {name_changes(largest.changes)}: {show_gain(largest.factor)}"
        )
    return f"{text}."


def _tell_naive_gap(one: NaiveGap) -> str:
    """What the script says about two places, what is so, and what lies between."""
    # The other's time over the base's, so that the base is what was before.
    naive, fair = show_relative(one.naive), show_relative(one.fair)
    verdict = f"off by a factor of {one.factor:.3g}"
    if one.reverses:
        verdict = "the wrong winner"
    elif one.invents:
        verdict = "a difference where none is shown"
    elif one.provisional:
        verdict = "provisional, without a verdict"
    elif not one.differs:
        verdict = "neither tells them apart"
    other, base = (name_place(place) for place in (one.other, one.base))
    told = "the script says" if one.posted else f"{WARM}, it is"
    parts = [
        f"{100 * part.share:.0f} % by {name_changes(part.changes)}"
        for part in one.gone[:TOLD]
        if part.share >= LITTLE
    ]
    way = f" Largest proven shares of the gap: {'; '.join(parts)}." if parts else ""
    return f"On {other}, against {base}, {told} {naive}; timed fairly it is {fair}: {verdict}.{way}"
