"""A changed picture is found where pictures can be drawn, and told apart from another matplotlib's."""

from __future__ import annotations

import io
import re
import shutil
import struct
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread, imsave

from suite.cli.receipts import check as checks
from suite.cli.receipts import drawings
from suite.cli.receipts.pictures import judge_pictures
from suite.cli.receipts.svg import read_svg
from suite.cli.run_campaign import write_reports
from suite.host.campaign.store import Store
from suite.report.pictures.picture import Bar, Picture
from suite.report.plots import letters
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
    folder = shutil.copytree(finished, tmp_path_factory.mktemp("drawn") / finished.name)
    write_reports(Store(folder))
    return folder


@pytest.fixture
def pictured(tmp_path: Path, drawn: Path) -> Path:
    return shutil.copytree(drawn, tmp_path / "results" / drawn.name)


def read_pictures(folder: Path) -> dict[str, bytes]:
    return {f"plots/{path.name}": path.read_bytes() for path in (folder / "plots").iterdir()}


@pytest.fixture(scope="module")
def redrawn(tmp_path_factory: pytest.TempPathFactory, finished: Path) -> dict[str, bytes]:
    """The same pictures as another matplotlib draws them."""
    folder = shutil.copytree(finished, tmp_path_factory.mktemp("redrawn") / finished.name)
    with pytest.MonkeyPatch.context() as patched:
        for name, value in ANOTHER.items():
            patched.setitem(STYLE, name, value)
        write_reports(Store(folder))
    return read_pictures(folder)


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


@cache
def read_ligatures() -> drawings.Ligatures:
    return drawings.read_ligatures(letters.render_letters(), letters.LETTERS, letters.JOINED)


def find_drawn_otherwise(here: bytes, anew: bytes) -> str | None:
    return drawings.find_drawn_otherwise(here, anew, read_ligatures())


def with_another_letter(svg: bytes) -> bytes:
    """The first letter of a text becomes the last one of all."""
    letters = re.findall(rb"#DejaVuSans-[0-9a-f]+", svg)
    return svg.replace(letters[0], letters[-1], 1)


def with_chunk(kind: bytes) -> Change:
    """A PNG with one part more, as a moving one has."""
    part = struct.pack(">I", 8) + kind + bytes(8) + struct.pack(">I", zlib.crc32(kind + bytes(8)))
    return lambda png: png[:33] + part + png[33:]


def on_pixels(change: Callable[[Any], None]) -> Change:
    """A PNG with other pixels, of which each is red, green, blue and alpha, of 1."""

    def changed(png: bytes) -> bytes:
        pixels = np.array(imread(io.BytesIO(png)))
        change(pixels)
        return as_ours(pixels)

    return changed


