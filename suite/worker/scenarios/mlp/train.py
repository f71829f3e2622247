"""mlp: a training step of a small network, where GPUs lose: by batch, data, precision, execution, and width.

``mlp.width`` is network A with wide hidden layers, where the arithmetic begins to count.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from suite.cells.cell import Link, Param, Work
from suite.cells.scenario import Links, Scenario, Target, cell, cross, vary
from suite.cells.traits import FULL, QUICK, SMOKE, STANDARD, Data, LinkName, Profiles
from suite.model import Check
from suite.worker.proof.precision import demand, switch
from suite.worker.scenario.scenario import Prepared, Resident, lay
from suite.worker.scenarios import matmul
from suite.worker.scenarios.mlp.networks import NETWORKS, A, Network, build, examples, one_batch
from suite.worker.scenarios.mlp.training import CHECK_STEPS, TOLERANCES, TRAINING_PROOF, Trainer

SIZES = {
    8: STANDARD,
    16: FULL,
    32: SMOKE,
    64: FULL,
    128: STANDARD,
    256: FULL,
    512: QUICK,
    1024: FULL,
    2048: STANDARD,
    4096: QUICK,
}
"""The batches of A with data on the device, and the profiles that hold them: every other batch, and those
that others are told by."""

BATCHES = {"A": tuple(SIZES), "B": (10, 32, 512)}
FED = {"A": (32, 512), "B": (10, 32)}
"""The batches at which the data also comes from the host or through a dataset."""

EXECUTIONS = ("eager", "xla")
EXECUTED = (32, 512)
"""The batches of A at which the step also runs eager and compiled by XLA, against ``graph``."""

LOW = ("tf32", "bf16")
LOW_BATCH = 512
"""The precisions of tensor cores that people train in, and the batch at which they are measured."""

EXAMPLES = {("B", 10): 1_000}
"""People who ask about batches of 10 have 1,000 examples; else a network's own number."""


def work(net: str, batch: int, **_: Param) -> Work:
    """One training step on so many examples."""
    return replace(one_batch(batch), bytes_in=float(batch * NETWORKS[net].example_bytes))


def prepare(*, device: str, net: str, batch: int, **axes: Any) -> Prepared:
    """One training step of the network; the other axes are those of `prepare_step`."""
    count = EXAMPLES.get((net, batch), NETWORKS[net].examples)
    return prepare_step(NETWORKS[net], device, batch=batch, count=count, **axes)


def prepare_step(
    network: Network,
    device: str,
    *,
    batch: int,
    count: int,
    precision: str,
    data: str = "device",
    execution: str = "graph",
    steps: int = CHECK_STEPS,
) -> Prepared:
    """One training step on batches of ``count`` examples, from where ``data`` says; its check trains so many
    ``steps``."""
    demand(precision, device)
    inputs, labels = examples(network, max(count, batch))
    model = build(network, device, precision=precision)
    trainer = Trainer(network, model, device, execution=execution)
    here = lay(device, inputs[:batch], labels[:batch])
    step, close = _feed(data, trainer, (inputs, labels), here)

    def check(last: Any, *, brief: bool = False) -> Check:
        matmul.confirm(precision, device)
        first, allowed = (inputs[:batch], labels[:batch]), TOLERANCES[precision]
        return trainer.check(last, *first, steps=steps, tolerance=allowed, brief=brief)

    switch_back = switch(precision)
    return Prepared(
        step=step,
        check=check,
        brief=partial(check, brief=True),
        tensors=lambda value: trainer.tensors(value, here.tensors),
        resident=here if data == "device" else None,
        enqueues=data == "device",
        traces=trainer.traces,
        close=lambda: (switch_back(), close()),
    )


def _feed(
    data: str, trainer: Trainer, examples: tuple[Any, Any], first: Resident
) -> tuple[Callable[[], Any], Callable[[], None]]:
    """The step, and what lets go of its data: the ``first`` batch every time, which lies on the ``device``;
    NumPy slices, one after the other through all examples, passed from the ``host`` at every step; or a
    ``dataset`` of slices without end, shuffled, batched, prefetched.
    """
    if data == "device":
        return (lambda: trainer.step(*first.tensors)), lambda: None
    (inputs, labels), batch = examples, len(first.tensors[0])
    if data == "host":
        starts = range(0, len(inputs) - batch + 1, batch)
        slices = itertools.cycle([slice(start, start + batch) for start in starts])

        def step() -> Any:
            rows = next(slices)
            return trainer.step(inputs[rows], labels[rows])

        return step, lambda: None
    import tensorflow as tf

    # Repeated before it is shuffled: the other way round every epoch begins with one burst that fills
    # the buffer, and the median of samples shorter than an epoch would leave that out.
    dataset = (
        tf.data.Dataset.from_tensor_slices((inputs, labels))
        .repeat()
        .shuffle(len(inputs), seed=0)
        .batch(batch, drop_remainder=True)
        .prefetch(tf.data.AUTOTUNE)
    )
    batches = [iter(dataset)]
    return (lambda: trainer.step(*next(batches[0]))), batches.clear


def _profiles(net: str, batch: int, data: str, **rest: Param) -> Profiles:
    if rest == {**PLAIN, "execution": "eager"} and batch == min(EXECUTED):
        return STANDARD
    if rest != PLAIN:
        return FULL
    if (net, data) == ("A", "device"):
        return SIZES.get(batch, FULL)
    return FULL if (net, batch, data) == ("B", 32, "dataset") or batch == 10 else STANDARD


