"""Whether the pictures of a folder show what its documents say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree as ET

from suite.cli.receipts.check_result import CheckResult
from suite.manifest import MANIFEST
from suite.report.text.units import show_things


def judge_pictures(
    there: Mapping[str, bytes],
    drawn: Mapping[str, str | bytes],
    wanted: Sequence[str],
    words: Mapping[str, Sequence[str]],
) -> CheckResult:
    """A folder's pictures beside those that come out.

    The same version of matplotlib draws the same bytes.  So where one file of a kind (SVG, PNG) comes out the
    same, all must.  Where an SVG does and no PNG, these were packed otherwise, and their pixels are compared.
    Where neither does, another version drew them: their titles and captions must
    be what comes out, and the rest can't be checked here.

    Args:
        there: the folder's, by their names.
        drawn: the same as they come out here; none where nothing can be drawn.
        wanted: the names of those that the report has.
        words: the title and the caption of each SVG.
    """
    troubles = [f"{name}: is missing" for name in wanted if name not in there]
    troubles += [f"{name}: is not a picture of this report" for name in there if name not in wanted]
    present = [name for name in wanted if name in there]
    for name in words.keys() & {*present}:
        troubles += _judge_words(name, there[name], words[name])
    anew = {
        name: content.encode() if isinstance(content, str) else content
        for name, content in drawn.items()
        if name in present
    }
    alike = [name for name, content in anew.items() if there[name] == content]
    packed, unknown = 0, 0
    for name in [name for name in anew if name not in alike]:
        if same_kind := [other for other in alike if other[-3:] == name[-3:]]:
            troubles.append(
                f"{name}: is not what comes out, and of the other {name[-3:].upper()} files "
                f"{len(same_kind)} came out the same to the byte"
            )
        elif alike and name.endswith(".png"):
            packed += 1
            troubles += _judge_pixels(name, there[name], anew[name])
        else:
            unknown += 1
    undrawn = bool(present) and not drawn
    unsure = undrawn or unknown > 0
    rests = f", so what is drawn rests on {MANIFEST} alone" if unsure else ""
    if undrawn:
        how = "nothing can be drawn here"
    elif unknown:
        how = f"drawn anew: {unknown} by another version of matplotlib"
    elif packed:
        how = f"drawn anew: {packed} packed otherwise, with the same pixels"
    else:
        how = "drawn anew: the same bytes"
    text = f"{show_things(len(there), 'file')}, {how}{rests}"
    return CheckResult(name="pictures", text=text, troubles=tuple(sorted(troubles)), unsure=unsure)


def _judge_pixels(name: str, here: bytes, anew: bytes) -> Sequence[str]:
    # Here, so that what compares no pictures does not wait for the library that reads them.
    from suite.report.plots.pixels import find_other_pixels  # noqa: PLC0415

    trouble = find_other_pixels(here, anew)
    return [] if trouble is None else [f"{name}: {trouble}"]


def _judge_words(name: str, svg: bytes, words: Sequence[str]) -> Sequence[str]:
    """What is wrong with the title and the caption of a picture, or with all of it."""
    try:
        text = svg.decode()
        # Without a document type there are no entities that could grow.
        root = None if "<!" in text else ET.fromstring(text)  # noqa: S314
    except (ValueError, ET.ParseError):
        root = None
    if root is None:
        return [f"{name}: can't be read as SVG"]
    there = [part.text for part in root if part.tag.rpartition("}")[2] in {"title", "desc"}]
    wrong = there != [*words]
    return [f"{name}: its title or caption is not what comes out"] if wrong else []
