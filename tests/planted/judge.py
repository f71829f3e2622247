"""The one judge of planted failures: no number under a GPU's name that anybody could believe.

Reads the files that a campaign left, as a person or a program would; knows nothing of how they came.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from suite.analysis.documents.read import read_summary
from suite.report.pages.gallery import depict
from suite.report.pictures.picture import Ratios

EXIT_NO_GPU = 4
EXIT_TROUBLED = 1

NO_NUMBER = re.compile(r"(—|✗|no valid pair|)(\s*\[\^?\d+\])*")
STRUCK = re.compile(r"(~~.*~~|✗)(\s*\[\^?\d+\])*")


def find_numbers(folder: Path | None, status: int) -> list[str]:
    """Every number of an arm with a GPU that stands there to be believed, and whatever else is wrong.

    ``folder`` is the campaign's, None where none was begun; ``status`` the command's exit status.
    """
    found = []
    if status not in {EXIT_NO_GPU, EXIT_TROUBLED}:
        found.append(f"exit status {status}")
    if folder is None or not (folder / "summary.json").exists():
        if status != EXIT_NO_GPU:
            found.append("no report, and the GPU is not said to be missing")
        return found
    found += _of_summary(json.loads((folder / "summary.json").read_text(encoding="utf-8")))
    found += _of_csv((folder / "cells.csv").read_text(encoding="utf-8"))
    for page in ("brief", "report"):
        found += _of_pages(folder, page)
    return [*found, *_of_pictures(folder)]


def find_compared(folder: Path) -> list[str]:
    """The same in what stands over several campaigns: a comparison's files."""
    told = json.loads((folder / "compare.json").read_text(encoding="utf-8"))
    return [*_of_pairs("compare.json", told["pairs"]), *_of_pages(folder, "compare")]


def _is_pair_of_gpu(pair: dict[str, Any]) -> bool:
    return any(is_of_gpu(pair[side]["arm"]) for side in ("base", "other"))


def _of_pairs(where: str, pairs: Iterable[dict[str, Any]]) -> Iterator[str]:
    for pair in filter(_is_pair_of_gpu, pairs):
        for identity, one in pair["cells"].items():
            verdict = one["verdict"] and one["verdict"]["name"]
            if verdict not in {None, "INVALID"}:
                yield f"{where}: {identity}: verdict {verdict}"
            if one["ratio"] is not None and not one.get("invalid"):
                yield f"{where}: {identity}: a ratio"
        if pair.get("distance_median") is not None:
            yield f"{where}: a typical ratio"


def _of_pages(folder: Path, name: str) -> Iterator[str]:
    """A page in its formats, of which a brief has one; what it says in words is the same in all."""
    markdown = (folder / f"{name}.md").read_text(encoding="utf-8")
    yield from _of_tables(f"{name}.md", _read_markdown(markdown))
    yield from _of_prose(f"{name}.md", markdown)
    page = folder / f"{name}.html"
    if page.exists():
        yield from _of_tables(f"{name}.html", _read_html(page.read_text(encoding="utf-8")))


def is_of_gpu(arm: object) -> bool:
    """Whether numbers of an arm, or of a comparison with it, are a GPU's."""
    return isinstance(arm, str) and re.search(r"\bcuda(?!-hidden)\b", arm) is not None


def _of_summary(summary: dict[str, Any]) -> Iterator[str]:
    for cell in summary["cells"]:
        yield from (f"summary.json: {cell['id']}: {text}" for text in _of_cell(cell))
    for one in summary.get("crossovers", ()):
        for found in one.get("crossovers", {}).values():
            if {"low", "high", "size"} & set(found):
                yield f"summary.json: a crossover of {one['case']}"
    for part in ("crossovers", "findings", "waterfalls", "limits"):
        yield from _of_part(f"summary.json: {part}", summary.get(part))


def _of_cell(cell: dict[str, Any]) -> Iterator[str]:
    invalid = any(one.get("invalid") for one in cell["arms"].values())
    for arm, one in cell["arms"].items():
        if is_of_gpu(arm) and not one.get("invalid"):
            yield from (n for n in ("value", "rate", "first_call", "values") if one.get(n))
    for arm, one in cell["comparisons"].items():
        if is_of_gpu(arm) and one["verdict"] and one["verdict"]["name"] != "INVALID":
            yield f"verdict {one['verdict']['name']}"
    for one in cell.get("gpus", {}).values():
        if one["ratio"] is not None and not one.get("invalid"):
            yield "a ratio of GPUs"
    if cell["ratio"] is not None and not invalid:
        yield "a ratio"
    if "standing" in cell:
        yield "a standing against the CPU"
    if any(one.get("gain") or one.get("otherwise") for one in cell["causes"]):
        yield "a cause with a gain"


