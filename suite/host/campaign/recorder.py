"""One invocation from the host's side: starts containers, takes records, keeps the document.

A container that dies costs the cell in flight; a fresh one takes the rest.  Knows no docker and
writes no file itself: it hands the growing document to ``keep`` after every cell.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

import msgspec

from suite import wire
from suite.errors import EngineError
from suite.host.campaign import plan
from suite.host.campaign.outcomes import demand_sense, judge_start, make_pending
from suite.host.engine import LABEL, Arm, Ending, Engine, GpuRequest, Job, Running
from suite.host.gpu.commands import kind_of
from suite.host.gpu.remedies import explain_failure, explain_worker
from suite.host.machine.cpus import write_cpus
from suite.host.provision.overlay import OTHER_TENSORFLOW
from suite.host.provision.volumes import choose_environment, choose_volumes, compile_cache
from suite.host.watch.observe import Observation, Observe
from suite.model import (
    AT_END,
    Campaign,
    CampaignIdentity,
    Cell,
    CellResult,
    Container,
    Document,
    Image,
    Invocation,
    InvocationStatus,
    Scalar,
    Telemetry,
)

BARREN_CAP = 3
"""After so many containers in a row that died before any cell had begun, no more are tried."""

CALIBRATION_TRIES = 2
"""A cell whose container died in the calibration is tried so often: dying may have been no fault of
the cell's, and a cell without K is lost for the whole campaign."""

_NONE = object()
"""Stands for a fact that is not there: None is what some are."""

Keep = Callable[[Document], None]
Watch = Callable[[Document, str | None], None]
"""Told of every change: the document so far, and the cell in flight, if any."""


class ProtocolError(Exception):
    """The worker sent something that is no record of this suite's."""


class ArmRefused(Exception):
    """The worker can't be the arm with a GPU; the text says why, its diary perhaps more."""


class Hung(Exception):
    """A deadline has passed; the text says which."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What an invocation is: the arm's turn in a block, with all that it runs in and under."""

    campaign: Campaign
    arm: Arm
    block: int
    image: Image
    gpu: GpuRequest | None
    cpus: tuple[int, ...]
    memory_bytes: int | None
    repeat: int = 0


@dataclass
class Conversation:
    """What one container has said so far, and what the host knows of it."""

    running: Running
    asked: float
    in_flight: Cell | None = None
    finished: bool = False
    fruitful: bool = False
    deadline: float = field(default=0.0)


