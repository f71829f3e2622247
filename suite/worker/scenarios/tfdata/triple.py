"""tfdata: the input pipeline and a model that takes from it, apart and together: who waits for whom.

The third of the triple, the compute alone, is ``mlp.train`` of network A with its data on the device; on
some of the CPUs it has a cell of its own (``feed``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from suite.cells.cell import ALL_CPUS, Param, Work
from suite.cells.changes import CHOICES
from suite.cells.scenario import Links, Proof, Scenario, Target, cross, vary
from suite.cells.traits import FULL, NOT_QUICK, QUICK, STANDARD, LinkName, Profiles
from suite.model import Check
from suite.worker.scenario.scenario import DATA_SEED, Inapplicable, Prepared, Resident, WrongResult
from suite.worker.scenarios.mlp.networks import A, build
from suite.worker.scenarios.mlp.train import plain_step
from suite.worker.scenarios.mlp.training import MATMUL_PROOF, TRAINING_PROOF, Trainer
from suite.worker.scenarios.tfdata.pipelines import (
    Pipeline,
    Started,
    batch_work,
    place_data,
    prepare_input,
    start,
)

BATCH = 512

PRODUCT_TOLERANCE = 1e-5
"""Relative error of the trivial model's product, IEEE float32."""

PIPELINES: Mapping[str, Mapping[str, str]] = {
    "parallel": {"prefetch": "on", "function": "native", "calls": "autotune"},
    "native": {"prefetch": "off", "function": "native"},
    "numpy_function": {"prefetch": "on", "function": "numpy_function"},
    "generator": {
        "prefetch": "on",
        "function": "native",
        "calls": "autotune",
        "source": "generator",
    },
}
"""As it should be; without prefetch or parallel calls; with Python in its map; and as it should be, but for a
Python generator where the examples come from."""

AFTER_PYTHON = {
    "numpy_function": "native map in parallel",
    "generator": "slices of arrays instead of a generator",
}
"""By pipeline with Python in it what is different in the one that is as it should be."""


def make_pipeline(name: str, batch: int) -> Pipeline:
    """One of `PIPELINES`, with batches of that size."""
    return Pipeline(batch=batch, **PIPELINES[name])  # type: ignore[arg-type]


def work(batch: int, **_: Param) -> Work:
    """One batch taken from the pipeline, whatever is then done with it."""
    taken = batch_work(batch)
    return replace(taken, bytes_in=taken.bytes, steps=1)


def prepare(*, device: str, pipeline: str, part: str, batch: int) -> Prepared:
    """One batch from the pipeline: taken (``input``), trained on (``together``), or multiplied by a
    vector (``trivial``).
    """
    source = make_pipeline(pipeline, batch)
    if part == "input":
        return prepare_input(source)
    if part == "together":
        return _train(source, source.start(), device)
    return _multiply(source, device)


def _train(
    source: Pipeline, started: Started, device: str, resident: Resident | None = None
) -> Prepared:
    """Network A's training step on what the running pipeline gives, of which ``resident`` is a batch."""
    take, close = started
    trainer = Trainer(A, build(A, device), device)
    batch = source.batch

    def check(last: Any, *, brief: bool = False) -> Check:
        given = source.verify(brief=brief)
        inputs = source.expected(batch).astype(np.float32)
        trained = trainer.check(last, inputs, source.examples[1][:batch], brief=brief)
        return replace(trained, what=f"{given}; {trained.what}")

    return Prepared(
        step=lambda: trainer.step(*take()),
        check=check,
        brief=partial(check, brief=True),
        resident=resident,
        traces=trainer.traces,
        close=close,
    )


def _multiply(source: Pipeline, device: str) -> Prepared:
    """One product with what the pipeline gives: a model that takes next to no time."""
    import tensorflow as tf

    take, close = source.start()
    vector = np.random.default_rng([DATA_SEED, 2]).standard_normal((A.inputs, 1), dtype=np.float32)
    with tf.device(device):
        weights = tf.constant(vector)
    product = tf.function(lambda inputs: tf.matmul(inputs, weights), jit_compile=False)
    batch = source.batch

    def check(last: Any, *, brief: bool = False) -> Check:
        if last.shape != (batch, 1) or not np.all(np.isfinite(last.numpy())):
            raise WrongResult(f"the last product timed is not {batch} finite numbers: {last.shape}")
        counted = source.verify(brief=brief)
        inputs = source.expected(batch)
        error = relative_error(product(inputs.astype(np.float32)).numpy(), inputs @ vector)
        if not error <= PRODUCT_TOLERANCE:
            raise WrongResult(
                f"the product's relative error is {error:.2g}; allowed is {PRODUCT_TOLERANCE:g}"
            )
        return Check(what=f"{counted}; a product's relative error {error:.1e}")

    return Prepared(
        step=lambda: product(take()[0]),
        check=check,
        brief=partial(check, brief=True),
        traces=lambda: int(product.experimental_get_tracing_count()),
        close=close,
    )


def relative_error(product: Any, exact: Any) -> float:
    """How far an array is from the exact one, as a share of that one's length (2-norm)."""
    return float(np.linalg.norm(product - exact) / max(float(np.linalg.norm(exact)), 1e-300))


