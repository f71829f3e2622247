"""One invocation from the host's side: starts containers until every cell has an outcome.

A container that dies costs the cell in flight; a fresh one takes the rest.  Each script has a container to
itself, after that of all other cells.  Knows no docker and
writes no file itself.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from suite.cells.cell import Cell
from suite.errors import GpuError, tell_left
from suite.host.campaign import plan
from suite.host.campaign.invocation.draft import Draft, InvocationSpec, Keep, Watch
from suite.host.campaign.invocation.session import ArmRefused, Session
from suite.host.engine import LABEL, Ending, Engine, Job
from suite.host.gpu.remedies import explain_failure, explain_worker
from suite.host.provision.volumes import choose_environment, choose_volumes
from suite.host.watch.observe import Observe, Sampled
from suite.model import AT_END, Container, Document, InvocationStatus

NO_PROGRESS_CAP = 3
"""After so many containers in a row that died before any cell had begun, no more are tried."""

CALIBRATION_TRIES = 2
"""A cell whose container died in the calibration is tried so often: dying may have been no fault of
the cell's, and a cell without K is lost for the whole campaign."""


class Recorder:
    """Runs one invocation and builds its document."""

    def __init__(
        self,
        engine: Engine,
        spec: InvocationSpec,
        *,
        keep: Keep,
        watch: Watch,
        observe: Observe,
    ) -> None:
        self.diaries: list[tuple[str, str]] = []
        """Each container's id, and what it wrote to standard error."""
        self._engine = engine
        self._spec = spec
        self._observe = observe
        self._observation: Sampled | None = None
        self._draft = Draft(engine, spec, keep=keep, watch=watch)
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
        no_progress = 0
        # Interrupted by a person, or the engine has gone: what there is stays, and says so.
        status: InvocationStatus = "interrupted"
        try:
            if self._draft.remaining:
                self._begin_observation()
            while self._draft.remaining:
                made_progress, phrase = self._run_container()
                no_progress = 0 if made_progress else no_progress + 1
                if self._draft.remaining and no_progress >= NO_PROGRESS_CAP:
                    self._give_up(phrase)
            self._draft.settle()
            status = "complete"
        finally:
            if self._observation is not None:
                self._draft.telemetry = self._observation.end(self._draft.span)
            document = self._draft.keep(status)
        return document

    def _begin_observation(self) -> None:
        begun = self._observe(self._spec.arm, self._spec.gpu, self._spec.cpus)
        if isinstance(begun, str):
            self._draft.telemetry = begun
        else:
            self._observation = begun
            self._draft.telemetry = "the invocation is not over"

    def _give_up(self, phrase: str) -> None:
        """No container lives long enough; on an arm with a GPU that is the GPU's own trouble.

        Raises:
            GpuError: the arm has a GPU and has not begun one cell.
        """
        if self._spec.arm.gpu and len(self._draft.containers) == NO_PROGRESS_CAP:
            raise explain_worker(
                f"no container of the arm {self._spec.arm.name} survived to begin a cell: {phrase}",
                "\n".join(diary for _, diary in self.diaries),
                self._engine.kind,
            )
        for cell in self._draft.remaining:
            self._draft.lose(cell, f"no container survived long enough to begin it: {phrase}")

    def _run_container(self) -> tuple[bool, str]:
        """One container's life.  Returns whether it began a cell, and how it ended."""
        draft = self._draft
        cells = plan.next_process(self._spec.campaign, draft.remaining)
        asked = time.monotonic()
        running = self._engine.start(self._describe_job(cells))
        session = Session(running, draft, asked=asked)
        try:
            draft.containers.append(
                Container(id=running.id, started=draft.span.at(asked), process=cells[0].process)
            )
            if self._observation is not None:
                self._observation.follow(running)
            draft.show(None)
            if trouble := session.listen():
                running.stop()
            ending = running.close()
        except ArmRefused as error:
            ending = running.close()
            self._end_container(ending, ending.phrase)
            what = f"the arm {self._spec.arm.name} is unavailable: {error}"
            raise explain_worker(what, ending.diary, self._engine.kind) from error
        except GpuError:
            # The other arms may go on, on the same engine.
            self._end_container(ending := running.close(), ending.phrase)
            raise
        except BaseException as error:  # noqa: BLE001  raised again, with what was left behind
            ending = running.abandon()
            self._end_container(ending, ending.phrase)
            raise tell_left(error, ending.left) from error.__cause__
        phrase = trouble or ending.phrase
        between_cells = not session.finished and session.in_flight is None
        facts = draft.containers[-1].facts
        if self._spec.arm.gpu and facts and between_cells:
            # No cell can be blamed: what ended it behind the last one, or hung there, may be the GPU.
            facts.setdefault(AT_END, f"not reported: {phrase}")
        self._end_container(ending, phrase)
        if session.in_flight is not None:
            for cell in _list_lost(session.in_flight, draft.remaining):
                self._lose(cell, phrase, ending)
        draft.keep("running")
        died = trouble or not session.finished or ending.code != 0
        if died and not session.made_progress:
            phrase = f"{phrase}{_last_words(ending)}"
        return session.made_progress, phrase

    def _describe_job(self, cells: Sequence[Cell]) -> Job:
        """A container for these cells."""
        spec = self._spec
        return Job(
            image=spec.image,
            arguments=plan.arguments(spec.campaign, spec.arm.name, spec.block, cells),
            cpus=spec.cpus,
            memory_bytes=spec.memory_bytes,
            gpu=spec.gpu,
            environment=choose_environment(spec.gpu),
            labels={
                f"{LABEL}.campaign": spec.campaign.id,
                f"{LABEL}.invocation": f"{spec.arm.name}-{spec.block}",
            },
            volumes=choose_volumes(spec.campaign, cells, image=spec.image, gpu=spec.gpu),
        )

    def _end_container(self, ending: Ending, phrase: str) -> None:
        """Notes how the newest container ended, and keeps its diary for the log."""
        self._draft.note(ended=self._draft.span.at(ending.ended), status=phrase)
        self.diaries.append((self._draft.containers[-1].id, ending.diary))

    def _lose(self, cell: Cell, phrase: str, ending: Ending) -> None:
        """The cell in flight when its container died."""
        self._tries[cell.id] = self._tries.get(cell.id, 0) + 1
        if self._spec.block == 0 and self._tries[cell.id] < CALIBRATION_TRIES:
            return
        reason = f"its container died: {phrase}{_last_words(ending)}"
        if self._spec.arm.gpu:
            reason = explain_failure(reason, ending.diary, self._engine.kind)
        self._draft.lose(cell, reason)


def _list_lost(in_flight: Cell, remaining: Sequence[Cell]) -> list[Cell]:
    """The cells that a container's death in the midst of one takes with it: a script is one whole."""
    if in_flight.process is None:
        return [in_flight]
    return [cell for cell in remaining if cell.process == in_flight.process]


def _last_words(ending: Ending) -> str:
    """The last line of its diary, as a clause; nothing where it kept none."""
    lines = [line.strip() for line in ending.diary.splitlines() if line.strip()]
    return f"; its last words: {lines[-1][:300]}" if lines else ""
