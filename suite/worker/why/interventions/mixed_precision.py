"""On a GPU: layers that compute in float16, their weights in float32."""

from __future__ import annotations

from suite.model.why import Watched
from suite.worker.why.intervention import Intervention, Offers
from suite.worker.why.run import ScriptRun


def _find(watched: Watched) -> Offers:
    if watched.settings.get("policy", "float32") == "float32":
        policy = 'keras.mixed_precision.set_global_policy("mixed_float16")'
        yield {"text": f"{policy} before the model is made", "line": 1}


def _install(run: ScriptRun, _target: str) -> None:
    import keras

    keras.config.set_dtype_policy("mixed_float16")
    run.applied()


MIXED_PRECISION = Intervention(
    "mixed_precision",
    "device",
    _find,
    _install,
    needs="a last layer of float32, and in a loop of your own a scaled loss",
    training="otherwise",
    on_gpu=True,
)