def prepare_to_device(*, device: str, ahead: str, batch: int) -> Prepared:
    """Network A trained on plain batches, which are copied to the device at the call or ahead of it.

    Raises:
        Inapplicable: the device is the CPU, where the data are already; TensorFlow would not copy
            them but put a function call around every batch, and that is no figure of a copy.
    """
    import tensorflow as tf

    source = Pipeline(batch=batch, prefetch="on")
    if ahead == "off":
        return _train(source, source.start(), device)
    if device == "/CPU:0":
        raise Inapplicable("the data are on the CPU already: there is nothing to copy ahead")
    here = source.build(*source.examples, endless=True)
    # Has to come last in a pipeline; the host's own prefetch stays, so that one thing differs.
    take, close = start(here.apply(tf.data.experimental.prefetch_to_device(device)))
    return _train(source, (take, close), device, Resident(device=device, tensors=take()))


def _profiles(pipeline: str, part: str, **_: Param) -> Profiles:
    if (pipeline, part) == ("native", "input"):
        return NOT_QUICK
    if part == "together" and pipeline in {"parallel", "numpy_function"}:
        return QUICK
    return FULL if part == "trivial" else STANDARD


PARTS = {
    "input": "alone",
    "together": "with network A trained on them",
    "trivial": "with a model of one product behind them",
}


def _name_work(pipeline: str, part: str, batch: int) -> str:  # noqa: ARG001  the axes of the case
    """A trivial model, or none, behind the pipeline is other work than the model itself."""
    return "training/A" if part == "together" else f"{part}/{pipeline}"


def _link(pipeline: str, part: str, batch: int) -> Links:
    """The parts of what takes from a pipeline, and the same behind the other pipelines."""
    if part == "input":
        return {}
    links: dict[LinkName, Target | tuple[Target, ...]] = {
        "input": vary(part="input"),
        "feed": tuple(vary(pipeline=other) for other in PIPELINES),
    }
    if part == "together":
        links |= {"trivial": vary(part="trivial"), "compute": plain_step("A", batch)}
        if pipeline == "native":
            links["prefetched"] = vary("prefetched, map in parallel", pipeline="parallel")
        if pipeline in AFTER_PYTHON:
            # From the other pipelines the generator differs in more than its choice says.
            whole = pipeline == "generator"
            links["native"] = vary(
                AFTER_PYTHON[pipeline],
                effect="script" if whole else None,
                costs=CHOICES["behind_generator"].costs if whole else "",
                pipeline="parallel",
            )
    return links


PROOFS: dict[str, Proof] = {
    "input": "results",
    "together": TRAINING_PROOF,
    "trivial": MATMUL_PROOF,
}

TRIPLE = tuple(
    Scenario(
        family="tfdata",
        case="triple",
        question="How many elements a second come from the {pipeline} pipeline at batch {batch}, "
        + words
        + "?",
        points=cross(pipeline=tuple(PIPELINES), part=part, batch=BATCH),
        profiles=_profiles,
        work=work,
        prepare=prepare,
        role="input",
        work_key=_name_work,
        proof=PROOFS[part],
        device="cpu" if part == "input" else "arm",
        data=lambda pipeline, **_: place_data(PIPELINES[pipeline]["prefetch"]),
        dispatch=None if part == "input" else "graph",
        priced=part == "together",
        control=lambda pipeline, part, **_: part == "input" and pipeline in {"parallel", "native"},
        links=_link,
        choices=lambda pipeline, **_: {
            "pipeline": "behind_generator" if pipeline == "generator" else "pipeline"
        },
    )
    for part, words in PARTS.items()
)

LADDER: tuple[Param, ...] = (1, 2, 4, 8, 16, 32, 64, 128, "all")

FED = ("input", "step", "together")
"""The pipeline alone, network A trained on one batch, and on the pipeline's."""


def prepare_fed(*, device: str, cpus: Param, part: str, batch: int) -> Prepared:  # noqa: ARG001  by the host
    """The pipeline as it should be, and what takes from it; its ``step`` alone has every time the same batch,
    where the pipeline has its batches: in the host's memory.
    """
    if part != "step":
        return prepare(device=device, pipeline="parallel", part=part, batch=batch)
    source = make_pipeline("parallel", batch)
    take, close = source.start()
    given = take()
    close()
    return _train(source, ((lambda: given), (lambda: None)), device)


FEED = Scenario(
    family="tfdata",
    case="feed",
    question="How many elements a second at batch {batch}, on {cpus} of the CPUs: {part}?",
    points=cross(cpus=LADDER, part=FED, batch=BATCH),
    work=work,
    prepare=prepare_fed,
    role="input",
    work_key=lambda part, **_: f"fed/{part}",
    proof=lambda part, **_: PROOFS.get(part, TRAINING_PROOF),
    device=lambda part, **_: "cpu" if part == "input" else "arm",
    data=lambda part, **_: "host" if part == "step" else "prefetched",
    dispatch=lambda part, **_: None if part == "input" else "graph",
    process=lambda cpus, **_: f"cpus={cpus}",
    cpus=lambda cpus, **_: cpus if isinstance(cpus, int) else ALL_CPUS,
)

TO_DEVICE = Scenario(
    family="tfdata",
    case="to_device",
    question="How many elements a second are trained on at batch {batch}, "
    "with copying to the device ahead {ahead}?",
    points=cross(ahead=("on", "off"), batch=BATCH),
    work=work,
    prepare=prepare_to_device,
    role="input",
    proof=TRAINING_PROOF,
    data="prefetched",
    links={
        "nearer": vary("when copied ahead", ahead="on"),
        "compute": plain_step("A", BATCH),
    },
    choices={"ahead": "copy_ahead"},
)
