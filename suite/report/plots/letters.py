"""The letters that a text can be drawn with in two ways: f, i and l, and what joins them in one outline."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

from suite.report.plots.sheet import own_style

JOINED = {"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl"}
"""Ligatures by their characters: what DejaVu Sans has an outline for."""

LETTERS = (*"fil", *JOINED)
"""The letters in the order in which they are drawn, all of them in every weight that a picture uses."""


def render_letters() -> bytes:
    """`LETTERS` as SVG, each a text of its own, where nothing is joined; first regular, then bold."""
    buffer = io.BytesIO()
    with own_style():
        figure = Figure()
        for weight in ("normal", "bold"):
            for letter in LETTERS:
                figure.text(0, 0, letter, fontweight=weight)
        figure.savefig(buffer, format="svg")
    return buffer.getvalue()
