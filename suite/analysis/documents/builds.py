"""Which libraries are inside of a version of TensorFlow, which no fact of a document tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec


@dataclass(frozen=True, kw_only=True)
class Inside:
    """Eigen's commit and oneDNN's version in the wheels that were built of a source (``git``)."""

    tensorflow: str
    git: str
    eigen: str
    onednn: str


@cache
def read_builds() -> Mapping[str, Inside]:
    """By TensorFlow's minor version (``2.20``) what is inside of its wheels."""
    text = Path(__file__).with_suffix(".toml").read_bytes()
    return msgspec.toml.decode(text, type=dict[str, Inside])


def find_inside(git: str) -> Inside | None:
    """What is inside of the wheels that were built of a source; None: nobody has looked."""
    return next((inside for inside in read_builds().values() if inside.git == git), None)
