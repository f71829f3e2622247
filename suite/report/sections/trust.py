"""What the campaign did and where its time went: the evidence for or against believing it.

Counts and adds; judges nothing.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from suite.analysis.campaign.accounting import find_deaths, spent_seconds
from suite.analysis.campaign.controls import Family
from suite.analysis.campaign.software import (
    Build,
    find_builds,
    find_differing,
    find_other_versions,
)
from suite.analysis.campaign.summarise import Summary
from suite.model import NOT_FROM_LOCK, Arm, Document, container_seconds, control_of
from suite.report.sections.controls import write_controls, write_steadiness, write_timing_costs
from suite.report.sections.watched import write_telemetry
from suite.report.text.markup import escape
from suite.report.text.names import Show
from suite.report.text.page import Page
from suite.report.text.units import align, show_duration, show_share
from suite.report.text.wording import SPENT, UNKNOWN_END, word, word_invalid

_WANTED = ("warmup", "measure")
"""The kinds that the campaign is run for."""

_LISTED = 20
"""No list here is longer; the rest is counted."""


def write_trust(page: Page, summary: Summary) -> None:
    """The section "Is it to be trusted?"."""
    if summary.invalid:
        page.paragraph(f"**This campaign is INVALID**: {escape(word_invalid(summary.invalid))}.")
    page.bullets(word_trust(summary, escape))
    page.bullets([*_word_blocks(summary), *_word_prediction(summary)])
    write_controls(page, summary)
    write_steadiness(page, summary)
    write_timing_costs(page, summary)
    write_telemetry(page, summary)
    _write_times(page, summary)
    page.heading("Containers that died", level=3)
    deaths = list(_word_deaths(summary))
    page.bullets(_shorten(deaths) or ["None."])
    page.heading("Where the work ran", level=3)
    _write_placement(page, summary)


def _word_blocks(summary: Summary) -> Iterable[str]:
    campaign = summary.campaign
    for arm in campaign.arms:
        documents = [one for one in summary.loaded.documents if one.invocation.arm == arm]
        blocks = sorted(summary.counted[arm])
        calibrated = any(one.invocation.block == 0 for one in documents)
        numbers = ("blocks " if len(blocks) > 1 else "block ") + ", ".join(map(str, blocks))
        yield (
            f"{escape(arm)}: {numbers if blocks else 'no block'} of {campaign.blocks} planned"
            + ("; its calibration is kept and not counted." if calibrated else "; no calibration.")
        )
        for flag in (one for one in summary.excluded if one.where["arm"] == arm):
            again = "another took its place" if flag.values["repeated"] else "none took its place"
            yield (
                f"{escape(arm)}: invocation {flag.where['repeat']} of block {flag.where['block']} is "
                f"set aside and not counted, {escape(word(flag))}; {again}."
            )
        counted = summary.counted[arm].values()
        for invocation in (one.invocation for one in counted):
            if invocation.status != "complete":
                yield f"{escape(arm)}: block {invocation.block} is {invocation.status}."
    yield (
        f"Arms and cells ran in an order drawn from the seed {campaign.seed}; warm-up "
        f"{show_duration(campaign.warmup_s)} and measuring {show_duration(campaign.measure_s)} a "
        f"cell, budget {show_duration(campaign.budget_s)} a cell."
    )


def _word_prediction(summary: Summary) -> Iterable[str]:
    prediction = summary.campaign.prediction
    actual = prediction.actual_s or sum(map(container_seconds, _all_documents(summary)))
    parts = [f"predicted {show_duration(prediction.before_s)} before anything ran"]
    if prediction.calibrated_s is not None:
        parts.append(f"{show_duration(prediction.calibrated_s)} after the calibration")
    if prediction.corrected_s:
        parts.append(f"{show_duration(prediction.corrected_s[-1])} after the last finished block")
    times = f", {actual / prediction.before_s:.2f} times the first" if prediction.before_s else ""
    yield f"Container time: {', '.join(parts)}; actually {show_duration(actual)}{times}."


def _write_times(page: Page, summary: Summary) -> None:
    page.heading("Where the container time went", level=3)
    everything = _all_documents(summary)
    arms = list(dict.fromkeys([*summary.campaign.arms, *(d.invocation.arm for d in everything)]))
    documents = {arm: [one for one in everything if one.invocation.arm == arm] for arm in arms}
    by_arm = {arm: spent_seconds(found) for arm, found in documents.items()}
    totals = {arm: sum(map(container_seconds, found)) for arm, found in documents.items()}
    known = [kind for kind in SPENT if any(kind in spent for spent in by_arm.values())]
    others = sorted({kind for spent in by_arm.values() for kind in spent} - set(SPENT))
    rests = {arm: totals[arm] - sum(by_arm[arm].values()) for arm in arms}
    names = [*(SPENT[kind] for kind in known), *map(escape, others)]
    columns = [[*names, "the rest, not itemised", "all"]]
    headers = ["kind"]
    for arm in arms:
        seconds = [by_arm[arm].get(kind, 0.0) for kind in [*known, *others]]
        seconds += [rests[arm], totals[arm]]
        headers += [escape(arm), f"{escape(arm)}, share"]
        columns.append(align([f"{one:.1f} s" for one in seconds]))
        columns.append(align([show_share(one, totals[arm]) for one in seconds]))
    page.table(
        "Table: container time by kind, all invocations together, the calibration's too.",
        headers,
        [list(row) for row in zip(*columns, strict=True)],
        right=range(1, len(headers)),
    )
    shares = [
        f"{show_share(sum(by_arm[arm].get(kind, 0.0) for kind in _WANTED), totals[arm])} on "
        f"{escape(arm)}"
        for arm in arms
    ]
    page.paragraph(f"Warm-up and measuring took {', '.join(shares)}; the suite added the rest.")
    over = [arm for arm in arms if rests[arm] < -0.01 * totals[arm]]
    if over:
        page.paragraph(
            f"On {', '.join(map(escape, over))} the items add up to more than the containers' own "
            "time, so that at least one of them was booked twice."
        )


def _word_deaths(summary: Summary) -> Iterable[str]:
    for death in find_deaths(_all_documents(summary)):
        text = (
            f"{escape(death.arm)}, block {death.block}: {escape(death.status or UNKNOWN_END)} after "
            f"{show_duration(death.lived_s)}; cells lost: "
            + (", ".join(map(escape, death.lost)) or "none")
        )
        if death.replaced:
            start_s = death.restart_s
            again = f", started in {show_duration(start_s)}" if start_s is not None else ""
            text += f"; a fresh container{again}, took the rest"
        yield text + "."


def _write_placement(page: Page, summary: Summary) -> None:
    rows = []
    elsewhere: dict[str, set[str]] = {}
    for arm, documents in summary.counted.items():
        nodes: Counter[str] = Counter()
        cells: dict[str, set[str]] = {}
        for cell in (cell for one in documents.values() for cell in one.cells):
            for device, count in cell.placement.items():
                nodes[device] += count
                cells.setdefault(device, set()).add(cell.id)
            if cell.elsewhere:
                elsewhere.setdefault(f"{arm}: {cell.id}", set()).update(cell.elsewhere)
        rows += [
            [escape(arm), escape(device), str(len(cells[device])), str(nodes[device])]
            for device in sorted(nodes)
        ]
    if not rows:
        page.paragraph("No document says on which devices the work ran.")
        return
    page.table(
        "Table: devices on which nodes of the cells' graphs, or their tensors, were seen; all "
        "counted blocks.",
        ["arm", "device", "cells", "nodes"],
        rows,
        right=(2, 3),
    )
    page.bullets(
        _shorten(
            [
                f"Not on the cell's own device: {escape(cell)}: {escape(', '.join(sorted(names)))}."
                for cell, names in elsewhere.items()
            ]
        )
    )


def _all_documents(summary: Summary) -> list[Document]:
    return [*summary.loaded.documents, *summary.loaded.controls]


def _shorten(items: list[str]) -> list[str]:
    more = len(items) - _LISTED
    return [*items[:_LISTED], f"… and {more} more."] if more > 0 else items


def tell_builds(summary: Summary, show: Show) -> list[str]:
    """What a reader of the verdict has to know of the software; nothing where all is the lock's."""
    builds = find_builds(summary)
    differing = find_differing(builds, summary.base)
    told = []
    if differing:
        ran = "; ".join(f"{show(arm)} ran {_word_build(one, show)}" for arm, one in builds.items())
        told.append(f"THE ARMS RAN DIFFERENT BUILDS: {ran}.")
        plan = summary.campaign
        elsewhere = _find_elsewhere(summary, differing)
        if elsewhere:
            told.append(
                f"A ratio of {' or '.join(map(show, elsewhere))} with {show(summary.base)} is of "
                f"machine and build together; {_word_share(summary, elsewhere, show)}."
            )
        alone = [arm for arm in differing if arm not in elsewhere]
        if alone:
            why = "the same GPU is in both" if plan.arm(alone[0]).gpu else "no GPU is in it"
            told.append(f"A ratio of {' or '.join(map(show, alone))} is of the build alone: {why}.")
    else:
        told += [
            f"{show(arm)} ran what the suite's locks did not choose: {_word_build(one, show)}."
            for arm, one in builds.items()
            if one.from_lock is False
        ]
    return told


