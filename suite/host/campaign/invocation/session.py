"""What one container says, record by record, from its first word to its last."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated, Any

import msgspec

from suite import wire
from suite.cells.cell import Cell
from suite.errors import EngineError
from suite.host.campaign import durations
from suite.host.campaign.invocation.draft import Draft
from suite.host.campaign.invocation.outcomes import demand_sense
from suite.host.engine import Running
from suite.host.gpu.remedies import explain_failure
from suite.host.machine.identity import hide
from suite.host.provision.overlay import OTHER_TENSORFLOW
from suite.model import CellResult, Scalar
from suite.model.rules import demand_no, judge_keys

SAME_CLOCK = timedelta(seconds=1)
"""News from the worker comes later than it was sent by far less, and what keeps a clock right moves it by
less."""


_Instant = Annotated[datetime, msgspec.Meta(tz=True)]


class ProtocolError(Exception):
    """The worker sent something that is no record of this suite's."""


class ArmRefused(Exception):
    """The worker can't be the arm with a GPU; the text says why, its diary perhaps more."""


class Session:
    """One container's records, which go into the draft of its invocation's document.

    ``asked`` (of ``time.monotonic``) is when the container was asked for.  ``finished`` says whether it
    has said goodbye, ``made_progress`` whether it has begun a cell.
    """

    def __init__(self, running: Running, draft: Draft, *, asked: float) -> None:
        self.in_flight: Cell | None = None
        self.finished = False
        self.made_progress = False
        self._running = running
        self._draft = draft
        self._asked = asked
        self._deadline = asked + durations.START_DEADLINE_S
        self._lag = timedelta.max

    def listen(self) -> str:
        """Takes records until the worker's output ends.

        Returns:
            why the container is to be stopped: a deadline has passed, or something that came is no proper
            record; empty: it is not.

        Raises:
            ArmRefused: the worker can't be this arm.
            EngineError: the worker lacks something that it needs, or the engine has gone.
        """
        while True:
            try:
                line = self._running.next_line(max(0.0, self._deadline - time.monotonic()))
            except TimeoutError:
                of = "the end" if self.made_progress else "the start"
                of = f"the cell {self.in_flight.id}" if self.in_flight else of
                return f"the deadline for {of} has passed"
            if line is None:
                return ""
            try:
                self._take(wire.parse_record(line))
            except ProtocolError as error:
                return str(error)
            except (ValueError, KeyError) as error:
                return f"the worker sent no proper record: {error}"

    def _take(self, record: Mapping[str, Any]) -> None:
        """One record into the document."""
        match record["record"]:
            case "hello":
                self._greet(record, time.monotonic() - self._asked)
            case "startup":
                device = record["device"]
                if self._draft.spec.arm.gpu and device != "/GPU:0":
                    raise ArmRefused(f"its worker computes on {device}")
                self._draft.spend(msgspec.convert(record["stages"], dict[str, float]))
            case "facts":
                facts = msgspec.convert(record["facts"], dict[str, Scalar])
                demand_no(judge_keys("$.facts", facts))
                self._draft.note(facts=facts)
                self._demand_named(facts.get("gpu.0.uuid"))
                self._draft.spend({"facts": msgspec.convert(record["seconds"], float)})
            case "refused":
                raise ArmRefused(record["reason"])
            case "unfit":
                raise EngineError(
                    f"the arm {self._draft.spec.arm.name} can't be run: {record['reason']}",
                    OTHER_TENSORFLOW,
                )
            case "cell_started":
                self._begin(record["id"])
            case "cell":
                self._end(record["cell"])
            case "bye":
                self.finished = True
            case other:
                raise ProtocolError(f"{other!r} is no record of this suite's")

    def _greet(self, record: Mapping[str, Any], start_s: float) -> None:
        spoken = record["schema"]
        if spoken != wire.SCHEMA:
            raise ProtocolError(f"the image's suite speaks schema {spoken}, this is {wire.SCHEMA}")
        self._compare_clocks(msgspec.convert(record["at"], _Instant))
        self._draft.greet(start_s)

    def _demand_named(self, found: Scalar) -> None:
        """The GPU that was asked for by its UUID, where the worker's CUDA says which it has.

        Raises:
            ArmRefused: it is another GPU.
        """
        gpu = self._draft.spec.gpu
        named = gpu and gpu.uuid
        if named and found is not None and wire.hash_uuid(named) != found:
            raise ArmRefused(
                f"its worker computes on another GPU than the one named (UUIDs by their hashes: "
                f"{hide(wire.hash_uuid(named))} was named, {hide(str(found))} computes)"
            )

    def _compare_clocks(self, said: datetime) -> None:
        """How far the worker's clock is behind the invocation's, as near as it can be told: each reads the
        clock of the day once, and that can have been set between the two; or it is another machine's.

        What it said by its own clock came later, at times by much, so that the least lag is the truest.
        """
        self._lag = min(self._lag, self._draft.span.at() - said)

    def _place(self, result: CellResult) -> CellResult:
        """The cell with its instants by the invocation's clock, as the telemetry and the containers are."""
        if result.started is None or result.ended is None:
            return result
        self._compare_clocks(result.ended)
        lag = self._lag
        if abs(lag) <= SAME_CLOCK:
            return result
        moved = {
            name: value + lag.total_seconds()
            for name in ("from_s", "to_s")
            if (value := result.evidence.get(name)) is not None
        }
        return replace(
            result,
            started=result.started + lag,
            ended=result.ended + lag,
            evidence={**result.evidence, **moved},
        )

    def _begin(self, identity: str) -> None:
        """A cell is in flight from now on, under its own deadline."""
        begun = [cell for cell in self._draft.remaining if cell.id == identity]
        if not begun:
            raise ProtocolError(f"{identity} was begun and not asked for")
        if self.in_flight is not None:
            raise ProtocolError(f"{identity} was begun while {self.in_flight.id} was in flight")
        self.in_flight, self.made_progress = begun[0], True
        limit_s = durations.cell_deadline_s(self._draft.spec.campaign, begun[0])
        self._deadline = time.monotonic() + limit_s
        self._draft.show(identity)

    def _end(self, words: Mapping[str, Any]) -> None:
        """The cell in flight has its outcome."""
        result = replace(msgspec.convert(words, CellResult), container=self._running.id)
        if self.in_flight is None or self.in_flight.id != result.id:
            raise ProtocolError(f"the outcome of {result.id} came out of turn")
        demand_sense(result, self.in_flight)
        result = self._place(result)
        if self._draft.spec.arm.gpu and result.outcome == "failed" and result.reason:
            result = replace(result, reason=explain_failure(result.reason))
        self._draft.end(self.in_flight, result)
        self.in_flight = None
        self._deadline = time.monotonic() + durations.CELL_DEADLINE_FLOOR_S
        self._draft.keep("running")
