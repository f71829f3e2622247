"""The section that tells how a naive script's number becomes a fair one.  Words only."""

from __future__ import annotations

from collections.abc import Iterator

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.findings import Finding, Spot, Step, Total, Waterfall
from suite.report.text.evidence import word_evidence
from suite.report.text.findings import Columns, format_number, write_findings
from suite.report.text.names import list_values, name_effects, name_fixed, name_place
from suite.report.text.page import Code, Page, Row
from suite.report.text.texts import TEXTS
from suite.report.text.units import (
    Quantity,
    show_gain,
    show_relative,
    show_seconds,
    show_shorter,
)

WARM = "as asked, in a warm process"
"""What was not measured by the script itself, in a process that had done nothing before."""

NAMED = 3
LITTLE = 0.05
"""So many changes are named of the way to the fair difference, and none that makes less than this share."""

AMPERE = 8
"""The first major compute capability with TF32 (CUDA C++ Programming Guide, "Compute Capabilities")."""


def write_gaps(page: Page, analysis: Analysis) -> None:
    """The section "From the naive script to the fair number": what scripts say about two places, and what is
    so; of one place, every step.  Absent where no case was measured."""
    if not analysis.waterfalls:
        return
    page.heading("From the naive script to the fair number")
    page.paragraph(TEXTS["about"]["waterfalls"])
    posted = any(waterfall.posted for waterfall in analysis.waterfalls)
    if posted and _has_tf32(analysis):
        page.paragraph(TEXTS["about"]["tf32"])
    if analysis.gpu is None and posted:
        on_gpu = Code("tf.device('/GPU:0')")
        page.paragraph("Where there is no GPU, ", on_gpu, TEXTS["about"]["no-gpu"])
    if analysis.find("gap"):
        for posted, said in ((True, "the script says"), (False, WARM)):
            here = {
                waterfall.steps[0].cell: waterfall
                for waterfall in analysis.waterfalls
                if waterfall.posted == posted
            }
            _write_gaps(page, analysis, here, said=said)
    else:
        _write_steps(page, analysis)
    for script in dict.fromkeys(row.script for row in analysis.elsewhere):
        _write_elsewhere(page, analysis, script)


def _write_elsewhere(page: Page, analysis: Analysis, script: str) -> None:
    """What a script took on the arms, and under it what others published of it."""
    published = [row for row in analysis.elsewhere if row.script == script]
    epochs = published[0].epochs
    rows: list[tuple[str | Quantity, ...]] = [
        (
            f"{own.arm}: {_name_device(analysis, own.arm)}",
            _name_tensorflow(analysis, own.arm),
            show_seconds(own.number),
            str(epochs),
            show_seconds(own.beside) if own.beside else "",
            "this campaign",
        )
        for own in analysis.find("posted", of=script)
    ]
    rows += [
        (
            row.machine,
            row.software,
            show_seconds(row.step_s),
            str(row.epochs),
            show_seconds(row.whole_s),
            f"{row.source}, {row.date}",
        )
        for row in published
    ]
    heads = ("where", "software", "a step", "epochs", "in all", "source")
    page.table(
        TEXTS["captions"]["elsewhere"].format(script=script, others=epochs - 1),
        [dict(zip(heads, row, strict=True)) for row in rows],
    )


def _name_tensorflow(analysis: Analysis, arm: str) -> str:
    build = analysis.arms[arm].build
    version = build.versions.get("TensorFlow") if build else None
    return f"TensorFlow {version}" if version else "version not recorded"


def _name_device(analysis: Analysis, arm: str) -> str:
    """What an arm ran on, as far as its documents say."""
    details = analysis.arms[arm]
    (gpu, *_) = details.facts.get("gpu.0.name") or (None,)
    return str((gpu if details.gpu else analysis.machine.cpu) or "name not recorded")


