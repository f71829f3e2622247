"""What is said of controls: first that one failed, and never more than it can show."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec import structs

from suite.analysis.result.campaign import Analysis, Controls, ExtraWork, Family
from suite.analysis.result.numbers import Ratio, Verdict, VerdictName
from suite.flags import raise_flag
from suite.report.pages.brief import compose_brief
from suite.report.render.markdown import render_page
from suite.report.sections.controls import describe_failed, sort_controls
from suite.report.sections.opening import judge_soundness, warn
from tests.rendering import render_markdown
from tests.report.campaigns import analyse_made, judged

SOUND = Controls(twins=(), cuda_hidden=None, again=(), extra_work=(), input_only={})


def family(base: str, other: str, names: Mapping[str, VerdictName]) -> Family:
    ratios = {name: Ratio(value=1.14, low=1.1, high=1.18, n=5) for name in names}
    verdicts = {name: Verdict(name=verdict) for name, verdict in names.items()}
    return Family(base=base, other=other, ratios=ratios, verdicts=verdicts)


def extra(low: float, high: float, p: float | None = None) -> ExtraWork:
    ratio = Ratio(value=(low * high) ** 0.5, low=low, high=high, n=5)
    return ExtraWork(arm="cpu", cell="extra", honest="honest", ratio=ratio, truth=1.05, p=p)


def with_controls(**controls: object) -> Analysis:
    return structs.replace(analyse_made(), controls=structs.replace(SOUND, **controls))


FAILED = {
    "twins": (
        {"twins": (family("cuda", "cuda-twin", {"a": "SLOWER", "b": "EQUIVALENT"}),)},
        "cuda run twice differs in 1 of 2 cells, by up to 14.0 %: don't rely on differences under 14.0 %",
    ),
    "hidden": (
        {"cuda_hidden": family("cpu", "cuda-hidden", {"a": "FASTER"})},
        "cuda-hidden has no GPU and differs from cpu in 1 of 1 cell, by up to 14.0 %: that much",
    ),
    "extra work": (
        {"extra_work": (extra(1.2, 1.3),)},
        "known extra work on cpu measured as 1.249 times the time for 1.050 times the work, which",
    ),
    "input only": (
        {"input_only": {"read": {"cuda": Verdict(name="SLOWER")}}},
        "1 input-only cell differs on cuda, such as read: don't rely",
    ),
}


@pytest.mark.parametrize("which", FAILED)
def test_a_control_that_failed_is_the_first_thing_said_and_none_is_said_to_have_held(
    which: str,
) -> None:
    controls, words = FAILED[which]
    analysis = with_controls(**HELD | controls)
    (sentence,) = describe_failed(analysis)
    assert sentence.startswith(f"A CONTROL FAILED: {words}")
    assert warn(analysis)[0] == sentence
    assert judge_soundness(analysis)[0] == "UNSOUND"
    assert which == "hidden" or len(sort_controls(analysis)["failed"]) == 1


HELD = {
    "twins": (family("cpu", "cpu-twin", {"a": "EQUIVALENT", "b": "INCONCLUSIVE"}),),
    "cuda_hidden": family("cpu", "cuda-hidden", {"a": "INCONCLUSIVE"}),
    "extra_work": (extra(1.02, 1.08), extra(0.9, 1.2), extra(1.06, 1.12, p=0.03)),
    "input_only": {"read": {"cuda": Verdict(name="EQUIVALENT")}},
}


def test_every_control_has_one_of_three_answers_or_did_not_run() -> None:
    analysis = with_controls(**HELD)
    assert describe_failed(analysis) == []
    assert sort_controls(analysis) == {
        "held": ["cpu run twice", *["known extra work on cpu"] * 2, "input alone"],
        "failed": [],
        "too wide to tell": ["the CUDA image without its GPU", "known extra work on cpu"],
        "not run": [],
    }
    assert sort_controls(with_controls())["not run"] == [
        *("an arm run twice", "the CUDA image without its GPU"),
        *("known extra work", "input alone"),
    ]


def test_a_campaign_is_sound_where_every_control_held_and_nothing_else_is_wrong() -> None:
    every = {
        "twins": HELD["twins"],
        "cuda_hidden": family("cpu", "cuda-hidden", {"a": "EQUIVALENT"}),
        "extra_work": (extra(1.02, 1.08),),
        "input_only": HELD["input_only"],
    }
    real = structs.replace(with_controls(**every), flags=())
    assert judge_soundness(real) == ("sound", "every control ran, and held")
    assert judge_soundness(with_controls(**every)) == ("not shown to be sound", "simulated")
    wide = structs.replace(with_controls(**HELD), flags=())
    word, why = judge_soundness(wide)
    assert word == "not shown to be sound"
    assert why.startswith("too wide to tell: the CUDA image without its GPU")
    flag = raise_flag("set-aside", disturbed=3, invocations=4, codes=("steal",))
    assert judge_soundness(structs.replace(real, flags=(flag,)))[0] == "INVALID"


def test_no_blocks_are_advised_against_a_control_that_fails() -> None:
    analysis = judged("INCONCLUSIVE", "FASTER")
    settling = "should be settled", "would not settle"
    assert any(word in render_page(compose_brief(analysis)) for word in settling)
    controls = structs.replace(analysis.controls, extra_work=(extra(1.1, 1.3, p=0.0001),))
    failed = structs.replace(analysis, controls=controls)
    assert warn(failed)[0].startswith("A CONTROL FAILED")
    assert not any(word in render_page(compose_brief(failed)) for word in settling)


@pytest.mark.parametrize(
    ("control", "words"),
    [
        (extra(1.02, 1.08), "contains the true value, and not 1"),
        (extra(0.98, 1.12), "contains the true value, but 1 as well: too wide to prove"),
        (
            extra(1.06, 1.12, p=0.03),
            "misses the true value by as little as one in twenty does by chance",
        ),
        (extra(1.06, 1.12, p=0.003), "DOES NOT CONTAIN THE TRUE VALUE"),
    ],
)
def test_extra_work_is_found_only_where_none_is_ruled_out(control: ExtraWork, words: str) -> None:
    assert words in render_markdown(with_controls(extra_work=(control,)))
