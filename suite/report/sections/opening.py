"""The sentences and the small table that a report opens with, for Markdown and for a terminal.

Says who wins, what was measured and what was not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from suite.analysis.result.arms import Machine
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import CellAnalysis
from suite.analysis.result.numbers import Ratio, Verdict
from suite.cells.families import name_title
from suite.report.sections.causes import describe_improvements, describe_losses, describe_naive_gaps
from suite.report.sections.controls import describe_failed, describe_held
from suite.report.sections.limits import (
    describe_cost,
    describe_hardware,
    describe_impossible,
    describe_limits,
)
from suite.report.sections.tables.cells import gives_verdicts
from suite.report.sections.validity import describe_builds
from suite.report.sections.verdict import (
    list_called,
    tell_comparison,
    tell_extremes,
    tell_sizes,
    tell_sureness,
    tell_verdicts,
)
from suite.report.text.names import list_families, name_cells
from suite.report.text.units import show_bytes, show_duration, show_ratio, show_things
from suite.report.text.wording import word, word_invalid, word_missing


def name_machine(machine: Machine) -> str:
    """The machine in one line."""
    parts = [(machine.cpu or "processor not recorded")]
    if machine.cpus_used is not None:
        of = f" of {machine.cpus}" if machine.cpus is not None else ""
        parts.append(f"{machine.cpus_used}{of} logical CPUs used")
    if machine.memory_bytes is not None:
        parts.append(f"{show_bytes(machine.memory_bytes)} of memory")
    parts.append(", ".join(machine.gpus) or "no GPU seen")
    return "; ".join(parts)


def name_devices(analysis: Analysis) -> str:
    """Which GPU each arm has, where there are several, and which of them the causes are about."""
    named = []
    for arm, details in analysis.arms.items():
        if details.device is not None:
            facts = (details.facts.get(f"gpu.0.{fact}", (None,))[0] for fact in ("name", "uuid"))
            name, identity = (str(value or "") for value in facts)
            which = f"{name or 'name not recorded'}{f' ({identity})' if identity else ''}"
            named.append(f"{arm} is GPU {details.device}, {which}")
    if not named:
        return ""
    return f" GPUs: {'; '.join(named)}. Causes and improvements are about {analysis.gpu}."


def tell_when(analysis: Analysis) -> str:
    """The day on which it began, and the TensorFlow of its arms, where all name the same."""
    day = f"Begun on {analysis.campaign.created:%Y-%m-%d}"
    versions = {
        details.build.versions.get("TensorFlow") if details.build else None
        for details in analysis.arms.values()
    }
    (version,) = versions if len(versions) == 1 else [None]
    return f"{day}, with TensorFlow {version}." if version else f"{day}."


WRONG = "wrong result:"
"""What the worker's reason begins with where a check refused a result."""


def warn(analysis: Analysis) -> list[str]:
    """What a reader must know before any answer: wrong results, failed controls, impossible numbers."""
    invalid = [word_invalid(analysis.invalid)] if analysis.invalid else []
    return [
        *tell_wrong(analysis),
        *describe_failed(analysis),
        *describe_impossible(analysis),
        *(
            _end(word(flag))
            for flag in analysis.flags
            if flag.code in {"cpus-idle", "cpus-withheld"} and flag.scope == "campaign"
        ),
        *(
            f"{flag.where['arm']} in block {flag.where['block']} {word(flag)}."
            for flag in analysis.excluded
            if flag.code in {"off-pace", "off-pace-then"}
        ),
        *(f"THE CAMPAIGN IS INVALID: {why}." for why in invalid),
    ]


def answer(analysis: Analysis) -> dict[str, list[str]]:
    """What a reader asks first, by a word for each question; without those that have no answer here."""
    failed = describe_failed(analysis)
    answers = {
        # More blocks don't mend a control that fails.
        "Verdicts": tell_verdicts(analysis, settling=not failed),
        "By size": tell_sizes(analysis),
        "Extremes": [text for other in analysis.leading for text in tell_extremes(analysis, other)],
        "GPUs": [
            sentence
            for view in analysis.by_gpu
            for other in view.others
            for sentence in (tell_comparison(view, other), *tell_extremes(view, other))
        ],
        "Certainty": [*tell_sureness(analysis), *([] if failed else describe_held(analysis))],
        "Software": describe_builds(analysis),
        "Causes": describe_losses(analysis),
        "Improvements": describe_improvements(analysis),
        "Cost": [describe_cost(analysis)],
        "Hardware": [*describe_hardware(analysis), *describe_limits(analysis)],
        "Measured": account(analysis),
        "Scripts": describe_naive_gaps(analysis),
    }
    listed = {topic: list(sentences) for topic, sentences in answers.items()}
    return {topic: sentences for topic, sentences in listed.items() if sentences}


def tell_wrong(analysis: Analysis) -> list[str]:
    """Which arm was refused or computes wrongly, before a word of its speed."""
    sentences, refused = [], analysis.campaign.not_run
    for arm in analysis.arms:
        if arm in refused:
            sentences.append(_end(f"{arm} WAS NOT MEASURED: {refused[arm]}"))
        wrong = [
            (cell.id, reason)
            for cell in analysis.cells
            if WRONG in (reason := word_missing(cell.arms[arm]) or "")
        ]
        if wrong:
            name, reason = wrong[0]
            why = reason.partition(WRONG)[2].strip()
            sentences.append(
                f"{arm} GIVES WRONG RESULTS: {show_things(len(wrong), 'cell')} without a number, the "
                f"first {name}: {why}."
            )
    return sentences


