"""Steps that are traced at every call, or once: what counts as that, and what varies."""

from __future__ import annotations

import itertools

import pytest

from suite.worker.scenario.scenario import WrongResult
from suite.worker.scenarios.mlp import retrace
from tests.worker.verdict import hear


def test_every_shape_is_another_and_the_usual_batch_is_their_mean() -> None:
    assert len(set(retrace.SHAPES)) == len(retrace.SHAPES) == 17
    assert sum(retrace.SHAPES) == retrace.BATCH * len(retrace.SHAPES)
    assert retrace.SHAPES[0] == retrace.BATCH


def test_every_weight_is_another_number_and_next_to_one() -> None:
    weights = [1.0 + calls * retrace.WEIGHT_STEP for calls in range(2_000)]
    assert all(one < other for one, other in itertools.pairwise(weights))
    assert weights[-1] < 1.002


@pytest.mark.parametrize("varies", ["number", "shape"])
@pytest.mark.parametrize(
    ("traced", "traces", "fine"),
    [
        *(("anew", 40, True), ("anew", 39, False), ("anew", 1, False), ("anew", 41, False)),
        *(("once", 1, True), ("once", 3, False), ("once", 40, False)),
    ],
)
def test_calls_that_were_not_traced_as_the_cell_says_are_a_wrong_result(
    varies: str, traced: str, traces: int, *, fine: bool
) -> None:
    said = hear(WrongResult, retrace.demand_traces, varies, traced, traces=traces, calls=40)
    assert (said == "None") == fine, said


def test_of_shapes_the_second_trace_is_for_all_that_follow() -> None:
    for varies, fine in (("shape", True), ("number", False)):
        said = hear(WrongResult, retrace.demand_traces, varies, "once", traces=2, calls=40)
        assert (said == "None") == fine, said
