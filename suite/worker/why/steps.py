"""Where training steps are seen: in Keras's train function, in a `tf.function` that takes a gradient, or in a
bare tape whose gradients an optimizer applies."""

from __future__ import annotations

import inspect
from typing import Any
from weakref import WeakSet

from suite.worker.why.clock import FIT
from suite.worker.why.run import NORMS_AT, ScriptRun

NAMES = ("fit", "train_on_batch", "make_train_function", "apply", "function.call", "gradient")
"""What is patched for it."""


class Steps:
    """What is known of the step that is under way."""

    def __init__(self, run: ScriptRun) -> None:
        self.run, self.clock = run, run.clock
        self.within = 0
        """Depth of calls that are a step as a whole, so that what is inside counts no other."""
        self.tracing: list[Any] = []
        """The outermost functions that are being called."""
        self.trains: WeakSet[Any] = WeakSet()
        """Functions during whose tracing a gradient was taken."""
        self.applies: WeakSet[Any] = WeakSet()
        """Those during whose tracing it was applied."""
        self.pending = False
        """A gradient was taken, and not applied yet."""

    def see(self, kind: str) -> None:
        """What progress is counted by, and where in the script that is."""
        if not self.run.kind:
            self.run.kind, self.run.line = kind, self.run.user_line()

    def end(self, steps: int = 1) -> None:
        """A step is done."""
        self.pending = False
        self.clock.tick(steps)

    def gradient(self) -> None:
        """A gradient is taken, in a graph or not."""
        import tensorflow as tf

        if self.within:
            return
        if self.tracing:
            self.trains.add(self.tracing[0])
        elif tf.executing_eagerly():
            self.see("tape")
            if self.pending:
                # Whoever took the one before has applied it without an optimizer.
                self.end()
            self.clock.begin()
            self.pending = True

    def applied(self) -> None:
        """Gradients were applied."""
        import tensorflow as tf

        if self.within:
            return
        if self.tracing:
            self.applies.add(self.tracing[0])
        elif tf.executing_eagerly() and self.pending:
            self.end()


def install(run: ScriptRun) -> None:
    """Has every training step of this process told to the run's clock."""
    steps = Steps(run)
    run.patch("make_train_function", lambda original: _watch_train_function(original, steps))
    run.patch("fit", lambda original: _watch_fit(original, steps))
    run.patch("train_on_batch", lambda original: _watch_batch(original, steps))
    run.patch("function.call", lambda original: _watch_function(original, steps))
    run.patch("gradient", lambda original: _watch_gradient(original, steps))
    run.patch("apply", lambda original: _watch_apply(original, steps))


def _watch_train_function(original: Any, steps: Steps) -> Any:
    ours = WeakSet[Any]()

    def make(model: Any, *words: Any, **named: Any) -> Any:
        original(model, *words, **named)
        function = model.train_function
        if function is None or function in ours:
            return function

        def call(*arguments: Any, **more: Any) -> Any:
            steps.clock.begin()
            steps.within += 1
            try:
                logs = function(*arguments, **more)
            finally:
                steps.within -= 1
            steps.end(model.steps_per_execution or 1)
            return logs

        ours.add(call)
        model.train_function = call
        return call

    return make


def _watch_fit(original: Any, steps: Steps) -> Any:
    import keras

    signature = inspect.signature(original)

    class Marks(keras.callbacks.Callback):  # type: ignore[misc]
        """Put in last: an epoch's validation and callbacks are over when the next one begins."""

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
            steps.clock.turn(FIT)

        def on_train_end(self, logs: Any = None) -> None:  # noqa: ARG002
            steps.clock.leave(FIT)

    def fit(*words: Any, **named: Any) -> Any:
        steps.see("fit")
        bound = signature.bind(*words, **named)
        given = bound.arguments.get("callbacks")
        if isinstance(given, keras.callbacks.CallbackList):
            given.append(Marks())
        else:
            single = [given] if isinstance(given, keras.callbacks.Callback) else list(given or [])
            bound.arguments["callbacks"] = [*single, Marks()]
        return original(*bound.args, **bound.kwargs)

    return fit


def _watch_batch(original: Any, steps: Steps) -> Any:
    def train_on_batch(*words: Any, **named: Any) -> Any:
        steps.see("train_on_batch")
        return original(*words, **named)

    return train_on_batch


def _watch_function(original: Any, steps: Steps) -> Any:
    def call(function: Any, *words: Any, **named: Any) -> Any:
        if steps.within or steps.tracing:
            return original(function, *words, **named)
        steps.clock.begin()
        steps.tracing.append(function)
        try:
            result = original(function, *words, **named)
        finally:
            steps.tracing.pop()
        if function in steps.trains:
            steps.see("function")
            if function in steps.applies:
                steps.end()
            else:
                if steps.pending:
                    steps.end()
                steps.pending = True
        elif function in steps.applies and steps.pending:
            steps.end()
        return result

    return call


def _watch_gradient(original: Any, steps: Steps) -> Any:
    def gradient(*words: Any, **named: Any) -> Any:
        steps.gradient()
        return original(*words, **named)

    return gradient


def _watch_apply(original: Any, steps: Steps) -> Any:
    def apply(optimizer: Any, grads: Any, trainable_variables: Any = None) -> Any:
        result = original(optimizer, grads, trainable_variables)
        if steps.clock.steps < NORMS_AT[-1]:
            trained = optimizer._trainable_variables  # noqa: SLF001
            steps.run.variables[id(optimizer)] = list(trained)
        steps.applied()
        return result

    return apply
