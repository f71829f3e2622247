"""Whether the pictures of a folder show what its documents say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from suite.cli.receipts.drawings import find_drawn_otherwise, read_ligatures
from suite.cli.receipts.finding import Finding
from suite.cli.receipts.svg import read_svg
from suite.manifest import MANIFEST
from suite.report.text.units import show_things


def judge_pictures(
    there: Mapping[str, bytes],
    drawn: Mapping[str, str | bytes],
    wanted: Sequence[str],
    words: Mapping[str, Sequence[str]],
) -> Finding:
    """A folder's pictures beside those that come out.

    Where any of a kind (SVG, PNG) comes out with the same bytes, so must all of it.  Where an SVG does and no
    PNG, the same version of the library drew them and packed the PNGs otherwise: then their pixels are
    compared.  Else another version drew them, and they are compared as they are seen, with a tolerance.

    Args:
        there: the folder's, by their names.
        drawn: the same as they come out here; none where nothing can be drawn.
        wanted: the names of those that the report has.
        words: the title and the description of each SVG.
    """
    troubles = [f"{name}: is missing" for name in wanted if name not in there]
    troubles += [f"{name}: is not a picture of this report" for name in there if name not in wanted]
    known = [name for name in wanted if name in there]
    for name in known:
        if name in words and (found := _judge_words(there[name], words[name])):
            troubles.append(f"{name}: {found}")
    number = show_things(len(there), "file")
    if known and not drawn:
        told = f"{number}; nothing can be drawn here, so what they show rests on {MANIFEST} alone"
        return Finding(name="pictures", told=told, troubles=tuple(sorted(troubles)), unsure=True)
    anew = {
        name: one.encode() if isinstance(one, str) else one
        for name, one in drawn.items()
        if name in known
    }
    differing = [name for name in anew if there[name] != anew[name]]
    alike = [name for name in anew if name not in differing]
    for name in differing:
        if found := _judge(name, there[name], anew[name], alike):
            troubles.append(f"{name}: {found}")
    told = f"{number}, drawn anew: the same bytes"
    if differing and any(name.endswith(".svg") for name in alike):
        told = f"{number}, drawn anew: {len(differing)} packed otherwise, with the same pixels"
    elif differing:
        told = (
            f"{number}, drawn anew: {len(differing)} by another version of matplotlib, which look the same "
            "within a few points"
        )
    return Finding(name="pictures", told=told, troubles=tuple(sorted(troubles)))


def _judge(name: str, here: bytes, anew: bytes, alike: Sequence[str]) -> str | None:
    """What is wrong with a picture that is not the same bytes, where those in ``alike`` are."""
    ending = name[-3:]
    if kind := [other for other in alike if other.endswith(ending)]:
        return (
            f"is not what comes out, and of the other {ending.upper()} files {len(kind)} "
            "came out the same to the byte"
        )
    # Here, so that what compares no pictures does not wait for the library that reads them.
    if ending == "svg":
        from suite.report.plots import letters  # noqa: PLC0415

        ligatures = read_ligatures(letters.render_letters(), letters.LETTERS, letters.JOINED)
        return find_drawn_otherwise(here, anew, ligatures)
    from suite.report.plots.pixels import find_shown_otherwise  # noqa: PLC0415

    # An SVG vouches for PNGs and none of these for it: matplotlib 3.9 and 3.10 draw the same PNGs.
    return find_shown_otherwise(here, anew, same=bool(alike))


def _judge_words(svg: bytes, words: Sequence[str]) -> str | None:
    """What is wrong with the title and the description of a picture, or with all of it."""
    try:
        root = read_svg(svg)
    except UnicodeDecodeError:
        return "is no UTF-8"
    except ValueError as error:
        return str(error)
    there = [one.text for one in root if one.tag.rpartition("}")[2] in {"title", "desc"}]
    return None if there == [*words] else "its title or description is not what comes out"
