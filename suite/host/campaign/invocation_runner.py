"""One invocation from the host's side: starts containers until every cell has an outcome.

A container that dies costs the cell in flight; a fresh one takes the rest.  Each script has a container to
itself, and so have the cells of each number of CPUs, after that of all other cells.  Knows no docker and
writes no file itself.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from suite import codec
from suite.cells.cell import Cell
from suite.errors import GpuError, tell_left
from suite.host.campaign import durations, plan
from suite.host.campaign.document_builder import ArmRefused, DocumentBuilder
from suite.host.engine import LABEL, Ending, Engine, Job, Running, Volume
from suite.host.gpu.remedies import explain_failure, explain_worker
from suite.host.provision.resources import choose_cpus, choose_environment, choose_lasting
from suite.host.telemetry.observer import Observe, Sampled
from suite.model import AT_END, Document, InvocationStatus

NO_PROGRESS_CAP = 3
"""After so many containers in a row that died before any cell had begun, no more are tried."""

OUT_OF_TIME = "the budget is spent"

FIRST_TRIES = 2
"""A cell whose container died in the first block, or before it, is tried so often: dying may have been no
fault of the cell's, which is lost for the whole campaign otherwise."""


@dataclass(frozen=True, kw_only=True)
class Ask:
    """What is asked of the containers of an invocation, each for some of its cells: the worker's
    ``arguments``, and the campaign's own ``volumes``.

    ``limit_s`` is after how many seconds a cell is taken to hang; ``until`` (of ``time.monotonic``) is when
    all ends.
    """

    arguments: Callable[[Sequence[Cell]], tuple[str, ...]]
    volumes: Callable[[Sequence[Cell]], tuple[Volume, ...]]
    limit_s: Callable[[Cell], float]
    until: float = math.inf


