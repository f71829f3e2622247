"""What the controls found and how steady the samples were, in words and one table.

The evidence for or against the verdicts; every control that did not run is named as missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from suite.analysis.result.arms import MOST_FOR_TIMING
from suite.analysis.result.campaign import Analysis, Controls, ExtraWork, Family, Told, judge_equal
from suite.analysis.result.cells import SteadyClass
from suite.analysis.result.numbers import MARGIN, OTHER_LEVEL, Ratio
from suite.report.text.names import list_families, name_cells
from suite.report.text.page import NO_NUMBER, Column, Page
from suite.report.text.texts import TEXTS
from suite.report.text.units import Quantity, show_part, show_share, show_things, show_times
from suite.report.text.wording import word

_MISSING = TEXTS["controls"]


def write_controls(page: Page, analysis: Analysis) -> None:
    """The noise floor and every control, the missing ones too."""
    page.heading("Controls", level=3)
    page.bullets(
        [
            *_describe_floor(analysis),
            *(
                f"Twins (A/A) of {family.base}, where any difference is false by construction: "
                f"{_count_flags(family)}"
                for family in analysis.controls.twins
            ),
            *(
                f"{family.other} is {family.base} run once more (A/A), so any difference is false by "
                f"construction: {_count_flags(family)}"
                for family in analysis.controls.again
            ),
            *_describe_hidden(analysis.controls),
            *_describe_extra(analysis.controls),
            # Pipelines of two versions may differ.
            *(_describe_input(analysis.controls) if analysis.rivals or not analysis.others else []),
        ]
    )


def write_steadiness(page: Page, analysis: Analysis) -> None:
    """The appendix's part on how the samples of each cell in each invocation went: classes, and outliers."""
    page.heading("Steady state of the samples", level=3)
    counts = {
        arm: sum(
            (Counter(cell.arms[arm].steady) for cell in analysis.cells if not cell.one_shot),
            Counter[SteadyClass](),
        )
        for arm in analysis.arms
    }
    if not any(counts.values()):
        page.paragraph("No cell that takes several samples was measured.")
        return
    names = TEXTS["steady"]
    kinds = [kind for kind in get_args(SteadyClass) if any(n[kind] for n in counts.values())]
    columns: list[Column] = [("class", [names[kind] for kind in kinds])]
    for arm, of_arm in counts.items():
        parts = ((of_arm[kind], show_part(of_arm[kind], of_arm.total())) for kind in kinds)
        columns.append((arm, [Quantity("", f"{n}", f" ({part})", n) for n, part in parts]))
    page.columns(TEXTS["captions"]["steady"], columns)
    page.bullets(_describe_outliers(analysis))


def write_timing_costs(page: Page, analysis: Analysis) -> None:
    """The appendix's part on the dearest timing of each family: an empty fence as a share of a sample."""
    page.heading("Timing overhead", level=3)
    costs = {arm: details.timing for arm, details in analysis.arms.items()}
    if not any(costs.values()):
        page.paragraph("Unknown: no document says what an empty fence costs.")
        return
    cells = analysis.cells
    names = name_cells(cells)
    families = list_families(cells)
    columns: list[Column] = [("family", families)]
    for arm, cost in costs.items():
        # The dearest cell of each family comes last, and stays.
        dearest = sorted(
            (cost[cell.id], cell.id, cell.scenario) for cell in cells if cell.id in cost
        )
        shown = {family: f"{100 * share:.2g} % ({names[cell]})" for share, cell, family in dearest}
        columns.append((arm, [shown.get(family, NO_NUMBER) for family in families]))
    page.columns(TEXTS["captions"]["timing"], columns)
    over = sum(share > MOST_FOR_TIMING for cost in costs.values() for share in cost.values())
    page.paragraph(
        f"In {over} of {sum(map(len, costs.values()))} cases the fence costs more than "
        f"{show_share(MOST_FOR_TIMING)} of a sample."
    )


def _describe_floor(analysis: Analysis) -> Iterable[str]:
    if analysis.noise_floor is None:
        yield f"Noise floor: {_MISSING['twins']}."
        return
    cells = sum(len(family.ratios) for family in analysis.controls.twins)
    beyond = (
        "their own intervals explain it"
        if not analysis.noise_unexplained
        else f"beyond their own intervals it is {show_share(analysis.noise_unexplained)}"
    )
    yield (
        f"Noise floor: {show_share(analysis.noise_floor)}, the 95th percentile of |ratio − 1| over "
        f"{cells} comparisons of a cell with itself; {beyond}."
    )


