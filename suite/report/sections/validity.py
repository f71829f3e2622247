"""What the campaign did and where its time went: the evidence for or against believing it.

Counts and adds; judges nothing.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

from suite.analysis.result.arms import Build
from suite.analysis.result.campaign import Analysis, Family
from suite.report.sections.controls import write_controls
from suite.report.sections.telemetry import write_telemetry
from suite.report.text.page import Column, Page, Strong
from suite.report.text.texts import TEXTS
from suite.report.text.units import (
    Quantity,
    join_words,
    show_duration,
    show_part,
    show_things,
    show_whole,
)
from suite.report.text.wording import name_blocks, word, word_invalid

_LISTED = 20
"""No list here is longer; the rest is counted."""


def write_trust(page: Page, analysis: Analysis) -> None:
    """The section "Validity"."""
    if analysis.invalid:
        page.paragraph(Strong("This campaign is INVALID"), f": {word_invalid(analysis.invalid)}.")
    page.bullets(_describe_blocks(analysis))
    write_controls(page, analysis)
    write_telemetry(page, analysis)
    if analysis.deaths:
        page.heading("Containers that died", level=3)
        page.bullets(_shorten(list(_describe_deaths(analysis))))


def _describe_blocks(analysis: Analysis) -> Iterable[str]:
    campaign = analysis.campaign
    for arm, details in analysis.arms.items():
        blocks = sorted(details.blocks)
        calibration = "; its calibration is kept and not counted" if details.calibrated else ""
        yield (
            f"{arm}: {name_blocks(blocks) if blocks else 'no block'} of {campaign.blocks} planned"
            f"{calibration}."
        )
        for flag in (flag for flag in analysis.excluded if flag.where["arm"] == arm):
            which = f"invocation {flag.where['repeat']} of block {flag.where['block']}"
            repeat = "a repeat" if flag.values["repeated"] else "no repeat"
            yield f"{arm}: {which} is excluded: {word(flag)}; {repeat} took its place."
        for block, status in details.blocks.items():
            if status != "complete":
                yield f"{arm}: block {block} is {status}."
    if rested := campaign.rested:
        first, *later = rested
        counts = [f"{first.cells} rested from block {first.block} on"]
        counts += [f"{row.cells} from block {row.block} on" for row in later]
        yield (
            f"Of {show_things(len(analysis.cells), 'cell')}, {join_words(counts)}: they were known precisely "
            "enough, or more blocks were not likely to make them so."
        )
    yield (
        f"Arms and cells ran in an order drawn from the seed {campaign.seed}; warm-up "
        f"{show_duration(campaign.warmup_s)} and measuring {show_duration(campaign.measure_s)} a "
        f"cell, budget {show_duration(campaign.budget_s)} a cell."
    )


def _describe_prediction(analysis: Analysis) -> str:
    prediction = analysis.campaign.prediction
    actual = prediction.actual_s or math.fsum(times.total_s for times in analysis.spent.values())
    parts = [f"predicted {show_duration(prediction.before_s)} before anything ran"]
    if prediction.calibrated_s is not None:
        calibrated = any(arm.calibrated for arm in analysis.arms.values())
        then = "the calibration" if calibrated else "the first block"
        parts.append(f"{show_duration(prediction.calibrated_s)} after {then}")
    if prediction.corrected_s:
        parts.append(f"{show_duration(prediction.corrected_s[-1])} after the last finished block")
    times = ""
    if prediction.before_s:
        times = f", {actual / prediction.before_s:.2f} times the first prediction"
    return f"Container time: {', '.join(parts)}; actual {show_duration(actual)}{times}."


def write_times(page: Page, analysis: Analysis) -> None:
    """The appendix's part on what was predicted, and on what the containers' time was spent."""
    page.heading("Where the container time went", level=3)
    page.paragraph(_describe_prediction(analysis))
    spent, names = analysis.spent, TEXTS["spent"]
    there = {
        kind
        for times in spent.values()
        for kind, seconds in times.kinds.items()
        if round(seconds, 1)
    }
    kinds = [*filter(there.__contains__, names), *sorted(there - names.keys())]
    rests = {
        arm: times.total_s - math.fsum(times.kinds.get(kind, 0.0) for kind in kinds)
        for arm, times in spent.items()
    }
    named = [names.get(kind, kind) for kind in kinds]
    columns: list[Column] = [("kind", [*named, "the rest, not itemised", "all"])]
    for arm, times in spent.items():
        took = [*(times.kinds.get(kind, 0.0) for kind in kinds), rests[arm], times.total_s]
        columns.append((arm, [Quantity("", f"{seconds:.1f}", " s", seconds) for seconds in took]))
        columns.append((f"{arm}, share", [show_part(seconds, times.total_s) for seconds in took]))
    calibrated = any(arm.calibrated for arm in analysis.arms.values())
    page.columns(TEXTS["captions"]["times" if calibrated else "times-of-blocks"], columns)
    over = [arm for arm, times in spent.items() if rests[arm] < -0.01 * times.total_s]
    if over:
        page.paragraph(
            f"On {', '.join(over)} the items add up to more than the containers' own "
            "time, so at least one of them was counted twice."
        )


def _describe_deaths(analysis: Analysis) -> Iterable[str]:
    for death in analysis.deaths:
        text = (
            f"{death.arm}, block {death.block}: {death.status or 'ended in an unknown way'} "
            f"after {show_duration(death.lived_s)}; cells lost: {', '.join(death.lost) or 'none'}"
        )
        if death.replaced:
            start_s = death.restart_s
            after = f", started in {show_duration(start_s)}" if start_s is not None else ""
            text += f"; a fresh container{after}, took the rest"
        yield text + "."


def write_placement(page: Page, analysis: Analysis) -> None:
    """The appendix's part on the devices on which the work was seen."""
    page.heading("Where the work ran", level=3)
    rows = [
        {
            "arm": arm,
            "device": device,
            "cells": show_whole(placed.cells),
            "nodes": show_whole(placed.nodes),
        }
        for arm, details in analysis.arms.items()
        for device, placed in details.placement.items()
    ]
    if not rows:
        page.paragraph("No document says on which devices the work ran.")
        return
    page.table(TEXTS["captions"]["placement"], rows)
    elsewhere = [
        f"Not on the cell's own device: {arm}: {cell}: {', '.join(names)}."
        for arm, details in analysis.arms.items()
        for cell, names in details.elsewhere.items()
    ]
    page.bullets(_shorten(elsewhere))


