"""Whether two PNGs, which the same version of the library drew, show the same.

Their pixels are the same, but for the edges of what is drawn, which processors round differently.
"""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np
from matplotlib.image import imread

_BEGINS = b"\x89PNG\r\n\x1a\n"

_MOST = 0.25
"""The most by which a pixel's colour may differ, of 1, from the most alike one there or beside it."""

Array = np.ndarray[Any, np.dtype[np.float64]]


def find_other_pixels(here: bytes, anew: bytes) -> str | None:
    """What a PNG shows otherwise than the one that comes out; None: nothing that is seen."""
    try:
        old, new = _read_both(here, anew)
    except ValueError as error:
        return str(error)
    apart = np.maximum(_measure(old, new), _measure(new, old))
    if apart.max() <= _MOST:
        return None
    y, x = np.unravel_index(int(apart.argmax()), apart.shape)
    return f"shows something else at {int(x)}, {int(y)} (pixels)"


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


def _list_parts(png: bytes) -> list[bytes]:
    """What a PNG holds: its header, and the kinds of what follows, each once where it is repeated.

    Raises:
        ValueError, struct.error: it is not one, or something stands behind its end.
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


def _measure(old: Array, new: Array) -> Array:
    """How far each pixel's colour is from that of the most alike one at its place or beside it."""
    steps = (-1, 0, 1)
    moved = (np.abs(old - np.roll(new, (y, x), (0, 1))).max(axis=2) for y in steps for x in steps)
    return np.asarray(np.minimum.reduce(list(moved)))
