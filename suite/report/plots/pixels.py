"""Whether a PNG shows what another one shows, by the same version of the library or by another.

The same version draws the same pixels, but for the edges of what is drawn, which processors round
differently.  In another one letters come out otherwise and push what is drawn about by some pixels: then
little squares are compared with those near them, and what has a colour, which is what was measured, more
closely.
"""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np
from matplotlib.image import imread

_BEGINS = b"\x89PNG\r\n\x1a\n"

_CELL, _NEAR = 5, 2
"""Pixels along a square, and squares to every side among which its like is looked for: 10 pixels, 1.6 mm."""

_COLOURED, _ANY = 0.27, 0.30
"""The most by which the mean colour of 2 × 2 squares, without its grey, and of 4 × 4 may differ, of 1.
Between matplotlib 3.8 and 3.11: 0.18 and 0.21; where the strongest mark is missing: 0.35 and more."""

_SAME = 0.25
"""The same of a pixel and those that touch it, where the library is the same."""

Array = np.ndarray[Any, np.dtype[np.float64]]


def find_shown_otherwise(here: bytes, anew: bytes, *, same: bool = False) -> str | None:
    """What a PNG shows otherwise than the one that comes out; None: nothing that is seen.

    ``same``: the same version of the library drew it, so that it is compared pixel by pixel.
    """
    try:
        old, new = _read_both(here, anew)
    except ValueError as error:
        return str(error)
    if same:
        return _find_place(_measure(old, new, 1), _SAME, 1)
    old, new = _shrink(old), _shrink(new)
    coloured = [image - image.min(axis=2, keepdims=True) for image in (old, new)]
    for (first, second), side, most in ((coloured, 2, _COLOURED), ((old, new), 4, _ANY)):
        apart = _measure(_average(first, side), _average(second, side))
        if place := _find_place(apart, most, _CELL):
            return place
    return None


def _read_both(here: bytes, anew: bytes) -> tuple[Array, Array]:
    """The colours of both by row and column, of 1.

    Raises:
        ValueError: why they can't be compared.
    """
    try:
        parts = _list_parts(here)
    except (ValueError, struct.error) as error:
        raise ValueError("is not a PNG, or has something behind its end") from error
    if parts != _list_parts(anew):
        raise ValueError("holds something else than a picture of this size")
    try:
        old, new = (imread(io.BytesIO(png), format="png") for png in (here, anew))
    except (OSError, SyntaxError, ValueError) as error:
        raise ValueError("can't be read as a PNG") from error
    if old.shape != new.shape:
        raise ValueError("has another kind of colours")
    if (old[..., 3:] != new[..., 3:]).any():
        # Whatever is behind it would be seen with it, and that is compared nowhere.
        raise ValueError("is transparent where what comes out is not")
    return old[..., :3].astype(np.float64), new[..., :3].astype(np.float64)


def _find_place(apart: Array, most: float, side: int) -> str | None:
    """Where squares of so many pixels along their side are farthest apart, if that is more than they may."""
    if apart.max() <= most:
        return None
    y, x = np.unravel_index(int(apart.argmax()), apart.shape)
    return f"shows something else at {int(x) * side}, {int(y) * side} (pixels)"


def _list_parts(png: bytes) -> list[bytes]:
    """What a PNG holds: its header, and the kinds of what follows, each once where it is repeated.

    Raises:
        ValueError, struct.error: it is none, or something stands behind its end.
    """
    if not png.startswith(_BEGINS):
        raise ValueError("no PNG")
    at, parts = len(_BEGINS), list[bytes]()
    while not parts or parts[-1] != b"IEND":
        length, kind = struct.unpack_from(">I4s", png, at)
        part = png[at + 8 : at + 8 + length] if kind == b"IHDR" else kind
        if parts[-1:] != [part]:
            parts.append(part)
        at += 12 + length
    if at != len(png):
        raise ValueError("something stands behind its end")
    return parts


def _shrink(pixels: Array) -> Array:
    """The mean colours of squares of `_CELL` pixels."""
    height, width = (length // _CELL * _CELL for length in pixels.shape[:2])
    kept = pixels[:height, :width]
    cells = kept.reshape(height // _CELL, _CELL, width // _CELL, _CELL, 3)
    return np.asarray(cells.mean(axis=(1, 3)))


def _average(cells: Array, side: int) -> Array:
    """The mean colours of every square of so many cells along its side."""
    whole = np.cumsum(np.cumsum(np.pad(cells, ((1, 0), (1, 0), (0, 0))), axis=0), axis=1)
    inside = whole[side:, side:] - whole[:-side, side:] - whole[side:, :-side]
    return np.asarray((inside + whole[:-side, :-side]) / side**2)


def _measure(first: Array, second: Array, near: int = _NEAR) -> Array:
    """How far each square's colour is from that of the most alike one ``near`` it, either way."""
    apart = []
    for a, b in ((first, second), (second, first)):
        steps = range(-near, near + 1)
        moved = (np.abs(a - np.roll(b, (y, x), (0, 1))).max(axis=2) for y in steps for x in steps)
        apart.append(np.minimum.reduce(list(moved)))
    return np.asarray(np.maximum(*apart))
