"""Pictures drawn: their structure, their bytes, and that nothing runs out of them."""

from __future__ import annotations

import hashlib
import math
import pickle
import random
import re
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from matplotlib.text import Text

from suite.analysis.analyse import analyse
from suite.fingerprint import SUITE
from suite.flags import raise_flag
from suite.report.pages.gallery import depict
from suite.report.pages.machines import name_letter
from suite.report.pictures.picture import (
    Mark,
    Panel,
    Picture,
    Point,
    Ratios,
    Scatter,
    Span,
    Strip,
    Sweeps,
)
from suite.report.plots.files import draw, render_png, render_svg
from suite.report.plots.scatter import BEST, RING, find_bow
from suite.report.plots.sheet import look_of, own_style, pick_ticks
from tests.commands import run_python
from tests.gpus import make_gpus
from tests.kept import GPU_WELL, WELL, study_kept
from tests.kept import drop as fall
from tests.rendering import load
from tests.report.campaigns import NO_NUMBER, analyse_explained, analyse_made, change

SVG = "{http://www.w3.org/2000/svg}"
HREF = "{http://www.w3.org/1999/xlink}href"
HOSTILE = "<script>alert(1)</script> $x^2$ ]]> & \u202e\x1b[31m \U0001f4a3 \\n"

NAMES = ("ratios", "matmul", "decomposition", "asked", "samples", "eight GPUs", "troubled", "hot")
CROWDED = ("three arms, mlp", "three arms, pipelines", "ratios of eight GPUs")
MACHINES = ("2 machines", "3 machines", "12 machines", "30 machines", "2 rows", "30 rows")


@cache
def make_pictures() -> dict[str, Picture]:
    """One of every kind, and those in which something is amiss."""
    full = analyse_explained()
    pictures = {picture.name: picture for picture in depict(full)}
    three = depict(analyse_made("both", ("cpu", "cuda", "cuda-hidden")))
    pictures |= {f"three arms, {picture.name}": picture for picture in three}
    gpus = analyse(load(*make_gpus({str(device): 1.0 + device / 50 for device in range(8)})))
    pictures["ratios of eight GPUs"], pictures["eight GPUs"] = depict(gpus)[:2]
    lost = change(full, full.cells[2].id, "cuda", **NO_NUMBER)
    struck = (raise_flag("changed", {"arm": "cpu"}, what="image"),)
    lost = change(lost, lost.cells[4].id, "cpu", flags=struck)
    pictures["troubled"] = depict(lost)[1]
    pictures["samples"] = make_strips(pictures["matmul"])
    pictures["hot"] = replace(depict_kept(), banner="SIMULATED")
    for name in MACHINES:
        number, what = name.split()
        pictures[name] = make_machines(pictures["matmul"], int(number), priced=what == "machines")
    return pictures


def depict_kept() -> Picture:
    """Of two arms: one throttles, and the copies of the other get faster than they began."""
    throttled = replace(GPU_WELL, share=fall(40.0, 1.0, 0.6))
    faster = replace(WELL, share=fall(20.0, 1.0, 1.9))
    kept = study_kept(
        cpu={"product": WELL, "copy": faster}, cuda={"product": throttled, "copy": GPU_WELL}
    )
    return depict(kept)[-1]


def make_machines(like: Picture, number: int, *, priced: bool) -> Picture:
    """So many machines at random, of which some tie with the next one, and the last is as the first."""
    draw = random.Random(number)
    labels = list(map(name_letter, range(1, number + 1)))
    points = {}
    for label in labels:
        cost, rate = math.exp(draw.gauss(-2, 0.6)), math.exp(draw.gauss(14, 0.8))
        points[label] = Point(
            name=f"{label}{HOSTILE}" if label == "B" else f"{label.lower()}-machine.large, spot",
            across=Mark(value=rate, low=rate / 1.1, high=rate * 1.1),
            up=Mark(value=cost, low=cost / 1.1, high=cost * 1.1) if priced else None,
            best=draw.random() < 0.2,
        )
    points[labels[-1]] = points[labels[0]]
    ties = [*zip(labels[::2], labels[1::2], strict=False), (labels[0], labels[-1])]
    content = Scatter(
        points=points,
        ties=tuple(dict.fromkeys(ties)),
        across="examples/s",
        up="USD for a million examples" if priced else "",
    )
    return replace(like, name="compare-1", arms=(), content=content)