def _of_part(where: str, value: Any) -> Iterator[str]:
    """Whatever is said of an arm with a GPU, anywhere in a part that is about numbers alone."""
    if isinstance(value, dict) and "severity" not in value and "answer" not in value:
        if is_of_gpu(value.get("arm")):
            yield f"{where}: {value}"
        if any(
            is_of_gpu(name) and one is not None and "answer" not in one
            for name, one in value.items()
        ):
            yield f"{where}: {value}"
        for name, inner in value.items():
            yield from _of_part(f"{where}.{name}", inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _of_part(where, inner)


def _of_csv(text: str) -> Iterator[str]:
    for row in csv.DictReader(text.splitlines()):
        if is_of_gpu(row["arm"]) and row["seconds"] and "invalid" not in row["flags"].split():
            yield f"cells.csv: {row['cell']}: seconds"


Table = list[list[str]]

NAMED = re.compile(r"\bcuda(?!-hidden)\b", re.IGNORECASE)
"""How a sentence names an arm with a GPU."""
CLAIM = re.compile(
    r"\d×|\d times\b|\d % (more|less)|\b(as fast|breaks even|wins|loses|win|loss)\b"
    r"|\b(faster|slower|equivalent)\b"
)
SAYS_NOTHING = re.compile(r"(No v|V)erdicts\b|.*\bTable: |A time is |.*: 0 of 0 cells")
"""The sentences that say what words and tables mean, or that there was nothing to judge."""


def _of_prose(name: str, text: str) -> Iterator[str]:
    """What the words beside the tables claim of such an arm."""
    for line in text.splitlines():
        if line.startswith(("|", "#", "    ")):
            continue
        for sentence in re.split(r"(?<=[.:;])\s+(?=[A-Z*])", line.removeprefix("- ")):
            claims = NAMED.search(sentence) and CLAIM.search(sentence)
            if claims and not SAYS_NOTHING.match(sentence):
                yield f"{name}: in words: {sentence}"


def _read_markdown(text: str) -> Iterator[Table]:
    rows: Table = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif rows:
            yield [row for row in rows if not set("".join(row)) <= set(":-")]
            rows = []


def _read_html(text: str) -> Iterator[Table]:
    """What `tests/report/render` holds to HTML's own algorithm is XML as well, which is read in no time."""
    for table in re.findall(r"<table.*?</table>", text, re.DOTALL):
        # HTML's void elements, which hold no text.
        closed = re.sub(r"<(?:col|wbr)\b[^>]*>", "", table)
        rows = ET.fromstring(closed).iter("tr")  # noqa: S314 - of our own making
        yield [[_read_cell(cell) for cell in row] for row in rows]


def _read_cell(cell: ET.Element) -> str:
    """The cell's text, what is struck through written as in Markdown."""
    for struck in cell.iter("s"):
        struck.text = f"~~{struck.text or ''}"
        struck.tail = f"~~{struck.tail or ''}"
    return " ".join("".join(cell.itertext()).split())


COLUMN = re.compile(
    r"\bcuda(?!-hidden)(:\d+)?(-again|-twin)?"
    r"(, (time per call|rate|first call|of its best)| against | beside | is\b)"
    r"|\bagainst (\d+:)?cuda(?!-hidden)\b"
    r"|^(the script says|as asked, in a warm process|timed fairly)$"
    r"|^(spread|mean)$"
)
"""The heads of columns that hold numbers of an arm with a GPU; of two places of a script one is."""


def _of_tables(name: str, tables: Iterable[Table]) -> Iterator[str]:
    for head, *rows in tables:
        columns = [index for index, text in enumerate(head) if COLUMN.search(text)]
        for row in rows:
            for index in columns:
                if not (NO_NUMBER.fullmatch(row[index]) or STRUCK.fullmatch(row[index])):
                    yield f"{name}: {head[index]}: {row[0]}: {row[index]}"


def _of_pictures(folder: Path) -> Iterator[str]:
    """The pictures as values: every mark of such an arm is struck."""
    summary = read_summary((folder / "summary.json").read_bytes())
    for picture in depict(summary):
        if isinstance(picture.content, Ratios):
            drawn = [mark for panel in picture.content.panels for mark in panel.drawn]
            if not all(mark.struck for mark in drawn):
                yield f"the picture {picture.name}: a ratio"
            continue
        for panel in getattr(picture.content, "panels", ()):
            for arm, marks in panel.marks.items():
                if is_of_gpu(arm) and not all(mark.struck for mark in marks if mark):
                    yield f"the picture {picture.name}: a mark of {arm}"
