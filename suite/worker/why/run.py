"""One run of a person's script, in a process of its own: patched, executed, and ended at the window's end."""

from __future__ import annotations

import contextlib
import inspect
import os
import shutil
import sys
import tempfile
import time
import types
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
    """What watchers and interventions get: the patches, the clock and the syntax tree of one run."""

    place: Place
    task: Task
    send: Callable[[Mapping[str, Any]], object]
    notes: list[str] = field(default_factory=list)
    """What people are told of this run."""
    count: int = 0
    variables: dict[int, Sequence[Any]] = field(default_factory=dict)
    """What trains, by the id of an optimizer or a model: its variables."""

    def __post_init__(self) -> None:
        self.kind = ""
        self.line: int | None = None
        window = None if self.task.window is None else Window(*self.task.window)
        self.clock = Clock(
            time.perf_counter_ns,
            time.process_time_ns,
            seconds=self.place.seconds,
            window=window,
            stop=self._stop,
            fence=self._fence if self.place.gpu else lambda: None,
            scale=self.task.scale,
        )
        self.folder = self._copy()
        self.file = str(self.folder / self.place.script)
        self.tree = Tree(Path(self.file).read_bytes(), self.file)
        self._ends: list[Callable[[dict[str, Any]], object]] = []
        self._norms: dict[str, float] = {}

    @property
    def gpu(self) -> bool:
        """Whether it is on an arm with a GPU."""
        return self.place.gpu

    # --- For watchers and interventions ---------------------------------------------------------------

    def patch(self, name: str, make: Callable[[Any], Any]) -> None:
        """Puts ``make(original)`` in the place of a name of `suite.worker.why.names`."""
        names.patch(name, make)

    def applied(self, count: int = 1) -> None:
        """The change took effect, so many times more."""
        self.count += count

    def pause(self) -> AbstractContextManager[None]:
        """What happens inside is ours, and no time of the script's."""
        return self.clock.pause()

    def at_end(self, tell: Callable[[dict[str, Any]], object]) -> None:
        """Lets ``tell`` add to the fields of `Watched`, by their names, once the window is over."""
        self._ends.append(tell)

    def user_line(self) -> int | None:
        """The innermost line of the script on the stack; None: it is not there."""
        frame = inspect.currentframe()
        while frame is not None:
            if frame.f_code.co_filename == self.file:
                return frame.f_lineno
            frame = frame.f_back
        return None

    # --- The run --------------------------------------------------------------------------------------

    def execute(self) -> None:
        """Runs the script to the end of the window, or to its own, and sends what it came to.

        Never returns: the process ends here, whatever the script has caught or has still to do.
        """
        import tensorflow as tf

        from suite.worker.why import interventions, steps, watch

        os.chdir(self.folder)
        sys.argv = [self.place.script, *self.place.arguments]
        sys.path.insert(0, str(Path(self.file).parent))
        tf.keras.utils.set_random_seed(SEED)
        try:
            _ = self.tree.tree
        except (SyntaxError, ValueError) as broken:
            self._finish(broken)
        stand_ins.install(self)
        steps.install(self)
        if self.task.watch:
            watch.install(self)
        by_name = {each.name: each for each in interventions.INTERVENTIONS}
        for change in self.task.tries:
            by_name[change["intervention"]].install(self, change.get("target", ""))
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

    def _turns(self, line: int, iterable: Any) -> Any:
        """The items of a `for`, with its turns told to the clock."""
        clock = self.clock
        for item in iterable:
            clock.turn(line)
            yield item
        clock.leave(line)

    def _look_at_weights(self, steps: int) -> None:
        if steps in NORMS_AT and self.variables:
            with self.pause():
                self._norms[f"norm.{steps}"] = same.find_norm(self.variables.values())

    def _fence(self) -> None:
        import tensorflow as tf

        tf.test.experimental.sync_devices()

    def _stop(self) -> None:
        self._finish(None, ended=False)

    def _finish(self, error: BaseException | None, *, ended: bool = True) -> None:
        """Sends what the run came to, and ends the process."""
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        clock, result = self.clock, dict[str, Any]()
        chosen = clock.choose()
        if chosen is not None:
            window, begin, end = chosen
            work = (end.steps - begin.steps) * clock.scale
            first = clock.first_began or clock.began
            turns = clock.count_turns(window)
            result |= {
                "steps": max(1, round(work)),
                "seconds": (end.wall - begin.wall) / 1e9 / work,
                "first_call_s": max(1e-9, ((clock.first_ended or first) - first) / 1e9),
                "evidence": {
                    "cpu_s": (end.cpu - begin.cpu) / 1e9 / work,
                    "own_s": clock.own_s,
                    "setup_s": (first - clock.began) / 1e9,
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
            with contextlib.suppress(Exception):
                for tell in self._ends:
                    tell(fields)
            result["watched"] = Watched(**fields)
        self.send(result)
        os._exit(0)

    def _copy(self) -> Path:
        """A copy of the script's folder to work in, in a temporary folder that goes with the run."""
        tempfile.tempdir = None  # a fork knows its parent's
        work = Path(tempfile.gettempdir()) / "script"
        shutil.copytree(self.place.folder, work, symlinks=True)
        return work