def describe_failed(analysis: Analysis) -> list[str]:
    """What failed of what must not differ, before a word of who wins; nothing where all held."""
    controls = analysis.controls
    failures = [
        f"{family.base} run twice differs in {_describe_flagged(family)}: {_doubt(_measure(family))}"
        for family in (*controls.twins, *controls.again)
        if family.flagged
    ]
    hidden = controls.cuda_hidden
    if hidden and hidden.flagged:
        failures.append(
            f"{hidden.other} has no GPU and differs from {hidden.base} in {_describe_flagged(hidden)}: "
            "that much of a difference can come from the image, not the hardware"
        )
    failures += [
        f"known extra work on {extra.arm} measured as {extra.ratio.value:.3f} times the time for "
        f"{extra.truth:.3f} times the work, which its interval excludes: "
        f"{_doubt(extra.ratio.value / extra.truth - 1)}"
        for extra in controls.extra_work
        if extra.holds is False
    ]
    differ = controls.input_differs
    if differ:
        first, arm, _ = differ[0]
        ratios = {cell.id: cell.ratios for cell in analysis.cells}
        compared = [ratios.get(name, {}).get(other) for name, other, _ in differ]
        off = max(
            (abs(ratio.value - 1) for ratio in compared if isinstance(ratio, Ratio)), default=0.0
        )
        count = len({cell for cell, _, _ in differ})
        cells = "1 input-only cell differs" if count == 1 else f"{count} input-only cells differ"
        failures.append(f"{cells} on {arm}, such as {first}: {_doubt(off)}")
    failures += _list_changes(analysis)
    return [f"A CONTROL FAILED: {failure}." for failure in failures]


def _list_changes(analysis: Analysis) -> list[str]:
    """What was another thing in some blocks than in the others: an image, a driver, a GPU."""
    results = [result for cell in analysis.cells for result in cell.arms.values()]
    flags = [flag for result in results for flag in result.invalid if flag.code == "changed"]
    return list(dict.fromkeys(word(flag) for flag in flags))


NOT_RUN = "not run"
ANSWERS: Mapping[Told, str] = {"held": "held", "failed": "failed", "too wide": "too wide to tell"}
"""What a control tells, in words."""


def sort_controls(analysis: Analysis) -> dict[str, list[str]]:
    """The controls that a campaign of these arms can have by what they tell, each by a short name."""
    controls, names = analysis.controls, TEXTS["control-names"]
    # An arm that is another one again is that one's control.
    again = {family.other for family in controls.again}
    arms = [arm for arm in analysis.arms if arm not in again]
    answers: dict[str, list[Told]] = {
        **{names["run-again"].format(arm=arm): [] for arm in arms},
        **({names["hidden"]: []} if analysis.cpu and analysis.gpu else {}),
        **{names["extra-work"].format(arm=arm): [] for arm in arms},
        **({names["input-only"]: _answer_input(analysis)} if analysis.rivals else {}),
    }
    families = [
        (names["run-again"].format(arm=again.base), again)
        for again in (*controls.twins, *controls.again)
    ]
    families += [(names["hidden"], controls.cuda_hidden)] if controls.cuda_hidden else []
    for name, family in families:
        answers.setdefault(name, []).extend([family.answer] if family.ratios else [])
    for extra in controls.extra_work:
        answers.setdefault(names["extra-work"].format(arm=extra.arm), []).append(extra.answer)
    if _list_changes(analysis):
        answers[names["unchanged"]] = ["failed"]
    # Of several cells the one that tells least, unless one failed.
    worst: Sequence[Told] = ("failed", "too wide", "held")
    told = {
        name: ANSWERS[min(several, key=worst.index)] if several else NOT_RUN
        for name, several in answers.items()
    }
    return {
        answer: [name for name in told if told[name] == answer]
        for answer in (*ANSWERS.values(), NOT_RUN)
    }


def _answer_input(analysis: Analysis) -> list[Told]:
    """What the cells tell that read input alone; nothing where none has a ratio."""
    given = analysis.controls.input_only.values()
    if verdicts := [verdict for arms in given for verdict in arms.values()]:
        return [judge_equal(verdicts)]
    alone = (cell for cell in analysis.cells if cell.role == "input" and cell.on_cpu)
    ran = any(isinstance(ratio, Ratio) for cell in alone for ratio in cell.ratios.values())
    return ["too wide"] if ran else []


