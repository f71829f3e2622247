"""mlp.retrace: a training step whose function is traced anew at every call, or once for all of them.

`tf.function` makes another graph for every new shape of an argument, and for every new value of one that is a
Python number.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

from suite.cells.scenario import Scenario, cross, vary
from suite.cells.traits import STANDARD
from suite.model import Check
from suite.worker.scenario.scenario import Prepared, WrongResult, lay
from suite.worker.scenarios.mlp import train
from suite.worker.scenarios.mlp.networks import A, build, examples, loss_of, one_batch
from suite.worker.scenarios.mlp.training import TRAINING_PROOF, Trainer

BATCH = 32

SHAPES = tuple(BATCH + sign * far for far in range(9) for sign in ((1, -1) if far else (1,)))
"""The batches of a cell whose shapes vary, ``BATCH`` on average; none is like the one before."""

WEIGHT_STEP = 2.0**-20
"""By so much the loss's weight grows from call to call, as one that is annealed does."""

MOST_TRACES = {"number": 1, "shape": 2}
"""The traces of a function that is not traced anew: of shapes the first, and the one for any that follow."""

REMEDIES = {
    "number": "with a tensor instead of a Python number",
    "shape": "with reduce_retracing=True",
}


class WeighedTrainer(Trainer):
    """A `Trainer` of network A whose loss has a weight, which is an argument of the step."""

    def __init__(self, device: str, *, relaxed: bool) -> None:
        import tensorflow as tf

        super().__init__(A, build(A, device), device)
        model, optimizer, loss = self.model, self.optimizer, loss_of(A)

        def step(inputs: Any, labels: Any, weight: Any) -> Any:
            with tf.GradientTape() as tape:
                value = loss(labels, model(inputs, training=True))
                weighed = weight * value
            gradients = tape.gradient(weighed, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return value

        self._make: Callable[[], Any] = lambda: tf.function(
            step, jit_compile=False, reduce_retracing=relaxed
        )
        (self.one,) = lay(device, 1.0).tensors
        self.calls = self._earlier = 0
        self._function = self._make()
        self.step = self.train

    def renew(self) -> None:
        """Goes on with a function that has no trace."""
        self._earlier += self.traces()
        self._function = self._make()

    def train(self, inputs: Any, labels: Any, weight: Any = None) -> Any:
        """One step, counted; its loss before it is weighed."""
        self.calls += 1
        return self._function(inputs, labels, self.one if weight is None else weight)

    def all_traces(self) -> int:
        """The traces of all functions so far."""
        return self._earlier + self.traces()


def demand_traces(varies: str, traced: str, *, traces: int, calls: int) -> None:
    """Raises WrongResult unless every call was traced, or, where that is said, none but the first ones."""
    if traced == "anew" and traces != calls:
        raise WrongResult(
            f"{calls} calls of a function that is traced at each made {traces} traces"
        )
    if traced == "once" and traces > MOST_TRACES[varies]:
        raise WrongResult(f"a function that need not be traced again was traced {traces} times")


def prepare(*, device: str, varies: str, traced: str, batch: int) -> Prepared:
    """A training step of network A whose loss has another weight at every call, or whose batch another size.

    The weight is a Python number or a tensor.  Shapes are not traced anew where the function is told to
    reduce retracing; where they are, it is made anew as soon as it has seen them all.
    """
    import tensorflow as tf

    inputs, labels = examples(A, A.examples)
    sizes = SHAPES if varies == "shape" else (batch,)
    here = lay(device, *(rows[:size] for size in sizes for rows in (inputs, labels)))
    batches = list(zip(here.tensors[::2], here.tensors[1::2], strict=True))
    trainer = WeighedTrainer(device, relaxed=(varies, traced) == ("shape", "once"))
    following = itertools.cycle(range(len(batches)))

    def weigh() -> Any:
        if varies == "shape":
            return trainer.one
        weight = 1.0 + trainer.calls * WEIGHT_STEP
        return weight if traced == "anew" else tf.constant(weight)

    def step() -> Any:
        index = next(following)
        if index == 0 and (varies, traced) == ("shape", "anew"):
            trainer.renew()
        return trainer.train(*batches[index], weigh())

    def check(last: Any, *, brief: bool = False) -> Check:
        demand_traces(varies, traced, traces=trainer.all_traces(), calls=trainer.calls)
        return trainer.check(last, inputs[:batch], labels[:batch], brief=brief)

    return Prepared(
        step=step,
        check=check,
        brief=partial(check, brief=True),
        resident=here,
        enqueues=True,
        retraces=traced == "anew",
        # The trace for any shape comes with the second one.
        warm_start=step if varies == "shape" and traced == "once" else None,
    )


RETRACE = Scenario(
    family="mlp",
    case="retrace",
    question="What does a training step of A at batch {batch} take whose {varies} is new at every call, "
    "traced {traced}?",
    points=cross(varies=tuple(REMEDIES), traced=("anew", "once"), batch=BATCH),
    profiles=STANDARD,
    work=one_batch,
    prepare=prepare,
    work_key="training/A",
    proof=TRAINING_PROOF,
    data="device",
    dispatch="graph",
    choices=lambda varies, **_: {"traced": f"traced_{varies}"},
    links=lambda varies, traced, **_: (
        {"plain": train.plain_step("A", BATCH)}
        if traced == "once"
        else {"traced": vary(REMEDIES[varies], traced="once")}
    ),
)
