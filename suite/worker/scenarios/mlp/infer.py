"""mlp.infer: asking a trained network, by calling the model or by `Model.predict`."""

from __future__ import annotations

from typing import Any

import numpy as np

from suite.cells.links import vary
from suite.cells.scenario import Results, Scenario, cross
from suite.model import Check
from suite.worker.scenario.choices import CALL, MORE_EXAMPLES
from suite.worker.scenario.scenario import Prepared, WrongResult, lay
from suite.worker.scenarios.mlp.networks import A, build, examples, one_batch, weights
from suite.worker.scenarios.mlp.training import MATMUL_PROOF

BATCHES = (1, 32, 512)
CALLS = ("direct", "predict")

TOLERANCE = 1e-4
"""How far a probability may be from the one in float64: float32's own error is some 1e-6 here, TF32's
would be 1e-3."""


def prepare(*, device: str, batch: int, call: str) -> Prepared:
    """Network A's answer to one batch.

    ``direct`` is what people write: ``model(x)``, eager, x on the device, nothing fetched.  ``predict``
    is Keras's loop for one batch: NumPy's array in, NumPy's array out.
    """
    inputs, _ = examples(A, batch)
    model = build(A, device)
    # Explicit: Keras's "auto" compiles beside a GPU and not without one.
    model.compile(jit_compile=False)
    if call == "direct":
        here = lay(device, inputs)
        return Prepared(
            step=lambda: model(*here.tensors, training=False),
            check=lambda answer: check(inputs, answer.numpy()),
            resident=here,
            enqueues=True,
        )

    def traces() -> int:
        made = model.predict_function
        return 0 if made is None else int(made.experimental_get_tracing_count())

    return Prepared(
        step=lambda: model.predict(inputs, batch_size=batch, verbose=0),
        check=lambda answer: check(inputs, answer),
        traces=traces,
    )


def answer(inputs: Any) -> Any:
    """Network A's probabilities by its seeded weights, in float64: shape (count, 1)."""
    *hidden, kernel, bias = weights(A)
    here = inputs.astype(np.float64)
    for matrix, shift in zip(hidden[::2], hidden[1::2], strict=True):
        here = np.maximum(here @ matrix + shift, 0.0)
    return 1.0 / (1.0 + np.exp(-(here @ kernel + bias)))


def check(inputs: Any, found: Any) -> Check:
    """Every probability against the one in float64.

    Raises:
        WrongResult: one is off, or there are not as many as inputs.
    """
    expected = answer(inputs)
    if found.shape != expected.shape:
        raise WrongResult(f"answers of shape {found.shape} to {len(inputs)} examples")
    off = float(np.max(np.abs(found - expected)))
    if not off <= TOLERANCE:
        raise WrongResult(f"a probability is off by {off:.2g}; {TOLERANCE:g} is allowed")
    return Check(what=f"every probability within {TOLERANCE:g} of float64's: off by {off:.1e}")


INFER = Scenario(
    family="mlp",
    case="infer",
    question="How long does network A take to answer {batch} examples (call: {call})?",
    axes=("batch", "call"),
    points=cross(call=CALLS, batch=BATCHES),
    work=one_batch,
    prepare=prepare,
    role="work",
    kin="inference/A",
    sweep="batch",
    larger=("batch",),
    proof=lambda call, **_: Results() if call == "direct" else MATMUL_PROOF,
    data=lambda call, **_: "device" if call == "direct" else "host",
    dispatch=lambda call, **_: "eager" if call == "direct" else "keras",
    priced=True,
    links={"fewer": vary(call="direct")},
    choices={"batch": MORE_EXAMPLES, "call": CALL},
)
