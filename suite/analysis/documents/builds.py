"""Which libraries are inside of a version of TensorFlow, by its own sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec


@dataclass(frozen=True, kw_only=True)
class Inside:
    """Eigen's commit and oneDNN's version in the wheels of a version, and where that stands."""

    eigen: str
    onednn: str
    source: str


@cache
def read_builds() -> Mapping[str, Inside]:
    """By TensorFlow's version (``2.20``) what is inside."""
    text = Path(__file__).with_suffix(".toml").read_bytes()
    return msgspec.toml.decode(text, type=dict[str, dict[str, Inside]])["tensorflow"]


def find_inside(tensorflow: str) -> Inside | None:
    """What is inside of a TensorFlow (``2.20.0``); None: nobody has looked."""
    return read_builds().get(".".join(tensorflow.split(".")[:2]))
