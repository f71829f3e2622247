"""mlp.width: a training step of network A with wide hidden layers, where the arithmetic begins to count."""

from __future__ import annotations

from dataclasses import replace

from suite.cells.cell import Work
from suite.cells.scenario import Scenario, cross
from suite.worker.scenario.choices import LARGER_BATCH, PRECISION
from suite.worker.scenario.profiles import FULL, STANDARD, Profiles
from suite.worker.scenario.scenario import Prepared
from suite.worker.scenarios.mlp import train
from suite.worker.scenarios.mlp.networks import A, Network
from suite.worker.scenarios.mlp.training import TRAINING_PROOF

WIDTHS = (64, 512, 2048, 8192)
LOW = ("tf32", "bf16")
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


def work(width: int, batch: int, precision: str) -> Work:  # noqa: ARG001  the axes of the case
    """The floating-point operations of a step's products: by width, a step's time follows them."""
    return Work(amount=count_flop(widen(width), batch), unit="FLOP", steps=1)


def prepare(*, device: str, width: int, batch: int, precision: str) -> Prepared:
    """One training step of network A with both hidden layers of a width, one batch on the device."""
    return train.prepare_step(
        widen(width), device, batch=batch, count=batch, precision=precision, steps=WIDE_STEPS
    )


def _profiles(width: int, batch: int, precision: str) -> Profiles:
    return STANDARD if width > 512 and (batch, precision) == (512, "fp32") else FULL


WIDTH = Scenario(
    family="mlp",
    case="width",
    question="What does a training step take with hidden layers of {width}, batch {batch} ({precision})?",
    axes=("width", "batch", "precision"),
    points=(
        *cross(batch=(32, 512), width=WIDTHS, precision="fp32"),
        *cross(precision=LOW, width=LOW_WIDTHS, batch=512),
    ),
    profiles=_profiles,
    work=work,
    prepare=prepare,
    role="work",
    kin=lambda width, **_: f"training at width/{width}",
    sweep="width",
    larger=("batch",),
    proof=TRAINING_PROOF,
    precision=lambda precision, **_: precision,
    data="device",
    dispatch="graph",
    priced=True,
    choices={"batch": LARGER_BATCH, "precision": PRECISION},
)
