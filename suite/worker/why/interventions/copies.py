"""On a GPU: batches copied to it while the step before them runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from suite.model.why import Try, Watched
from suite.worker.why.intervention import Intervention

if TYPE_CHECKING:
    from suite.worker.why.run import ScriptRun


def _propose(watched: Watched, on_gpu: bool) -> Iterator[Try]:
    if on_gpu and watched.stages:
        last = watched.stages[-1]
        yield Try(
            name="copies",
            intervention="copies",
            target="/GPU:0",
            cause="transfer",
            kind="fix",
            line=last.line,
            text='.apply(tf.data.experimental.prefetch_to_device("/GPU:0")) as the last stage',
            waits=True,
            on_gpu=True,
        )


def _install(run: ScriptRun, target: str) -> None:
    import tensorflow as tf

    inside: list[bool] = []

    def fetch_ahead(original: Any) -> Any:
        def iterate(dataset: Any) -> Any:
            if inside or not tf.executing_eagerly():
                return original(dataset)
            inside.append(True)
            try:
                run.applied()
                return original(dataset.apply(tf.data.experimental.prefetch_to_device(target)))
            finally:
                inside.pop()

        return iterate

    run.patch("dataset.__iter__", fetch_ahead)


COPIES = Intervention(
    name="copies", propose=_propose, install=_install, needs=("dataset.__iter__",)
)