def _doubt(off: float) -> str:
    return f"don't rely on differences under {show_share(max(abs(off), MARGIN))}"


def _measure(family: Family) -> float:
    """By how much what should be equal differs at most."""
    return max(abs(family.ratios[name].value - 1) for name in family.flagged)


def _describe_flagged(family: Family) -> str:
    of = show_things(len(family.verdicts), "cell")
    return f"{len(family.flagged)} of {of}, by up to {show_share(_measure(family))}"


def _count_flags(family: Family) -> str:
    faster, slower = family.signs
    flags = len(family.flagged)
    counts = Counter(verdict.name.lower() for verdict in family.verdicts.values())
    shares = [f"{count} {name}" for name, count in sorted(counts.items())]
    text = (
        f"{flags} of {len(family.verdicts)} cells called faster or slower "
        f"({100 * OTHER_LEVEL:.0f} % of such tables may have one); the ratio was under 1 in {faster} and "
        f"over 1 in {slower}" + (f"; verdicts: {', '.join(shares)}" if shares else "")
    )
    names = f": {', '.join(family.flagged)}" if flags else ""
    return f"{text}{names}; {ANSWERS[family.answer]}."


def _describe_hidden(controls: Controls) -> Iterable[str]:
    family = controls.cuda_hidden
    if family is None:
        yield f"CUDA image without its GPU: not compared; {_MISSING['cuda_hidden']}."
        return
    if not family.verdicts:
        yield "CUDA image without its GPU: no cell has a verdict, so that nothing is known of the image."
        return
    flags = family.flagged
    effect = f"none differs by a verdict; {ANSWERS[family.answer]}"
    if family.answer == "held":
        effect = "none differs: what differs elsewhere is not the image"
    if flags:
        listed = ", ".join(flags)
        effect = f"{len(flags)} differ, which is the image and not the hardware: {listed}"
    cells = f"of {len(family.verdicts)} cells {effect}"
    yield f"CUDA image without its GPU against {family.base}: {cells}."


def _describe_extra(controls: Controls) -> Iterable[str]:
    if not controls.extra_work:
        yield f"Known extra work: {_MISSING['extra_work']}."
    for extra in controls.extra_work:
        yield f"Known extra work on {extra.arm}: {_judge_extra(extra)} ({extra.cell})."


def _judge_extra(extra: ExtraWork) -> str:
    shown = show_times(extra.ratio, apart=(1.0, extra.truth))
    times = f"{shown} times the time for {extra.truth:.3f} times the work"
    low, high = extra.ratio.low, extra.ratio.high
    if low is None or high is None:
        return f"{times}; no interval, so it tells nothing"
    if extra.answer == "failed":
        return f"{times}; the interval DOES NOT CONTAIN THE TRUE VALUE"
    within = "contains the true value"
    if not low <= extra.truth <= high:
        within = "misses the true value by as little as one in twenty does by chance"
    if extra.answer == "held":
        return f"{times}; the interval {within}, and not 1"
    return f"{times}; the interval {within}, but 1 as well: {ANSWERS[extra.answer]}"


def _describe_input(controls: Controls) -> Iterable[str]:
    if not controls.input_only:
        yield f"Input-only cells: {_MISSING['input_only']}."
        return
    flagged = [f"{cell} {verdict.name} on {arm}" for cell, arm, verdict in controls.input_differs]
    yield (
        f"Input-only cells, which run on the CPU whatever the arm: {len(flagged)} of "
        f"{len(controls.input_only)} faster or slower by over {100 * MARGIN:.0f} %"
        + (f", which they should not be: {'; '.join(flagged)}" if flagged else "")
        + "."
    )


def _describe_outliers(analysis: Analysis) -> Iterable[str]:
    for arm in analysis.arms:
        results = [cell.arms[arm] for cell in analysis.cells]
        counts = [result.outliers for result in results if result.outliers]
        samples = sum(count.n for count in counts)
        mild = show_part(sum(count.mild for count in counts), samples)
        far = show_part(sum(count.far for count in counts), samples)
        if samples:
            yield (
                f"{arm}: {samples} steady samples, of which {mild} are outliers and {far} far out "
                "(Tukey); all but stalls are kept."
            )
