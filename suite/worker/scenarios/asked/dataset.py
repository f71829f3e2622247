"""asked.dataset: network B on a dataset of 100,000 examples, with and without fetching the loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from suite.cells.cell import Work
from suite.cells.scenario import Scenario
from suite.model import Check
from suite.worker.scenario.scenario import Prepared
from suite.worker.scenarios.asked.stages import (
    PINNED,
    QUICK,
    Stage,
    belongs,
    find,
    pin,
    placed,
    points,
    ways,
)
from suite.worker.scenarios.mlp.networks import B, build, examples
from suite.worker.scenarios.mlp.training import TRAINING_PROOF, Trainer, demand_finite

BATCH = 32


@dataclass(frozen=True, kw_only=True)
class Loop:
    """A loop over the dataset; ``fetch``: the loss is brought to Python at every step."""

    fetch: bool


FETCH = Loop(fetch=True)
NO_FETCH = replace(FETCH, fetch=False)

STAGES = (
    Stage("fetch", "the loss fetched every step", FETCH, profiles=QUICK),
    Stage(
        "no-fetch", "the loss no longer fetched every step", NO_FETCH, "overhead", profiles=QUICK
    ),
)


def work(stage: str, on: str) -> Work:  # noqa: ARG001  the axes of the case
    """One training step's examples."""
    return Work(amount=float(BATCH), unit="example")


def prepare(*, device: str, stage: str, on: str) -> Prepared:
    """One training step on the next batch: batched and prefetched, never shuffled, as asked.

    The dataset repeats without end, so that a call is a step and not an epoch of 3,125 of them.
    """
    import tensorflow as tf

    loop = find(STAGES, stage)
    place = placed(device, on)
    inputs, labels = examples(B, B.examples)
    trainer = Trainer(B, build(B, place), place)
    with tf.device("/CPU:0"):
        dataset = (
            tf.data.Dataset.from_tensor_slices((inputs, labels))
            .repeat()
            .batch(BATCH, drop_remainder=True)
            .prefetch(tf.data.AUTOTUNE)
        )
    batches = [iter(dataset)]

    def going_on() -> Any:
        return trainer.step(*next(batches[0]))

    def fetching() -> float:
        return float(going_on().numpy())

    def check(last: Any) -> Check:
        demand_finite(last)
        first = inputs[:BATCH], labels[:BATCH]
        # Under the same device as the timed steps, or it would be another trace that is checked.
        return pin(lambda: trainer.check(*first), on)()  # type: ignore[no-any-return]

    return Prepared(
        step=pin(fetching if loop.fetch else going_on, on),
        check=check,
        proof=TRAINING_PROOF,
        on=belongs(on),
        traces=trainer.traces,
        close=batches.clear,
    )


WAY = ways("dataset", "100,000 examples from a dataset, the loss fetched at every step", STAGES)


SCENARIOS = tuple(
    Scenario(
        family="asked",
        case="dataset",
        about="Network B on a dataset of 100,000 examples: batch 32, prefetched, not shuffled.",
        question=f"What does a step of network B on a dataset take with {stage.new} (work on: {{on}})?",
        axes=("stage", "on"),
        points=points(stage),
        work=work,
        prepare=prepare,
        **PINNED,
        kin="training/B",
        proof=TRAINING_PROOF,
        data="prefetched",
        dispatch="graph",
        way=WAY,
    )
    for stage in STAGES
)
