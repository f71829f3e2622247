"""A picture as a file: SVG that points nowhere, or PNG; without date, version or anything random."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from suite.report.pictures.picture import Courses, Dots, Picture, Ratios, Scatter, Sweeps
from suite.report.plots.courses import draw_courses
from suite.report.plots.dots import draw_dots
from suite.report.plots.ratios import draw_ratios
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


def draw(picture: Picture) -> Figure:  # noqa: PLR0911  one for each form
    """The picture as a figure; call it within `own_style`."""
    match picture.content:
        case Sweeps() as sweeps:
            return draw_sweeps(picture, sweeps)
        case Ratios() as ratios:
            return draw_ratios(picture, ratios)
        case Dots() as dots:
            return draw_dots(picture, dots)
        case Courses() as courses:
            return draw_courses(picture, courses)
        case Scatter() as scatter:
            return draw_scatter(picture, scatter)
        case tuple() as bars:
            return draw_stacks(picture, bars)
        case strips:
            return draw_strips(picture, strips)


def render_svg(picture: Picture) -> str:
    """The picture as SVG with a title and a description for those who don't see it."""
    file = io.StringIO()
    with _draw_alone(picture) as figure:
        # Neither doctype nor metadata nor comments: they name addresses, and the version.
        canvas = FigureCanvasSVG(figure)
        canvas.print_svg(file, metadata={"Date": None, "Creator": None})  # type: ignore[no-untyped-call]
    text = _number_ids(file.getvalue(), picture.name)
    root = ET.fromstring(text)  # noqa: S314  matplotlib wrote it
    for metadata in root.findall(f"{{{_SVG}}}metadata"):
        root.remove(metadata)
    parts = zip(("title", "desc"), describe_picture(picture), strict=True)
    for place, (tag, text) in enumerate(parts):
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
    hashes = dict.fromkeys(_ID.findall(svg))
    numbers = {old: f"{name}-{number}" for number, old in enumerate(hashes, start=1)}
    return _HASHED.sub(lambda match: numbers.get(match[0], match[0]), svg)


def render_png(picture: Picture) -> bytes:
    """The picture as PNG, for documents that take no SVG."""
    file = io.BytesIO()
    with _draw_alone(picture) as figure:
        canvas = FigureCanvasAgg(figure)
        canvas.print_png(file, metadata={"Software": None})  # type: ignore[no-untyped-call]
    return file.getvalue()


@contextmanager
def _draw_alone(picture: Picture) -> Iterator[Figure]:
    """The picture as a figure that a canvas can print: it is laid out meanwhile.

    `Figure.savefig` gives the same, and draws all of it twice for the layout.
    """
    with own_style(), warnings.catch_warnings():
        # A name can hold any character, and a font can't: a box is drawn instead.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        figure = draw(picture)
        figure.set_dpi(mpl.rcParams["savefig.dpi"])
        yield figure
