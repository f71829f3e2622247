"""On a GPU: layers that compute in float16, their weights in float32."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from suite.model.why import Try, Watched
from suite.worker.why.intervention import Intervention

if TYPE_CHECKING:
    from suite.worker.why.run import ScriptRun

POLICY = "mixed_float16"


def _propose(watched: Watched, on_gpu: bool) -> Iterator[Try]:
    if on_gpu and watched.settings.get("policy", "float32") == "float32":
        own = watched.clock not in ("fit", "train_on_batch")
        yield Try(
            name="mixed_precision",
            intervention="mixed_precision",
            target=POLICY,
            cause="device",
            kind="fix",
            line=1,
            text=f'keras.mixed_precision.set_global_policy("{POLICY}") before the model is made',
            needs="a last layer with dtype float32" + (", and a scaled loss" if own else ""),
            training="otherwise",
            on_gpu=True,
        )


def _install(run: ScriptRun, target: str) -> None:
    import keras

    keras.config.set_dtype_policy(target)
    run.applied()


MIXED_PRECISION = Intervention(name="mixed_precision", propose=_propose, install=_install)
