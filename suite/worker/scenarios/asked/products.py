"""asked.matmul: a product with everything inside the timer, and the way to `matmul.square`.

The three numbers of this question are (1) what the first product of a size seems to take where its
two matrices are created and filled inside the timer, (2) the same again once the first time is over,
and (3) the product alone, warm, which is `matmul.square` itself, so that nothing is measured twice.
All are fenced, as every sample here: on a GPU an unfenced timer sees the work handed over, not done.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from suite.cells.cell import Param, cell_id
from suite.cells.scenario import Point, Results, Scenario, cross
from suite.model import Check
from suite.worker.scenario.scenario import Prepared, Resident, TensorProof, WrongResult
from suite.worker.scenarios.asked.stages import (
    ASKED,
    FULL,
    PINNED,
    QUICK,
    SMOKE,
    On,
    Profiles,
    Stage,
    belongs,
    find,
    identify,
    pin,
    placed,
    ways,
)
from suite.worker.scenarios.matmul import square


@dataclass(frozen=True, kw_only=True)
class Timed:
    """What is inside the timer beside the product."""

    first_call: Literal["timed", "apart"]
    operands: Literal["created inside", "created before"]


NAIVE = Timed(first_call="timed", operands="created inside")
FIRST_CALL_APART = replace(NAIVE, first_call="apart")
WARM = replace(FIRST_CALL_APART, operands="created before")

STAGES = (
    Stage("naive", "creation, random numbers and first call timed", NAIVE, one_shot=True),
    Stage("first-call-apart", "the first call no longer timed", FIRST_CALL_APART, "start-up"),
    Stage("warm", "creation and random numbers no longer timed", WARM, "start-up"),
)
"""On the arm's own device the last one is `matmul.square`, and no cell of this family."""

ENDS = (100, 1000, 4000)
"""The sizes of which the shorter profiles have the first and the last stage."""


def prepare(*, device: str, n: int, stage: str, on: str) -> Prepared:
    """An eager product of two N(0, 1) matrices, timed as the stage says.

    ``naive`` is cold once an invocation: this cell has not multiplied or drawn this size before.
    It is not cold as the very first product of a process is, which loads the libraries (that is
    the start-up sequence's kernel), nor is the memory fresh that cells before it have let go.
    """
    import tensorflow as tf

    how = find(STAGES, stage)
    resident = None

    def create() -> list[Any]:
        return [tf.random.normal((n, n)) for _ in range(2)]

    if how.operands == "created inside":

        def step() -> list[Any]:
            operands = create()
            return [*operands, tf.matmul(*operands)]

    else:
        with tf.device(placed(device, on)):
            here = create()
        resident = Resident(device=placed(device, on), tensors=here)

        def step() -> list[Any]:
            return [*here, tf.matmul(*here)]

    return Prepared(
        step=pin(step, on),
        check=_check,
        proof=TensorProof(tensors=list),
        on=belongs(on),
        resident=resident,
        enqueues=True,
    )


def _check(made: list[Any]) -> Check:
    """Freivalds' check of the last product, and that its operands are not all the same number."""
    left, right, product = (matrix.numpy() for matrix in made)
    error = square.relative_error(left, right, product)
    allowed = square.TOLERANCE["fp32"]
    if not error <= allowed:
        raise WrongResult(f"the product's relative error is {error:.2g}; fp32 allows {allowed:g}")
    if len(left) > 1 and not min(left[0].std(), right[0].std()) > 0:
        raise WrongResult("the operands are constant, not random")
    return Check(what=f"Freivalds: relative error {error:.1e} ≤ {allowed:g}; operands random")


def _ends(n: int) -> Profiles:
    return QUICK if n in ENDS else FULL


PLACES: dict[str, tuple[tuple[On, ...], Callable[[int], Profiles]]] = {
    "naive": (("arm", "cpu"), lambda n: SMOKE if n == ENDS[0] else _ends(n)),
    "first-call-apart": (("arm", "cpu"), lambda _: FULL),
    "warm": (("cpu",), _ends),
}
"""Where each stage is pinned, and the profiles of each size."""


def _points(stage: str) -> tuple[Point, ...]:
    ons, profiles = PLACES[stage]
    every = (
        cross(
            n=square.ASKED_ABOUT, stage=stage, on=on, **ASKED, profiles=lambda n, **_: profiles(n)
        )
        for on in ons
    )
    return tuple(itertools.chain.from_iterable(every))


def _cell_of(case: str, axes: Mapping[str, Param]) -> str | None:
    if (axes["stage"], axes["on"]) == (STAGES[-1].name, "arm"):
        fair = {"n": axes["n"], "precision": "fp32", "operands": "device", "xla": "off"}
        return cell_id("matmul", "square", fair)
    return identify(case, axes)


WAY = ways(
    "matmul",
    "a product, timed with everything around it",
    STAGES,
    unit="product",
    by_call=True,
    over=("n",),
    cell_of=_cell_of,
)


SCENARIOS = tuple(
    Scenario(
        family="asked",
        case="matmul",
        about="A product: creation and first call timed; first call apart; warm, which is matmul.square.",
        question=f"What does a product of n = {{n}} take with {stage.new} (work on: {{on}})?",
        axes=("n", "stage", "on"),
        points=_points(stage.name),
        work=square.work,
        prepare=prepare,
        **PINNED,
        kin=square.name_product,
        sweep="n",
        larger=("n",),
        one_shot=stage.one_shot,
        proof=Results(),
        data="device",
        dispatch="eager",
        way=WAY,
    )
    for stage in STAGES
)
