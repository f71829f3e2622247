"""What is run next, on one arm and on two, and what counts of it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.result.numbers import LEVEL
from suite.analysis.result.why import Answer
from suite.analysis.statistics.estimate import find_quantile
from suite.analysis.statistics.ratio import find_common_ratios
from suite.analysis.why.answer import answer
from suite.analysis.why.decide import next_round
from suite.analysis.why.gains import Key, find_pairs
from suite.analysis.why.runs import read_runs
from suite.errors import DocumentError
from suite.model import SIMULATED
from suite.model.why import Inquiry
from tests.analysis.why.made_up_scripts import (
    IDLE,
    USUAL,
    MadeUp,
    ask,
    list_cases,
    make_inquiry,
    make_script,
    plant,
    run_course,
)

NAMES = [of.change.name for of in IDLE]


def test_first_the_script_as_it_is_then_each_change_once_what_takes_long_last() -> None:
    first, screening = list_cases(run_course(make_script()))
    assert first == ["base"]
    assert [case for case in screening if case != "base"] == [
        *(name for name in NAMES if name != "jit"),
        "jit",
    ]
    assert (screening[0], screening[-1]) == ("base", "base")
    between = "".join("b" if case == "base" else "." for case in screening).strip("b").split("b")
    assert {len(tries) for tries in between} == {4}


def test_pairs_are_alternated_and_a_kept_fix_is_in_all_that_follows() -> None:
    _, _, confirm, *later = list_cases(run_course(make_script(input=0.4, budget_s=600.0)))
    assert confirm == ["base", "cache:30"] * 2
    for cases in later:
        assert all(case.split("+")[0] == "cache:30" for case in cases)
    # At the fixed line there is nothing left to try.
    assert not any("python:30" in case for cases in later for case in cases)


def test_what_gave_nothing_is_tried_again_only_where_it_can_be_enough_by_now() -> None:
    small = list_cases(run_course(make_script(overhead=0.01, budget_s=600.0, noise=USUAL)))
    large = list_cases(run_course(make_script(overhead=0.4, budget_s=600.0, noise=USUAL)))
    again = [
        {
            case.rpartition("+")[2]
            for cases in of
            for case in cases
            if case.startswith("steps_per_execution+")
        }
        for of in (small, large)
    ]
    assert again[0] < again[1]


def test_the_fixes_are_run_at_once_before_a_third_is_looked_for() -> None:
    cases = list_cases(run_course(make_script(input=0.06, callback=0.03, budget_s=600.0)))
    both = "cache:30+callback:51"
    together = cases.index(["base", both] * 3)
    assert not any(case.startswith(f"{both}+") for round_ in cases[:together] for case in round_)


def test_what_never_comes_back_is_not_asked_for_for_ever() -> None:
    loaded = run_course(make_script(input=0.4))
    inquiry = loaded.campaign
    assert isinstance(inquiry, Inquiry)

    def lose(at: LoadedCampaign) -> LoadedCampaign:
        return at.change(
            lambda d: replace(d, cells=[c for c in d.cells if "cache:30" not in c.case])
        )

    lost = lose(loaded)
    for _ in range(10):
        following = next_round(lost, 1e6)
        if following is None:
            break
        rounds = [*inquiry.rounds, following]
        inquiry = replace(inquiry, rounds=rounds)
        lost = replace(lost, campaign=inquiry)
    else:
        pytest.fail("it asks again and again")
    tried = next(tried for tried in answer(lost).tried if tried.name == "cache:30")
    assert (tried.standing, tried.reason) == ("failed", "lost")


# --- Two arms -----------------------------------------------------------------------------------------

BATCH = plant(
    "batch:8", "overhead", line=61, training="otherwise", scale=8.0, leaves={"overhead": 0.12}
)
ON_GPU = [BATCH, plant("mixed_precision", "device", line=44, training="otherwise", on_gpu=True)]


def two_arms(cpu: dict[str, float], gpu: dict[str, float], **fields: Any) -> MadeUp:
    parts = {
        arm: {name: (seconds, seconds) for name, seconds in of.items()}
        for arm, of in {"cpu": cpu, "cuda": gpu}.items()
    }
    tries = {"cpu": [BATCH], "cuda": ON_GPU}
    return MadeUp(**{"parts": parts, "tries": tries, "budget_s": 900.0, **fields})


SLOWER = {"step": 0.01, "overhead": 0.05}
"""A GPU that mostly starts operations: a larger batch takes that away."""


def test_each_arm_has_its_own_causes_and_the_slower_one_the_other_as_a_fix() -> None:
    found = ask(two_arms({"step": 0.04}, SLOWER))
    assert {arm: speed.standing for arm, speed in found.arms.items()} == {
        "cpu": "nothing",
        "cuda": "named",
    }
    ratio = found.ratios["cuda"]
    assert ratio.value == pytest.approx(1.5, rel=0.05)
    causes = {cause.cause: cause for cause in found.find_causes("cuda")}
    assert set(causes) == {"overhead", "device"}
    assert causes["device"].share == pytest.approx(1 / 3, abs=0.03)
    fix = causes["device"].fix
    assert fix is not None
    assert (fix.name, fix.training) == ("arm:cpu", "unchanged")
    assert found.find_causes("cpu") == []


def test_from_which_batch_on_the_gpu_wins() -> None:
    found = ask(two_arms({"step": 0.04}, SLOWER))
    assert list(found.by_batch) == [32, 256]
    assert found.by_batch[256].value == pytest.approx(0.016 / 0.04, rel=0.05)
    assert found.gpu_wins_from == 256
    assert ask(two_arms({"step": 0.04}, {"step": 0.004})).gpu_wins_from == 32
    assert ask(two_arms({"step": 0.004}, {"step": 0.04})).gpu_wins_from is None
    # One arm has nothing to win against.
    assert ask(make_script(tries=[BATCH])).by_batch == {}


def test_a_gpu_arm_is_judged_by_wall_time_alone() -> None:
    # A driver that waits busily: CPU seconds do not change.
    script = two_arms({"step": 0.04}, SLOWER)
    parts = {**script.parts, "cuda": {"step": (0.01, 0.06), "overhead": (0.05, 0.0)}}
    found = ask(replace(script, parts=parts))
    assert "overhead" in {cause.cause for cause in found.find_causes("cuda")}


UNSOUND: dict[str, tuple[dict[str, object], str]] = {
    "a stand-in driver": ({SIMULATED: True}, "simulated"),
    "no GPU in sight": ({"tensorflow.devices": "CPU:0"}, "failed"),
    "built for CPUs": ({"tensorflow.build.cuda": False}, "failed"),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_no_time_stands_under_a_gpus_name_that_is_not_proven_to_be_its(name: str) -> None:
    facts, standing = UNSOUND[name]
    found = ask(two_arms({"step": 0.04}, SLOWER, facts=facts))
    speed = found.arms["cuda"]
    assert speed.standing == standing
    assert found.find_causes("cuda") == []
    assert (found.ratios, found.by_batch, found.gpu_wins_from) == ({}, {}, None)
    assert "cuda" not in found.together
    if standing == "failed":
        assert speed.step is None
        assert speed.unproven is not None
        assert not any(tried.gain for tried in found.tried if tried.arm == "cuda")
    assert found.arms["cpu"].step is not None


def test_what_a_step_costs() -> None:
    loaded = run_course(make_script())
    assert answer(loaded).arms["cpu"].epoch_cost is None
    priced = replace(loaded, campaign=replace(loaded.campaign, price=3.6))
    found = answer(priced)
    speed = found.arms["cpu"]
    assert found.price is not None
    assert speed.epoch_s == pytest.approx(49 * 0.04, rel=0.03)
    assert speed.epoch_cost == pytest.approx(speed.epoch_s * 1e-3)  # type: ignore[operator]


# --- Runs and pairs -----------------------------------------------------------------------------------


def test_the_watched_run_is_in_no_pair_and_each_try_beside_its_nearest() -> None:
    loaded = run_course(make_script(input=0.4, budget_s=600.0))
    runs = read_runs(loaded)
    pairs = find_pairs(runs)
    assert runs[0].notes.watched is not None
    beside = {
        number: [base.number for base, _ in of]
        for number, of in ((key.tries[-1], pairs[key]) for key in pairs if key.on == ())
    }
    # Runs 2 to 7 are base, four tries, base.
    assert [beside[name][0] for name in NAMES[:4]] == [2, 2, 7, 7]
    for key, of in pairs.items():
        assert all((base.tries, run.tries) == (key.on, key.tries) for base, run in of)
        assert len({base.number for base, _ in of}) == len(of)
    assert len(pairs[Key("cpu", (), ("cache:30",))]) == 3


def _change(loaded: LoadedCampaign, case: str, **fields: Any) -> LoadedCampaign:
    return loaded.change(
        lambda d: replace(d, cells=[replace(c, **fields) if c.case == case else c for c in d.cells])
    )


def test_a_script_that_ends_before_the_window_does_gives_no_gain() -> None:
    loaded = run_course(make_script(input=0.4))
    cells = [c for d in loaded.documents for c in d.cells if c.case == "cache:30"]
    short = {**cells[0].evidence, "ended": 1.0}
    whole = answer(_change(loaded, "cache:30", evidence=short))
    assert whole.causes
    found: Answer = answer(_change(loaded, "cache:30", evidence=short, calls_per_sample=3))
    tried = next(tried for tried in found.tried if tried.name == "cache:30")
    assert (tried.standing, tried.reason) == ("failed", "early")


def test_a_run_that_the_budget_has_cut_off_is_none() -> None:
    loaded = run_course(make_script(input=0.4))
    assert answer(loaded).causes
    found = answer(_change(loaded, "jit", outcome="skipped", samples_s=[], reason="cut off"))
    tried = next(tried for tried in found.tried if tried.name == "jit")
    assert (tried.standing, tried.reason) == ("not tried", "budget")
    assert (found.causes, found.arms["cpu"].standing) == ((), "undecided")


def test_notes_that_nobody_could_have_told_are_refused() -> None:
    loaded = run_course(make_script())
    for text in ("{", '{"printed": "no"}', "[]"):
        facts = {f"notes.{c.id}": text for d in loaded.documents for c in d.cells}
        with pytest.raises(DocumentError, match="a run's notes"):
            answer(loaded.change(lambda d, facts=facts: replace(d, facts={**d.facts, **facts})))  # type: ignore[misc]


def test_an_arm_that_never_ran_says_so() -> None:
    inquiry = make_inquiry(two_arms({"step": 0.04}, SLOWER))
    inquiry = replace(inquiry, not_run={"cuda": "the GPU was refused"})
    loaded = LoadedCampaign(folder="made-up-why", campaign=inquiry, documents=[])
    found = answer(loaded)
    assert (found.arms["cuda"].standing, found.arms["cuda"].reason) == (
        "failed",
        "the GPU was refused",
    )


# --- One spread for all -------------------------------------------------------------------------------


def test_a_common_spread_is_that_of_all_pairs_and_of_equal_runs() -> None:
    pairs = {"a": [0.1, 0.3, 0.2], "b": [0.5]}
    alike = [[1.0, 1.1], [2.0]]
    squares = 0.02 + 2 * 0.005
    half = find_quantile(3, 1 - LEVEL / 7) * math.sqrt(squares / 3)
    found = find_common_ratios(pairs, alike, comparisons=7)
    for key, n, mean in (("a", 3, 0.2), ("b", 1, 0.5)):
        low, high = found[key].low, found[key].high
        assert found[key].n == n
        assert low is not None
        assert high is not None
        assert math.log(low) == pytest.approx(mean - half / math.sqrt(n))
        assert math.log(high) == pytest.approx(mean + half / math.sqrt(n))
    # The own spread counts where it is the larger one.
    wide = find_common_ratios({**pairs, "c": [-3.0, 3.0, 0.0]}, alike, comparisons=7)["c"]
    assert wide.high is not None
    assert math.log(wide.high) >= find_quantile(5, 1 - LEVEL / 7) * 3 / math.sqrt(3) * 0.999
    # Nothing is known of the noise where nothing was repeated.
    assert find_common_ratios({"b": [0.5]}, [[1.0]], comparisons=1)["b"].low is None


def test_a_pair_that_was_hit_does_not_move_the_robust_ratio() -> None:
    pairs = {"a": [0.69, 0.70, 2.4, 0.71, 0.68], "b": [0.0, 0.01, -0.01]}
    found = find_common_ratios(pairs, [[1.0, 1.01, 0.99, 1.0]], comparisons=10, robust=True)["a"]
    plain = find_common_ratios(pairs, [[1.0, 1.01, 0.99, 1.0]], comparisons=10)["a"]
    assert found.value == pytest.approx(2.0, rel=0.02)
    assert found.low is not None
    assert found.low > 1.8
    assert plain.value > 2.5
    assert plain.low is not None
    assert plain.low < 1.8


@pytest.mark.parametrize("robust", [False, True])
def test_intervals_by_a_common_spread_cover(robust: bool) -> None:
    rng, missed = np.random.default_rng(5), 0
    for _ in range(300):
        pairs = {n: rng.normal(0.3, 0.05, 3 + n % 3).tolist() for n in range(6)}
        alike = [rng.normal(0, 0.05 / math.sqrt(2), 5).tolist()]
        found = find_common_ratios(pairs, alike, comparisons=6, robust=robust)
        missed += any(not (r.low or 0) <= math.exp(0.3) <= (r.high or 0) for r in found.values())
    assert missed <= 25


def test_the_same_script_gives_the_same_answer_under_ordinary_noise() -> None:
    for seed in range(3):
        found = ask(make_script(input=0.4, noise=USUAL), seed)
        assert [cause.fix.name for cause in found.causes[:1] if cause.fix] == ["cache:30"]
