"""What the numbers were measured in: facts, images, limits, engine, versions; and how to repeat it.

Private by default: what identifies a machine or a person is shown as a hash.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from suite.analysis.campaign.summarise import Summary
from suite.model import Document, Image, Scalar, Telemetry
from suite.report.text.markup import escape, hash_identity
from suite.report.text.page import NO_NUMBER, Page
from suite.report.text.units import show_bytes, show_seconds

_PRIVATE = re.compile(
    r"(^|[._])(uuid|serial|hostname|host|user|username|address|ip|mac|home)([._]|$)", re.IGNORECASE
)
"""Names of facts that are shown as a hash."""

_SHOWN_VALUES = 3
"""A fact that varies within an arm is shown with so many of its values."""

SOMEWHERE = "path/to"
"""Stands for where a folder lies: the report does not say, so that it is the same everywhere."""

_IMAGE: Mapping[str, Callable[[Image], Scalar]] = {
    "content": lambda image: image.content,
    "built on": lambda image: image.base,
    "lock": lambda image: image.lock,
    "origin": lambda image: image.origin,
    "id in the engine": lambda image: image.id,
    "size": lambda image: None if image.size_bytes is None else show_bytes(image.size_bytes),
}

_NO_DOCUMENT = "no document yet"
_ABSENT = "not there"
"""What was looked for and not found."""


def write_environment(page: Page, summary: Summary) -> None:
    """The section "Environment"."""
    campaign = summary.campaign
    documents = {
        arm: [one for one in summary.loaded.documents if one.invocation.arm == arm]
        for arm in campaign.arms
    }
    suite = campaign.suite
    page.bullets(
        [
            f"campaign {escape(campaign.id)}, made {campaign.created.isoformat()}, profile "
            f"{escape(campaign.profile)}, seed {campaign.seed}, label "
            + (escape(campaign.label) if campaign.label else "none"),
            f"suite {escape(suite.version)}, commit {escape(suite.commit or 'unknown')}",
            f"content of the suite's measured part {escape(suite.content)}",
        ]
    )
    _write_images(page, documents)
    gathered = {arm: gather_facts(found) for arm, found in documents.items() if found}
    if not gathered:
        page.paragraph("No document yet, so no facts.")
        return
    names = sorted({name for facts in gathered.values() for name in facts})
    shown = {arm: {n: facts.get(n, NO_NUMBER) for n in names} for arm, facts in gathered.items()}
    same = [name for name in names if len({facts[name] for facts in shown.values()}) == 1]
    first = next(iter(shown.values()))
    arms = " and ".join(map(escape, shown))
    page.table(
        f"Table: facts equal on {arms}." if len(shown) > 1 else f"Table: facts of {arms}.",
        ["fact", "value"],
        [[escape(name), first[name]] for name in same],
    )
    if len(shown) > 1:
        page.table(
            "Table: facts that differ between the arms; a dash where an arm does not have it.",
            ["fact", *map(escape, shown)],
            [
                [escape(name), *(facts[name] for facts in shown.values())]
                for name in names
                if name not in same
            ],
        )


def write_repeating(page: Page, summary: Summary) -> None:
    """The section "How to repeat it"."""
    campaign = summary.campaign
    if not campaign.command:
        page.paragraph("The plan does not say by which command it was made.")
    else:
        commit = campaign.suite.commit
        page.paragraph(
            "In a checkout of the suite"
            + (f" at commit {escape(commit)}" if commit else "")
            + f", with the images of the table above; the seed is {campaign.seed}:"
        )
        page.code(campaign.command)
    page.paragraph(
        "This report is made anew from the documents alone, byte for byte, wherever they lie, by:"
    )
    page.code(f"make report RUN={SOMEWHERE}/{summary.loaded.folder}")


def _write_images(page: Page, documents: Mapping[str, Sequence[Document]]) -> None:
    rows = []
    for label, read in _IMAGE.items():
        row = [label]
        for found in documents.values():
            values = dict.fromkeys(read(one.invocation.image) for one in found)
            row.append(_show_values([_show("", one) for one in values]) or _NO_DOCUMENT)
        rows.append(row)
    page.table("Table: what each arm ran in.", ["image", *map(escape, documents)], rows)
    # An image can have a digest a layer: too long for a table, and not to be cut.
    digests = {
        arm: dict.fromkeys(digest for one in found for digest in one.invocation.image.digests)
        for arm, found in documents.items()
    }
    page.bullets(
        f"digests of what {escape(arm)} ran in: {', '.join(map(escape, found))}"
        for arm, found in digests.items()
        if found
    )


def gather_facts(documents: Sequence[Document]) -> dict[str, str]:
    """The value of every fact of an arm as Markdown, with limits, engine and isolation among them."""
    values: dict[str, dict[str, None]] = {}
    for document in documents:
        invocation, telemetry = document.invocation, document.telemetry
        facts: dict[str, Scalar] = {
            **document.facts,
            **{f"limits.{name}": value for name, value in invocation.limits.items()},
            **{f"engine.{name}": value for name, value in invocation.engine.items()},
            "isolation": invocation.isolation,
            **_outside(telemetry),
        }
        for name, value in facts.items():
            values.setdefault(name, {})[_show(name, value)] = None
    return {name: _show_values(list(found)) for name, found in values.items()}


def _outside(telemetry: Telemetry | None) -> dict[str, Scalar]:
    """What was seen from outside and does not change; the sampler's own cost stands elsewhere."""
    facts = telemetry.facts if telemetry else {}
    return {f"outside.{n}": v for n, v in facts.items() if not n.startswith("sampler.")}


def _show_values(texts: Sequence[str]) -> str:
    if len(texts) <= 1:
        return "".join(texts)
    more = len(texts) - _SHOWN_VALUES
    listed = "; ".join(texts[:_SHOWN_VALUES])
    return f"varies: {listed}" + (f"; and {more} more" if more > 0 else "")


def _show(name: str, value: Scalar) -> str:
    if value is None:
        return _ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if _PRIVATE.search(name):
        return escape(hash_identity(str(value)))
    if isinstance(value, int | float):
        return _show_number(name, value)
    return escape(value) or "(empty)"


def _show_number(name: str, value: float) -> str:
    if name.endswith("bytes") and value >= 0:
        return show_bytes(value)
    return show_seconds(value) if name.endswith("_s") and value > 0 else f"{value}"