class InvocationRunner:
    """Runs one invocation and has its document built."""

    def __init__(
        self, engine: Engine, builder: DocumentBuilder, observe: Observe, ask: Ask
    ) -> None:
        self.stderr: list[tuple[str, str]] = []
        """Each container's id, and what it wrote to standard error."""
        self._engine = engine
        self._builder = builder
        self._observe = observe
        self._ask = ask
        self._observation: Sampled | None = None
        self._tries: dict[str, int] = {}

    def run(self) -> Document:
        """Runs containers until every cell has an outcome.

        Returns:
            the complete document.

        Raises:
            GpuError: the worker refused to be this arm.
            EngineError: the engine has gone or refuses, or the worker lacks something that it needs;
                the document was kept as interrupted.
        """
        builder, no_progress = self._builder, 0
        # Interrupted by a person, or the engine has gone: what there is stays, and says so.
        status: InvocationStatus = "interrupted"
        try:
            if builder.remaining:
                self._begin_observation()
            while builder.remaining and time.monotonic() < self._ask.until:
                phrase = self._run_container()
                no_progress = 0 if builder.made_progress else no_progress + 1
                if builder.remaining and no_progress >= NO_PROGRESS_CAP:
                    self._give_up(phrase)
            builder.skip(builder.remaining, f"not begun: {OUT_OF_TIME}")
            builder.settle()
            status = "complete"
        finally:
            if self._observation is not None:
                builder.telemetry = self._observation.end(builder.span)
            document = builder.keep(status)
        return document

    def _begin_observation(self) -> None:
        builder = self._builder
        begun = self._observe(builder.arm, builder.gpu, builder.cpus)
        if isinstance(begun, str):
            builder.telemetry = begun
        else:
            self._observation = begun
            builder.telemetry = "the invocation is not over"

    def _give_up(self, phrase: str) -> None:
        """No container lives long enough; on an arm with a GPU that is the GPU's own trouble.

        Raises:
            GpuError: the arm has a GPU and has not begun one cell.
        """
        builder = self._builder
        if builder.arm.gpu and len(builder.containers) == NO_PROGRESS_CAP:
            raise explain_worker(
                f"no container of the arm {builder.arm.name} survived to begin a cell: {phrase}",
                "\n".join(text for _, text in self.stderr),
                self._engine.kind,
            )
        reason = f"no container survived long enough to begin it: {phrase}"
        builder.lose(builder.remaining, reason)

    def _run_container(self) -> str:
        """One container's life; gives how it ended."""
        builder = self._builder
        cells = plan.next_process(builder.campaign, builder.remaining)
        asked_s = time.monotonic()
        running = self._engine.start(self._describe_job(cells))
        try:
            builder.begin_container(running.id, asked_s, cells[0].process)
            if self._observation is not None:
                self._observation.follow(running)
            if trouble := self._listen(running, asked_s):
                running.stop()
            ending = running.close()
        except ArmRefused as error:
            self._end_container(ending := running.close(), ending.phrase)
            what = f"the arm {builder.arm.name} is unavailable: {error}"
            raise explain_worker(what, ending.diary, self._engine.kind) from error
        except GpuError:
            # The other arms may go on, on the same engine.
            self._end_container(ending := running.close(), ending.phrase)
            raise
        except BaseException as error:  # noqa: BLE001  raised again, with what was left behind
            self._end_container(ending := running.abandon(), ending.phrase)
            raise tell_left(error, ending.left) from error.__cause__
        phrase = trouble or ending.phrase
        facts = builder.containers[-1].facts
        if builder.arm.gpu and facts and not builder.finished and builder.in_flight is None:
            # No cell can be blamed: what ended it behind the last one, or hung there, may be the GPU.
            facts.setdefault(AT_END, f"not reported: {phrase}")
        self._end_container(ending, phrase)
        if builder.in_flight is not None and trouble == OUT_OF_TIME:
            builder.skip([builder.in_flight], f"cut off: {OUT_OF_TIME}")
        elif builder.in_flight is not None:
            self._lose(builder.in_flight, phrase, ending)
        builder.keep("running")
        died = trouble or not builder.finished or ending.code != 0
        return phrase + _last_words(ending) if died and not builder.made_progress else phrase

    def _listen(self, running: Running, asked_s: float) -> str:
        """Takes records until the worker's output ends.

        Returns:
            why the container is to be stopped: a deadline has passed, or something that came is not a valid
            record; empty: it is not to be stopped.

        Raises:
            ArmRefused: the worker can't be this arm.
            EngineError: the worker lacks something that it needs, or the engine has gone.
        """
        builder, deadline = self._builder, asked_s + durations.START_DEADLINE_S
        while True:
            deadline = min(deadline, self._ask.until)
            try:
                line = running.next_line(max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                if deadline == self._ask.until:
                    return OUT_OF_TIME
                waiting = "the end" if builder.made_progress else "the start"
                cell = builder.in_flight
                return f"the deadline for {f'the cell {cell.id}' if cell else waiting} has passed"
            if line is None:
                return ""
            try:
                kind = builder.take(codec.parse_record(line))
            except (ValueError, KeyError) as error:
                return f"the worker sent an invalid record: {error}"
            if kind == "cell":
                deadline = time.monotonic() + durations.CELL_DEADLINE_FLOOR_S
            elif builder.in_flight is not None and kind == "cell_started":
                deadline = time.monotonic() + self._ask.limit_s(builder.in_flight)

    def _describe_job(self, cells: Sequence[Cell]) -> Job:
        """A container for these cells."""
        builder, campaign, name = self._builder, self._builder.campaign, self._builder.arm.name
        return Job(
            image=builder.image,
            arguments=self._ask.arguments(cells),
            cpus=choose_cpus(self._engine, builder.cpus, cells[0].cpus),
            memory_bytes=builder.memory_bytes,
            gpu=builder.gpu,
            environment=choose_environment(builder.gpu),
            labels={
                f"{LABEL}.campaign": campaign.id,
                f"{LABEL}.invocation": f"{name}-{builder.block}",
            },
            volumes=(
                *self._ask.volumes(cells),
                *choose_lasting(image=builder.image, gpu=builder.gpu),
            ),
        )

    def _end_container(self, ending: Ending, phrase: str) -> None:
        """Notes how the newest container ended, and keeps its standard error for the log."""
        self._builder.end_container(ending.ended, phrase)
        self.stderr.append((self._builder.containers[-1].id, ending.diary))

    def _lose(self, in_flight: Cell, phrase: str, ending: Ending) -> None:
        """The cell in flight when its container died, and if it is a script's, all that remain of that:
        a script is one whole."""
        builder = self._builder
        lost = [in_flight]
        if in_flight.scripted:
            lost = [cell for cell in builder.remaining if cell.process == in_flight.process]
        for cell in lost:
            self._tries[cell.id] = self._tries.get(cell.id, 0) + 1
        if builder.block <= builder.campaign.calibration:
            lost = [cell for cell in lost if self._tries[cell.id] >= FIRST_TRIES]
        reason = f"its container died: {phrase}{_last_words(ending)}"
        if builder.arm.gpu:
            reason = explain_failure(reason, ending.diary, self._engine.kind)
        builder.lose(lost, reason)


def _last_words(ending: Ending) -> str:
    """The last line of its standard error, as a clause; nothing where it kept none."""
    lines = [line.strip() for line in ending.diary.splitlines() if line.strip()]
    return f"; its last words: {lines[-1][:300]}" if lines else ""