def make_strips(like: Picture) -> Picture:
    """As many invocations as a campaign can have of two arms; one does not count, one has one sample."""
    every = [
        Strip(
            label=f"{block}-r1" if block == 3 else f"{block}",
            warmup=(3e-5, 2e-5),
            samples=(1e-5,) if block == 4 else (9e-6, 1e-5, 1.1e-5, 1e-5),
            start=0 if block == 4 else 1,
            counts=block not in {0, 3},
            value=None if block in {0, 3} else 1e-5,
        )
        for block in range(21)
    ]
    return replace(like, name="samples", content={"cpu": tuple(every), "cuda": tuple(every[:3])})


@pytest.fixture(autouse=True)
def _styled() -> Iterator[None]:
    with own_style():
        yield


def find_texts(figure: Figure) -> list[Text]:
    texts = (text for text in figure.findobj(Text) if isinstance(text, Text))
    return [text for text in texts if text.get_visible() and text.get_text().strip()]


def list_words(figure: Figure) -> list[str]:
    return [text.get_text() for text in find_texts(figure)]


@cache
def make_svg(name: str) -> str:
    return render_svg(make_pictures()[name])


@cache
def make_png(name: str) -> bytes:
    return render_png(make_pictures()[name])


@pytest.mark.parametrize("name", ["ratios", "matmul"])
def test_axes_name_no_place(name: str) -> None:
    picture = make_pictures()[name]
    content = picture.content
    assert isinstance(content, Ratios | Sweeps)
    panels = tuple(replace(panel, axis="n in /home/mallory/n") for panel in content.panels)
    private = replace(content, label="times /home/mallory/cpu", panels=panels)  # type: ignore[arg-type]
    words = " ".join(list_words(draw(replace(picture, content=private))))
    assert "times hidden-" in words
    assert "n in hidden-" in words
    assert "mallory" not in words


@cache
def make_figure(name: str) -> Figure:
    """For those that look at it alone."""
    return draw(make_pictures()[name])


@pytest.mark.processes
def test_another_process_gives_the_same_bytes_and_nothing_but_drawing_loads_the_library(
    tmp_path: Path,
) -> None:
    """Nor do somebody's settings, in the folder or the home, reach a picture."""
    (tmp_path / "matplotlibrc").write_text("lines.linewidth: 9\nfont.size: 30\n")
    (tmp_path / "picture").write_bytes(pickle.dumps(make_pictures()["decomposition"]))
    program = """
        import hashlib, pickle, sys
        import suite.cli.entry
        assert "matplotlib" not in sys.modules
        from suite.report.plots import render_png, render_svg
        picture = pickle.load(open("picture", "rb"))
        drawn = render_svg(picture).encode() + render_png(picture)
        print(hashlib.sha256(drawn).hexdigest())
    """
    env = {"PYTHONHASHSEED": "123", "PYTHONPATH": str(SUITE.parent), "LC_ALL": "C"}
    done = run_python("-c", textwrap.dedent(program), folder=tmp_path, env=env)
    drawn = make_svg("decomposition").encode() + make_png("decomposition")
    assert done.stdout.split() == [hashlib.sha256(drawn).hexdigest()], done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_an_svg_stands_on_its_own(name: str) -> None:
    picture, text = make_pictures()[name], make_svg(name)
    root = ET.fromstring(text)  # noqa: S314  it is ours
    title, description = root[0], root[1]
    assert (title.tag, title.text) == (f"{SVG}title", picture.title)
    assert (description.tag, description.text) == (f"{SVG}desc", picture.caption)
    tags = {element.tag for element in root.iter()}
    assert not tags & {f"{SVG}script", f"{SVG}image", f"{SVG}foreignObject", f"{SVG}metadata"}
    for element in root.iter():
        assert element.get(HREF, "#").startswith("#")
        assert not any(key.startswith("on") for key in element.attrib)
        assert all("url(" not in v or "url(#" in v for v in element.attrib.values())
    assert "<!" not in text
    assert "matplotlib.org" not in text
    assert "Matplotlib v" not in text
    assert len(text) < 400_000
    # The library's own ids are hashes of coordinates that no two kinds of processor round alike.
    ids = re.findall(r' id="([^"]+)"', text)
    assert not [name for name in ids if re.fullmatch(r"[a-z][0-9a-f]{10}", name)]
    numbered = [name for name in ids if re.fullmatch(rf"{picture.name}-\d+", name)]
    assert numbered == [f"{picture.name}-{n}" for n in range(1, len(numbered) + 1)]
    used = set(re.findall(r'(?:url\(|href=")#([^")]+)', text))
    assert set(numbered) <= used <= set(ids)


