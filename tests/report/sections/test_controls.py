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
from tests.bench.truth.claims import CONTROLS
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


def on_cuda(work: ExtraWork) -> ExtraWork:
    return structs.replace(work, arm="cuda")


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
    "twins": (
        family("cpu", "cpu-twin", {"a": "EQUIVALENT", "b": "INCONCLUSIVE"}),
        family("cuda", "cuda-twin", {"a": "EQUIVALENT"}),
    ),
    "cuda_hidden": family("cpu", "cuda-hidden", {"a": "EQUIVALENT"}),
    "extra_work": (extra(1.02, 1.08), on_cuda(extra(1.06, 1.12, p=0.03))),
    "input_only": {"read": {"cuda": Verdict(name="EQUIVALENT")}},
}
NAMES = (
    *("cpu run again", "cuda run again", "the CUDA image without its GPU"),
    *("known extra work on cpu", "known extra work on cuda", "input alone"),
)


def test_every_control_has_one_of_three_answers_or_did_not_run() -> None:
    analysis = with_controls(**HELD)
    assert describe_failed(analysis) == []
    told = sort_controls(analysis)
    assert told == {"held": list(NAMES), "failed": [], "too wide to tell": [], "not run": []}
    brief = render_page(compose_brief(analysis))
    assert [name for name, heard in CONTROLS.items() if heard.search(brief)] == []


WIDE = {"a": "INCONCLUSIVE", "b": "INCONCLUSIVE", "c": "EQUIVALENT"}
UNJUDGED = structs.replace(family("cpu", "cpu-twin", {"a": "EQUIVALENT"}), verdicts={})
BARE = structs.replace(extra(1, 1), ratio=Ratio(value=1.05, low=None, high=None, n=1))
INPUT = {"read": {"cuda": Verdict(name="INCONCLUSIVE")}}


@pytest.mark.parametrize(
    ("controls", "name", "answer"),
    [
        ({"twins": (family("cpu", "cpu-twin", WIDE),)}, NAMES[0], "too wide to tell"),
        ({"twins": (UNJUDGED,)}, NAMES[0], "too wide to tell"),
        ({"twins": (family("cpu", "cpu-twin", {}),)}, NAMES[0], "not run"),
        ({"twins": (family("cpu", "t", WIDE | {"d": "SLOWER"}),)}, NAMES[0], "failed"),
        ({"again": (family("cpu", "cpu-2", WIDE),)}, NAMES[0], "too wide to tell"),
        ({"again": (family("cpu", "x", {"a": "EQUIVALENT"}),)}, NAMES[0], "held"),
        ({"cuda_hidden": family("cpu", "h", WIDE)}, NAMES[2], "too wide to tell"),
        ({"cuda_hidden": family("cpu", "h", {"a": "FASTER"})}, NAMES[2], "failed"),
        ({"extra_work": (extra(0.98, 1.12),)}, NAMES[3], "too wide to tell"),
        ({"extra_work": (BARE,)}, NAMES[3], "too wide to tell"),
        ({"extra_work": (extra(1.02, 1.08), extra(0.98, 1.12))}, NAMES[3], "too wide to tell"),
        ({"extra_work": (extra(1.02, 1.08), extra(1.2, 1.3))}, NAMES[3], "failed"),
        ({"input_only": INPUT}, NAMES[5], "too wide to tell"),
        ({"input_only": {"read": {"cuda": Verdict(name="SLOWER")}}}, NAMES[5], "failed"),
        ({}, NAMES[4], "not run"),
    ],
)
def test_a_control_that_could_not_have_told_is_not_said_to_have_held(
    controls: Mapping[str, object], name: str, answer: str
) -> None:
    """Nor is one of the others: each stands under one answer."""
    told = sort_controls(with_controls(**controls))
    assert list(told) == ["held", "failed", "too wide to tell", "not run"]
    assert [each for each, names in told.items() if name in names] == [answer]
    assert told["held"] == ([name] if answer == "held" else [])
    assert len({*NAMES, name}) == sum(map(len, told.values()))


def test_a_campaign_is_sound_where_every_control_held_and_nothing_else_is_wrong() -> None:
    real = structs.replace(with_controls(**HELD), flags=())
    assert judge_soundness(real) == ("sound", "every control ran, and held")
    assert judge_soundness(with_controls(**HELD)) == ("not shown to be sound", "simulated")
    hidden = {"cuda_hidden": family("cpu", "h", WIDE)}
    wide = structs.replace(with_controls(**HELD | hidden), flags=())
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
        (extra(0.98, 1.12), "contains the true value, but 1 as well: too wide to tell"),
        (
            extra(1.06, 1.12, p=0.03),
            "misses the true value by as little as one in twenty does by chance",
        ),
        (extra(1.06, 1.12, p=0.003), "DOES NOT CONTAIN THE TRUE VALUE"),
    ],
)
def test_extra_work_is_found_only_where_none_is_ruled_out(control: ExtraWork, words: str) -> None:
    assert words in render_markdown(with_controls(extra_work=(control,)))


def test_an_arm_alone_lacks_no_control_that_takes_two() -> None:
    told = sort_controls(analyse_made(arms=("cpu",)))
    named = {name for names in told.values() for name in names}
    assert named == {"cpu run again", "known extra work on cpu"}
