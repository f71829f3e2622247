"""On a GPU: batches copied to it while the step before them runs."""

from __future__ import annotations

from suite.model.why import Watched
from suite.worker.why.calls import Arguments, intercept
from suite.worker.why.intervention import Intervention, Offers
from suite.worker.why.run import ScriptRun


def _find(watched: Watched) -> Offers:
    if watched.stages:
        text = '.apply(tf.data.experimental.prefetch_to_device("/GPU:0")) as the last stage'
        yield {"text": text, "line": watched.stages[-1].line}


def _install(run: ScriptRun, _target: str) -> None:
    import tensorflow as tf

    ahead = tf.data.experimental.prefetch_to_device("/GPU:0" if run.gpu else "/CPU:0")

    def fetch_ahead(arguments: Arguments) -> None:
        if tf.executing_eagerly():
            arguments["self"] = arguments["self"].apply(ahead)
            run.applied()

    intercept(run, fetch_ahead, "dataset.__iter__")


COPIES = Intervention("copies", "transfer", _find, _install, waits=True, on_gpu=True)
