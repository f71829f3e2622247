"""Whether an SVG shows what another one shows that another version of the library drew; pure.

Everything that is drawn is compared in its order: its kind and words exactly, places within `PLACE`, in
axes by their share of these, whose own place depends on how wide letters come out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from xml.etree import ElementTree as ET

from suite.cli.receipts.svg import list_unseen, read_svg

PLACE = 4.0
"""Points, of 547 in a picture's width: matplotlib 3.8 to 3.11 put the same within 3.1 of each other."""

BOX = 12.0
"""Points by which axes may lie elsewhere: 4.0 between these versions."""

_FORM, _LOOK, _COLOUR = 0.5, 0.3, 48
"""Points in the outline of a mark or a letter (and 2 %), of a stroke's width, and shades of a colour."""

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_COLOURS = re.compile(r"#[0-9a-fA-F]{6}\b")
_REFERENCE = re.compile(r"url\(#([^)]*)\)")
_DEFINED = frozenset({"path", "clipPath", "pattern"})
"""What stands in definitions and is seen only where it is referred to."""

Letter = str
"""A letter by its outline, which is the same in every release."""

Ligatures = Mapping[Letter, Sequence[Letter]]
"""What matplotlib draws as one outline since 3.11 (fi, fl and their like), and the letters in it."""

Box = tuple[float, float, float, float]
"""Left, top, width and height, in points."""

_PAGE: Box = (0.0, 0.0, 1.0, 1.0)

_Spelled = tuple[Letter, "tuple[float, ...] | None"]
"""A letter and its offset in its text."""


@dataclass(frozen=True, kw_only=True)
class _Drawn:
    """Something drawn: its ``words`` with # for every number, and these by what they are.

    ``places`` are x and y by turns, as shares of the ``box``.  ``outline`` is that of the mark or letter that
    it refers to.  A text is one thing, with its ``letters`` and their ``offsets`` in it.
    """

    words: str
    box: Box
    places: tuple[float, ...] = ()
    forms: tuple[float, ...] = ()
    looks: tuple[float, ...] = ()
    colours: tuple[int, ...] = ()
    outline: tuple[float, ...] = ()
    letters: tuple[Letter, ...] = ()
    offsets: tuple[tuple[float, ...], ...] = ()


def find_drawn_otherwise(here: bytes, anew: bytes, ligatures: Ligatures) -> str | None:
    """What of a picture is drawn otherwise than in the one that comes out; None: nothing that is seen."""
    root = read_svg(anew)
    new = list(_list_drawn(root))
    try:
        given = read_svg(here)
        old = list(_list_drawn(given))
    except (ValueError, RecursionError):
        return "is not a picture that was drawn here"
    if len(old) != len(new):
        return f"draws {len(old)} elements, but {len(new)} come out"
    for place, (one, other) in enumerate(zip(old, new, strict=True), start=1):
        found = _find_difference(one, other) or _compare_texts(
            list(_spell(one, ligatures)), list(_spell(other, ligatures))
        )
        if found:
            return f"element {place} of {len(new)} {found}"
    if list_unseen(given) != list_unseen(root):
        return "holds something besides what is drawn"
    return None


def read_ligatures(svg: bytes, letters: Sequence[str], joined: Mapping[str, str]) -> Ligatures:
    """The outlines of the ``joined`` and of what is in them.

    Args:
        svg: these ``letters``, each as a text, and as often as there are weights.
        letters: letters and ligatures in their order.
        joined: each ligature's letters.
    """
    drawn = [one.letters for one in _list_drawn(ET.fromstring(svg)) if one.letters]  # noqa: S314
    found: dict[Letter, Sequence[Letter]] = {}
    for start in range(0, len(drawn), len(letters)):
        weight = drawn[start : start + len(letters)]
        outlines = {letter: outline for letter, (outline,) in zip(letters, weight, strict=True)}
        found |= {outlines[one]: [outlines[part] for part in joined[one]] for one in joined}
    return found


