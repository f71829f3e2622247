"""An SVG as its elements, and nothing in it that they don't show; pure."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"

_SHAPES = frozenset({"svg", "g", "defs", "use", "path", "clipPath", "pattern", "rect"})
"""What is drawn; whatever else is in a picture, such as a style, changes how it is seen or is not seen."""


def read_svg(svg: bytes) -> ET.Element:
    """A picture as a campaign's folder keeps it: elements of SVG alone.

    Raises:
        ValueError: it is none, or holds what its elements don't show: an instruction such as that for a style
            sheet, a comment, a document type, or elements of something else.
    """
    # As text, so that it is read in no other encoding than the one it was looked through in.
    text = svg.decode()
    if "<?" in text or "<!" in text:
        raise ValueError("holds an instruction, a comment or a document type")
    try:
        root = ET.fromstring(text)  # noqa: S314  without a document type there are no entities
    except ET.ParseError as error:
        raise ValueError("can't be read as SVG") from error
    for element in root.iter():
        names = [name for name in element.attrib if name != _LINK]
        twice = "href" in names and _LINK in element.attrib
        if not element.tag.startswith(_SVG) or any(name[:1] == "{" for name in names) or twice:
            raise ValueError("holds something that is no SVG")
    return root


def list_unseen(root: ET.Element) -> Sequence[object]:
    """What a picture holds besides shapes, wherever it is, and shapes that run something."""
    return [
        (element.tag, element.text, sorted(element.attrib.items()))
        for element in root.iter()
        if element.tag.removeprefix(_SVG) not in _SHAPES
        or any(name.startswith("on") for name in element.attrib)
    ]
