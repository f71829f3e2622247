"""The five questions that people ask, as data: from their script to the fair number, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from suite.cells.cell import Param

StepRule = Literal["overhead", "transfer", "fallback", "start-up"]

NAIVE = "as asked"


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One step of a case: the cell that measures it, what has changed, and which cause that is.

    ``case`` and ``axes`` name the cell; ``rule`` is the cause that the change takes away, None for
    the first stage.
    """

    case: str
    axes: Mapping[str, Param]
    change: str
    rule: StepRule | None


@dataclass(frozen=True, kw_only=True)
class Case:
    """A question that people ask, as stages from their script to the fair number.

    ``over`` are the axes along which there is a waterfall for every value; ``unit`` is what times
    are given for: a unit of the cells' work, or where ``by_call`` a call.
    """

    name: str
    title: str
    unit: str
    stages: tuple[Stage, ...]
    over: tuple[str, ...] = ()
    by_call: bool = False


def _stages(case: str, *changes: tuple[str, str, StepRule | None]) -> tuple[Stage, ...]:
    return tuple(
        Stage(case=case, axes={"stage": stage}, change=change, rule=rule)
        for stage, change, rule in changes
    )


CASES: tuple[Case, ...] = (
    Case(
        name="matmul",
        title="a product, timed with everything around it",
        unit="product",
        by_call=True,
        over=("n",),
        stages=(
            *_stages(
                "asked.matmul",
                ("naive", NAIVE, None),
                ("first-call-apart", "the first call no longer timed", "start-up"),
                ("warm", "creation and random numbers no longer timed", "start-up"),
            ),
            Stage(
                case="matmul.square",
                axes={"precision": "fp32", "operands": "device", "xla": "off"},
                change="creation and random numbers no longer timed",
                rule="start-up",
            ),
        ),
    ),
    Case(
        name="clone",
        title="a model cloned, once",
        unit="model",
        by_call=True,
        stages=_stages(
            "asked.clone", ("first", NAIVE, None), ("again", "again, once warm", "start-up")
        ),
    ),
    Case(
        name="slices",
        title="1,000 examples in slices of 10",
        unit="example",
        stages=_stages(
            "asked.slices",
            ("naive", NAIVE, None),
            ("traced", "tracing no longer timed", "start-up"),
            ("placed", "the model made on the device timed", "fallback"),
            ("float32", "float32 inputs instead of float64", "transfer"),
            ("no-fetch", "the loss no longer fetched every step", "overhead"),
            ("device-data", "the data already on the device", "transfer"),
            ("batch-512", "batch 512 instead of 10", "overhead"),
        ),
    ),
    Case(
        name="dataset",
        title="100,000 examples from a dataset, the loss fetched at every step",
        unit="example",
        stages=_stages(
            "asked.dataset",
            ("fetch", NAIVE, None),
            ("no-fetch", "the loss no longer fetched every step", "overhead"),
        ),
    ),
    Case(
        name="fit",
        title="Model.fit, its first epoch",
        unit="example",
        over=("batch", "prefetch"),
        stages=_stages(
            "asked.fit",
            ("epoch-1", NAIVE, None),
            ("epoch-2", "the second epoch", "start-up"),
            ("epoch-3", "the third epoch", "start-up"),
            ("steady", "an epoch once warm", "start-up"),
        ),
    ),
)
