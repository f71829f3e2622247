"""Pictures drawn with matplotlib: the only folder that loads it.

The same picture gives the same bytes, as long as matplotlib's version stays the same.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

if sys.prefix != sys.base_prefix:
    # matplotlib keeps a list of the fonts it found: beside itself, not in somebody's home.
    os.environ.setdefault("MPLCONFIGDIR", str(Path(sys.prefix) / "var" / "matplotlib"))

from suite.report.plots.files import render_png, render_svg

__all__ = ["render_png", "render_svg"]
