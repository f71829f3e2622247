"""Made-up scripts of which the truth is known: what is named, by how much, and what must not be."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from suite.analysis.result.why import Answer, Tried
from suite.analysis.why.answer import answer
from suite.analysis.why.decide import next_round
from suite.analysis.why.levels import NAMED
from suite.analysis.why.runs import Run
from suite.analysis.why.training import compare_training
from suite.model.why import RunNotes, Training
from tests.analysis.why.made_up_scripts import (
    IDLE,
    QUIET,
    USUAL,
    MadeUp,
    Planted,
    ask,
    bursts,
    heavy,
    list_cases,
    make_script,
    plant,
    run_course,
    smooth,
    spikes,
)

NEIGHBOURS = {
    "usual": USUAL,
    "ten per cent": smooth(0.1, 0.04),
    "a quarter": smooth(0.25, 0.05),
    "bursts": bursts(),
    "long bursts": bursts(0.4, 10.0, 4.0),
    "three to ten times": heavy(),
    "spikes": spikes(),
}
"""What else runs on the machine."""


def swap(*planted: Planted) -> list[Planted]:
    """The ordinary changes, with these in the place of those of their names."""
    ours = {of.change.name: of for of in planted}
    return [ours.pop(of.change.name, of) for of in IDLE] + list(ours.values())


def only(*names: str) -> list[Planted]:
    return [of for of in IDLE if of.change.name in names]


PREFETCH = plant("prefetch:34", "input", waits=True, line=34, leaves={"wait": 0.02})
SLEEPS = plant("callback:51", "callback", line=51, leaves={"wait": 0.02})
RANDOM_CACHE = plant("cache:30", "input", leaves={"input": 0.02}, norm=4e-2)
SECOND_EPOCH = plant("cache:30", "input", leaves={"input": 0.02}, printed=0.05)
SHUFFLED = plant("cache:30", "input", leaves={"input": 0.02}, norm=4e-2, training="distribution")

TRUTHS: dict[str, tuple[MadeUp, list[tuple[str, int | None, str | None, float]]]] = {
    "nothing": (make_script(), []),
    "no try applies": (make_script(tries=()), []),
    "input": (make_script(input=0.4), [("input", 30, "cache:30", 0.44 / 0.048)]),
    "a fix before a ceiling that gives as much": (
        make_script(callback=0.02),
        [("callback", 51, "callback:51", 0.06 / 0.0404)],
    ),
    "validation": (
        make_script(validation=0.04),
        [("validation", 60, "validate-rarely", 0.08 / 0.048)],
    ),
    "eager": (make_script(eager=0.12), [("eager", 44, "eager-off", 4.0)]),
    "overhead": (
        make_script(overhead=0.06),
        [("overhead", 44, "steps_per_execution", 0.1 / 0.046)],
    ),
    "two causes": (
        make_script(input=0.06, callback=0.03),
        [
            ("input", 30, "cache:30", 0.13 / 0.0712),
            ("callback", 51, "callback:51", 0.0712 / 0.0418),
        ],
    ),
    "what is small before the first fix, and large behind it": (
        make_script(step=0.01, input=0.2, callback=0.012),
        [
            ("input", 30, "cache:30", 0.222 / 0.026),
            ("callback", 51, "callback:51", 0.026 / 0.01424),
        ],
    ),
    "waiting": (
        make_script(wait=(0.04, 0.0004), tries=swap(PREFETCH)),
        [("input", 34, "prefetch:34", 0.08 / 0.0408)],
    ),
    "waiting that nobody has called so": (
        make_script(wait=(0.04, 0.0004), tries=swap(SLEEPS)),
        [("callback", 51, "callback:51", 0.08 / 0.0408)],
    ),
    "a ceiling alone": (
        make_script(callback=0.04, tries=only("callbacks", "jit")),
        [("callback", None, None, 2.0)],
    ),
    "what trains otherwise alone": (
        make_script(overhead=0.08, tries=only("batch:8", "jit", "memory")),
        [("overhead", 61, "batch:8", 0.12 / 0.0496)],
    ),
    "what changes the training less, of two that give as much": (
        make_script(
            step=0.02,
            input=0.06,
            tries=swap(
                plant(
                    "interleave:31",
                    "input",
                    line=31,
                    leaves={"input": 0.0},
                    training="distribution",
                    norm=0.04,
                )
            ),
        ),
        [("input", 30, "cache:30", 0.08 / 0.0212)],
    ),
    "random numbers in another order": (
        make_script(input=0.4, tries=swap(SHUFFLED)),
        [("input", 30, "cache:30", 0.44 / 0.048)],
    ),
}


@pytest.mark.parametrize("noise", [QUIET, USUAL], ids=["quiet", "usual"])
@pytest.mark.parametrize("name", TRUTHS)
def test_the_planted_causes_are_named_and_no_others(name: str, noise: Any) -> None:
    script, truths = TRUTHS[name]
    loaded = run_course(replace(script, noise=noise, budget_s=600.0))
    found = answer(loaded)
    assert found.arms["cpu"].standing == ("named" if truths else "nothing")
    named = sorted(found.causes, key=lambda cause: len(cause.on))
    assert [(c.cause, c.line, c.fix and c.fix.name) for c in named] == [t[:3] for t in truths]
    left = 1.0
    for cause, (*_, gain) in zip(named, truths, strict=True):
        shown = cause.fix.gain if cause.fix else cause.ceilings[0].gain
        assert shown.low is not None
        assert shown.high is not None
        assert shown.n >= 3
        assert shown.low > NAMED
        assert shown.low <= gain <= shown.high
        assert 0.8 <= shown.value / gain <= 1.25
        assert cause.share == pytest.approx(left * (1 - 1 / gain), abs=0.06)
        left /= gain
    assert [cause.share for cause in found.causes] == sorted(
        (cause.share for cause in found.causes), reverse=True
    )
    if truths:
        assert found.arms["cpu"].unknown == pytest.approx(left, abs=0.08)
    step = found.arms["cpu"].step
    assert step is not None
    assert step.low is not None
    assert step.n >= 3


def test_the_best_fixes_are_measured_at_once() -> None:
    script, _ = TRUTHS["two causes"]
    found = ask(replace(script, budget_s=600.0))
    together = found.together["cpu"]
    assert together.tries == ("cache:30", "callback:51")
    assert together.gain.n >= 3
    assert together.gain.low is not None
    assert together.gain.low <= 0.13 / 0.0418 <= (together.gain.high or 0.0)
    assert together.training == "unchanged"
    assert together.step == pytest.approx(0.0418, rel=0.05)
    # One fix alone is what is made at once.
    (alone,) = ask(TRUTHS["eager"][0]).together.values()
    assert (alone.tries, alone.training) == (("eager-off",), "rounding")
    assert ask(make_script()).together == {}


def test_what_is_little_of_the_unchanged_time_is_listed_and_no_cause() -> None:
    # A quarter of what the cache has left, which is 2 % of the time before.
    found = ask(make_script(step=0.01, input=0.2, callback=0.005, budget_s=600.0, noise=USUAL))
    assert [cause.cause for cause in found.causes] == ["input"]
    # It is not unknown either: a fix is listed that takes it away.
    assert found.arms["cpu"].unknown == pytest.approx(0.0141 / 0.215, abs=0.01)
    helps = [(tried.name, tried.on) for tried in found.tried if tried.standing == "helps"]
    assert ("callback:51", ("cache:30",)) in helps
    assert found.together["cpu"].tries == ("cache:30", "callback:51")


def test_ceilings_stand_by_the_fix_of_their_cause_the_tightest_first() -> None:
    tight = plant("less", "input", "ceiling", leaves={"input": 0.01})
    loose = plant("more", "input", "ceiling", leaves={"input": 0.0, "step": 0.5})
    (cause,) = ask(make_script(input=0.4, tries=[loose, *only("cache:30"), tight])).causes
    assert [ceiling.name for ceiling in cause.ceilings] == ["less", "more"]


def find(found: Answer, name: str) -> Tried:
    return next(tried for tried in found.tried if tried.name == name and not tried.on)


STANDINGS: dict[str, tuple[Planted, dict[str, Any], str, str | None]] = {
    "a run that fails": (
        plant("cache:30", "input", fail="the container ended: killed"),
        {"input": 0.4},
        "failed",
        "the container ended: killed",
    ),
    "a change that never takes effect": (
        plant("cache:30", "input", applied=0, leaves={"step": 0.2}),
        {},
        "no effect",
        "",
    ),
    "a cache of a random map": (RANDOM_CACHE, {"input": 0.4}, "withdrawn", ""),
    "what the script prints differs in its second epoch": (
        SECOND_EPOCH,
        {"input": 0.4},
        "withdrawn",
        "",
    ),
    "a random change that gives nothing": (RANDOM_CACHE, {}, "no gain", ""),
    "a random order that was declared": (SHUFFLED, {"input": 0.4}, "helps", ""),
    "more than nothing, less than a tenth": (
        plant("cache:30", "input", leaves={"input": 0.0}),
        {"input": 0.003},
        "no gain",
        "",
    ),
}


@pytest.mark.parametrize("name", STANDINGS)
def test_what_came_of_a_try(name: str) -> None:
    planted, parts, standing, reason = STANDINGS[name]
    found = ask(make_script(tries=swap(planted), **parts))
    tried = find(found, "cache:30")
    assert (tried.standing, tried.reason) == (standing, reason)
    fixes = [cause.fix.name for cause in found.causes if cause.fix]
    assert ("cache:30" in fixes) == (standing == "helps")


def test_a_withdrawn_fix_leaves_the_ceiling_of_its_cause() -> None:
    (cause,) = ask(make_script(input=0.4, tries=swap(RANDOM_CACHE))).causes
    assert (cause.cause, cause.fix) == ("input", None)
    assert cause.ceilings[0].name == "memory"


def test_a_withdrawn_fix_names_its_cause_where_nothing_else_shows_it() -> None:
    numbers = plant("retrace:f", "retracing", leaves={"retracing": 0.0}, norm=4e-2)
    larger = plant("batch:8", "overhead", leaves={"retracing": 0.1}, training="otherwise", scale=8)
    found = ask(make_script(retracing=0.6, tries=[numbers, larger]))
    (cause,) = found.causes
    assert (cause.cause, cause.fix) == ("retracing", None)
    assert [ceiling.name for ceiling in cause.ceilings] == ["retrace:f"]
    assert find(found, "retrace:f").standing == "withdrawn"
    assert found.together == {}


def test_nothing_is_not_said_where_no_try_came_through() -> None:
    fails = plant("cache:30", "input", fail="the container ended: killed")
    assert ask(make_script(tries=[fails])).arms["cpu"].standing == "undecided"
    assert ask(make_script(tries=[fails, *only("jit")])).arms["cpu"].standing == "nothing"


TRAININGS: dict[str, tuple[dict[str, Any], float, Training | None]] = {
    "equal": ({}, 0.0, "unchanged"),
    "rounding": ({"norm": 1e-5}, 0.0, "rounding"),
    "rounding, grown": ({"norm": 2e-4}, 0.0, "rounding"),
    "another": ({"norm": 1e-2}, 0.0, "otherwise"),
    "printed up to its digits": ({"printed": 4e-4}, 0.0, "rounding"),
    "printed otherwise": ({"printed": 0.02}, 0.0, "otherwise"),
    "declared": ({"norm": 1e-2, "training": "distribution"}, 0.0, "distribution"),
    "declared, and equal": ({"training": "distribution"}, 0.0, "unchanged"),
    "always otherwise": ({"training": "otherwise"}, 0.0, "otherwise"),
    "within what the script itself varies by": ({"norm": 1e-7}, 1e-6, "unchanged"),
    # Its norms after three steps are equal, and what it prints.
    "a script that is never the same": ({"norm": 1e-2}, 0.1, "unchanged"),
}


@pytest.mark.parametrize("name", TRAININGS)
def test_what_a_change_makes_of_the_training(name: str) -> None:
    fields, norms, training = TRAININGS[name]
    planted = plant("cache:30", "input", **fields)
    found = ask(make_script(tries=swap(planted), norms=norms))
    assert find(found, "cache:30").training == training


def test_what_is_done_less_often_may_print_older_numbers() -> None:
    for printed, training in ((0.51 / 0.42 - 1, "unchanged"), (0.5, "otherwise")):
        planted = plant("statement:30:50", "fetch", leaves={"fetch": 0.1}, printed=printed)
        found = ask(make_script(fetch=0.12, tries=swap(planted)))
        assert find(found, "statement:30:50").training == training


def test_what_is_a_part_of_the_training_is_no_time_lost() -> None:
    planted = plant("statement:30:50", "fetch", leaves={"fetch": 0.1}, norm=4e-2)
    found = ask(make_script(fetch=0.12, tries=[planted]))
    assert found.causes == ()
    assert find(found, "statement:30:50").standing == "withdrawn"


@pytest.mark.parametrize(
    ("updates", "training"), [([20.0, 20.0], "distribution"), ([20.0, 16.0], "otherwise")]
)
def test_other_random_numbers_leave_as_many_updates(
    updates: list[float], training: Training
) -> None:
    base, other = (
        [
            Run(
                **dict.fromkeys(("seconds", "cpu_s", "spent_s", "first_step_s"), 1.0),
                arm="cpu",
                block=1,
                number=number,
                tries=(),
                reason="",
                unproven=None,
                simulated=False,
                evidence={"norm.20": norm, "updates.20": count},
                notes=RunNotes(),
            )
            for number in (1, 2)
        ]
        for norm, count in zip((1.0, 2.0), updates, strict=True)
    )
    change = plant("eager:1", "eager", training="distribution").change
    assert compare_training(change, other, base, 2.0) == training


def test_a_printed_time_is_no_number_of_the_training() -> None:
    # A printed time that is the same in all base runs, and as much shorter as the step is.
    planted = plant("eager-off", "eager", leaves={"eager": 0.0}, line=44, printed=-0.75)
    found = ask(make_script(eager=0.12, tries=swap(planted)))
    assert find(found, "eager-off").training == "unchanged"


def test_a_gain_has_an_interval_and_a_name_from_three_pairs_on() -> None:
    # What is left suffices for one more pair, and for two.
    few, enough = (ask(make_script(input=0.4, budget_s=budget_s)) for budget_s in (134.0, 146.0))
    assert [len(found.causes) for found in (few, enough)] == [0, 1]
    for found, pairs in ((few, 2), (enough, 3)):
        tried = find(found, "cache:30")
        assert tried.gain is not None
        assert tried.gain.n == pairs
        assert tried.gain.value == pytest.approx(0.44 / 0.048, rel=0.05)
    gains = [tried.gain for found in (few, enough) for tried in found.tried if tried.gain]
    assert {(gain.n >= 3, gain.low is None) for gain in gains} == {(False, True), (True, False)}


def test_no_name_where_a_try_had_no_run() -> None:
    script = make_script(input=0.4, budget_s=75.0)
    loaded = run_course(script)
    found = answer(loaded)
    speed = found.arms["cpu"]
    assert found.causes == ()
    assert speed.standing == "undecided"
    assert speed.spent_s <= 1.1 * script.budget_s
    missing = [tried for tried in found.tried if tried.standing == "not tried"]
    assert missing
    assert all(tried.reason == "budget" for tried in missing)
    # What takes long and rarely helps is the first to go.
    assert "jit" in {tried.name for tried in missing}


@pytest.mark.parametrize("budget_s", [20.0, 50.0, 100.0, 150.0, 200.0, 260.0, 400.0])
def test_the_budget_is_kept(budget_s: float) -> None:
    found = ask(make_script(input=0.2, callback=0.05, budget_s=budget_s, noise=USUAL))
    assert found.arms["cpu"].spent_s <= 1.1 * budget_s


def test_a_script_that_fails_is_run_once() -> None:
    loaded = run_course(make_script(fails="ValueError: no such file"))
    assert list_cases(loaded) == [["base"]]
    found = answer(loaded)
    assert (found.arms["cpu"].standing, found.arms["cpu"].reason) == (
        "failed",
        "ValueError: no such file",
    )
    assert found.troubled


@pytest.mark.parametrize("neighbour", NEIGHBOURS)
def test_a_neighbour_makes_no_cause(neighbour: str) -> None:
    for seed in range(4):
        _hold(make_script(noise=NEIGHBOURS[neighbour], budget_s=400.0), seed)


def _hold(script: MadeUp, seed: int) -> Answer:
    found = ask(script, seed)
    assert found.causes == ()
    assert found.arms["cpu"].standing in {"nothing", "noisy", "undecided"}
    return found


@pytest.mark.method
@pytest.mark.parametrize("waits", [False, True], ids=["ordinary", "all about waiting"])
@pytest.mark.parametrize("neighbour", NEIGHBOURS)
def test_false_names_are_rarer_than_one_in_a_hundred(neighbour: str, waits: bool) -> None:
    tries = [replace(of, change=replace(of.change, waits=of.change.waits or waits)) for of in IDLE]
    script = make_script(noise=NEIGHBOURS[neighbour], budget_s=400.0, tries=tries)
    names = sum(bool(ask(script, seed).causes) for seed in range(300))
    # More than 7 of 300 would show a rate above 1 % (binomial, one-sided 5 %).
    assert names <= 7


@pytest.mark.method
@pytest.mark.parametrize(
    ("parts", "most"), [({"callback": 0.0102}, 6.5), ({"callback": 0.042}, 3.5)], ids=["1.25", "2"]
)
def test_what_is_there_is_found_in_few_pairs(parts: dict[str, float], most: float) -> None:
    answers = [ask(make_script(noise=USUAL, budget_s=600.0, **parts), seed) for seed in range(100)]
    fixes = [found.causes[0].fix for found in answers if found.causes]
    assert sum(fix is not None and fix.name == "callback:51" for fix in fixes) >= 90
    assert np.mean([fix.gain.n for fix in fixes if fix]) <= most


@pytest.mark.method
@pytest.mark.parametrize("neighbour", NEIGHBOURS)
def test_intervals_hold_all_at_once(neighbour: str) -> None:
    missed, promised = 0, []
    truth = {"input": 0.06, "callback": 0.02, "validation": 0.02}
    total = 0.04 + sum(truth.values())
    for seed in range(100):
        found = ask(make_script(noise=NEIGHBOURS[neighbour], budget_s=400.0, **truth), seed)
        wrong = []
        for tried in found.tried:
            planted = next(of for of in IDLE if of.change.name == tried.name)
            on = [of for name in tried.on for of in IDLE if of.change.name == name]
            before, after = (
                0.04
                + sum(
                    s * math.prod(of.leaves.get(p, 1) for of in changes) for p, s in truth.items()
                )
                for changes in (on, [*on, planted])
            )
            if tried.gain and tried.gain.n >= 3 and tried.gain.low and tried.gain.high:
                wrong.append(not tried.gain.low <= before / after <= tried.gain.high)
        missed += any(wrong)
        promised += [
            c.fix.gain.value / (total / (total - 0.98 * 0.06))
            for c in found.causes
            if c.fix and c.fix.name == "cache:30" and not c.on
        ]
    assert missed <= 10
    if neighbour in {"usual", "ten per cent"}:
        assert len(promised) > 90
        assert np.mean([0.8 <= value <= 1.25 for value in promised]) >= 0.9


def test_it_is_the_same_from_the_same_documents() -> None:
    loaded = run_course(make_script(input=0.1, callback=0.03, noise=USUAL))
    assert answer(loaded) == answer(loaded)
    assert next_round(loaded, 1e6) == next_round(loaded, 1e6)
    assert json.loads(json.dumps(list_cases(loaded))) == list_cases(
        run_course(make_script(input=0.1, callback=0.03, noise=USUAL))
    )