def _link(net: str, batch: int, data: str, precision: str, execution: str) -> Links:
    """The step with its data nearer, handed over less often, and taken apart where it is plain."""
    links: dict[LinkName, Target] = {}
    if data == "host":
        links["nearer"] = vary(AT_HAND, data="device")
    if execution == "eager":
        links["fewer"] = vary(execution="graph")
    plain = (precision, execution) == ("fp32", "graph")
    if plain and (net, data) == ("A", "device") and batch in EXECUTED:
        links["fewer"] = vary(execution="xla")
    if plain:
        links["compute"] = plain_step(net, batch)
    if (net, data) == ("A", "dataset"):
        links["input"] = cell("tfdata.slices", batch=batch, shuffle="on", prefetch="on")
    return links


AT_HAND = "with the data on the device"


def plain_step(net: str, batch: int) -> Link:
    """The step in a graph with its data at hand."""
    return cell("mlp.train", AT_HAND, net=net, batch=batch, data="device", **PLAIN)


def fed_step(net: str, batch: int) -> Link:
    """The same with its data from a dataset."""
    words = "by a loop of one's own"
    return cell("mlp.train", words, net=net, batch=batch, data="dataset", **PLAIN)


DATA: dict[str, Data] = {"device": "device", "host": "host", "dataset": "prefetched"}

CONTROLS = (
    *(("A", batch, "device", "fp32", "graph") for batch in (32, 512, 4096)),
    ("A", 32, "dataset", "fp32", "graph"),
)
"""The steps that twins run."""

PLAIN: dict[str, Any] = {"precision": "fp32", "execution": "graph"}

TRAIN = Scenario(
    family="mlp",
    case="train",
    question="What does a training step of network {net} at batch {batch} take, "
    "data from the {data} ({precision}, {execution})?",
    points=(
        *(
            point
            for data, batches in (("device", BATCHES), ("host", FED), ("dataset", FED))
            for net, sizes in batches.items()
            for point in cross(net=net, batch=sizes, data=data, **PLAIN)
        ),
        *cross(net="A", batch=LOW_BATCH, data="device", **{**PLAIN, "precision": LOW}),
        *cross(execution=EXECUTIONS, net="A", batch=EXECUTED, data="device", precision="fp32"),
    ),
    profiles=_profiles,
    work=work,
    prepare=prepare,
    work_key=lambda net, **_: f"training/{net}",
    sweep="batch",
    headline="rate",
    larger=("batch",),
    proof=lambda execution, **_: TRAINING_PROOF if execution == "graph" else "results",
    precision=lambda precision, **_: precision,
    data=lambda data, **_: DATA[data],
    dispatch=lambda execution, **_: execution,
    priced=True,
    control=lambda **axes: tuple(axes.values()) in CONTROLS,
    links=_link,
    choices={
        "batch": "larger_batch",
        "data": "data_place",
        "precision": "precision",
        "execution": "execution",
    },
)

WIDTHS = (64, 512, 2048, 8192)
LOW_WIDTHS = (2048, 8192)
"""The widths whose products are large enough for tensor cores to matter."""

WIDE_STEPS = 5
"""Steps that a wide network's check trains: at width 8192 one takes seconds on a small CPU."""


def widen(width: int) -> Network:
    """Network A with both hidden layers of a width.

    The learning rate falls as the width grows, or the first steps of a wide network overshoot and
    the check, whose loss has to fall, would see that instead of a fault.
    """
    hidden = ((width, "relu"), (width, "relu"))
    rate = A.learning_rate * min(1.0, 256 / width)
    return replace(A, layers=(*hidden, A.layers[-1]), learning_rate=rate)


def count_flop(network: Network, batch: int) -> float:
    """The floating-point operations of a training step's products.

    Each kernel once forward, once for its own gradient, and once for its input's gradient, which the
    first one needs none of; biases, activations, the loss and Adam are not counted.
    """
    sizes = [before * units for before, units in network.kernels]
    return 2.0 * batch * (3 * sum(sizes) - sizes[0])


def width_work(width: int, batch: int, **_: Param) -> Work:
    """The floating-point operations of a step's products: by width, a step's time follows them."""
    return Work(amount=count_flop(widen(width), batch), unit="FLOP", steps=1)


def prepare_width(*, device: str, width: int, batch: int, precision: str) -> Prepared:
    """One training step of network A with both hidden layers of a width, one batch on the device."""
    return prepare_step(
        widen(width), device, batch=batch, count=batch, precision=precision, steps=WIDE_STEPS
    )


WIDTH = Scenario(
    family="mlp",
    case="width",
    question="What does a training step take with hidden layers of {width}, batch {batch} ({precision})?",
    axes=("width", "batch", "precision"),
    points=(
        *cross(batch=(32, 512), width=WIDTHS, precision="fp32"),
        *cross(precision=LOW, width=LOW_WIDTHS, batch=512),
    ),
    profiles=lambda width, batch, precision: (
        STANDARD if width > 512 and (batch, precision) == (512, "fp32") else FULL
    ),
    work=width_work,
    prepare=prepare_width,
    work_key=lambda width, **_: f"training at width/{width}",
    sweep="width",
    larger=("batch",),
    proof=TRAINING_PROOF,
    precision=lambda precision, **_: precision,
    data="device",
    dispatch="graph",
    priced=True,
    choices={"batch": "larger_batch", "precision": "precision"},
)
