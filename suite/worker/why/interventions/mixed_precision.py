"""On a GPU: layers that compute in float16, their weights in float32."""

from __future__ import annotations

from collections.abc import Iterator

from suite.model.why import Try, Watched
from suite.worker.why.intervention import Intervention, make_try
from suite.worker.why.run import ScriptRun


def _propose(watched: Watched, on_gpu: bool) -> Iterator[Try]:
    if on_gpu and watched.settings.get("policy", "float32") == "float32":
        yield make_try(
            "mixed_precision",
            "device",
            'keras.mixed_precision.set_global_policy("mixed_float16") before the model is made',
            1,
            needs="a last layer of float32, and in a loop of your own a scaled loss",
            training="otherwise",
            on_gpu=True,
        )


def _install(run: ScriptRun, _target: str) -> None:
    import keras

    keras.config.set_dtype_policy("mixed_float16")
    run.applied()


MIXED_PRECISION = Intervention(name="mixed_precision", propose=_propose, install=_install)
