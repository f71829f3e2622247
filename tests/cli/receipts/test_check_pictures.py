"""A changed picture is found where this matplotlib drew it; of another's only the words can be checked."""

from __future__ import annotations

import io
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imsave

from suite.cli.receipts import check as checks
from suite.cli.receipts.check_result import CheckResult
from suite.cli.receipts.pictures import judge_pictures
from suite.cli.run_campaign import write_reports
from suite.host.campaign.store import Store
from tests.cli.receipts.test_check import pin_anew
from tests.cli.shell import Heard, fail, well

Check = Callable[..., Heard]
Change = Callable[[bytes], bytes]

WORDS = ("A title", "What it shows: 5 ms.")
SVG = (
    f'<svg xmlns="http://www.w3.org/2000/svg"><title>{WORDS[0]}</title><desc>{WORDS[1]}</desc>'
    '<path d="M 0 0"/></svg>'
).encode()


def render(pixels: Any) -> bytes:
    buffer = io.BytesIO()
    imsave(buffer, pixels, format="png")
    return buffer.getvalue()


def on_pixels(where: tuple[slice, ...], value: float) -> Change:
    """The PNG with another value there, of 1: by row, column and colour (the fourth is alpha)."""

    def change(_: bytes) -> bytes:
        pixels = PIXELS.copy()
        pixels[where] = value
        return render(pixels)

    return change


PIXELS = np.ones((40, 60, 4))
PIXELS[10:20, 10:40, :3] = (0.0, 0.4, 0.7)
PNG = render(PIXELS)
DRAWN = {"plots/a.svg": SVG, "plots/a.png": PNG, "plots/b.svg": SVG, "plots/b.png": PNG}


def judge(there: dict[str, bytes], drawn: dict[str, bytes]) -> CheckResult:
    words = {name: WORDS for name in drawn if name.endswith(".svg")}
    return judge_pictures(there, drawn, [*drawn], words)


def with_chunk(png: bytes) -> bytes:
    """A PNG with one part more, as a moving one has."""
    part = b"acTL" + bytes(8)
    return png[:33] + struct.pack(">I", 8) + part + struct.pack(">I", zlib.crc32(part)) + png[33:]


def in_svg(old: bytes, new: bytes) -> Change:
    assert old in SVG
    return lambda svg: svg.replace(old, new)


CHANGES: dict[str, tuple[dict[str, Change], list[str]]] = {
    "nothing": ({}, []),
    "a line": ({"b.svg": in_svg(b"M 0 0", b"M 0 1")}, ["b.svg: is not what comes out, and of the"]),
    "a pixel of one": (
        {"b.png": on_pixels((slice(1), slice(1)), 0.99)},
        ["b.png: is not what comes out, and of the other PNG files 1 came out the same"],
    ),
}
PACKED = {"a.png": on_pixels((slice(0, 1), slice(0, 1), slice(3)), 0.99)}
CHANGES["both packed otherwise"] = ({**PACKED, "b.png": PACKED["a.png"]}, [])
CHANGES |= {
    f"{name}, the other packed otherwise": ({**PACKED, "b.png": change}, [f"b.png: {trouble}"])
    for name, change, trouble in (
        ("a part wiped", on_pixels((slice(12, 18), slice(12, 30)), 1), "shows something else at"),
        (
            "a part transparent",
            on_pixels((slice(12, 18), slice(12, 30), slice(3, 4)), 0),
            "is transparent where",
        ),
        ("something behind it", lambda png: png + b"more", "is not a PNG"),
        ("a part that moves", with_chunk, "holds something else"),
        ("another size", lambda _: render(PIXELS[1:]), "holds something else"),
        ("half of it", lambda png: png[: len(png) // 2], "is not a PNG"),
        ("no file", lambda _: b"", "is not a PNG"),
    )
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_picture_that_is_the_same_to_the_byte_vouches_for_all(name: str) -> None:
    changes, troubles = CHANGES[name]
    there = {**DRAWN} | {f"plots/{n}": change(DRAWN[f"plots/{n}"]) for n, change in changes.items()}
    result = judge(there, DRAWN)
    assert len(result.troubles) == len(troubles)
    for found, trouble in zip(result.troubles, troubles, strict=True):
        assert found.startswith(f"plots/{trouble}")
    assert not result.unsure
    told = "2 packed otherwise, with the same pixels" if changes else "the same bytes"
    if not troubles:
        assert result.text == f"4 files, drawn anew: {told}"


def test_a_picture_too_many_or_too_few_is_found() -> None:
    there = {**DRAWN, "plots/c.svg": SVG}
    del there["plots/a.png"]
    assert judge(there, DRAWN).troubles == (
        "plots/a.png: is missing",
        "plots/c.svg: is not a picture of this report",
    )


ANOTHER = {name: content.replace(b"M 0 0", b"M 0 .0") + b" " for name, content in DRAWN.items()}
"""The pictures as another matplotlib draws them."""


def test_of_what_another_matplotlib_drew_the_words_are_checked() -> None:
    rest = "so what is drawn rests on manifest.sha256 alone"
    assert judge(ANOTHER, DRAWN) == CheckResult(
        name="pictures",
        text=f"4 files, drawn anew: 4 by another version of matplotlib, {rest}",
        unsure=True,
    )
    # As 3.9 and 3.10, which draw the same PNGs.
    pngs = {name: content for name, content in DRAWN.items() if name.endswith(".png")}
    result = judge({**ANOTHER, **pngs}, DRAWN)
    assert (result.troubles, result.unsure) == ((), True)
    assert "2 by another version of matplotlib" in result.text


@pytest.mark.parametrize(
    ("change", "trouble"),
    [
        (in_svg(b"<desc>", b"<desc>Not "), "its title or caption is not what comes out"),
        (lambda _: b"<svg", "can't be read as SVG"),
        (lambda svg: svg.decode().encode("utf-16"), "can't be read as SVG"),
        (lambda svg: b"<!DOCTYPE svg>" + svg, "can't be read as SVG"),
    ],
)
def test_changed_words_are_found_also_by_another_matplotlib(change: Change, trouble: str) -> None:
    there = {**ANOTHER, "plots/a.svg": change(SVG)}
    assert judge(there, DRAWN).troubles == (f"plots/a.svg: {trouble}",)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory, finished: Path) -> Path:
    """A finished campaign with pictures; made once."""
    folder = shutil.copytree(finished, tmp_path_factory.mktemp("drawn") / finished.name)
    write_reports(Store(folder))
    return folder


def test_pictures_are_drawn_anew(drawn: Path, check: Check, drawing: None) -> None:
    assert "✓ pictures      4 files, drawn anew: the same bytes" in well(check(drawn)).out


def test_where_nothing_can_be_drawn_it_is_neither_right_nor_wrong(
    tmp_path: Path, drawn: Path, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(drawn, tmp_path / drawn.name)
    monkeypatch.setattr(checks, "can_draw", lambda: False)
    told = "4 files, nothing can be drawn here, so what is drawn rests on manifest.sha256 alone"
    assert f"? pictures      {told}" in well(check(folder)).out
    picture = folder / "plots" / "matmul.svg"
    picture.write_bytes(picture.read_bytes().replace(b"<desc>", b"<desc>Not "))
    pin_anew(folder)
    assert "plots/matmul.svg: its title or caption" in fail(check(folder))