def wipe(pixels: Any) -> None:
    """Nothing is drawn in the middle."""
    height, width = pixels.shape[:2]
    pixels[height // 2 : height * 3 // 4, width // 4 : width * 3 // 4] = 1


def see_through(pixels: Any) -> None:
    """What is drawn in the middle has its colours and is not seen."""
    height, width = pixels.shape[:2]
    pixels[height // 2 : height * 3 // 4, width // 4 : width * 3 // 4, 3] = 0


def touch(pixels: Any) -> None:
    """A pixel that differs and is not seen."""
    pixels[0, 0, :3] -= 1 / 255


def as_ours(pixels: Any) -> bytes:
    kept = io.BytesIO()
    imsave(kept, pixels, format="png", dpi=150)
    # As matplotlib writes our own: without what names its version.
    begin = kept.getvalue().index(b"tEXt") - 4
    (length,) = struct.unpack_from(">I", kept.getvalue(), begin)
    return kept.getvalue()[:begin] + kept.getvalue()[begin + 12 + length :]


def test_pictures_are_drawn_anew(pictured: Path, check: Check, drawing: None) -> None:
    assert "✓ pictures      2 files, drawn anew: the same bytes" in well(check(pictured)).out


def as_drawn(*names: str) -> dict[str, bytes]:
    """An honest picture under these names, each as SVG and as PNG."""
    files = list(zip(("svg", "png"), draw_honest("here"), strict=True))
    return {f"plots/{name}.{end}": content for name in names for end, content in files}


TOUCHED: dict[str, tuple[tuple[str, ...], dict[str, Change], list[str]]] = {
    "an SVG beside another": (
        ("matmul", "mlp"),
        {"mlp.svg": in_svg("#222222", "#222223")},
        ["mlp.svg"],
    ),
    # As matplotlib 3.9 and 3.10 draw the same PNGs, and other SVGs.
    "the only SVG": (("mlp",), {"mlp.svg": in_svg("#222222", "#222223")}, []),
    "a PNG beside another": (("matmul", "mlp"), {"mlp.png": on_pixels(touch)}, ["mlp.png"]),
    "a letter in the only PNG": (
        ("mlp",),
        {"mlp.png": lambda _: render_png(bars(0.5, 0.3, 0.2, label="mlp.train, cpa"))},
        ["mlp.png"],
    ),
    "a letter in one PNG, a pixel in the other": (
        ("matmul", "mlp"),
        {
            "matmul.png": on_pixels(touch),
            "mlp.png": lambda _: render_png(bars(0.5, 0.3, 0.2, label="mlp.train, cpa")),
        },
        ["mlp.png"],
    ),
    "both PNGs packed otherwise": (
        ("matmul", "mlp"),
        {"matmul.png": on_pixels(touch), "mlp.png": on_pixels(touch)},
        [],
    ),
}


@pytest.mark.parametrize("name", TOUCHED)
def test_a_picture_that_is_the_same_to_the_byte_vouches_for_all(name: str) -> None:
    names, changes, wrong = TOUCHED[name]
    drawn = as_drawn(*names)
    there = {**drawn}
    for file, change in changes.items():
        there[f"plots/{file}"] = change(there[f"plots/{file}"])
    found = judge_pictures(there, drawn, [*drawn], {})
    assert [trouble.partition(":")[0] for trouble in found.troubles] == [
        f"plots/{x}" for x in wrong
    ]
    assert not found.unsure
    if not wrong:
        number = len(drawn)
        packed = f"{number} files, drawn anew: 2 packed otherwise, with the same pixels"
        older = (
            f"{number} files, drawn anew: 1 by another version of matplotlib, which look the same"
        )
        assert found.told.startswith(older if "mlp.svg" in changes else packed)


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
    "no picture": ("svg", lambda _: b"<svg", "can't be read as SVG"),
    "something behind it": ("png", lambda png: png + b"more", "is not a PNG"),
    "a part that moves": ("png", with_chunk(b"acTL"), "holds something else"),
    "half of it": ("png", lambda png: png[: len(png) // 2], "is not a PNG"),
    "nothing": ("png", lambda _: b"", "is not a PNG"),
    "a part wiped": ("png", on_pixels(wipe), "shows something else at"),
    "a part made transparent": ("png", on_pixels(see_through), "is transparent where"),
    "a style sheet": (
        "svg",
        lambda svg: b'<?xml-stylesheet href="data:text/css,path{display:none}"?>' + svg,
        "holds an instruction",
    ),
    "a document type": ("svg", lambda svg: b"<!DOCTYPE svg>" + svg, "holds an instruction"),
    "another encoding": (
        "svg",
        lambda svg: svg.decode().encode("utf-16"),
        "is no UTF-8",
    ),
    "axes without a background": (
        "svg",
        in_svg(r'(?s)<g id="axes_1">.*</g>', '<g id="axes_1"/>'),
        "is not a picture that was drawn here",
    ),
    "a style where no one looks": (
        "svg",
        in_svg(r"(translate[^>]*>\s*<defs>)", r"\1<style>use{opacity: 0}</style>"),
        "holds something besides",
    ),
    "a letter that changes": (
        "svg",
        in_svg(r'(<use xlink:href="#DejaVuSans[^>]*) />', r"\1><set to='x' /></use>"),
        "holds something besides",
    ),
    "a second reference": (
        "svg",
        in_svg(r"<use xlink:href", "<use href='#x' xlink:href"),
        "holds something that is no SVG",
    ),
    "another language": (
        "svg",
        in_svg(r"<path ", "<path xmlns='x' "),
        "holds something that is no SVG",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_picture_is_found_also_by_another_matplotlib(
    name: str, drawn: Path, redrawn: dict[str, bytes]
) -> None:
    ending, change, told = CHANGES[name]
    there = read_pictures(drawn)
    assert there.keys() == redrawn.keys()
    texts = [
        one for one in read_svg(there["plots/matmul.svg"]) if one.tag.endswith(("title", "desc"))
    ]
    words = {"plots/matmul.svg": [str(one.text) for one in texts]}
    changed = f"plots/matmul.{ending}"
    there[changed] = change(there[changed])
    troubles = judge_pictures(there, redrawn, [*redrawn], words).troubles
    assert {trouble.partition(":")[0] for trouble in troubles} == {changed}
    assert any(told in trouble for trouble in troubles)


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
        content=(Bar(label=label, parts=parts), Bar(label="another", parts=other)),
    )


HONEST = bars(0.5, 0.3, 0.2)
STYLES = {"here": STYLE, "elsewhere": {**STYLE, **ANOTHER}}


@cache
def draw_honest(where: str) -> tuple[bytes, bytes]:
    """The honest picture as SVG and as PNG, as matplotlib draws it there."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("suite.report.plots.sheet.STYLE", STYLES[where])
        return render_svg(HONEST).encode(), render_png(HONEST)


OTHERWISE: dict[str, tuple[Picture, bool]] = {
    "the same": (HONEST, False),
    "a bar longer by a tenth": (bars(0.55, 0.27, 0.18), True),
    "a bar shorter by a fifth": (bars(0.4, 0.36, 0.24), True),
    "two parts changed places": (bars(0.3, 0.5, 0.2), True),
    "another label": (bars(0.5, 0.3, 0.2, label="mlp.train, gpu"), True),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_a_drawing_shows_is_compared(name: str) -> None:
    shown, differs = OTHERWISE[name]
    svg, png = render_svg(shown).encode(), render_png(shown)
    for honest_svg, honest_png in map(draw_honest, STYLES):
        assert bool(find_drawn_otherwise(svg, honest_svg)) is differs
        # Letters are no more than grey in a PNG: of one letter it can't be told.
        if name != "another label":
            assert bool(find_shown_otherwise(png, honest_png)) is differs
