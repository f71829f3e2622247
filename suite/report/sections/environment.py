"""What the numbers were measured in: facts, images, limits, engine, versions; and how to reproduce it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from suite.analysis.result.arms import ArmAnalysis, Fact
from suite.analysis.result.campaign import Analysis
from suite.report.text.page import NO_NUMBER, Column, Page
from suite.report.text.texts import TEXTS
from suite.report.text.units import join_first, show_bytes, show_seconds

_SHOWN_VALUES = 3
"""A fact that varies within an arm is shown with so many of its values."""

SOMEWHERE = "path/to"
"""Stands for where a folder lies: the report does not say, so that it is the same everywhere."""


def write_environment(page: Page, analysis: Analysis) -> None:
    """The section "Environment": which campaign of which suite, and in which images."""
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


def write_all_facts(page: Page, analysis: Analysis) -> None:
    """The appendix's part with every fact of the arms."""
    page.heading("Facts of the machine and the software", level=3)
    write_digests(page, analysis.arms)
    of_arms = {arm: show_facts(details) for arm, details in analysis.arms.items()}
    gathered = {arm: facts for arm, facts in of_arms.items() if facts}
    if not gathered:
        page.paragraph("No document yet, so no facts.")
        return
    same, differing = compare_facts(gathered)
    arms, several = " and ".join(gathered), len(gathered) > 1
    caption = f"Table: facts equal on {arms}." if several else f"Table: facts of {arms}."
    write_facts(page, caption, same, {"value": next(iter(gathered.values()))})
    if several:
        caption = "Table: facts that differ between the arms; a dash where an arm does not have it."
        write_facts(page, caption, differing, gathered)


def compare_facts(places: Mapping[str, Mapping[str, str]]) -> tuple[list[str], list[str]]:
    """The names of the facts that are the same everywhere, and of those that are not."""
    names = sorted({name for facts in places.values() for name in facts})
    same = [name for name in names if len({facts.get(name) for facts in places.values()}) == 1]
    return same, [name for name in names if name not in same]


def write_facts(
    page: Page, caption: str, names: Sequence[str], places: Mapping[str, Mapping[str, str]]
) -> None:
    """A table of these facts: a column each by its head, with a dash for what is not known there."""
    columns = (
        (head, [facts.get(name, NO_NUMBER) for name in names]) for head, facts in places.items()
    )
    page.columns(caption, [("fact", names), *columns])


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
    heads = TEXTS["image"]
    columns: list[Column] = [("image", list(heads.values()))]
    for arm, details in arms.items():
        texts = (_show_values(name, details.image.get(name, ())) for name in heads)
        columns.append((arm, [text or "no document yet" for text in texts]))
    page.columns("Table: what each arm ran in.", columns)


def write_digests(page: Page, arms: Mapping[str, ArmAnalysis]) -> None:
    """The digests of what each arm ran in: one a layer, too long for a table, and not to be cut."""
    page.bullets(
        f"digests of what {arm} ran in: {', '.join(details.digests)}"
        for arm, details in arms.items()
        if details.digests
    )


def show_facts(arm: ArmAnalysis) -> dict[str, str]:
    """Every fact of an arm as text, with limits, engine and isolation among them."""
    return {name: _show_values(name, values) for name, values in arm.facts.items()}


def _show_values(name: str, values: Sequence[Fact]) -> str:
    texts = list(dict.fromkeys(_show(name, value) for value in values))
    if len(texts) <= 1:
        return "".join(texts)
    return f"varies: {join_first(_SHOWN_VALUES, texts)}"


def _show(name: str, value: Fact) -> str:
    if value is None:
        return "not there"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value or "(empty)"
    if name.endswith("bytes") and value >= 0:
        return show_bytes(value)
    return show_seconds(value) if name.endswith("_s") and value > 0 else f"{value}"
