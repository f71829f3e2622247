"""Where training steps are seen: in Keras's train function, in a `tf.function` that takes a gradient, or in a
bare tape whose gradients an optimizer applies."""

from __future__ import annotations

import inspect
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from suite.worker.why.clock import FIT
from suite.worker.why.run import NORMS_AT, ScriptRun


class Steps:
    """What is known of the step that is under way.

    One step is one update by an optimizer; of a function that is a graph, so many as a call of it makes.
    Gradients alone are none, since some are taken of others; where a script updates its variables by itself,
    a step is over when it takes the next gradient.
    """

    def __init__(self, run: ScriptRun) -> None:
        self.run, self.clock = run, run.clock
        self.within = 0
        """Depth of calls that are a step as a whole, so that what is inside counts no other."""
        self.tracing: list[Any] = []
        """The outermost function that is being called."""
        self.trains: WeakSet[Any] = WeakSet()
        """Functions during whose tracing a gradient was taken."""
        self.updates: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        """By function during whose tracing variables were updated, how often a call does that."""
        self.optimizers: WeakSet[Any] = WeakSet()
        self.applying = 0
        self.gradients = self.assigned = False
        """Whether gradients were taken since the last step, and variables then set by the script."""

    def see(self, kind: str) -> None:
        """What progress is counted by, and where in the script that is."""
        if not self.run.kind:
            self.run.kind, self.run.line = kind, self.run.user_line()

    def end(self, steps: int = 1) -> None:
        """So many steps are done."""
        self.gradients = self.assigned = False
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
            if self.assigned:
                self.end()
            if not self.gradients:
                self.clock.begin()
            self.gradients = True

    def applied(self, *, by_optimizer: bool) -> None:
        """Variables were updated, by an optimizer or otherwise."""
        import tensorflow as tf

        if self.within or self.applying:
            return
        if self.tracing:
            self.updates.setdefault(self.tracing[0], 0)
        elif not tf.executing_eagerly():
            return
        elif by_optimizer:
            self.end()
        else:
            self.assigned = self.gradients

    def count_updates(self) -> int:
        """The updates that optimizers have made so far."""
        return sum(int(optimizer.iterations) for optimizer in self.optimizers)

    def called(self, function: Any, before: int | None) -> None:
        """A function that is a graph was called; ``before`` it there were so many updates."""
        if function not in self.trains:
            if function in self.updates and self.gradients:
                self.end()
            return
        self.see("function")
        if function not in self.updates:
            if self.assigned:
                self.end()
            self.gradients = True
        elif before is None or self.updates[function]:
            self.end(self.updates[function] or 1)
        else:
            # The second call: of the first, which traces, nobody knew what it would update.
            self.updates[function] = updates = max(1, self.count_updates() - before)
            self.end(2 * updates - 1)


def install(run: ScriptRun) -> None:
    """Has every training step of this process told to the run's clock."""
    steps = Steps(run)
    run.patch("make_train_function", lambda original: _watch_train_function(original, steps))
    run.patch("fit", lambda original: _watch_fit(original, steps))
    run.patch("train_on_batch", lambda original: _watch_batch(original, steps))
    run.patch("function.call", lambda original: _watch_function(original, steps))
    run.patch("gradient", lambda original: _watch_gradient(original, steps))
    run.patch("apply", lambda original: _watch_apply(original, steps))
    for name in ("assign", "assign_add", "assign_sub"):
        run.patch(f"variable.{name}", lambda original: _watch_assign(original, steps))


def _watch_train_function(original: Any, steps: Steps) -> Any:
    ours = WeakSet[Any]()

    def make(model: Any, *words: Any, **named: Any) -> Any:
        original(model, *words, **named)
        function = model.train_function
        if function is None or function in ours:
            return function

        def call(*arguments: Any, **more: Any) -> Any:
            steps.clock.begin()
            # An epoch's last call can do fewer of them.
            several = (model.steps_per_execution or 1) > 1
            before = int(model.optimizer.iterations) if several else 0
            steps.within += 1
            try:
                logs = function(*arguments, **more)
            finally:
                steps.within -= 1
            if steps.clock.steps < NORMS_AT[-1]:
                # With the one before it: a GAN's two models train in turn, and a fold's new one follows.
                last = list(steps.run.variables.items())[-1:]
                steps.run.variables = {**dict(last), id(model): model.trainable_variables}
            steps.end(int(model.optimizer.iterations) - before if several else 1)
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
        unknown = steps.updates.get(function) == 0
        before = steps.count_updates() if unknown else None
        steps.tracing.append(function)
        try:
            result = original(function, *words, **named)
        finally:
            steps.tracing.pop()
        steps.called(function, before)
        return result

    return call


def _watch_gradient(original: Any, steps: Steps) -> Any:
    def gradient(*words: Any, **named: Any) -> Any:
        steps.gradient()
        return original(*words, **named)

    return gradient


def _watch_apply(original: Any, steps: Steps) -> Any:
    def apply(optimizer: Any, grads: Any, trainable_variables: Any = None) -> Any:
        steps.applying += 1
        try:
            result = original(optimizer, grads, trainable_variables)
        finally:
            steps.applying -= 1
        if not steps.within and steps.clock.steps < NORMS_AT[-1]:
            trained = optimizer._trainable_variables  # noqa: SLF001
            steps.run.variables[id(optimizer)] = list(trained)
        steps.optimizers.add(optimizer)
        steps.applied(by_optimizer=True)
        return result

    return apply


def _watch_assign(original: Any, steps: Steps) -> Any:
    def assign(variable: Any, *words: Any, **named: Any) -> Any:
        result = original(variable, *words, **named)
        if variable.trainable:
            steps.applied(by_optimizer=False)
        return result

    return assign
