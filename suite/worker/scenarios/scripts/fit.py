"""asked.fit: network A by ``Model.fit``, epoch by epoch, until an epoch is like the one before."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any

from suite.cells.cell import Param, Work
from suite.cells.scenario import Links, Point, Target, cell, cross, vary
from suite.cells.traits import FULL, STANDARD, LinkName, Profiles
from suite.model import Check
from suite.worker.proof import placement
from suite.worker.scenario.scenario import Nodes, Prepared, Printed, WrongResult
from suite.worker.scenarios.mlp import train
from suite.worker.scenarios.mlp.loop import (
    SEEDED_STEPS,
    check_epochs,
    count_epochs,
    train_seeded,
)
from suite.worker.scenarios.mlp.networks import A, build, examples, loss_of, make_optimizer
from suite.worker.scenarios.mlp.training import CHECK_TOLERANCE, demand_all_finite
from suite.worker.scenarios.scripts.posted import fit as script
from suite.worker.scenarios.scripts.waterfall import (
    FIRST_STEP,
    SCRIPT,
    On,
    Stage,
    by_half,
    pin,
    placed,
    read_waterfall,
)
from suite.worker.scenarios.tfdata.pipelines import place_data

ENDS = ("epoch-1", "steady")
"""The stages of the shorter profiles, and of the variants."""

VARIANTS = ((512, "on"), (512, "off"), (8, "on"))
"""Batch and prefetch: as asked first, of which every stage is measured; then one of the two otherwise."""


def work(batch: int, **_: Param) -> Work:
    """The examples of one epoch, the last partial batch included."""
    return Work(amount=float(A.examples), unit="example", steps=-(-A.examples // batch))


def prepare(*, device: str, stage: str, batch: int, prefetch: str, on: On) -> Prepared:
    """Network A by ``Model.fit`` on a shuffled dataset, one epoch a call.

    The first epoch holds what a fresh model costs: tracing, the optimizer's variables, the first
    iterator.  It is not the first fit of the process: what TensorFlow does once, the start-up sequence
    and the cells before have paid.  Epochs 2 and 3 are of a model as fresh, after untimed ones.
    """
    timed = WATERFALL.settings(stage)
    inputs, labels = examples(A, A.examples)
    dataset = _pipeline(inputs, labels, batch, prefetch)
    steps = -(-A.examples // batch)
    untimed = max(0, timed.epoch - 1)
    epochs: list[float] = []

    place = placed(device, on)
    model = pin(lambda: _compiled(place), on)() if timed.model == "placed" else _compiled(None)

    def fit() -> float:
        history = model.fit(dataset, epochs=1, verbose=int(timed.bar))
        epochs.append(float(history.history["loss"][-1]))
        return epochs[-1]

    step = pin(fit, on)

    def warm_start() -> None:
        for _ in range(untimed):
            step()

    def check(_: Any, *, brief: bool = False) -> Check:
        if timed.epoch not in {0, len(epochs)}:
            raise WrongResult(f"{len(epochs)} epochs were made, the last of which was timed")
        if brief:
            return count_epochs(model, epochs, steps)
        return pin(partial(check_epochs, model, epochs, steps, batch), on)()  # type: ignore[no-any-return]

    return Prepared(
        step=step,
        check=check,
        brief=partial(check, brief=True),
        warm_start=warm_start if untimed else None,
    )


@cache
def _fit_again(model: Any, dataset: Any, half: str) -> Nodes:
    """The nodes of one more step, which is the same for each epoch that was printed."""
    import tensorflow as tf

    model.make_train_function(force=True)
    with placement.watch() as nodes, tf.device(half):
        model.fit(dataset.take(1), verbose=0)
    return nodes


@cache
def _train_again(model: Any, half: str) -> float:
    """The loss after seeded steps by the script's own ``fit``, likewise: what Keras makes of the names of an
    optimizer and a loss is its own default."""
    import tensorflow as tf

    with tf.device(half):
        return train_seeded(model, script.BATCH)[1]


def _bear_out(run: tuple[Any, ...], half: str, *, epoch: int, **_: Param) -> Printed:
    seconds, losses, model, dataset = run

    def check() -> Check:
        made = len(losses[half])
        if made != script.EPOCHS:
            raise WrongResult(f"{made} epochs were made, not {script.EPOCHS}")
        demand_all_finite(losses[half])
        return Check(
            what=f"{made} epochs in one call; their losses are finite; that after {SEEDED_STEPS} seeded "
            "steps is NumPy's (value)",
            value=_train_again(model, half),
            tolerance=CHECK_TOLERANCE,
        )

    return Printed(
        seconds=seconds[half][epoch - 1],
        check=check,
        again=partial(_fit_again, model, dataset, half),
    )


def _pipeline(inputs: Any, labels: Any, batch: int, prefetch: str) -> Any:
    """One epoch, shuffled anew each time, as asked: a call is a whole one, the filling of the buffer
    included."""
    import tensorflow as tf

    dataset = tf.data.Dataset.from_tensor_slices((inputs, labels)).shuffle(A.examples, seed=0)
    dataset = dataset.batch(batch)
    return dataset.prefetch(tf.data.AUTOTUNE) if prefetch == "on" else dataset


def _compiled(device: str | None) -> Any:
    model = build(A, device)
    model.compile(optimizer=make_optimizer(A), loss=loss_of(A), jit_compile=False)
    return model


def _profiles(stage: str, batch: int, prefetch: str, on: On, **_: Param) -> Profiles:
    if stage == SCRIPT or (stage, on) == ("placed", "arm"):
        return STANDARD
    return STANDARD if stage in ENDS and (batch, prefetch) == VARIANTS[0] else FULL


def _points(stage: Stage) -> tuple[Point, ...]:
    """Of the script all epochs; it is the first that the ladder begins with."""
    epochs: dict[str, Any] = {"epoch": range(1, script.EPOCHS + 1)} if stage.name == SCRIPT else {}
    return tuple(
        point
        for batch, prefetch in (VARIANTS if stage.name in ENDS else VARIANTS[:1])
        for point in cross(stage=stage.name, **epochs, batch=batch, prefetch=prefetch, on=stage.ons)
    )


WATERFALL = read_waterfall("fit", make_points=_points)
LAST = WATERFALL.stages[-1].name


def _link(stage: str, batch: int, prefetch: str, on: On, epoch: int = 1, **_: Param) -> Links:
    if stage != LAST:
        steady = cell("asked.fit", "once warm", stage=LAST, batch=batch, prefetch=prefetch, on=on)
        return {"start": FIRST_STEP, **({"warm": steady} if epoch > 1 else {})}
    links: dict[LinkName, Target] = {"feed": vary(prefetch="on")}
    if on == "arm":
        links["prefetched"] = vary("prefetched", prefetch="on")
        if (batch, prefetch) == VARIANTS[0]:
            own = "metrics, callbacks and checkpoints of one's own"
            links["own-loop"] = replace(train.fed_step("A", batch), effect="script", costs=own)
    return links


SCENARIOS = WATERFALL.declare(
    prepare,
    by_half(script.run, _bear_out),
    "What does Model.fit take for {new}, at batch {batch}, prefetch {prefetch} (work on: {on})?",
    profiles=_profiles,
    work=work,
    work_key="training/A",
    larger=("batch",),
    proof=WATERFALL.prove,
    data=lambda prefetch, **_: place_data(prefetch),
    dispatch="keras",
    priced=lambda stage, on, **_: (stage, on) == (LAST, "arm"),
    links=_link,
    choices={"batch": "larger_batch", "prefetch": "prefetch"},
)
