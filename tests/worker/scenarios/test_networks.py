"""The networks' arithmetic without TensorFlow: shapes, work, answers, and what a check takes for wrong."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from suite.worker.scenario.scenario import WrongResult
from suite.worker.scenarios.mlp import build, infer, networks, retrace
from suite.worker.scenarios.mlp.networks import A, B, examples
from suite.worker.scenarios.mlp.train import count_flop
from suite.worker.scenarios.mlp.training import (
    CHECK_STEPS,
    CHECK_TOLERANCE,
    LOSSES,
    Trainer,
    check_losses,
    name_training,
)
from suite.worker.scenarios.tfdata.pipelines import normalise_in_numpy
from tests.worker.verdict import hear


def test_a_falling_loss_is_what_arms_are_compared_by_and_another_is_a_wrong_result() -> None:
    for losses in ([0.7, float("nan")], [float("inf"), 0.5]):
        assert "not finite" in hear(WrongResult, check_losses, losses)
    for losses in ([0.7, 0.8], [0.7, 0.7]):
        assert "did not fall" in hear(WrongResult, check_losses, losses)
    check = check_losses([0.7, 0.9, 0.5])
    assert (check.value, check.tolerance) == (0.5, CHECK_TOLERANCE)


def test_the_work_of_a_step_is_three_products_a_kernel_but_for_the_first() -> None:
    # Forward and the kernel's gradient for all; the input's gradient for all but the first.
    first, second, third = 128 * 256, 256 * 128, 128 * 1
    expected = 2 * 32 * (2 * first + 3 * second + 3 * third)
    assert count_flop(A, 32) == expected
    assert count_flop(B, 10) == 2 * 10 * (2 * 100 * 128 + 3 * 128 * 10)


@pytest.mark.parametrize("count", [1, 32])
def test_answers_are_probabilities_by_the_seeded_weights(count: int) -> None:
    inputs, _ = networks.examples(A, count)
    found = infer.answer(inputs)
    assert found.shape == (count, 1)
    assert np.all((found > 0) & (found < 1))
    assert len(np.unique(found)) == count
    assert "off by" in infer.check(inputs, found.astype(np.float32)).what
    for off in (2e-4, np.nan):
        wrong = found.copy()
        wrong[-1] += off
        assert "a probability is off by" in hear(WrongResult, infer.check, inputs, wrong)
    said = hear(WrongResult, infer.check, inputs, found[1:])
    assert f"answers of shape ({count - 1}, 1) to {count} ex" in said


def other(arrays: list[Any]) -> list[Any]:
    return [one + 1 for one in arrays]


@pytest.mark.parametrize(
    ("change", "same", "said"),
    [
        (list, True, "4 arrays of weights, the seeded ones"),
        (other, False, "4 arrays of weights, of the right shapes, finite, and its own"),
        (other, True, "other weights than the seeded ones"),
        (list, False, "no initial weights"),
        (lambda arrays: arrays[:2], True, "have the shapes"),
        (lambda arrays: [one * np.nan for one in arrays], False, "not finite"),
    ],
)
def test_a_built_model_has_the_seeded_weights_and_a_clone_its_own(
    change: Any, same: bool, said: str
) -> None:
    model = SimpleNamespace(get_weights=lambda: change(networks.weights(B)))
    assert said in hear(WrongResult, build.check, model, B, same=same)


MOMENTS = ((0, "m0"), (2, "m2"), (1, lambda: "m1"))
"""Shapes and values of an optimizer's variables: one's own as an attribute, or, as Keras 2 has them, by a
call."""


def trainer(execution: str) -> Trainer:
    """A trainer as far as its proof goes, which needs no TensorFlow."""
    bare = Trainer.__new__(Trainer)
    bare.execution = execution
    moments = [SimpleNamespace(shape=(2,) * rank, value=value) for rank, value in MOMENTS]
    bare.optimizer = SimpleNamespace(variables=moments)
    bare._differentiate = lambda inputs, labels: ("loss", [f"gradient of {inputs}, {labels}"])
    return bare


def test_an_eager_step_is_never_traced() -> None:
    assert trainer("eager").traces() == 0


@pytest.mark.parametrize(
    ("execution", "expected"),
    [("xla", ["value", "m2", "m1"]), ("eager", ["value", "m2", "m1", "gradient of x, y"])],
)
def test_a_step_without_a_graph_is_proven_by_what_it_makes(
    execution: str, expected: list[str]
) -> None:
    assert trainer(execution).tensors("value", ("x", "y")) == expected


def falling_to(inputs: Any, labels: Any, off: float = 0.0) -> list[float]:
    """Losses of a check that end where NumPy's do, but for so much."""
    last = LOSSES[name_training(A, inputs, labels, CHECK_STEPS)] * (1 + off)
    return [*np.linspace(1.0, 2 * last, CHECK_STEPS - 1).tolist(), last]


