"""A picture as a file: SVG that points nowhere, or PNG; without date, version or anything random."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any
from xml.etree import ElementTree as ET

from matplotlib.figure import Figure

from suite.report.pictures.picture import Dots, Picture, Scatter, Stacks, Strips, Sweeps
from suite.report.plots.dots import draw_dots
from suite.report.plots.scatter import draw_scatter
from suite.report.plots.sheet import own_style
from suite.report.plots.stacks import draw_stacks
from suite.report.plots.strips import draw_strips
from suite.report.plots.sweeps import draw_sweeps
from suite.report.render.plain import describe_picture

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"

_HASHED = re.compile(r"\b[a-z][0-9a-f]{10}\b")
_ID = re.compile(rf'(?<= id="){_HASHED.pattern}(?=")')
"""What matplotlib calls a clip path or a marker."""

_DRAWERS: Mapping[type, Callable[[Picture, Any], Figure]] = {
    Sweeps: draw_sweeps,
    Dots: draw_dots,
    Stacks: draw_stacks,
    Strips: draw_strips,
    Scatter: draw_scatter,
}


def draw(picture: Picture) -> Figure:
    """The picture as a figure; call it within `own_style`."""
    return _DRAWERS[type(picture.content)](picture, picture.content)


def render_svg(picture: Picture) -> str:
    """The picture as SVG with a title and a description for those who don't see it."""
    # Neither doctype nor metadata nor comments: they name addresses, and the version.
    text = _number_ids(
        _save(picture, "svg", {"Date": None, "Creator": None}).decode(), picture.name
    )
    root = ET.fromstring(text)  # noqa: S314  matplotlib wrote it
    for metadata in root.findall(f"{{{_SVG}}}metadata"):
        root.remove(metadata)
    for place, (tag, text) in enumerate(
        zip(("title", "desc"), describe_picture(picture), strict=True)
    ):
        element = ET.Element(f"{{{_SVG}}}{tag}")
        element.text = text
        element.tail = "\n "
        root.insert(place, element)
    root.set("role", "img")
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _XLINK)
    return ET.tostring(root, encoding="unicode") + "\n"


def _number_ids(svg: str, name: str) -> str:
    """The picture with its ids counted up behind its name, which tells them apart on a page of several.

    matplotlib makes them of hashes over unrounded coordinates, whose last bits depend on the processor.
    """
    found = dict.fromkeys(_ID.findall(svg))
    numbers = {one: f"{name}-{number}" for number, one in enumerate(found, start=1)}
    return _HASHED.sub(lambda match: numbers.get(match[0], match[0]), svg)


def render_png(picture: Picture) -> bytes:
    """The picture as PNG, for documents that take no SVG."""
    return _save(picture, "png", {"Software": None})


def _save(picture: Picture, form: str, metadata: dict[str, None]) -> bytes:
    buffer = io.BytesIO()
    with own_style(), warnings.catch_warnings():
        # A name can hold any character, and a font can't: a box is drawn instead.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        draw(picture).savefig(buffer, format=form, metadata=metadata)
    return buffer.getvalue()