def _has_tf32(analysis: Analysis) -> bool:
    """Whether TensorFlow multiplies in TF32 by itself on the GPU: from compute capability 8 (Ampere) on."""
    facts = analysis.arms[analysis.gpu].facts if analysis.gpu else {}
    (capability, *_) = facts.get("gpu.0.capability", (None,))
    major, _, _ = str(capability).partition(".")
    return major.isdecimal() and int(major) >= AMPERE


def write_waterfalls(page: Page, analysis: Analysis) -> None:
    """The appendix's part on every step of the scripts, where the section has two places instead."""
    if analysis.find("gap"):
        page.heading("From the naive script to the fair number, step by step", level=3)
        _write_steps(page, analysis)


def _write_steps(page: Page, analysis: Analysis) -> None:
    for name in dict.fromkeys(waterfall.name for waterfall in analysis.waterfalls):
        waterfalls = [waterfall for waterfall in analysis.waterfalls if waterfall.name == name]
        first = waterfalls[0]
        page.table(
            TEXTS["captions"]["waterfall"].format(name=name, title=first.title, unit=first.unit),
            [row for waterfall in waterfalls for row in _list_steps(waterfall)],
        )


def _list_steps(waterfall: Waterfall) -> Iterator[Row]:
    """The steps of a waterfall with their kinds; the last of each kind says what all of them make, where
    there are several steps."""
    place = name_place(waterfall.spot)
    where = ", ".join(filter(None, [list_values(waterfall.fixed), place]))
    first = waterfall.steps[0]
    totals = {total.effects: total for total in waterfall.totals if len(waterfall.steps) > 2}
    last = {step.effects: step for step in waterfall.steps}
    for step in waterfall.steps:
        total = totals.get(step.effects) if step is last[step.effects] else None
        changes = step.changes
        if step is first and not waterfall.posted:
            changes = (WARM, *changes[1:])
        yield {
            "where": where,
            "kind": name_effects(step.effects),
            "what changed": "; ".join(changes),
            f"time per {waterfall.unit}": show_seconds(step.value).amid(
                after=", fair" * (step.cell == waterfall.fair)
            ),
            "against the previous step": _show_factor(step),
            "in all, of its kind": _show_factor(total),
        }


def _show_factor(of: Step | Total | None) -> Quantity | str:
    """How many times faster what was changed is; of what is timed only how much shorter its time."""
    if of is None or of.factor is None:
        return ""
    return (show_shorter if "timing" in of.effects else show_gain)(of.factor)


def _write_gaps(
    page: Page, analysis: Analysis, waterfalls: dict[str, Waterfall], *, said: str
) -> None:
    """What a script says about two places, what is so, and what lies between; by its first stages' cells."""

    def describe_verdict(row: list[Finding]) -> str:
        off, *between = map(word_evidence, row[0].evidence)
        misleads = row[0].verdict in {"wrong-winner", "invented", "off-by"}
        text = TEXTS["gaps"].get(row[0].verdict, off)
        return ", ".join([text, *(between if misleads else [])])

    def describe_changes(row: list[Finding]) -> str:
        return "; ".join(
            f"{100 * gone.share:.0f} % {word_evidence(*gone.evidence)}"
            for gone in row[1 : NAMED + 1]
            if gone.share and gone.share >= LITTLE
        )

    columns: Columns = {
        "script": lambda row: name_fixed(
            waterfalls[row[0].cell].name, waterfalls[row[0].cell].fixed
        ),
        "compared": lambda row: (
            f"{row[0].arm} against "
            f"{name_place(Spot(arm=row[0].against, pinned=row[0].against == row[0].arm))}"
        ),
        said: lambda row: format_number(row[0]),
        "timed fairly": lambda row: show_relative(row[0].beside) if row[0].beside else "",
        "verdict": describe_verdict,
        "largest proven shares of the gap, by kind": describe_changes,
    }
    gaps = [*analysis.find("gap"), *analysis.find("gone")]
    write_findings(
        page,
        TEXTS["captions"]["gaps"],
        [gap for gap in gaps if gap.cell in waterfalls],
        columns,
        by=lambda gap: (gap.cell, gap.against),
    )