def training(losses: Sequence[float]) -> Trainer:
    """A trainer whose steps give these losses, from the seeded weights."""
    bare = trainer("graph")
    bare.network, bare.optimizer = A, SimpleNamespace(variables=[])
    given: list[Any] = []
    bare.model = SimpleNamespace(set_weights=given.append)
    left = iter(losses)

    def step(inputs: Any, labels: Any) -> float:
        assert len(given) == 1
        return next(left)

    bare.step = step
    return bare


@pytest.mark.parametrize("off", [0.0, 0.0009, -0.0009, 0.01, -0.01])
def test_a_check_holds_the_last_loss_against_numpys(off: float) -> None:
    """Both arms can compute the same wrong thing, and then agree."""
    first = [array[:32] for array in examples(A, A.examples)]
    losses = falling_to(*first, off)
    if abs(off) < 1e-3:
        assert training(losses).check(0.5, *first).value == losses[-1]
    else:
        said = hear(WrongResult, training(losses).check, 0.5, *first)
        assert "NumPy's reference is 0.0063" in said
    # A looser tolerance, as of a lower precision, is the reference's as well.
    training(losses).check(0.5, *first, tolerance=0.02)


@pytest.mark.parametrize("off", [0.0, 0.0009, 0.01, -0.01, np.nan])
def test_a_brief_check_holds_one_seeded_step_against_numpys(off: float) -> None:
    first = [array[:32] for array in examples(A, A.examples)]
    loss = LOSSES[name_training(A, *first, 1)]
    said = hear(WrongResult, partial(training([loss * (1 + off)]).check, brief=True), 0.5, *first)
    if abs(off) < 1e-3:
        # It has no number that full checks of other blocks could be held to.
        assert training([loss]).check(0.5, *first, brief=True).value is None
        assert "the first of the seeded weights is NumPy's" in said
    else:
        assert ("not finite" if np.isnan(off) else "NumPy's reference is") in said


def test_data_is_drawn_once_and_a_process_keeps_so_many_bytes_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(networks, "_kept", kept := {})
    monkeypatch.setattr(networks, "KEPT_BYTES", 3 * 100 * A.example_bytes)
    first = examples(A, 100)
    assert examples(A, 100) is first
    assert not any(array.flags.writeable for array in first)
    # Another number, or another network's shape, is another set; the same values come again.
    others = [examples(A, 101), examples(replace(A, classes=5), 100)]
    assert (len(kept), examples(A, 100) is first) == (2, False)
    assert all(map(np.array_equal, examples(A, 100), first))
    assert not any(examples(A, 100)[1] is other[1] for other in others)
    # What would take all of the room alone is not kept.
    assert examples(A, 1_000) is not examples(A, 1_000)
    assert sum(array.nbytes for arrays in kept.values() for array in arrays) <= networks.KEPT_BYTES


@pytest.mark.parametrize("last", [np.nan, np.inf, -0.1, 7.0])
def test_a_last_loss_that_is_no_number_is_a_wrong_result(last: float) -> None:
    said = hear(WrongResult, training([]).check, last, *examples(A, 32))
    assert said == f"refused: the loss of the last timed step is {last}"


def test_what_is_done_to_the_inputs_before_the_first_layer_is_in_the_reference() -> None:
    inputs, labels = (array[:512] for array in examples(A, 512))
    rows = normalise_in_numpy(inputs)
    training(falling_to(rows, labels)).check(0.5, inputs, labels, rows=rows)
    # The inputs as they come have none, so that nothing would be judged.
    off = training(falling_to(rows, labels, 0.05))
    assert "NumPy's reference" in hear(WrongResult, off.check, 0.5, inputs, labels, rows=rows)


def test_every_shape_and_every_weight_of_a_step_is_another() -> None:
    assert len(set(retrace.SHAPES)) == len(retrace.SHAPES) == 17
    assert sum(retrace.SHAPES) == retrace.BATCH * len(retrace.SHAPES)
    weights = [1.0 + calls * retrace.WEIGHT_STEP for calls in range(2_000)]
    assert all(earlier < later for earlier, later in itertools.pairwise(weights))
    assert weights[-1] < 1.002


@pytest.mark.parametrize("varies", ["number", "shape"])
@pytest.mark.parametrize(
    ("traced", "traces", "fine"),
    [
        *(("anew", traces, traces == 40) for traces in (1, 39, 40, 41)),
        *(("once", traces, traces == 1) for traces in (1, 3, 40)),
        # Of shapes the second trace is for all that follow.
        ("once", 2, "shape"),
    ],
)
def test_calls_that_were_not_traced_as_the_cell_says_are_a_wrong_result(
    varies: str, traced: str, traces: int, fine: Any
) -> None:
    said = hear(WrongResult, retrace.demand_traces, varies, traced, traces=traces, calls=40)
    assert (said == "None") == (fine in (True, varies)), said
