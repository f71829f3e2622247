"""What the seeded training steps have to come to, by NumPy in float64: who is right where arms disagree.

The losses are committed (`references`, made by ``nox -s references``), since the widest networks take
NumPy minutes; a test computes the others again.  Needs no TensorFlow.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from suite.worker.scenario.scenario import WrongResult
from suite.worker.scenarios.mlp.networks import Network, weights
from suite.worker.scenarios.mlp.references import LOSSES

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-7
"""Adam's constants as Keras has them."""


def name_training(network: Network, inputs: Any, labels: Any, steps: int) -> str:
    """The name of a training run among the references: of the network and of its data.

    Args:
        network: whose seeded weights it begins with.
        inputs: NumPy's, of shape (batch, inputs), as the first layer gets them.
        labels: NumPy's, of shape (batch, 1).
        steps: how many, all on this batch.
    """
    told = repr((network.inputs, network.layers, network.classes, network.learning_rate, steps))
    digest = hashlib.sha256(told.encode())
    # The labels tell the examples.  Of the inputs only how far they spread, which tells what was done to
    # them: maps in different libraries round their last bits differently.
    digest.update(np.asarray(labels, np.int64).tobytes())
    digest.update(f"{np.std(np.asarray(inputs, np.float64)):.2f}".encode())
    return f"{network.name}/{len(inputs)}/{steps}/{digest.hexdigest()[:12]}"


def demand_reference(
    network: Network, inputs: Any, labels: Any, *, steps: int, loss: float, tolerance: float
) -> None:
    """Holds the loss before the last of so many steps against NumPy's; arguments as `name_training`'s.

    A run that has no reference, as of a network that somebody is trying out, is not judged.

    Raises:
        WrongResult: it is off by more than the relative ``tolerance``.
    """
    expected = LOSSES.get(name_training(network, inputs, labels, steps))
    if expected is not None and not abs(loss - expected) <= tolerance * abs(expected):
        raise WrongResult(
            f"the loss is {loss:.6g} where NumPy's reference is {expected:.6g} (step {steps}; "
            f"{tolerance:g} of it is allowed)"
        )


def train(network: Network, inputs: Any, labels: Any, steps: int) -> list[float]:
    """The loss before each of so many steps of Adam on one batch, in float64.

    Forward, backward by hand, and Adam as in Kingma & Ba 2015, algorithm 1, in the form that Keras has
    (the bias corrections folded into the rate, section 2).
    """
    parameters = [array.astype(np.float64) for array in weights(network)]
    means = [np.zeros_like(one) for one in parameters]
    squares = [np.zeros_like(one) for one in parameters]
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
    seen = [inputs]
    for kernel, bias in layers[:-1]:
        seen.append(np.maximum(seen[-1] @ kernel + bias, 0.0))
    kernel, bias = layers[-1]
    logits, count = seen[-1] @ kernel + bias, len(inputs)
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
        gradients[:0] = [seen[index].T @ error, error.sum(axis=0)]
        if index:
            error = (error @ layers[index][0].T) * (seen[index] > 0)
    return float(entropy.mean()), gradients
