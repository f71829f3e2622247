"""Where training steps are seen: in Keras's train function, in a `tf.function` that takes a gradient, or in a
bare tape whose gradients an optimizer applies."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from suite.worker.why.clock import FIT
from suite.worker.why.run import NORMS_AT, ScriptRun

MOST_UPDATES = 10_000
"""More than these, optimizers don't make in one call."""


class Steps:
    """What is known of the step that is under way.

    One step is one update by an optimizer; of a function that is a graph, so many as a call of it makes.
    Gradients alone are none, since some are taken of others; where a script updates its variables by itself,
    a step is over when it takes the next gradient.
    """

    def __init__(self, run: ScriptRun) -> None:
        self.run, self.clock = run, run.clock
        self.within = 0
        """Depth of calls that are a step or an update as a whole, so that what is inside counts no other."""
        self.tracing: Any = None
        """The outermost function that is being called."""
        self.trains: WeakSet[Any] = WeakSet()
        """Functions during whose tracing a gradient was taken."""
        self.updates: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        """By function during whose tracing variables were updated, how often a call does that; 0: nobody
        knows yet."""
        self.optimizers: WeakSet[Any] = WeakSet()
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

    def whole(self, call: Callable[..., Any], *words: Any, **named: Any) -> Any:
        """A call of which nothing counts by itself."""
        self.within += 1
        try:
            return call(*words, **named)
        finally:
            self.within -= 1

    def keep(self, trains: Any, variables: Any, most: int = 0) -> None:
        """Takes down what trains, until the weights are looked at no more; ``most``: the last so many."""
        if self.clock.steps < NORMS_AT[-1]:
            kept = {**self.run.variables, id(trains): variables}
            self.run.variables = dict(list(kept.items())[-most:])

    def gradient(self) -> None:
        """A gradient is taken, in a graph or not."""
        import tensorflow as tf

        if self.within:
            return
        if self.tracing:
            self.trains.add(self.tracing)
        elif tf.executing_eagerly():
            self.see("tape")
            if self.assigned:
                self.end()
            if not self.gradients:
                self.clock.begin()
            self.gradients = True

    def updated(self, variable: Any = None) -> None:
        """Variables were updated by an optimizer; or the script sets one by itself."""
        import tensorflow as tf

        if self.within or (variable is not None and not variable.trainable):
            return
        if self.tracing:
            self.updates.setdefault(self.tracing, 0)
        elif tf.executing_eagerly() and variable is None:
            self.end()
        elif tf.executing_eagerly():
            self.assigned = self.gradients

    def count_updates(self) -> int:
        """The updates that optimizers have made so far."""
        return sum(int(optimizer.iterations.numpy()) for optimizer in self.optimizers)

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
        elif before is None:
            self.end(self.updates[function] or 1)
        else:
            # The second call: of the first, which traces, nobody knew what it would update.
            updates = self.count_updates() - before
            # Memory of a GPU that computes nothing may hold any number.
            self.updates[function] = updates = updates if 0 < updates < MOST_UPDATES else 1
            self.end(2 * updates - 1)

    # --- What is patched ------------------------------------------------------------------------------

    def watch_train_function(self, original: Any) -> Any:
        """A call of Keras's train function is a step, or several."""
        ours = WeakSet[Any]()

        def make(model: Any, *words: Any, **named: Any) -> Any:
            original(model, *words, **named)
            function = model.train_function
            if function is None or function in ours:
                return function

            def call(*arguments: Any, **more: Any) -> Any:
                self.clock.begin()
                # An epoch's last call can do fewer of them.
                several = (model.steps_per_execution or 1) > 1
                before = int(model.optimizer.iterations.numpy()) if several else 0
                logs = self.whole(function, *arguments, **more)
                # With the one before it: a GAN's two models train in turn, and a fold's new one follows.
                self.keep(model, model.trainable_variables, most=2)
                done = int(model.optimizer.iterations.numpy()) - before if several else 1
                # A model that trains by other optimizers leaves this one where it is.
                self.end(done or model.steps_per_execution)
                return logs

            ours.add(call)
            model.train_function = call
            return call

        return make

    def watch_fit(self, original: Any) -> Any:
        """Epochs are turns."""
        import keras

        clock, signature = self.clock, inspect.signature(original)

        class Marks(keras.callbacks.Callback):  # type: ignore[misc]
            """Put in last: an epoch's validation and callbacks are over when the next one begins."""

            def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
                clock.turn(FIT)

            def on_train_end(self, logs: Any = None) -> None:  # noqa: ARG002
                clock.leave(FIT)

        def fit(*words: Any, **named: Any) -> Any:
            self.see("fit")
            bound = signature.bind(*words, **named)
            given = bound.arguments.get("callbacks")
            if isinstance(given, keras.callbacks.CallbackList):
                given.append(Marks())
            else:
                single = isinstance(given, keras.callbacks.Callback)
                bound.arguments["callbacks"] = [*([given] if single else given or []), Marks()]
            return original(*bound.args, **bound.kwargs)

        return fit

    def watch_function(self, original: Any) -> Any:
        """The outermost call of a `tf.function` may be a step, or several."""

        def call(function: Any, *words: Any, **named: Any) -> Any:
            if self.within or self.tracing:
                return original(function, *words, **named)
            self.clock.begin()
            before = self.count_updates() if self.updates.get(function) == 0 else None
            self.tracing = function
            try:
                result = original(function, *words, **named)
            finally:
                self.tracing = None
            self.called(function, before)
            return result

        return call

    def watch_apply(self, original: Any) -> Any:
        """An optimizer's update is a step, or part of one."""

        def apply(optimizer: Any, grads: Any, trainable_variables: Any = None) -> Any:
            result = self.whole(original, optimizer, grads, trainable_variables)
            if not self.within:
                self.keep(optimizer, list(optimizer._trainable_variables))  # noqa: SLF001
            self.optimizers.add(optimizer)
            self.updated()
            return result

        return apply


def install(run: ScriptRun) -> None:
    """Has every training step of this process told to the run's clock."""
    steps = Steps(run)
    run.count_updates = steps.count_updates
    run.patch("make_train_function", steps.watch_train_function)
    run.patch("fit", steps.watch_fit)
    run.patch("function.call", steps.watch_function)
    run.patch("apply", steps.watch_apply)
    run.patch("train_on_batch", _before(lambda _: steps.see("train_on_batch")))
    run.patch("gradient", _before(lambda _: steps.gradient()))
    for name in ("assign", "assign_add", "assign_sub"):
        run.patch(f"variable.{name}", _before(steps.updated))


def _before(note: Callable[[Any], object]) -> Callable[[Any], Any]:
    """Makes of a method one that first tells whose it is."""

    def make(original: Any) -> Any:
        def call(owner: Any, *words: Any, **named: Any) -> Any:
            note(owner)
            return original(owner, *words, **named)

        return call

    return make
