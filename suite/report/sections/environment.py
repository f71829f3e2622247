"""What the numbers were measured in: facts, images, limits, engine, versions; and how to reproduce it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from suite.analysis.result.arms import ArmAnalysis, Fact
from suite.analysis.result.campaign import Analysis
from suite.report.text.page import NO_NUMBER, Page
from suite.report.text.units import show_bytes, show_seconds

_SHOWN_VALUES = 3
"""A fact that varies within an arm is shown with so many of its values."""

SOMEWHERE = "path/to"
"""Stands for where a folder lies: the report does not say, so that it is the same everywhere."""

_IMAGE: Mapping[str, str] = {
    "content": "content",
    "built on": "base",
    "lock": "lock",
    "origin": "origin",
    "id in the engine": "id",
    "size": "size_bytes",
}
"""What is told of an image, and its name in the analysis."""

_NO_DOCUMENT = "no document yet"
_ABSENT = "not there"
"""What was looked for and not found."""


def write_environment(page: Page, analysis: Analysis) -> None:
    """The section "Environment"."""
    campaign = analysis.campaign
    suite = analysis.suite
    page.bullets(
        [
            f"campaign {campaign.id}, made {campaign.created.isoformat()}, profile "
            f"{campaign.profile}, seed {campaign.seed}, label " + (campaign.label or "none"),
            f"suite {suite.version}, commit {suite.commit or 'unknown'}",
            f"content of the suite's measured part {suite.content}",
        ]
    )
    write_images(page, analysis.arms)
    gathered = {arm: found for arm, one in analysis.arms.items() if (found := show_facts(one))}
    if not gathered:
        page.paragraph("No document yet, so no facts.")
        return
    names = sorted({name for facts in gathered.values() for name in facts})
    shown = {arm: {n: facts.get(n, NO_NUMBER) for n in names} for arm, facts in gathered.items()}
    same = [name for name in names if len({facts[name] for facts in shown.values()}) == 1]
    first = next(iter(shown.values()))
    arms = " and ".join(shown)
    page.table(
        f"Table: facts equal on {arms}." if len(shown) > 1 else f"Table: facts of {arms}.",
        ["fact", "value"],
        [[name, first[name]] for name in same],
    )
    if len(shown) > 1:
        page.table(
            "Table: facts that differ between the arms; a dash where an arm does not have it.",
            ["fact", *shown],
            [
                [name, *(facts[name] for facts in shown.values())]
                for name in names
                if name not in same
            ],
        )


def write_repeating(page: Page, analysis: Analysis) -> None:
    """The section "How to reproduce it"."""
    campaign = analysis.campaign
    if not campaign.command:
        page.paragraph("The plan does not record the command that made it.")
    else:
        commit = analysis.suite.commit
        page.paragraph(
            "In a checkout of the suite"
            + (f" at commit {commit}" if commit else "")
            + f", with the images of the table above; the seed is {campaign.seed}:"
        )
        page.code(campaign.command)
    page.paragraph(
        "To rebuild this report from the documents alone, byte for byte, wherever they are:"
    )
    page.code(f"make report RUN={SOMEWHERE}/{campaign.folder}")


def write_images(page: Page, arms: Mapping[str, ArmAnalysis]) -> None:
    """What each arm ran in, with its digests."""
    rows = []
    for label, name in _IMAGE.items():
        values = (_show_values(name, one.image.get(name, ())) for one in arms.values())
        rows.append([label, *(one or _NO_DOCUMENT for one in values)])
    page.table("Table: what each arm ran in.", ["image", *arms], rows)
    # An image can have a digest a layer: too long for a table, and not to be cut.
    page.bullets(
        f"digests of what {arm} ran in: {', '.join(one.digests)}"
        for arm, one in arms.items()
        if one.digests
    )


def show_facts(arm: ArmAnalysis) -> dict[str, str]:
    """Every fact of an arm as Markdown, with limits, engine and isolation among them."""
    return {name: _show_values(name, values) for name, values in arm.facts.items()}


def _show_values(name: str, values: Sequence[Fact]) -> str:
    texts = list(dict.fromkeys(_show(name, one) for one in values))
    if len(texts) <= 1:
        return "".join(texts)
    more = len(texts) - _SHOWN_VALUES
    listed = "; ".join(texts[:_SHOWN_VALUES])
    return f"varies: {listed}" + (f"; and {more} more" if more > 0 else "")


def _show(name: str, value: Fact) -> str:
    if value is None:
        return _ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value or "(empty)"
    if name.endswith("bytes") and value >= 0:
        return show_bytes(value)
    return show_seconds(value) if name.endswith("_s") and value > 0 else f"{value}"