class Recorder:
    """Runs one invocation and builds its document."""

    def __init__(
        self,
        engine: Engine,
        turn: Turn,
        *,
        keep: Keep,
        watch: Watch,
        observe: Observe | None = None,
    ) -> None:
        self.engine = engine
        self.turn = turn
        self.keep = keep
        self.watch = watch
        self.observe = observe
        self.observation: Observation | None = None
        self.telemetry: Telemetry | str = "nobody was asked to watch"
        campaign = turn.campaign
        excluded = (
            campaign.excluded.get(plan.calibrating_arm(campaign, turn.arm.name), {})
            if turn.block > 0
            else {}
        )
        self.cells = plan.order_cells(campaign, turn.arm.name, turn.block, turn.repeat)
        self.results = {cell.id: make_pending(cell) for cell in self.cells}
        for cell in self.cells:
            if cell.id in excluded:
                why = excluded[cell.id]
                self.results[cell.id] = replace(
                    self.results[cell.id],
                    outcome=why.outcome,
                    reason=f"in the calibration: {why.reason}",
                )
        self.remaining = [
            c for c in self.cells if not c.by_host and self.results[c.id].outcome == "pending"
        ]
        self.told: list[dict[str, Scalar]] = []
        self.spent_s: dict[str, float] = {}
        self.containers: list[Container] = []
        self.tries: dict[str, int] = {}
        self.started = _now()
        self.engine_facts = engine.describe()
        self.diaries: list[tuple[str, str]] = []

    def run(self) -> Document:
        """Runs containers until every cell has an outcome.

        Returns:
            the complete document.

        Raises:
            GpuError: the worker refused to be this arm.
            EngineError: the engine has gone or refuses, or the worker lacks something that it needs;
                the document was kept as interrupted.
        """
        barren = 0
        try:
            self._begin_observation()
            while self.remaining:
                fruitful, phrase = self._container()
                barren = 0 if fruitful else barren + 1
                if self.remaining and barren >= BARREN_CAP:
                    self._give_up(phrase)
            self._settle()
        except BaseException:
            # Interrupted by a person, or the engine has gone: what there is stays, and says so.
            self._end_observation()
            self._keep("interrupted")
            raise
        self._end_observation()
        return self._keep("complete")

    def _begin_observation(self) -> None:
        if self.observe is None or not self.remaining:
            return
        begun = self.observe(self.turn.arm.name, self.turn.gpu, self.turn.cpus)
        if isinstance(begun, str):
            self.telemetry = begun
        else:
            self.observation = begun
            self.telemetry = "the invocation is not over"

    def _end_observation(self) -> None:
        if self.observation is not None:
            self.telemetry = self.observation.end()

    def _give_up(self, phrase: str) -> None:
        """No container lives long enough; on an arm with a GPU that is the GPU's own trouble.

        Raises:
            GpuError: the arm has a GPU and has not begun one cell.
        """
        if self.turn.arm.gpu and len(self.containers) == BARREN_CAP:
            raise explain_worker(
                f"no container of the arm {self.turn.arm.name} lived to begin a cell: {phrase}",
                "\n".join(diary for _, diary in self.diaries),
                kind_of(self.engine.isolation),
            )
        for cell in self.remaining:
            self._fail(cell, f"no container lived long enough to begin it: {phrase}")
        self.remaining = []

    def _settle(self) -> None:
        """What is still without an outcome are cells measured from outside, of no container."""
        for cell in self.cells:
            if self.results[cell.id].outcome != "pending":
                continue
            if self.containers:
                self._fail(cell, "no container came up")
            else:
                self.results[cell.id] = replace(
                    self.results[cell.id],
                    outcome="skipped",
                    reason="no container was needed: the calibration had settled every cell",
                )

    def _container(self) -> tuple[bool, str]:
        """One container's life.  Returns whether it began a cell, and how it ended."""
        turn = self.turn
        asked = time.monotonic()
        running = self.engine.start(
            Job(
                image=turn.image,
                arguments=plan.arguments(turn.campaign, turn.arm.name, turn.block, self.remaining),
                cpus=turn.cpus,
                memory_bytes=turn.memory_bytes,
                gpu=turn.gpu,
                environment=choose_environment(turn.gpu),
                labels={
                    f"{LABEL}.campaign": turn.campaign.id,
                    f"{LABEL}.invocation": f"{turn.arm.name}-{turn.block}",
                },
                volumes=choose_volumes(
                    turn.campaign, self.remaining, image=turn.image, gpu=turn.gpu
                ),
            )
        )
        talk = Conversation(running=running, asked=asked, deadline=asked + plan.START_DEADLINE_S)
        trouble = ""
        try:
            self.containers.append(Container(id=running.id, started=running.started))
            self.told.append({})
            if self.observation is not None:
                self.observation.follow(running)
            self.watch(self._document("running"), None)
            self._listen(talk)
        except (Hung, ProtocolError) as error:
            trouble = str(error)
            running.stop()
        except ArmRefused as error:
            ending = running.close()
            self._bury(ending, ending.phrase)
            what = f"the arm {turn.arm.name} can't be had: {error}"
            raise explain_worker(what, ending.diary, kind_of(self.engine.isolation)) from error
        except BaseException:
            try:
                running.stop()
            finally:
                self._bury(running.close(), "stopped by the host")
            raise
        ending = running.close()
        if turn.arm.gpu and self.told[-1] and not talk.finished and talk.in_flight is None:
            # No cell can be blamed: what ended it behind the last one, or hung there, may be the GPU.
            self.told[-1].setdefault(AT_END, f"it was not told: {trouble or ending.phrase}")
        died = trouble or not talk.finished or ending.code != 0
        phrase = trouble or ending.phrase
        self._bury(ending, phrase)
        if talk.in_flight is not None:
            self._lose(talk.in_flight, phrase, ending)
        self._keep("running")
        if died and not talk.fruitful:
            phrase = f"{phrase}{_last_words(ending)}"
        return talk.fruitful, phrase

    def _listen(self, talk: Conversation) -> None:
        """Takes records until the worker's output ends."""
        while True:
            try:
                line = talk.running.next_line(max(0.0, talk.deadline - time.monotonic()))
            except TimeoutError as error:
                of = "the end" if talk.fruitful else "the start"
                of = f"the cell {talk.in_flight.id}" if talk.in_flight else of
                raise Hung(f"the deadline for {of} has passed") from error
            if line is None:
                return
            try:
                record = wire.parse_record(line)
                self._take(talk, record)
            except (ValueError, KeyError) as error:
                raise ProtocolError(f"the worker sent no proper record: {error}") from error

    def _take(self, talk: Conversation, record: Mapping[str, Any]) -> None:
        """One record into the document."""
        match record["record"]:
            case "hello":
                self._greet(record["schema"], time.monotonic() - talk.asked)
            case "startup":
                self._demand_device(record["device"])
                self._spend(msgspec.convert(record["stages"], dict[str, float]))
            case "facts":
                self.told[-1] = msgspec.convert(record["facts"], dict[str, Scalar])
                self._demand_named()
                self._spend({"facts": msgspec.convert(record["seconds"], float)})
            case "refused":
                raise ArmRefused(record["reason"])
            case "unfit":
                raise EngineError(
                    f"the arm {self.turn.arm.name} can't be run: {record['reason']}",
                    OTHER_TENSORFLOW,
                )
            case "cell_started":
                self._begin(talk, record["id"])
            case "cell":
                self._end(talk, record["cell"])
            case "bye":
                talk.finished = True
            case other:
                raise ProtocolError(f"{other!r} is no record of this suite's")

    def _demand_device(self, device: str) -> None:
        """What the arm's cells are to be measured on: the GPU of an arm that has one.

        Raises:
            ArmRefused: it is another device.
        """
        if self.turn.arm.gpu and device != "/GPU:0":
            raise ArmRefused(f"its worker computes on {device}")

    def _demand_named(self) -> None:
        """The GPU that was asked for by its UUID, where the worker's CUDA says which it has.

        Raises:
            ArmRefused: it is another GPU.
        """
        named, found = self.turn.gpu and self.turn.gpu.uuid, self.told[-1].get("gpu.0.uuid")
        if named and found is not None and wire.hash_uuid(named) != found:
            raise ArmRefused(
                f"its worker computes on another GPU than the one named (UUIDs by their hashes: "
                f"{wire.hash_uuid(named)} was named, {found} computes)"
            )

    def _greet(self, spoken: int, start_s: float) -> None:
        """The container's first word, so many seconds after it was asked for."""
        if spoken != wire.SCHEMA:
            raise ProtocolError(f"the image's suite speaks schema {spoken}, this is {wire.SCHEMA}")
        self.containers[-1] = replace(self.containers[-1], start_s=start_s)
        self._spend({"container_start": start_s})
        self._measure_start(start_s)

    def _begin(self, talk: Conversation, identity: str) -> None:
        """A cell is in flight from now on, under its own deadline."""
        begun = [cell for cell in self.remaining if cell.id == identity]
        if not begun:
            raise ProtocolError(f"{identity} was begun and not asked for")
        if talk.in_flight is not None:
            raise ProtocolError(f"{identity} was begun while {talk.in_flight.id} was in flight")
        talk.in_flight, talk.fruitful = begun[0], True
        talk.deadline = time.monotonic() + plan.cell_deadline_s(self.turn.campaign, begun[0])
        self.watch(self._document("running"), identity)

    def _end(self, talk: Conversation, words: Mapping[str, Any]) -> None:
        """The cell in flight has its outcome."""
        result = replace(msgspec.convert(words, CellResult), container=talk.running.id)
        if talk.in_flight is None or talk.in_flight.id != result.id:
            raise ProtocolError(f"the outcome of {result.id} came out of turn")
        demand_sense(result, talk.in_flight)
        if self.turn.arm.gpu and result.outcome == "failed" and result.reason:
            result = replace(result, reason=explain_failure(result.reason))
        if result.started is not None and result.ended is not None:
            # The clock of the day can be set back in between; an end before its start is no interval.
            result = replace(result, ended=max(result.started, result.ended))
        self.results[result.id] = result
        self.remaining.remove(talk.in_flight)
        talk.in_flight = None
        talk.deadline = time.monotonic() + plan.CELL_DEADLINE_FLOOR_S
        self._keep("running")

    def _measure_start(self, start_s: float) -> None:
        """The cells that only the host can see: how long the container took to start."""
        for cell in self.cells:
            if cell.by_host and self.results[cell.id].outcome == "pending":
                self.results[cell.id] = judge_start(
                    cell, self.containers[-1], start_s, _now(), isolation=self.engine.isolation
                )

    def _lose(self, cell: Cell, phrase: str, ending: Ending) -> None:
        """The cell in flight when its container died."""
        self.tries[cell.id] = self.tries.get(cell.id, 0) + 1
        if self.turn.block == 0 and self.tries[cell.id] < CALIBRATION_TRIES:
            return
        reason = f"its container died: {phrase}{_last_words(ending)}"
        self._fail(cell, explain_failure(reason, ending.diary) if self.turn.arm.gpu else reason)
        self.remaining.remove(cell)

    def _fail(self, cell: Cell, reason: str) -> None:
        self.results[cell.id] = replace(
            self.results[cell.id],
            outcome="failed",
            reason=reason,
            container=self.containers[-1].id if self.containers else None,
        )

    def _bury(self, ending: Ending, phrase: str) -> None:
        """Notes how the newest container ended, and keeps its diary for the log."""
        # The clock of the day can be set back in between; an end before its start is no interval.
        ended = max(ending.ended, self.containers[-1].started)
        self.containers[-1] = replace(self.containers[-1], ended=ended, status=phrase)
        self.diaries.append((self.containers[-1].id, ending.diary))

    def _spend(self, seconds: Mapping[str, float]) -> None:
        for kind, spent in seconds.items():
            self.spent_s[kind] = self.spent_s.get(kind, 0.0) + float(spent)

    def _keep(self, status: InvocationStatus) -> Document:
        """Hands the document to be written, and books the time that writing took."""
        began = time.monotonic()
        document = self._document(status)
        self.keep(document)
        self._spend({"writing": time.monotonic() - began})
        self.watch(document, None)
        return document

    def _document(self, status: InvocationStatus) -> Document:
        turn, campaign = self.turn, self.turn.campaign
        facts = next((one for one in reversed(self.told) if one), {})
        content = facts.get("content.hash")
        cache = compile_cache(turn.image, turn.gpu).name if turn.gpu else "none"
        absent = {"telemetry": self.telemetry} if isinstance(self.telemetry, str) else {}
        if turn.memory_bytes is None:
            absent["invocation.limits.memory_bytes"] = "this engine enforces none"
        if content is None:
            absent["invocation.image.content"] = "the worker has not computed it yet"
        return Document(
            schema=wire.SCHEMA,
            suite=campaign.suite,
            campaign=CampaignIdentity(
                id=campaign.id, profile=campaign.profile, seed=campaign.seed, label=campaign.label
            ),
            invocation=Invocation(
                arm=turn.arm.name,
                block=turn.block,
                repeat=turn.repeat,
                isolation=self.engine.isolation,
                image=replace(turn.image, content=None if content is None else str(content)),
                engine={
                    **self.engine_facts,
                    "gpu.request": turn.gpu.driver if turn.gpu else "none",
                    "gpu.compile_cache": cache,
                },
                limits={
                    "cpus": write_cpus(turn.cpus),
                    "cpu_count": len(turn.cpus),
                    "memory_bytes": turn.memory_bytes,
                },
                containers=[
                    replace(one, facts={n: v for n, v in own.items() if facts.get(n, _NONE) != v})
                    for one, own in zip(self.containers, self.told, strict=True)
                ],
                started=self.started,
                ended=None if status == "running" else max(_now(), self.started),
                status=status,
            ),
            facts=dict(facts),
            cells=[self.results[cell.id] for cell in self.cells],
            telemetry=None if isinstance(self.telemetry, str) else self.telemetry,
            spent_s=dict(self.spent_s),
            absent=absent,
        )


def _last_words(ending: Ending) -> str:
    """The last line of its diary, as a clause; nothing where it kept none."""
    lines = [line.strip() for line in ending.diary.splitlines() if line.strip()]
    return f"; its last words: {lines[-1][:300]}" if lines else ""


def _now() -> datetime:
    return datetime.now(timezone.utc)
