"""mlp.infer: asking a trained network: eager, in a graph, and by what Keras has for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from suite.cells.scenario import Scenario, Target, cross, vary
from suite.cells.traits import FULL, STANDARD, Dispatch
from suite.model import Check
from suite.worker.scenario.scenario import Prepared, WrongResult, lay
from suite.worker.scenarios.mlp.networks import A, build, examples, one_batch, weights
from suite.worker.scenarios.mlp.training import MATMUL_PROOF

BATCHES = (1, 32, 512)

CALLS = ("direct", "graph", "predict", "on_batch", "graph_numpy")
FETCHED = ("predict", "on_batch", "graph_numpy")
"""The calls that take NumPy's array and give NumPy's array."""

TOLERANCE = 1e-4
"""How far a probability may be from the one in float64: float32's own error is some 1e-6 here, TF32's
would be 1e-3."""


def prepare(*, device: str, batch: int, call: str) -> Prepared:
    """Network A's answer to one batch.

    ``direct`` is what people write: ``model(x)``, eager, x on the device, nothing fetched; ``graph`` is the
    same in a `tf.function`.  The others take NumPy's array and give NumPy's array: ``predict``, which is
    Keras's loop for one batch; ``on_batch``, Keras's `predict_on_batch`, without that loop; and
    ``graph_numpy``, the `tf.function` in its place.
    """
    import tensorflow as tf

    inputs, _ = examples(A, batch)
    model = build(A, device)
    # Explicit: Keras's "auto" compiles beside a GPU and not without one.
    model.compile(jit_compile=False)
    here = lay(device, inputs)
    graph = tf.function(lambda given: model(given, training=False), jit_compile=False)

    def traces() -> int:
        made = model.predict_function if call in {"predict", "on_batch"} else graph
        return 0 if made is None else int(made.experimental_get_tracing_count())

    steps: dict[str, Callable[[], Any]] = {
        "direct": lambda: model(*here.tensors, training=False),
        "graph": lambda: graph(*here.tensors),
        "predict": lambda: model.predict(inputs, batch_size=batch, verbose=0),
        "on_batch": lambda: model.predict_on_batch(inputs),
        "graph_numpy": lambda: graph(inputs).numpy(),
    }
    fetched = call in FETCHED
    return Prepared(
        step=steps[call],
        check=lambda last: check(inputs, last if fetched else last.numpy()),
        resident=None if fetched else here,
        enqueues=not fetched,
        traces=traces,
    )


def answer(inputs: Any) -> Any:
    """Network A's probabilities by its seeded weights, in float64: shape (count, 1)."""
    *hidden, kernel, bias = weights(A)
    here = inputs.astype(np.float64)
    for matrix, shift in zip(hidden[::2], hidden[1::2], strict=True):
        here = np.maximum(here @ matrix + shift, 0.0)
    return 1.0 / (1.0 + np.exp(-(here @ kernel + bias)))


def check(inputs: Any, answers: Any) -> Check:
    """Every probability against the one in float64.

    Raises:
        WrongResult: one is off, or there are not as many as inputs.
    """
    expected = answer(inputs)
    if answers.shape != expected.shape:
        raise WrongResult(f"answers of shape {answers.shape} to {len(inputs)} examples")
    off = float(np.max(np.abs(answers - expected)))
    if not off <= TOLERANCE:
        raise WrongResult(f"a probability is off by {off:.2g}; {TOLERANCE:g} is allowed")
    return Check(what=f"every probability within {TOLERANCE:g} of float64's: off by {off:.1e}")


DISPATCH: dict[str, Dispatch] = {
    "direct": "eager",
    "graph": "graph",
    "predict": "keras",
    "on_batch": "keras",
    "graph_numpy": "graph",
}

FEWER: dict[str, tuple[Target, ...]] = {
    "direct": (vary("in a tf.function", call="graph"),),
    "predict": (
        vary(call="direct"),
        vary("by predict_on_batch", call="on_batch"),
        vary("by a tf.function", call="graph_numpy"),
    ),
    "on_batch": (vary("by a tf.function", call="graph_numpy"),),
}
"""By call those that hand less over to get the same answer."""

INFER = Scenario(
    family="mlp",
    case="infer",
    question="How long does network A take to answer {batch} examples (call: {call})?",
    axes=("batch", "call"),
    points=cross(call=CALLS, batch=BATCHES),
    profiles=lambda batch, call: STANDARD if batch == 1 and call != "graph" else FULL,
    work=one_batch,
    prepare=prepare,
    work_key="inference/A",
    sweep="batch",
    larger=("batch",),
    proof=lambda call, **_: "results" if call == "direct" else MATMUL_PROOF,
    data=lambda call, **_: "host" if call in FETCHED else "device",
    dispatch=lambda call, **_: DISPATCH[call],
    priced=True,
    links=lambda call, **_: {"fewer": FEWER[call]} if call in FEWER else {},
    choices=lambda call, **_: {
        "batch": "more_examples",
        "call": "answer" if call in FETCHED else "execution_of_call",
    },
)