def _word_build(one: Build, show: Show) -> str:
    """``TensorFlow 2.17.0, NumPy 1.26.4 (not from the lock)``."""
    listed = ", ".join(f"{name} {show(text)}" for name, text in one.versions.items())
    origins = {True: " (from the lock)", False: f" ({NOT_FROM_LOCK})", None: ""}
    return f"{listed or 'unknown versions'}{origins[one.from_lock]}"


def _find_elsewhere(summary: Summary, differing: Sequence[str]) -> list[str]:
    """Those of the arms whose machine is not the first arm's either: one has the GPU, the other not."""
    plan = summary.campaign
    return [arm for arm in differing if plan.arm(arm).gpu != plan.arm(summary.base).gpu]


def _hide(summary: Summary, arms: Sequence[str]) -> tuple[Arm, Arm]:
    """The arm with the GPU in a comparison of these with the first one, and the same without its GPU."""
    every = map(summary.campaign.arm, (*arms, summary.base))
    gpu = next(arm for arm in every if arm.gpu)
    plain = replace(gpu, name=gpu.of or gpu.name)
    return plain, control_of(plain, "hidden")


def _word_share(summary: Summary, arms: Sequence[str], show: Show) -> str:
    family = summary.conclusions.hidden
    gpu, hidden = _hide(summary, arms)
    if family is None or not family.ratios or family.other != hidden.name:
        return (
            f"{show(hidden.name)}, the same build without its GPU, would show the build's share and was "
            f'not measured beside them (ARMS="cpu {show(gpu.name)} {show(hidden.name)}", or the '
            "standard profile)"
        )
    return f"the build's share, by the control {show(hidden.name)}: {_word_family(family)}"


