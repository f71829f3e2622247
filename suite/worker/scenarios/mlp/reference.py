"""What the seeded training steps have to come to, by NumPy in float64: who is right where arms disagree.

The losses are committed (`references`, made by ``nox -s references``), since the widest networks take
NumPy minutes; tests/bench/references.py has the arithmetic, and a test computes the others again.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from suite.worker.scenario.scenario import WrongResult
from suite.worker.scenarios.mlp.networks import Network
from suite.worker.scenarios.mlp.references import LOSSES


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
