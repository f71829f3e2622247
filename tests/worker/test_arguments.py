"""The worker's command line: a wrong word ends before anything is measured."""

from __future__ import annotations

import pytest

from suite.worker.__main__ import main

FENCE = "overhead.fence"


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    heard = capsys.readouterr()
    assert heard.out == "", "standard output is for records alone"
    return heard.err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "arguments are required: command"),
        (("observe",), "invalid choice: 'observe'"),
        (("measure",), "arguments are required: CELL"),
        (("measure", "--arm", "tpu", FENCE), "invalid choice: 'tpu'"),
        (("measure", "--warmup", "soon", FENCE), "invalid float value: 'soon'"),
        (("measure", "--speed", "9", FENCE), "unrecognized arguments"),
        (("describe", FENCE), "unrecognized arguments"),
        (("measure", f"{FENCE}@0"), "K is a whole number from 1"),
        (("measure", f"{FENCE}@-3"), "K is a whole number from 1"),
        (("measure", f"{FENCE}@1.5"), "K is a whole number from 1"),
        (("measure", f"{FENCE}@many"), "K is a whole number from 1"),
        (("measure", "overhead.container"), "measured from outside the container"),
        (("measure", "nothing.like/it=0"), "no cell nothing.like/it=0"),
    ],
)
def test_wrong_words_end_with_2_and_the_reason(
    words: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert complaint in refusal(capsys, *words)


def test_a_misspelt_cell_brings_the_close_ones(capsys: pytest.CaptureFixture[str]) -> None:
    said = refusal(capsys, "measure", FENCE, "overhead.eager-op")
    assert "no cell overhead.eager-op; did you mean overhead.eager_op" in said


def test_one_wrong_cell_keeps_all_of_them_from_running(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "no cell zzz" in refusal(capsys, "measure", FENCE, f"{FENCE}@7", "zzz")
