"""Which libraries are inside of a version of TensorFlow, by its wheels and its sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec


@dataclass(frozen=True, kw_only=True)
class Inside:
    """Eigen's commit and oneDNN's version in the wheels of a version, ``tensorflow``, that were built from the
    source ``git``."""

    tensorflow: str
    git: str
    eigen: str
    onednn: str


@cache
def read_builds() -> Mapping[str, Inside]:
    """By TensorFlow's minor version (``2.20``) what is inside."""
    text = Path(__file__).with_suffix(".toml").read_bytes()
    return msgspec.toml.decode(text, type=dict[str, Inside])


def find_inside(tensorflow: str, git: str | None) -> Inside | None:
    """What is inside of a TensorFlow (``2.20.0``) that says that it was built from a source, ``git``; None:
    nobody has looked, or it is another build."""
    inside = read_builds().get(".".join(tensorflow.split(".")[:2]))
    return inside if inside is not None and inside.git == git else None
