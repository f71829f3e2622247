"""Makes the references: NumPy's loss of every training run that some cell's check makes.

python -m tests.bench.references          writes the file; takes minutes for the widest networks
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suite.cells.cell import Cell
from suite.worker import scenarios
from suite.worker.scenarios.mlp import loop
from suite.worker.scenarios.mlp import train as mlp
from suite.worker.scenarios.mlp.networks import NETWORKS, A, B, C, Network, weights
from suite.worker.scenarios.mlp.networks import examples as draw_examples
from suite.worker.scenarios.mlp.training import CHECK_STEPS, REFERENCES, name_training
from suite.worker.scenarios.scripts import dropout, loops
from suite.worker.scenarios.tfdata import triple
from suite.worker.scenarios.tfdata.pipelines import Pipeline, normalise_in_numpy

examples = functools.cache(draw_examples)
"""Many cells train on the same."""


BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-7
"""Adam's constants as Keras has them."""


def train(
    network: Network, inputs: Any, labels: Any, steps: int, begin: list[Any] | None = None
) -> list[float]:
    """The loss before each of so many steps of Adam on one batch, in float64, from the seeded weights or from
    others.

    Forward, backward by hand, and Adam as in Kingma & Ba 2015, algorithm 1, in the form that Keras has
    (the bias corrections folded into the rate, section 2).
    """
    parameters = [array.astype(np.float64) for array in begin or weights(network)]
    means = [np.zeros_like(array) for array in parameters]
    squares = [np.zeros_like(array) for array in parameters]
    rows, answers = np.asarray(inputs, np.float64), np.asarray(labels)
    losses = []
    for step in range(1, steps + 1):
        loss, gradients = differentiate(network, parameters, rows, answers)
        losses.append(loss)
        if step == steps:
            break
        rate = network.learning_rate * np.sqrt(1 - BETA_2**step) / (1 - BETA_1**step)
        for index, gradient in enumerate(gradients):
            means[index] += (gradient - means[index]) * (1 - BETA_1)
            squares[index] += (gradient**2 - squares[index]) * (1 - BETA_2)
            parameters[index] -= rate * means[index] / (np.sqrt(squares[index]) + EPSILON)
    return losses


def differentiate(
    network: Network, parameters: list[Any], inputs: Any, labels: Any
) -> tuple[float, list[Any]]:
    """The mean cross-entropy of a batch, and its gradient by every kernel and bias.

    Args:
        network: relu layers, and at the end one sigmoid or a softmax over the classes.
        parameters: kernels and biases in turn.
        inputs: of shape (batch, inputs).
        labels: whole numbers of shape (batch, 1).
    """
    layers = list(zip(parameters[::2], parameters[1::2], strict=True))
    layers_in = [inputs]
    for kernel, bias in layers[:-1]:
        layers_in.append(np.maximum(layers_in[-1] @ kernel + bias, 0.0))
    kernel, bias = layers[-1]
    logits, count = layers_in[-1] @ kernel + bias, len(inputs)
    if network.classes == 2:
        # Of a sigmoid, without its overflow: max(x, 0) - x·y + log(1 + exp(-|x|)).
        entropy = np.maximum(logits, 0) - logits * labels + np.log1p(np.exp(-np.abs(logits)))
        error = (1 / (1 + np.exp(-logits)) - labels) / count
    else:
        shifted = logits - logits.max(axis=1, keepdims=True)
        logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        entropy = -np.take_along_axis(logs, labels, axis=1)
        error = np.exp(logs)
        error[np.arange(count), labels[:, 0]] -= 1
        error /= count
    gradients: list[Any] = []
    for index in reversed(range(len(layers))):
        gradients[:0] = [layers_in[index].T @ error, error.sum(axis=0)]
        if index:
            error = (error @ layers[index][0].T) * (layers_in[index] > 0)
    return float(entropy.mean()), gradients


@dataclass(frozen=True, kw_only=True)
class Run:
    """One training run: the check's own arguments."""

    network: Network
    inputs: Any
    labels: Any
    steps: int

    @property
    def name(self) -> str:
        return name_training(self.network, self.inputs, self.labels, self.steps)

    @property
    def weights(self) -> int:
        """Of its largest layer."""
        return max(before * after for before, after in self.network.kernels)

    @property
    def loss(self) -> float:
        return train(self.network, self.inputs, self.labels, self.steps)[-1]


def find_run(cell: Cell) -> Run | None:
    """The run that the cell's check makes; None: it trains nothing."""
    case, params = f"{cell.scenario}.{cell.case}", cell.params
    batch, steps = int(params.get("batch", 0)), CHECK_STEPS
    network: Network = A
    if case == "mlp.train":
        network = NETWORKS[str(params["net"])]
        count = mlp.EXAMPLES.get((network.name, batch), network.examples)
        inputs, labels = examples(network, max(count, batch))
    elif case == "mlp.width":
        network, steps = mlp.widen(int(params["width"])), mlp.WIDE_STEPS
        inputs, labels = examples(network, batch)
    elif case == "mlp.fallback":
        inputs, labels = examples(A, batch)
        inputs = normalise_in_numpy(inputs)
    elif case == "asked.slices":
        network, batch = B, loops.SLICES.settings(str(params["stage"])).batch
        inputs, labels = examples(B, loops.EXAMPLES)
    elif case == "asked.dataset":
        network, batch = B, loops.BATCH
        inputs, labels = examples(B, B.examples)
    elif case == "asked.dropout" and cell.process is None:
        network, batch, steps = C, dropout.count_batch(str(params["stage"])), 1
        inputs, _ = examples(C, C.examples)
        inputs, labels = dropout.FAR * inputs, dropout.teach(inputs)
    elif case == "tfdata.to_device" or (case == "tfdata.triple" and params["part"] == "together"):
        source = Pipeline(batch=batch, prefetch="on")
        if case == "tfdata.triple":
            source = triple.make_pipeline(str(params["pipeline"]), batch)
        inputs, labels = source.expected(batch).astype(np.float32), source.examples[1]
    elif case in {"mlp.loop", "mlp.loop_short", "asked.fit"}:
        steps = loop.SEEDED_STEPS + 1
        inputs, labels = examples(A, A.examples)
    else:
        return None
    return Run(network=network, inputs=inputs[:batch], labels=labels[:batch], steps=steps)


def list_runs() -> Iterator[Run]:
    """Every run once, and its first step, which is all that a brief check makes."""
    names: set[str] = set()
    for cell in scenarios.cells():
        full = find_run(cell)
        for run in (full, replace(full, steps=1)) if full else ():
            if run.name not in names:
                names.add(run.name)
                yield run


def main() -> None:
    losses = {run.name: run.loss for run in list_runs()}
    REFERENCES.write_text(f"{json.dumps(losses, indent=1, sort_keys=True)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
