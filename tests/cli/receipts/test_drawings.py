"""A changed picture is found where pictures can be drawn, and told apart from another matplotlib's."""

from __future__ import annotations

import re
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from suite.cli.receipts import check as checks
from suite.cli.receipts.drawings import find_drawn_otherwise
from suite.cli.receipts.pictures import judge_pictures
from suite.report.pictures.picture import Bar, Picture, Stacks
from suite.report.plots.files import render_png, render_svg
from suite.report.plots.pixels import find_shown_otherwise
from suite.report.plots.sheet import STYLE
from tests.cli.receipts.test_check import pin_anew
from tests.cli.shell import Heard, fail, well

Check = Callable[..., Heard]
Change = Callable[[bytes], bytes]

ANOTHER = {"font.size": 9.1, "grid.linewidth": 0.7, "grid.color": "#d0d0d0", "svg.hashsalt": "x"}
"""What makes every picture another one to the byte, and none to the eye: as another matplotlib does."""


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory, finished: Path) -> Path:
    """A finished campaign with pictures; made once."""
    from suite.cli.conduct import write_reports
    from suite.host.campaign.store import Store

    folder = shutil.copytree(finished, tmp_path_factory.mktemp("drawn") / finished.name)
    write_reports(Store(folder))
    return folder


@pytest.fixture
def pictured(tmp_path: Path, drawn: Path) -> Path:
    return shutil.copytree(drawn, tmp_path / "results" / drawn.name)


@pytest.fixture
def another(monkeypatch: pytest.MonkeyPatch) -> None:
    """What draws here is another matplotlib than the one that drew the folder's pictures."""
    for name, value in ANOTHER.items():
        monkeypatch.setitem(STYLE, name, value)


def in_svg(old: str, new: str) -> Change:
    def change(content: bytes) -> bytes:
        text = re.sub(old, new, content.decode(), count=1)
        assert text != content.decode(), old
        return text.encode()

    return change


def with_another_letter(svg: bytes) -> bytes:
    """The first letter of a text becomes the last one of all."""
    letters = re.findall(rb"#DejaVuSans-[0-9a-f]+", svg)
    return svg.replace(letters[0], letters[-1], 1)


def with_chunk(kind: bytes) -> Change:
    """A PNG with one part more, as a moving one has."""
    part = struct.pack(">I", 8) + kind + bytes(8) + struct.pack(">I", zlib.crc32(kind + bytes(8)))
    return lambda png: png[:33] + part + png[33:]