def _word_family(family: Family) -> str:
    ratios: Sequence[float] = [one.value for one in family.ratios.values()]
    low, high = min(ratios), max(ratios)
    return (
        f"without any GPU it took {statistics.median(ratios):.2f} times the time in the median of "
        f"{len(ratios)} cell{'s' if len(ratios) > 1 else ''}, {low:.2f} to {high:.2f} times"
    )


def word_trust(summary: Summary, show: Show) -> Iterable[str]:
    """The same for those who ask whether to believe it: what to read instead."""
    builds = find_builds(summary)
    differing = find_differing(builds, summary.base)
    if not differing:
        return
    base = builds[summary.base]
    for arm in differing:
        names = find_other_versions(base, builds[arm])
        if names:
            pairs = ", ".join(
                f"{name} {show(builds[arm].versions[name])} instead of {show(base.versions[name])}"
                for name in names
            )
        else:
            pairs = "the same versions, built by somebody else"
        yield f"{show(arm)} ran another build than {show(summary.base)}: {pairs}."
    elsewhere = _find_elsewhere(summary, differing)
    if elsewhere:
        gpu, hidden = _hide(summary, elsewhere)
        yield (
            f"So a difference between them can come from the build as well as from the machine: "
            f'{_word_share(summary, elsewhere, show)}. ARMS="{show(hidden.name)} {show(gpu.name)}" '
            "compares CPU and GPU in one build."
        )