def _shorten(items: list[str]) -> list[str]:
    more = len(items) - _LISTED
    return [*items[:_LISTED], f"… and {more} more."] if more > 0 else items


def describe_builds(analysis: Analysis) -> list[str]:
    """What a reader of the verdict has to know of the software; nothing where all is the lock's."""
    builds = {arm: details.build for arm, details in analysis.arms.items() if details.build}
    if not analysis.software_differs:
        return [
            f"{arm} ran software not from the suite's locks: {_describe_build(build)}."
            for arm, build in builds.items()
            if build.from_lock is False
        ]
    ran = "; ".join(f"{arm} ran {_describe_build(build)}" for arm, build in builds.items())
    sentences = [f"THE ARMS RAN DIFFERENT BUILDS: {ran}."]
    elsewhere = _find_elsewhere(analysis)
    if elsewhere:
        sentences.append(
            f"A ratio of {' or '.join(elsewhere)} to {analysis.base} mixes "
            f"machine and build together; {_describe_share(analysis, elsewhere)}."
        )
    alone = [arm for arm in analysis.software_differs if arm not in elsewhere]
    if alone:
        why = "the same GPU is in both" if analysis.arms[alone[0]].gpu else "no GPU is in it"
        sentences.append(f"A ratio of {' or '.join(alone)} shows the build alone: {why}.")
    return sentences


def _describe_build(build: Build) -> str:
    """``TensorFlow 2.17.0, NumPy 1.26.4 (not from the lock)``."""
    listed = ", ".join(f"{name} {text}" for name, text in build.versions.items())
    origins = {True: " (from the lock)", False: " (not from the lock)", None: ""}
    return f"{listed or 'unknown versions'}{origins[build.from_lock]}"


def _find_elsewhere(analysis: Analysis) -> list[str]:
    """The arms of another build whose machine is not the first arm's either: one has the GPU."""
    base = analysis.arms[analysis.base]
    return [arm for arm in analysis.software_differs if analysis.arms[arm].gpu != base.gpu]


def _hide(analysis: Analysis, arms: Sequence[str]) -> tuple[str, str]:
    """The arm with the GPU in a comparison of these with the first one, and the same without its GPU."""
    details = (analysis.arms[arm] for arm in (*arms, analysis.base))
    return next((arm.plain, arm.without_gpu) for arm in details if arm.without_gpu)


def _describe_share(analysis: Analysis, arms: Sequence[str]) -> str:
    family = analysis.controls.cuda_hidden
    gpu, hidden = _hide(analysis, arms)
    if family is None or not family.ratios or family.other != hidden:
        return (
            f"{hidden}, the same build without its GPU, would show the build's share and was "
            f'not measured beside them (ARMS="cpu {gpu} {hidden}", or the standard profile)'
        )
    return f"the build's share, by the control {hidden}: {_describe_family(family)}"


def _describe_family(family: Family) -> str:
    ratios: Sequence[float] = [ratio.value for ratio in family.ratios.values()]
    low, high = min(ratios), max(ratios)
    return (
        f"without any GPU it took {statistics.median(ratios):.2f} times the time in the median of "
        f"{show_things(len(ratios), 'cell')}, {low:.2f} to {high:.2f} times"
    )