def wipe(png: bytes) -> bytes:
    """Without what is drawn in its middle."""
    import io

    import numpy as np
    from matplotlib.image import imread, imsave

    pixels = np.array(imread(io.BytesIO(png)))
    height, width = pixels.shape[:2]
    pixels[height // 2 : height * 3 // 4, width // 4 : width * 3 // 4] = 1
    kept = io.BytesIO()
    imsave(kept, pixels, format="png", dpi=150)
    # As matplotlib writes our own: without what names its version.
    begin = kept.getvalue().index(b"tEXt") - 4
    (length,) = struct.unpack_from(">I", kept.getvalue(), begin)
    return kept.getvalue()[:begin] + kept.getvalue()[begin + 12 + length :]


def test_pictures_are_drawn_anew(pictured: Path, check: Check, drawing: None) -> None:
    assert "✓ pictures      2 files, drawn anew: the same bytes" in well(check(pictured)).out


def test_where_others_of_its_kind_are_the_same_one_that_is_not_is_told() -> None:
    drawn: dict[str, str | bytes] = {
        f"plots/{name}.{ending}": picture
        for name in ("matmul", "mlp")
        for ending, picture in (("svg", render_svg(HONEST)), ("png", render_png(HONEST)))
    }
    there = {name: one.encode() if isinstance(one, str) else one for name, one in drawn.items()}
    there["plots/mlp.svg"] = there["plots/mlp.svg"].replace(b"#222222", b"#222223")
    told = judge_pictures(there, drawn, [*drawn], {})
    assert told.troubles == (
        "plots/mlp.svg: is not what comes out, and of the other SVG files 1 came out the same to the byte",
    )
    del there["plots/matmul.svg"], there["plots/matmul.png"]
    told = judge_pictures(there, drawn, ["plots/mlp.svg", "plots/mlp.png"], {})
    assert (told.troubles, told.unsure) == ((), False)
    assert told.told.startswith("2 files, drawn anew: 1 by another version of matplotlib")


def test_another_matplotlib_is_no_tampering(
    pictured: Path, check: Check, drawing: None, another: None
) -> None:
    told = "2 files, drawn anew: 2 by another version of matplotlib, which look the same"
    assert f"✓ pictures      {told}" in well(check(pictured)).out


CHANGES: dict[str, tuple[str, Change, str]] = {
    "the words": ("svg", in_svg("<desc>", "<desc>Not "), "its title or description"),
    "a line": (
        "svg",
        in_svg(
            r'(clip-path="url\(#matmul-\d+\)" style="[^"]*)#0072B2'.replace("0072B2", "0072b2"),
            r"\1#d55e00",
        ),
        "looks different",
    ),
    "a letter": ("svg", with_another_letter, "is another text"),
    "an element more": ("svg", in_svg("</svg>", "<g /></svg>"), "elements, but"),
    "a script": ("svg", in_svg("</svg>", "<script>1</script></svg>"), "elements, but"),
    "an event": ("svg", in_svg('role="img"', 'role="img" onload="x()"'), "is another one"),
    "a style": ("svg", in_svg(r"\*\{", "*{opacity: 0; "), "is another one"),
    "no picture": ("svg", lambda _: b"<svg", "its title or description"),
    "something behind it": ("png", lambda png: png + b"more", "is no PNG"),
    "a part that moves": ("png", with_chunk(b"acTL"), "holds something else"),
    "half of it": ("png", lambda png: png[: len(png) // 2], "is no PNG"),
    "nothing": ("png", lambda _: b"", "is no PNG"),
    "a part wiped": ("png", wipe, "shows something else at"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_picture_is_found_also_by_another_matplotlib(
    name: str, pictured: Path, check: Check, drawing: None, another: None
) -> None:
    ending, change, told = CHANGES[name]
    picture = pictured / "plots" / f"matmul.{ending}"
    picture.write_bytes(change(picture.read_bytes()))
    pin_anew(pictured)
    shown = fail(check(pictured))
    assert f"plots/matmul.{ending}: " in shown
    assert told in shown


def test_where_nothing_can_be_drawn_it_is_neither_right_nor_wrong(
    pictured: Path, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "can_draw", lambda: False)
    told = "2 files; nothing can be drawn here, so what they show rests on manifest.sha256 alone"
    assert f"? pictures      {told}" in well(check(pictured)).out
    picture = pictured / "plots" / "matmul.svg"
    picture.write_bytes(picture.read_bytes().replace(b"<desc>", b"<desc>Not "))
    pin_anew(pictured)
    assert "plots/matmul.svg: its title or description" in fail(check(pictured))


def bars(*shares: float, label: str = "mlp.train, cpu") -> Picture:
    parts = dict(zip(("work", "dispatch", "input"), shares, strict=True))
    other = {"work": 0.5, "dispatch": 0.3, "input": 0.2}
    return Picture(
        name="decomposition",
        title="Where a step goes",
        caption="",
        alt="",
        tables=(),
        arms=("cpu",),
        banner="",
        content=Stacks(bars=(Bar(label=label, parts=parts), Bar(label="another", parts=other))),
    )


HONEST = bars(0.5, 0.3, 0.2)

OTHERWISE: dict[str, tuple[Picture, bool]] = {
    "the same": (HONEST, False),
    "a bar longer by a tenth": (bars(0.55, 0.27, 0.18), True),
    "a bar shorter by a fifth": (bars(0.4, 0.36, 0.24), True),
    "two parts changed places": (bars(0.3, 0.5, 0.2), True),
    "another label": (bars(0.5, 0.3, 0.2, label="mlp.train, gpu"), True),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_a_drawing_shows_is_compared(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, differs = OTHERWISE[name]
    svg, png = render_svg(shown).encode(), render_png(shown)
    for style in (STYLE, {**STYLE, **ANOTHER}):
        monkeypatch.setattr("suite.report.plots.sheet.STYLE", style)
        assert bool(find_drawn_otherwise(svg, render_svg(HONEST).encode())) is differs
        # Letters are no more than grey in a PNG: of one letter it can't be told.
        if name != "another label":
            assert bool(find_shown_otherwise(png, render_png(HONEST))) is differs