@pytest.mark.parametrize("name", ["decomposition", "samples"])
def test_a_png_says_neither_when_nor_by_what(name: str) -> None:
    content = make_png(name)
    assert content.startswith(b"\x89PNG")
    assert b"matplotlib" not in content.lower()
    assert b"tEXt" not in content
    assert len(content) < 250_000


@pytest.mark.parametrize("name", [*NAMES, *CROWDED, *MACHINES])
def test_all_that_is_written_lies_inside_and_nothing_lies_on_another(name: str) -> None:
    figure = make_figure(name)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    width, height = figure.bbox.size
    assert "SIMULATED" in list_words(figure)
    boxes = []
    for text in find_texts(figure):
        box = text.get_window_extent(renderer)
        assert 0 <= box.x0 <= box.x1 <= width, text.get_text()
        assert 0 <= box.y0 <= box.y1 <= height, text.get_text()
        boxes.append((box.shrunk(0.9, 0.9), text.get_text()))
    for (box, words), (other, beside) in combinations(boxes, 2):
        assert not box.overlaps(other), (words, beside)


@pytest.mark.parametrize("name", MACHINES)
def test_every_machine_has_its_letter_and_every_tie_its_line_or_ring(name: str) -> None:
    content, figure = make_pictures()[name].content, make_figure(name)
    assert isinstance(content, Scatter)
    (axes,) = figure.axes
    letters = [words.partition(" ")[0] for words in list_words(figure)]
    assert set(content.points) <= set(letters)
    rings = [line for line in axes.lines if line.get_markersize() == RING]
    lines = [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
    assert len(lines) + len(rings) == len(content.ties)
    # The last machine has the first one's place, where a line could not be seen.
    assert len(rings) == (1 if content.up else 0)
    full = [line for line in axes.lines if (line.get_marker(), line.get_color()) == ("o", BEST)]
    assert len(full) == sum(point.best for point in content.points.values())


def test_a_line_between_two_passes_by_a_third() -> None:
    first, second, between = (np.array([x, 0.0]) for x in (0.0, 100.0, 50.0))
    apart = []
    for others in ([], [np.array([50.0, -12.5])], [between, np.array([50.0, 12.5])]):
        _, line = find_bow(first, second, others=others)
        apart += [np.hypot(*(line - other).T).min() for other in others]
        assert (line[0] == first).all()
        assert (line[-1] == second).all()
    assert min(apart) > 5


def test_a_sweep_is_drawn_on_logarithms_with_its_crossover() -> None:
    figure = make_figure("matmul")
    (axes,) = figure.axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    texts = list_words(figure)
    assert {"cpu", "cuda"} <= set(texts)
    assert any(text.startswith("cuda wins from ") for text in texts)
    assert {line.get_marker() for line in axes.lines} >= {"o", "s"}
    strokes = {str(line.get_linestyle()) for line in axes.lines if line.get_marker() in {"o", "s"}}
    assert len(strokes) == 2


def test_what_was_kept_going_lies_within_its_panels_which_begin_at_no_rate() -> None:
    figure = make_figure("hot")
    products, copies, *below = figure.axes
    assert len(below) == 6
    for axes in figure.axes:
        low, high = axes.get_ylim()
        lines = [line for line in axes.get_lines() if len(line.get_xdata()) > 2]
        values = [value for line in lines for value in np.asarray(line.get_ydata(), dtype=float)]
        assert all(low <= value <= high for value in values if not math.isnan(value))
    assert products.get_ylim()[0] == 0.0
    uprights = [line for line in products.get_lines() if len(line.get_xdata()) == 2]
    assert [float(np.asarray(line.get_xdata())[0]) for line in uprights] == pytest.approx(
        [40], abs=2
    )
    assert not [line for line in copies.get_lines() if len(line.get_xdata()) == 2]


def test_sensors_that_tell_anything_are_drawn() -> None:
    wild = replace(WELL, series={"cpu.clock_mhz": fall(30, -1e308, 1e308)})
    figure = draw(depict(study_kept(cpu={"product": wild}))[-1])
    FigureCanvasAgg(figure).draw()
    assert len(figure.axes) == 2


def test_sixteen_arms_look_different() -> None:
    arms = tuple(f"cuda:{device}" for device in range(16))
    picture = replace(make_pictures()["samples"], arms=arms)
    assert len({str(look_of(picture, arm)) for arm in arms}) == 16


def test_invalid_marks_are_hollow_and_crossed_and_lines_end_there() -> None:
    (axes,) = make_figure("troubled").axes
    hollow = [
        line
        for line in axes.lines
        if line.get_markerfacecolor() == "white" or line.get_marker() == "x"
    ]
    for line in hollow:
        assert line.get_linestyle() == "None"
        assert count_numbers(line) == 1
    assert len(hollow) == 2
    full = [line for line in axes.lines if line.get_marker() in {"o", "s"} and line not in hollow]
    assert [count_numbers(line) for line in full] == [7, 7]
    (dash,) = [line for line in axes.lines if line.get_markersize() == 12 and count_numbers(line)]
    assert dash.get_marker() == "_"


def count_numbers(line: Line2D) -> int:
    return sum(math.isfinite(float(value)) for value in line.get_ydata())  # type: ignore[union-attr]


def draw_sweep(*values: float, low: float | None, words: str = "t") -> None:
    """Draws values with intervals from ``low`` times each on; ``words`` stand wherever words can."""
    panel = Panel(
        title=words,
        axis=words,
        places=tuple(2.0**i for i in range(len(values))),
        marks={
            words: tuple(Mark(value=v, low=low and v * low, high=low and v / low) for v in values)
        },
        spans=(Span(low=None, high=1.5, label="x"), Span(low=1.2, high=None, label="y")),
    )
    picture = Picture(
        name="matmul",
        title=words,
        caption=words,
        tables=(),
        arms=(words,),
        banner=words,
        content=Sweeps(unit="s", label=words, panels=(panel,)),
    )
    root = ET.fromstring(render_svg(picture))  # noqa: S314  it is ours
    assert not list(root.iter(f"{SVG}script"))
    assert root[0].text
    assert root[0].text.isprintable()


@pytest.mark.parametrize(
    ("values", "low"), [((1e-300,), 1e-9), ((1e-300, 1e300), 0.5), ((1.0, 1.0, 2.0), None)]
)
def test_the_farthest_values_and_any_words_can_be_drawn(
    values: tuple[float, ...], low: float | None
) -> None:
    draw_sweep(*values, low=low, words=HOSTILE)


@pytest.mark.method
@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=6),
    st.sampled_from([None, 1e-9, 0.5, 1.0]),
)
def test_any_values_can_be_drawn(values: list[float], low: float | None) -> None:
    draw_sweep(*values, low=low)


@settings(max_examples=50, deadline=None)
@given(st.floats(1e-12, 1e12), st.floats(1.001, 1e20))
def test_ticks_are_round_few_and_inside(low: float, times: float) -> None:
    ticks = pick_ticks(low, low * times)
    assert 1 <= len(ticks) <= 10
    assert all(low <= tick <= low * times * 1.0000001 for tick in ticks)
    assert ticks == sorted(ticks)
