"""mlp: training small networks, where GPUs lose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from suite.model import Check, Param, ProfileName, Work
from suite.worker.scenario import Point, Prepared, Scenario
from suite.worker.scenarios.networks import (
    NETWORKS,
    TRAINING_PROOF,
    Trainer,
    build,
    demand_finite,
    examples,
)

BATCHES = {"A": (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096), "B": (10, 32, 512)}
FED = {"A": (32, 512), "B": (10, 32)}
"""The batches at which the data also comes from the host or through a dataset."""

EXAMPLES = {("B", 10): 1_000}
"""People who ask about batches of 10 have 1,000 examples; else a network's own number."""


def work(batch: int, **_: Param) -> Work:
    """One training step on so many examples."""
    return Work(amount=float(batch), unit="example")


def prepare(
    *, device: str, net: str, batch: int, data: str, precision: str, execution: str
) -> Prepared:
    """One training step of the network, with its data from where ``data`` says."""
    if (precision, execution) != ("fp32", "graph"):
        raise ValueError(f"no such training: {precision}, {execution}")
    network = NETWORKS[net]
    count = EXAMPLES.get((net, batch), network.examples)
    inputs, labels = examples(network, max(count, batch))
    trainer = Trainer(network, build(network, device), device)
    step, close = FEEDS[data](trainer, inputs, labels, batch, device)

    def check(last: Any) -> Check:
        demand_finite(last)
        return trainer.check(inputs[:batch], labels[:batch])

    return Prepared(
        step=step,
        check=check,
        proof=TRAINING_PROOF,
        enqueues=data == "device",
        traces=trainer.traces,
        close=close,
    )


Feed = tuple[Callable[[], Any], Callable[[], None]]


def from_device(trainer: Trainer, inputs: Any, labels: Any, batch: int, device: str) -> Feed:
    """The same batch every time, already on the device."""
    import tensorflow as tf

    with tf.device(device):
        here = tf.constant(inputs[:batch]), tf.constant(labels[:batch])
    return (lambda: trainer.step(*here)), _nothing


def from_host(trainer: Trainer, inputs: Any, labels: Any, batch: int, device: str) -> Feed:  # noqa: ARG001  a feed's signature
    """NumPy slices, one after the other through all examples, passed at every step."""
    slices = _round_robin(len(inputs), batch)

    def step() -> Any:
        rows = next(slices)
        return trainer.step(inputs[rows], labels[rows])

    return step, _nothing


def from_dataset(trainer: Trainer, inputs: Any, labels: Any, batch: int, device: str) -> Feed:  # noqa: ARG001  a feed's signature
    """A dataset of slices without end: shuffled, batched, prefetched.

    Repeated before it is shuffled: the other way round every epoch begins with one burst that fills
    the buffer, and the median of samples shorter than an epoch would leave that out.
    """
    import tensorflow as tf

    dataset = (
        tf.data.Dataset.from_tensor_slices((inputs, labels))
        .repeat()
        .shuffle(len(inputs), seed=0)
        .batch(batch, drop_remainder=True)
        .prefetch(tf.data.AUTOTUNE)
    )
    batches = [iter(dataset)]
    return (lambda: trainer.step(*next(batches[0]))), batches.clear


FEEDS: dict[str, Callable[[Trainer, Any, Any, int, str], Feed]] = {
    "device": from_device,
    "host": from_host,
    "dataset": from_dataset,
}


def _nothing() -> None:
    """Closes nothing."""


def _round_robin(count: int, batch: int) -> Iterator[slice]:
    while True:
        for start in range(0, count - batch + 1, batch):
            yield slice(start, start + batch)


def _profiles(net: str, batch: int, data: str) -> tuple[ProfileName, ...]:
    if (net, batch) == ("A", 32) and data in {"device", "dataset"}:
        return ("smoke", "quick", "standard", "full")
    if (net, data) == ("A", "device") and batch in {512, 4096}:
        return ("quick", "standard", "full")
    return ("standard", "full")


TRAIN = Scenario(
    family="mlp",
    case="train",
    about="One training step of a small network by a tf.function of one's own.",
    question="What does a training step of network {net} at batch {batch} take, "
    "data from the {data} ({precision}, {execution})?",
    axes=("net", "batch", "data", "precision", "execution"),
    points=tuple(
        Point(
            params={
                "net": net,
                "batch": batch,
                "data": data,
                "precision": "fp32",
                "execution": "graph",
            },
            profiles=_profiles(net, batch, data),
        )
        for data, batches in (("device", BATCHES), ("host", FED), ("dataset", FED))
        for net in batches
        for batch in batches[net]
    ),
    work=work,
    prepare=prepare,
    sweep="batch",
)
