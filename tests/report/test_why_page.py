"""Why a script is slow, as people read it: made-up answers, and each sentence where it is true and where not.

``UPDATE_GOLDEN=1 pytest tests/report/test_why_page.py`` writes the pages anew.  Read the difference.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import get_args

import pytest
from msgspec import structs

from suite.analysis.documents.read import read_answer
from suite.analysis.result.why import Answer, Standing, TryStanding
from suite.model.why import Cause, Training
from suite.report.pages.why import compose_why_screen
from suite.report.pictures.picture import Dots
from suite.report.pictures.why import depict_why
from suite.report.produce import build_report, draw
from suite.report.render.terminal import render_lines
from suite.report.text.texts import TEXTS
from tests.golden_campaigns import GOLDEN
from tests.report.answers import ANSWERS, attempt, estimate, speed

FOLDER = GOLDEN / "why"


@pytest.mark.parametrize("name", ANSWERS)
def test_the_pages_are_the_committed_ones(name: str) -> None:
    report = build_report(ANSWERS[name]())
    assert tuple(report.files) == ("why.json", "why.md")
    pages = {f"{name}.md": report.files["why.md"], f"{name}.txt": f"{report.terminal}\n"}
    for file, text in pages.items():
        if os.environ.get("UPDATE_GOLDEN"):
            (FOLDER / file).write_text(text, encoding="utf-8")
        assert text == (FOLDER / file).read_text(encoding="utf-8"), file


@pytest.mark.parametrize("name", ANSWERS)
def test_one_screen_holds_it_and_what_is_made_up_says_so(name: str) -> None:
    whole = render_lines(compose_why_screen(ANSWERS[name]()))
    assert len(whole.splitlines()) <= 24
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 22
    assert max(map(len, text.splitlines())) <= 100
    page = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert page.splitlines()[0].count("SIMULATED") == 1
    assert page.count("**SIMULATED") == page.count("Table: ")


@pytest.mark.parametrize("name", ANSWERS)
def test_the_page_is_made_of_its_file_alone(name: str) -> None:
    report = build_report(ANSWERS[name]())
    again = read_answer(report.files["why.json"])
    assert build_report(again).files == report.files


SENTENCES = {
    "nothing that we tried makes this faster here: this device is right for it.": "nothing slower",
    "the GPU is the faster one.": "slower",
    "no cause is named: not all that applies to the script could be tried": "undecided",
    "it is too noisy to say: the same run took up to 1.83 times as long": "noisy",
    "the script did not come through: ValueError: shapes (3,) and (4,)": "failed",
    "these times are no times: its driver is a stand-in": "stand-in",
    "On the CPU the script loses time: 92 % to input, then 4 % to the cost": "named",
    "On the CPU the script loses time: 92 % to input.": "stand-in",
    "unchanged: all weights equal after 20 steps": "named nothing slower undecided noisy stand-in",
    "Next to the CPU, the GPU is 1.20× slower (1.13–1.26).": "named",
    "Next to the CPU, the GPU is 2.0× faster (1.8–2.2).": "slower",
    "Line 30: ds = ds.map(decode).cache() (needs 3 MB of memory, and a first epoch)": "named",
    "1.8× faster (1.5–2.1) on top of 2": "named",
    "no line that keeps what the script does is known": "stand-in",
    "at most 18× faster (15–21)": "stand-in",
    "**Together:** 2 and 3: 22× faster (19–25), 549 µs a step on the CPU": "named",
    "**At most:** 18× faster (15–21) by input on the CPU (batches out of memory)": "named stand-in",
    "**Note:** mnist.load_data() was answered with made-up data": "named",
    "**Ended early:** the budget of 30 s was spent": "undecided",
    "the GPU is the faster one from a batch of 256 on": "named",
    "from which batch on the GPU wins is not shown; it is 1.2× slower (0.9–1.5) at": "slower",
    "an epoch costs EUR 0.0000854 on the CPU and EUR 0.000102 on the GPU": "named",
    "what an epoch costs is unknown, since no epoch was seen": "slower",
    "**Tried, no gain:** from_memory 1.03× slower (0.98–1.08)": "nothing",
    "**Undecided:** from_memory 1.3× faster (0.9–1.9)": "undecided",
    "**Took no effect:** cache:30": "undecided",
    "**Failed:** prefetch:33 (InvalidArgumentError: no such element)": "undecided",
    "**Not tried:** jit_compile (the budget of 30 s was spent)": "undecided",
    "**Not offered, since it trains otherwise than it should:** prefetch:33": "noisy",
    "**The rest:** 5 % of the time on the CPU and 7 % of the time on the GPU": "named",
    "no time: the GPU's driver is a stand-in": "stand-in",
    "other random numbers, the same distribution": "noisy",
    "trains otherwise": "nothing noisy",
    "the same up to rounding after 20 steps": "named nothing",
    "train.py --epochs 5 (SHA-256 7777": "named",
}
"""What pages say, and which of them."""


@pytest.mark.parametrize(("sentence", "names"), SENTENCES.items())
def test_a_sentence_stands_where_it_is_true_and_nowhere_else(sentence: str, names: str) -> None:
    pages = {name: (FOLDER / f"{name}.md").read_text(encoding="utf-8") for name in ANSWERS}
    plain = {name: text.replace("\\", "") for name, text in pages.items()}
    assert [name for name, text in plain.items() if sentence in text] == names.split()


def test_there_are_words_for_everything_that_can_come_out() -> None:
    for table, kind in {
        "why-causes": Cause,
        "why-training": Training,
        "why-standing": Standing,
        # What was tried again stands there as it came out then.
        "why-tried": TryStanding,
    }.items():
        assert {*get_args(kind)} - {"superseded"} <= {*TEXTS[table]}, table


def change(name: str, **fields: object) -> Callable[[], Answer]:
    return lambda: structs.replace(ANSWERS[name](), **fields)


@pytest.mark.parametrize(
    ("make", "there", "absent"),
    [
        # A GPU that is not shown to be faster does not make the CPU the wrong device.
        (
            change("slower", causes=(), ratios={"cuda": estimate(0.97, 0.9, 1.04)}),
            "On the CPU nothing that we tried makes this faster here: this device is right",
            "is the faster one.",
        ),
        # What helps and trains otherwise is not passed over.
        (
            change(
                "nothing", tried=(attempt("larger_batch:8", "otherwise", estimate(1.6, 1.4, 1.8)),)
            ),
            "nothing that we tried and that keeps the training makes this faster here: this device is",
            "nothing that we tried makes",
        ),
        # Where the script was to be kept, all of it is there, and else single lines.
        (change("named", text="train()"), "holds the script itself", "single lines"),
        (change("named"), "the folder holds single lines", "the script itself"),
        # Weights that nobody compared are not called equal.
        (
            change("nothing", arms={"cpu": speed("nothing", compared_after=None)}),
            "unchanged: all weights equal",
            "after 20 steps",
        ),
        # Two arms of a kind are told apart by their names.
        (
            change("slower", arms={"cpu": speed("nothing"), "cuda": speed("noisy", repeats=2.0)}),
            "On cpu nothing",
            "On the ",
        ),
        # What is made together of one change is that change.
        (
            change(
                "named",
                together={
                    "cpu": structs.replace(ANSWERS["named"]().together["cpu"], tries=("cache:30",))
                },
            ),
            "Line 30",
            "Together:",
        ),
    ],
)
def test_no_page_says_more_than_is_known(
    make: Callable[[], Answer], there: str, absent: str
) -> None:
    page = build_report(make()).files["why.md"]
    assert there in page
    assert absent not in page


def test_the_picture_has_a_row_for_each_change_and_no_time_that_is_none() -> None:
    picture = depict_why(ANSWERS["named"]())
    assert picture
    assert isinstance(picture.content, Dots)
    (panel,) = picture.content.panels
    assert panel.places[:3] == (
        "today",
        "together: cache:30 and steps_per_execution",
        "at most: batches out of memory",
    )
    assert [mark is not None for mark in panel.marks["cuda"]] == [True, False, False, True] + [
        False
    ] * 2
    after = panel.marks["cpu"][3]
    assert after
    assert (after.value, after.low, after.high) == pytest.approx(
        (11.8e-3 / 12.0, 11.8e-3 / 13.2, 11.8e-3 / 10.9)
    )
    assert picture.title.startswith("train.py: a step takes 11.8 ms on cpu today, and 549 µs with")
    nothing = depict_why(ANSWERS["nothing"]())
    assert nothing
    assert nothing.title == "train.py: nothing that was tried shortens a step"
    stand_in = depict_why(ANSWERS["stand-in"]())
    assert stand_in
    assert isinstance(stand_in.content, Dots)
    assert list(stand_in.content.panels[0].marks) == ["cpu"]
    assert depict_why(ANSWERS["failed"]()) is None


def test_the_drawn_files_are_those_of_the_page() -> None:
    drawn = draw(build_report(ANSWERS["undecided"]()))
    assert list(drawn) == ["why.html", "plots/why.svg", "plots/why.png"]
    assert str(drawn["why.html"]).count("data:image/svg+xml;base64,") == 1
