"""Whether the pictures of a folder show what its documents say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from xml.etree import ElementTree as ET

from suite.cli.receipts.drawings import find_drawn_otherwise
from suite.cli.receipts.finding import Finding
from suite.manifest import MANIFEST
from suite.report.text.units import show_things

Judge = Callable[[bytes, bytes], str | None]
"""What a picture shows otherwise than the one that comes out."""


def judge_pictures(
    there: Mapping[str, bytes],
    drawn: Mapping[str, str | bytes],
    wanted: Sequence[str],
    words: Mapping[str, Sequence[str]],
) -> Finding:
    """A folder's pictures beside those that come out.

    Where any of a kind (SVG, PNG) comes out with the same bytes, so must all of it.  Where none does,
    another version of the library drew them: then they are compared as they are seen, with a tolerance.

    Args:
        there: the folder's, by their names.
        drawn: the same as they come out here; none where nothing can be drawn.
        wanted: the names of those that the report has.
        words: the title and the description of each SVG.
    """
    troubles = [f"{name}: is missing" for name in wanted if name not in there]
    troubles += [f"{name}: is no picture of this report" for name in there if name not in wanted]
    known = [name for name in wanted if name in there]
    troubles += [
        f"{name}: its title or description is not what comes out"
        for name in known
        if name in words and _read_words(there[name]) != [*words[name]]
    ]
    number = show_things(len(there), "file")
    if known and not drawn:
        told = f"{number}; nothing can be drawn here, so what they show rests on {MANIFEST} alone"
        return Finding(name="pictures", told=told, troubles=tuple(sorted(troubles)), unsure=True)
    otherwise = 0
    for ending, judge in (("svg", find_drawn_otherwise), ("png", _judge_pixels)):
        kind = {
            name: one.encode() if isinstance(one, str) else one
            for name, one in drawn.items()
            if name in known and name.endswith(f".{ending}")
        }
        differing = [name for name, anew in kind.items() if there[name] != anew]
        alike = len(kind) - len(differing)
        otherwise += len(differing)
        for name in differing:
            if alike:
                found: str | None = (
                    f"is not what comes out, and of the other {ending.upper()} files {alike} "
                    "came out the same to the byte"
                )
            else:
                found = judge(there[name], kind[name])
            if found:
                troubles.append(f"{name}: {found}")
    told = f"{number}, drawn anew: the same bytes"
    if otherwise:
        told = (
            f"{number}, drawn anew: {otherwise} by another version of matplotlib, which look the same "
            "within a few points"
        )
    return Finding(name="pictures", told=told, troubles=tuple(sorted(troubles)))


def _judge_pixels(here: bytes, anew: bytes) -> str | None:
    # Here, so that what compares no pixels does not wait for the library that reads them.
    from suite.report.plots.pixels import find_shown_otherwise  # noqa: PLC0415

    return find_shown_otherwise(here, anew)


def _read_words(svg: bytes) -> list[str | None]:
    """The title and the description of a picture; of what is none, nothing."""
    try:
        root = ET.fromstring(svg)  # noqa: S314  no entity is expanded beyond expat's own limit
    except ET.ParseError:
        return []
    return [one.text for one in root if one.tag.rpartition("}")[2] in {"title", "desc"}]
