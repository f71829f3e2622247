"""One run of a person's script, in a process of its own: patched, executed, and ended at the window's end."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
import traceback
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from suite.model.why import Watched
from suite.worker.why import failure, names, same, stand_ins
from suite.worker.why.clock import Clock, Window
from suite.worker.why.tree import Tree

SEED = 20_261_126
"""Of everything random that a script does not seed itself, so that runs can be compared."""

NORMS_AT = (3, 10, 20)
"""Steps after which the weights are looked at."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A run that is asked for: its cell's id, the tries that are on, and the window (None: it finds one).

    ``watch``: what the script does is watched as well.  ``limit_s``: the process is ended after so long.
    """

    id: str
    tries: Sequence[Mapping[str, str]] = ()
    window: Sequence[int] | None = None
    watch: bool = False
    limit_s: float = 120.0
    scale: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the script is, what it is called with, and how long a window is; ``gpu``: on the arm's GPU."""

    folder: Path
    script: str
    arguments: Sequence[str] = ()
    seconds: float = 3.0
    gpu: bool = False


@dataclass(eq=False)
class ScriptRun:
    """What watchers and interventions get: the patches, the clock and the syntax tree of one run.

    ``temporary`` is a folder of its own; ``send`` takes what it came to.
    """

    place: Place
    task: Task
    temporary: Path
    send: Callable[[Mapping[str, Any]], object]
    notes: list[str] = field(default_factory=list)
    """What people are told of this run."""
    count: int = 0
    """How often a change took effect."""
    variables: dict[int, Sequence[Any]] = field(default_factory=dict)
    """What trains, by the id of an optimizer or a model: its variables."""
    kind: str = ""
    line: int | None = None
    """What progress is counted by, and where in the script that is."""

    count_updates: Callable[[], int] = int
    """How many updates the optimizers have made so far."""

    def __post_init__(self) -> None:
        self.gpu = self.place.gpu
        os.environ["TMPDIR"] = tempfile.tempdir = str(self.temporary)
        self.folder = self.temporary / "script"
        shutil.copytree(self.place.folder, self.folder, symlinks=True)
        self.file = str(self.folder / self.place.script)
        self.tree = Tree(Path(self.file).read_bytes(), self.file)
        self.clock = Clock(
            time.perf_counter_ns,
            time.process_time_ns,
            seconds=self.place.seconds,
            window=Window(*self.task.window) if self.task.window else None,
            stop=lambda: self._finish(ended=False),
            fence=self._fence,
            scale=self.task.scale,
        )
        self.pause = self.clock.pause
        """What happens inside is ours, and no time of the script's."""
        self._missing: list[str] = []
        self._ends: list[Callable[[dict[str, Any]], object]] = []
        self._norms: dict[str, float] = {}

    # --- For watchers and interventions ---------------------------------------------------------------

    def patch(self, name: str, make: Callable[[Any], Any]) -> None:
        """Puts ``make(original)`` in the place of a name of `suite.worker.why.names`.

        Where this TensorFlow lacks it, a change is not possible, and what is watched is less.
        """
        if not names.patch(name, make):
            self._missing.append(names.NAMES[name].replace(":", "."))

    def applied(self, count: int = 1) -> None:
        """The change took effect, so many times more."""
        self.count += count

    def at_end(self, tell: Callable[[dict[str, Any]], object]) -> None:
        """Lets ``tell`` add to the fields of `Watched`, by their names, once the window is over."""
        self._ends.append(tell)

    def note(self, text: str) -> None:
        """Tells people something of this run, once."""
        if text not in self.notes:
            self.notes.append(text)

    def user_line(self) -> int | None:
        """The innermost line of the script on the stack; None: it is not there."""
        stack = traceback.walk_stack(sys._getframe(1))  # noqa: SLF001
        lines = (line for frame, line in stack if frame.f_code.co_filename == self.file)
        return next(lines, None)

    # --- The run --------------------------------------------------------------------------------------

    def execute(self) -> NoReturn:
        """Runs the script to the end of the window, or to its own, and sends what it came to.

        The process ends here, whatever the script has caught or has still to do.
        """
        import tensorflow as tf

        from suite.worker.why import steps, watch

        os.chdir(self.folder)
        sys.argv = [self.place.script, *self.place.arguments]
        sys.path.insert(0, str(Path(self.file).parent))
        tf.keras.utils.set_random_seed(SEED)
        stand_ins.install(self)
        steps.install(self)
        if self.task.watch:
            self._try(watch.install, self)
        for name in self._missing:
            self.note(f"this TensorFlow has no {name}: what is seen by it is left out")
        self._change()
        self.tree.on_for(self._turns)
        self.clock.on_step(self._look_at_weights)
        error: BaseException | None = None
        try:
            code = self.tree.compile()
            self.notes += self.tree.notes
            main = types.ModuleType("__main__")
            main.__dict__.update(__file__=self.file, __builtins__=__builtins__)
            sys.modules["__main__"] = main
            self.clock.began = time.perf_counter_ns()
            exec(code, main.__dict__)  # noqa: S102  it is what was asked for
        except BaseException as raised:  # noqa: BLE001  whatever a script raises is its own
            error = raised
        self._finish(error)

    def _change(self) -> None:
        """Makes the changes that are on; ends the run where this TensorFlow lacks what they need."""
        from suite.worker.why.interventions import INTERVENTIONS

        by_name = {each.name: each for each in INTERVENTIONS}
        self._missing.clear()
        for change in self.task.tries:
            by_name[change["intervention"]].install(self, change.get("target", ""))
        if self._missing:
            lacking = ", ".join(self._missing)
            self._end({"reason": f"not possible here: this TensorFlow has no {lacking}"})

    def _turns(self, line: int, iterable: Any) -> Any:
        """The items of a `for`, with its turns told to the clock."""
        for item in iterable:
            self.clock.turn(line)
            yield item
        self.clock.leave(line)

    def _look_at_weights(self, steps: int) -> None:
        if steps in NORMS_AT and self.variables:
            with self.pause():
                self._norms[f"norm.{steps}"] = same.find_norm(self.variables.values())
                self._norms[f"updates.{steps}"] = float(self.count_updates())

    def _fence(self) -> None:
        if self.gpu:
            import tensorflow as tf

            tf.test.experimental.sync_devices()

    def _finish(self, error: BaseException | None = None, *, ended: bool = True) -> NoReturn:
        """Sends what the run came to, and ends the process."""
        clock, result = self.clock, dict[str, Any]()
        chosen = clock.choose()
        if chosen is not None:
            window, begin, end = chosen
            work = (end.steps - begin.steps) * clock.scale
            turns = clock.count_turns(window)
            result |= {
                "samples_s": [(end.wall - begin.wall) / 1e9 / work],
                "calls_per_sample": max(1, round(work)),
                "first_call_s": clock.first_step_s,
                "evidence": {
                    "cpu_s": (end.cpu - begin.cpu) / 1e9 / work,
                    "own_s": clock.own_s,
                    "setup_s": (clock.first_began - clock.began) / 1e9,
                    "from_step": float(window.begin),
                    "to_step": float(window.end),
                    "series": float(window.series),
                    "epoch_steps": (window.end - window.begin) / turns if turns else 0.0,
                    "applied": float(self.count),
                    "ended": float(ended),
                    **self._norms,
                },
            }
        if error is not None and not (chosen and isinstance(error, SystemExit)):
            result["reason"], result["error"] = failure.describe(error, self.file)
        elif chosen is None:
            result["reason"] = failure.describe_no_steps(clock.steps)
        if self.task.watch:
            fields: dict[str, Any] = {"clock": self.kind, "line": self.line, "notes": self.notes}
            for tell in self._ends:
                self._try(tell, fields)
            result["watched"] = Watched(**fields)
        self._end(result)

    def _try(self, watch: Callable[[Any], object], what: Any) -> None:
        """Watching may fail, since the times of the run are sound without it; people are told."""
        try:
            watch(what)
        except Exception as error:  # noqa: BLE001  TensorFlow's own things can be otherwise in any way
            place = traceback.extract_tb(error.__traceback__)[-1]
            self.note(f"not all was watched: {error!r} ({place.name}, line {place.lineno})")

    def _end(self, result: Mapping[str, Any]) -> NoReturn:
        with contextlib.suppress(Exception):  # a script may have closed them
            sys.stdout.flush()
            sys.stderr.flush()
        self.send(result)
        os._exit(0)