def _find_difference(one: _Drawn, other: _Drawn) -> str | None:
    lengths = [
        [
            len(drawn.places),
            len(drawn.forms),
            len(drawn.looks),
            len(drawn.colours),
            len(drawn.outline),
        ]
        for drawn in (one, other)
    ]
    if one.words != other.words or lengths[0] != lengths[1]:
        return "is another one"
    # Shares of one box laid on the other, so that what is compared are points of the picture that comes out.
    sides = other.box[2:] * (len(other.places) // 2)
    if any(
        abs(a - b) * side > PLACE
        for a, b, side in zip(one.places, other.places, sides, strict=True)
    ) or any(abs(a - b) > BOX for a, b in zip(one.box, other.box, strict=True)):
        return "lies elsewhere"
    pairs = [
        *zip(one.forms, other.forms, strict=True),
        *zip(one.outline, other.outline, strict=True),
    ]
    if _are_formed_otherwise(pairs):
        return "has another form"
    if any(abs(a - b) > _LOOK for a, b in zip(one.looks, other.looks, strict=True)) or any(
        abs(a - b) > _COLOUR for a, b in zip(one.colours, other.colours, strict=True)
    ):
        return "looks different"
    return None


def _are_formed_otherwise(pairs: Iterable[tuple[float, float]]) -> bool:
    return any(abs(a - b) > _FORM + 0.02 * abs(b) for a, b in pairs)


def _spell(text: _Drawn, ligatures: Ligatures) -> Iterator[_Spelled]:
    """A text's letters, each with its offset; those in a ligature have none but for the first."""
    for letter, offset in zip(text.letters, text.offsets, strict=True):
        first, *others = ligatures.get(letter, [letter])
        yield first, offset
        yield from ((other, None) for other in others)


def _compare_texts(one: Sequence[_Spelled], other: Sequence[_Spelled]) -> str | None:
    if [letter for letter, _ in one] != [letter for letter, _ in other]:
        return "is another text"
    offsets = [(a, b) for (_, a), (_, b) in zip(one, other, strict=True) if a and b]
    pairs = [pair for a, b in offsets for pair in zip(a, b, strict=True)]
    return "has its letters elsewhere" if _are_formed_otherwise(pairs) else None


def _list_drawn(root: ET.Element) -> Iterator[_Drawn]:
    known: dict[str, ET.Element] = {}
    for one in root.iter():
        known.setdefault(one.get("id", ""), one)
    yield from _draw(root, known, _PAGE, moved=False)


def _draw(
    one: ET.Element, known: Mapping[str, ET.Element], box: Box, *, moved: bool
) -> Iterator[_Drawn]:
    tag = one.tag.rpartition("}")[2]
    if one.get("id", "").startswith("axes_"):
        box = _find_box(one)
    kinds = {inner.tag.rpartition("}")[2] for inner in one}
    drawn = _describe(tag, one, known, box, moved=moved)
    if tag == "g" and "use" in kinds <= {"use", "defs"} and "transform" in one.attrib:
        letters = [inner for inner in one if inner.tag.endswith("}use")]
        every = [_describe("use", letter, known, box, moved=True) for letter in letters]
        yield replace(
            drawn,
            letters=tuple(f"{each.words} {each.outline}" for each in every),
            offsets=tuple(each.forms for each in every),
        )
        return
    if tag != "defs":
        yield drawn
    for inner in one:
        if tag != "defs" or inner.tag.rpartition("}")[2] not in _DEFINED:
            yield from _draw(inner, known, box, moved=moved or "transform" in one.attrib)


def _find_box(axes: ET.Element) -> Box:
    """Where axes lie: their background is drawn first."""
    path = next((one for one in axes.iter() if one.tag.endswith("}path")), None)
    if path is None:
        raise ValueError("axes without a background")
    numbers = list(map(float, _NUMBER.findall(path.get("d", ""))))
    x, y = numbers[::2], numbers[1::2]
    box = min(x), min(y), max(x) - min(x), max(y) - min(y)
    if not min(box[2:]) > 0:
        raise ValueError("axes without room")
    return box


def _describe(
    tag: str, one: ET.Element, known: Mapping[str, ET.Element], box: Box, *, moved: bool
) -> _Drawn:
    """An element; ``moved``: by what it is in, so that its numbers are no places of the picture."""
    given = {name.rpartition("}")[2]: value for name, value in one.attrib.items() if name != "id"}
    if tag == "use":
        # Older releases write a letter's place in another way.
        place = f"translate({given.pop('x', '0')} {given.pop('y', '0')})"
        given.setdefault("transform", place)
    words, places, forms = [tag, (one.text or "").strip()], list[float](), list[float]()
    looks, colours, outline = list[float](), list[int](), list[float]()
    for name, value in sorted(given.items()):
        text = value
        if name == "href" and value[:1] == "#":
            drawn = _refer(value[1:], known)
            words.append(drawn.words)
            outline += [*drawn.forms, *drawn.looks]
            text = "#"
        for reference in _REFERENCE.findall(text):
            drawn = _refer(reference, known)
            words.append(drawn.words)
        text = _REFERENCE.sub("url", text)
        colours += [int(c[i : i + 2], 16) for c in _COLOURS.findall(text) for i in (1, 3, 5)]
        text = _COLOURS.sub("colour", text)
        numbers = list(map(float, _NUMBER.findall(text)))
        words.append(f"{name}={' '.join(_NUMBER.sub('#', text).split())}")
        if name == "d" and not moved:
            places += _share(numbers, box)
        elif name == "transform" and text.startswith("translate") and not moved:
            places += _share(numbers[:2], box)
            forms += numbers[2:]
        elif name in {"style", "clip-path", "fill", "stroke"}:
            looks += numbers
        else:
            forms += numbers
    return _Drawn(
        words="|".join(words),
        box=box,
        places=tuple(places),
        forms=tuple(forms),
        looks=tuple(looks),
        colours=tuple(colours),
        outline=tuple(outline),
    )


def _refer(name: str, known: Mapping[str, ET.Element]) -> _Drawn:
    """What a reference shows, as one thing: an outline, a pattern, a piece to clip by."""
    if name not in known:
        raise ValueError("a reference to nothing")
    every = [
        _describe(one.tag.rpartition("}")[2], one, {}, _PAGE, moved=True)
        for one in known[name].iter()
    ]
    return replace(
        every[0],
        words="(" + " ".join(one.words for one in every) + ")",
        forms=tuple(number for one in every for number in one.forms),
        looks=tuple(number for one in every for number in one.looks),
    )


def _share(numbers: list[float], box: Box) -> list[float]:
    left, top, width, height = box
    return [
        (number - (top if place % 2 else left)) / (height if place % 2 else width)
        for place, number in enumerate(numbers)
    ]