def account(analysis: Analysis) -> list[str]:
    """What was planned, what became of it, and how long it took."""
    campaign = analysis.campaign
    arms = ", ".join(analysis.arms)
    work = len(analysis.work)
    cells = show_things(len(analysis.cells), "cell")
    on = f"{show_things(len(analysis.arms), 'arm')}: {arms}"
    others = ", the others explain or check it" if work < len(analysis.cells) else ""
    each = ", each a case with its settings" if len(analysis.cells) > 1 else ""
    of = f"{work} of work{others}; profile {campaign.profile}"
    sentences = [f"A campaign of {cells}{each} ({of}), on {on}. A block runs each arm once."]
    if campaign.rechecks:
        sentences.append(f"It measured these cells of {campaign.rechecks} again.")
    for arm in analysis.arms:
        done = len(analysis.arms[arm].blocks)
        sentences.append(
            f"{arm}: {show_things(done, 'block')} of {campaign.blocks} done, "
            f"{count_outcomes(analysis.cells, arm, why=True)}."
        )
    for arm, reason in campaign.not_run.items():
        if arm not in analysis.arms:
            sentences.append(_end(f"{arm} was not run: {reason}"))
    if campaign.stopped:
        sentences.append(_end(f"The campaign ended early: {campaign.stopped}"))
    deaths = len(analysis.deaths)
    if deaths:
        sentences.append(f"{show_things(deaths, 'container')} died (see below).")
    if campaign.prediction.actual_s > 0:
        took = show_duration(campaign.prediction.actual_s)
        sentences.append(f"It took {took} of container time.")
    return sentences


def _name_skipped(cells: Sequence[CellAnalysis], arm: str) -> str:
    """Why cells were skipped: the one reason, or the first of several."""
    results = [cell.arms[arm] for cell in cells]
    skipped = (word_missing(result) or "" for result in results if result.outcome == "skipped")
    first, *others = dict.fromkeys(
        reason.partition("skipped")[2].lstrip(": ") for reason in skipped
    )
    return f" (the first: {first})" if others else f" ({first})"


def count_outcomes(cells: Sequence[CellAnalysis], arm: str, *, why: bool = False) -> str:
    """What became of these cells on an arm: ``58 of 60 measured, 2 skipped``, and ``why`` these were."""
    results = [cell.arms[arm] for cell in cells]
    counts = Counter(result.outcome for result in results if result.outcome != "measured")
    numbers = sum(result.estimate is not None for result in results)
    invalid = sum(bool(result.estimate and result.invalid) for result in results)
    besides = f" ({invalid} INVALID)" if invalid else ""
    parts = [f"{numbers} of {len(results)} measured{besides}"]
    if counts["skipped"]:
        parts.append(f"{counts['skipped']} skipped{_name_skipped(cells, arm) if why else ''}")
    parts += [f"{counts[name]} {name}" for name in ("failed", "pending") if counts[name]]
    refused = len(results) - numbers - counts.total()
    if refused:
        parts.append(f"{refused} without a number")
    return ", ".join(parts)


def list_by_family(analysis: Analysis, *, named: bool = True) -> list[dict[str, str]]:
    """The rows of the small table: by family what was measured, and the ends of the ratios of work.

    ``named``: with the names of the cells at those ends.
    """
    names = name_cells(analysis.cells) if named else {}
    rows = []
    for family in list_families(analysis.cells):
        cells = [cell for cell in analysis.cells if cell.scenario == family]
        title = name_title(family) if named else None
        row = {"family": f"{family}: {title}" if title else family}
        row |= {f"{arm}, cells": count_outcomes(cells, arm) for arm in analysis.arms}
        for other in analysis.leading:
            work = [cell for cell in cells if cell.role == "work"]
            loss, win = _tell_ends(analysis, work, names, other)
            row |= {f"{other}'s largest loss": loss, f"{other}'s largest win": win}
        rows.append(row)
    return rows


def _tell_ends(
    analysis: Analysis, cells: Sequence[CellAnalysis], names: Mapping[str, str], other: str
) -> Iterable[str]:
    """The largest loss and win, or why there is none."""
    base, judged = analysis.base, gives_verdicts(analysis, other)
    valid = [
        cell
        for cell in cells
        if isinstance(cell.ratios[other], Ratio)
        and not any(cell.arms[arm].invalid for arm in (base, other))
    ]
    none = "none" if valid else "no valid pair" if cells else "–"
    if valid and judged and not any(isinstance(cell.verdicts[other], Verdict) for cell in valid):
        none = "no verdict"
    called = list_called(valid, other, judged=judged)
    for way in ("SLOWER", "FASTER"):
        if way in called:
            cell, ratio = called[way][0]
            name = f": {names[cell]}" if names else ""
            yield show_ratio(ratio, other=other, base=base) + name
        else:
            yield none


def _end(sentence: str) -> str:
    """The sentence with its full stop; a reason from outside can have brought one."""
    return sentence if sentence.endswith(".") else f"{sentence}."
