"""On a GPU: batches copied to it while the step before them runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from suite.model.why import Try, Watched
from suite.worker.why.intervention import Intervention, make_try
from suite.worker.why.run import ScriptRun


def _propose(watched: Watched, on_gpu: bool) -> Iterator[Try]:
    if on_gpu and watched.stages:
        text = '.apply(tf.data.experimental.prefetch_to_device("/GPU:0")) as the last stage'
        line = watched.stages[-1].line
        yield make_try("copies", "transfer", text, line, waits=True, on_gpu=True)


def _install(run: ScriptRun, _target: str) -> None:
    import tensorflow as tf

    place = "/GPU:0" if run.gpu else "/CPU:0"
    inside: list[bool] = []

    def fetch_ahead(original: Any) -> Any:
        def iterate(dataset: Any) -> Any:
            if inside or not tf.executing_eagerly():
                return original(dataset)
            inside.append(True)
            try:
                run.applied()
                return original(dataset.apply(tf.data.experimental.prefetch_to_device(place)))
            finally:
                inside.pop()

        return iterate

    run.patch("dataset.__iter__", fetch_ahead)


COPIES = Intervention(
    name="copies", propose=_propose, install=_install, needs=("dataset.__iter__",)
)
