"""What matplotlib joins to one outline is the same text, and nothing else that is drawn in its place."""

from __future__ import annotations

import re

import pytest

from suite.report.plots import letters
from suite.report.plots.files import render_svg
from tests.cli.receipts.test_drawings import bars, find_drawn_otherwise


def as_two_letters(svg: bytes, letters_of: tuple[str, ...] = ("f", "i")) -> bytes:
    """The first fi of a text that is drawn as one outline, drawn as two, as matplotlib did until 3.10."""
    known = letters.render_letters().decode()
    uses = re.findall(r'href="#(DejaVuSans-[0-9a-f]+)"', known)
    name = dict(zip(letters.LETTERS, uses, strict=False))
    paths = {x: re.search(rf'<path id="{name[x]}"[^>]*>', known) for x in ("f", "i", "l")}
    ligature = name["\ufb01"]
    use = rf'<use xlink:href="#{ligature}" transform="translate\(([\d.]+) 0\)" />'
    place = re.search(use, svg.decode())
    assert place
    assert all(paths.values())
    at = float(place[1])
    defined = "".join(str(path[0]) for path in paths.values() if path)
    drawn = "".join(
        f'<use xlink:href="#{name[letter]}" transform="translate({at + 35.2 * number} 0)" />'
        for number, letter in enumerate(letters_of)
    )
    return svg.replace(place[0].encode(), f"<defs>{defined}</defs>{drawn}".encode(), 1)


@pytest.fixture(scope="module")
def joined() -> bytes:
    """A picture with a text in which matplotlib joins two letters."""
    return render_svg(bars(0.5, 0.3, 0.2, label="pro\ufb01le 9.9")).encode()


def test_what_is_joined_in_one_release_alone_is_the_same_text(joined: bytes) -> None:
    apart = as_two_letters(joined)
    assert apart != joined
    assert find_drawn_otherwise(joined, apart) is None
    assert find_drawn_otherwise(apart, joined) is None


@pytest.mark.parametrize(
    "letters_of", [("i", "f"), ("f", "l"), ("f",), ("f", "i", "i"), ("f", "f", "i")]
)
def test_only_the_letters_that_are_joined_stand_for_it(
    letters_of: tuple[str, ...], joined: bytes
) -> None:
    forged = as_two_letters(joined, letters_of)
    for known in (joined, as_two_letters(joined)):
        assert "is another text" in str(find_drawn_otherwise(forged, known))


@pytest.mark.parametrize("number", [2, 3])
def test_a_glyph_of_ones_own_stands_for_no_letters(number: int, joined: bytes) -> None:
    text = joined.decode()
    use = r'<use xlink:href="#DejaVuSans-[0-9a-f]+"(?: transform="translate\([\d.]+ 0\)")? />\s*'
    place = re.search(rf"({use})(?:{use}){{{number - 1}}}(?=</g>)", text)
    assert place
    own = "<defs><path id='own' d='M 1 1 L 9 9 z' transform='scale(0.015625)'/></defs>"
    glyph = own + re.sub('#[^"]*', "#own", place[1])
    forged = text.replace(place[0], glyph, 1).encode()
    assert "is another text" in str(find_drawn_otherwise(forged, joined))
    assert "is another text" in str(find_drawn_otherwise(forged, as_two_letters(joined)))


def test_letters_of_a_text_with_a_ligature_stay_where_they_are(joined: bytes) -> None:
    apart = as_two_letters(joined).decode()
    end = apart.rindex("<use", 0, apart.index("</g>", apart.index("</defs><use xlink")))
    moved = apart[:end] + re.sub(r"translate\([\d.]+", "translate(5", apart[end:], count=1)
    assert "has its letters elsewhere" in str(find_drawn_otherwise(moved.encode(), joined))
