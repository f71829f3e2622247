"""A campaign under way: block by block, each arm's turn in its order.

Decides as values (`plan`), then acts through the engine and the store; prints nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from suite.errors import UsageError
from suite.host.campaign import plan
from suite.host.campaign.arms import Arms
from suite.host.campaign.outcomes import is_complete
from suite.host.campaign.recorder import Recorder, Turn
from suite.host.campaign.store import Store
from suite.host.engine import Engine, find_arm
from suite.host.machine.cpus import write_cpus
from suite.host.provision.volumes import campaign_volumes
from suite.host.watch.observe import Observe
from suite.model import SIMULATED, TWIN, Campaign, Document, Image, Look, container_seconds

MEMORY_SHARE = 0.9
"""A container may use this share of the engine's memory: what it takes beyond must kill it, and not
the machine."""


REPEATS = 2
"""A disturbed invocation is run again at most so often; what disturbs all three is not an accident."""


@dataclass(frozen=True, kw_only=True)
class Position:
    """Where a campaign stands: which invocation, how many of its cells are done, which is in
    flight, and how long the whole is predicted to go on, in seconds (None: not known yet)."""

    arm: str
    block: int
    blocks: int
    done: int
    cells: int
    in_flight: str | None
    left_s: float | None


class Listener(Protocol):
    """Hears what a campaign has to say to people; the command line is one."""

    def say(self, line: str) -> None:
        """One line worth keeping."""

    def show(self, position: Position) -> None:
        """The position has changed; may be shown or not, at most once a second."""


class Conductor:
    """Runs a campaign that has been drawn up, or the rest of one.

    ``collate`` is called after every block and at the end: what there is by then is worth a report.
    ``look`` says how many cells are known well enough by then, of how many, and whether to stop; it
    sees no verdict.  ``disturbed`` says why an invocation has to be run again, or None; it looks at
    counters and at no timing.  ``observe`` begins to watch an invocation from outside; None: nobody
    does.
    """

    def __init__(
        self,
        engine: Engine,
        store: Store,
        campaign: Campaign,
        arms: Arms,
        images: Mapping[str, Image],
        *,
        cpus: tuple[int, ...] | None,
        budget_s: float | None,
        listener: Listener,
        collate: Callable[[], object],
        look: Callable[[], tuple[int, int, bool]],
        disturbed: Callable[[Document], str | None],
        observe: Observe | None = None,
    ) -> None:
        self.engine = engine
        self.store = store
        self.campaign = campaign
        names = [*campaign.arms, *plan.control_arms(campaign)]
        self.arms = {name: find_arm(name) for name in names}
        self.requests = {
            name: arms.gpu[name.removesuffix(TWIN)] if arm.gpu else None
            for name, arm in self.arms.items()
        }
        self.look = look
        self.disturbed = disturbed
        self.observe = observe
        self.images = images
        self.cpus = _allowed_cpus(engine, cpus)
        self.budget_s = budget_s
        self.listener = listener
        self.collate = collate
        self.documents: dict[tuple[str, int], Document] = {}
        self.given_way: list[Document] = []
        self.expected_s: dict[str, float] = {}
        self.kept_s = 0.0
        self.fresh = True
        memory = engine.memory_bytes()
        bounded = memory is not None and engine.isolation == "container"
        share = MEMORY_SHARE / campaign.at_once
        self.memory_bytes = int(memory * share) if memory and bounded else None

    def run(self, kept: Sequence[Document] = ()) -> Campaign:
        """Runs every invocation that ``kept`` does not hold complete; writes as it goes.

        Returns:
            the plan as it is at the end.

        Raises:
            GpuError, EngineError: as the engine or worker refuse; what was measured is kept.
        """
        for _ in self.steps(kept):
            pass
        return self.campaign

    def steps(self, kept: Sequence[Document] = ()) -> Generator[int, None, None]:
        """As `run`, piece by piece, for those who have several campaigns under way.

        The calibration is done when the first number comes, which is that of the block to come; then
        each step is a block.  To be closed where it is not brought to its end.

        Raises:
            GpuError, EngineError: as `run`.
        """
        try:
            yield from self._run(kept)
        finally:
            for volume in campaign_volumes(self.campaign, self.campaign.cells):
                self.engine.remove_volume(volume)

    def _run(self, kept: Sequence[Document]) -> Iterator[int]:
        for document in kept:
            of = document.invocation
            if is_complete(document, plan.cells_of(self.campaign, of.arm)):
                if (of.arm, of.block) in self.documents:
                    self.given_way.append(self.documents[of.arm, of.block])
                self.documents[of.arm, of.block] = document
        self.kept_s = self._actual_s()
        self._write_plan()
        before = self.campaign.prediction.before_s
        self.listener.say(
            f"{len(self.campaign.cells)} cells on {' and '.join(self.campaign.arms)}, "
            f"{self.campaign.blocks} block{'s' if self.campaign.blocks != 1 else ''}"
            f"{'' if self.campaign.calibrated_by else ' after a calibration'}{self._word_controls()}; "
            f"about {before / 60:.0f} min{word_cost(self.campaign, before)}, a guess until "
            + ("the first block" if self.campaign.calibrated_by else "the calibration")
            + " is done"
        )
        for arm in plan.order_arms(self.campaign, 0):
            self._calibrate(arm)
        if self.campaign.calibrated_by is None:
            self._predict()
        block = 1
        while block <= self.campaign.blocks and not self._stop_before(block):
            yield block
            missing = [arm for arm in self.arms if (arm, block) not in self.documents]
            for arm in plan.order_arms(self.campaign, block):
                self._invoke(arm, block)
            if missing:
                self.fresh = False
                self._correct(block)
                self.collate()
            self._look_after(block)
            block += 1
        self.collate()

    def _calibrate(self, arm: str) -> None:
        document = self._invoke(arm, 0)
        if document.invocation.repeat == 0 and plan.has_compiled(document):
            self.listener.say(
                f"{arm} is calibrated again: the GPU's driver had to compile kernels, which made cells "
                "look slower than they are; now it finds them in its cache"
            )
            self.given_way.append(document)
            document = self.documents[arm, 0] = self._record(arm, 0, 1)
            self._write_plan()
        calls, excluded = plan.freeze(document)
        sharing = [one for one in self.arms if plan.calibrating_arm(self.campaign, one) == arm]
        if arm not in self.campaign.calls:
            same = [one for one in sharing if one in self.campaign.arms]
            self.campaign = replace(
                self.campaign,
                calls={**self.campaign.calls, **dict.fromkeys(same, calls)},
                excluded={**self.campaign.excluded, **dict.fromkeys(same, excluded)},
            )
            self._write_plan()
        for one in sharing:
            self.expected_s[one] = plan.predict_invocation_s(self.campaign, one, document)

    def _look_after(self, block: int) -> None:
        """After the last planned block: adds more where the intervals are still too wide.

        A look sees widths and no verdict, so that it can't go on until something is found.
        """
        campaign = self.campaign
        most = campaign.most_blocks or campaign.blocks
        if block < campaign.blocks or campaign.blocks >= most:
            return
        precise, cells, enough = self.look()
        seen = Look(block=block, precise=precise, cells=cells, enough=enough)
        blocks = campaign.blocks if enough else plan.add_blocks(block, most)
        self.campaign = replace(campaign, blocks=blocks, looks=[*campaign.looks, seen])
        self._write_plan()
        more = f"; {blocks - block} more blocks" if blocks > block else ""
        self.listener.say(f"a look: {precise} of {cells} cells are known well enough{more}")

    def _word_controls(self) -> str:
        controls = plan.control_arms(self.campaign)
        return f", with the controls {', '.join(controls)}" if controls else ""

    def _invoke(self, arm: str, block: int) -> Document:
        """One arm's turn, unless it has been had; again where it was disturbed."""
        kept, first = self.documents.get((arm, block)), 0
        if kept is not None:
            first = kept.invocation.repeat + 1
            # A campaign can have been stopped between a disturbed invocation and its repeat.
            if block == 0 or first > REPEATS or self.disturbed(kept) is None:
                return kept
            self.given_way.append(kept)
        for repeat in range(first, REPEATS + 1):
            document = self._record(arm, block, repeat)
            # The calibration's samples do not count, and K comes from its fastest calls.
            reason = self.disturbed(document) if block else None
            if reason is None or repeat == REPEATS:
                break
            # What it took is not among the documents yet.
            took_s = container_seconds(document)
            if self._crosses_budget(took_s + self.expected_s.get(arm, took_s)):
                self.listener.say(
                    f"{arm} block {block} is set aside, and the budget leaves no time to run it "
                    f"again: {reason}"
                )
                break
            self.given_way.append(document)
            self.listener.say(f"{arm} block {block} is set aside and run again: {reason}")
        self.documents[arm, block] = document
        self._write_plan()
        return document

    def _record(self, arm: str, block: int, repeat: int) -> Document:
        """One invocation."""
        turn = Turn(
            campaign=self.campaign,
            arm=self.arms[arm],
            block=block,
            repeat=repeat,
            image=self.images[self.arms[arm].image],
            gpu=self.requests[arm],
            cpus=self.cpus,
            memory_bytes=self.memory_bytes,
        )
        recorder = Recorder(
            self.engine,
            turn,
            keep=self.store.write_document,
            watch=self._watch(arm, block),
            observe=self.observe,
        )
        try:
            document = recorder.run()
            if document.facts.get(SIMULATED) is True and not self.campaign.simulated:
                self.campaign = replace(self.campaign, simulated=True)
                self._write_plan()
            return document
        finally:
            for container, diary in recorder.diaries:
                self.store.append_log(f"{arm}-{block:02d}", f"--- {container}\n{diary}")

    def _watch(self, arm: str, block: int) -> Callable[[Document, str | None], None]:
        def show(document: Document, in_flight: str | None) -> None:
            done = sum(cell.outcome != "pending" for cell in document.cells)
            left = self._left_s()
            if left is not None:
                left = max(0.0, left - container_seconds(document))
            self.listener.show(
                Position(
                    arm=arm,
                    block=block,
                    blocks=self.campaign.blocks,
                    done=done,
                    cells=len(document.cells),
                    in_flight=in_flight,
                    left_s=left,
                )
            )

        return show

    def _actual_s(self) -> float:
        every = [*self.documents.values(), *self.given_way]
        return sum(container_seconds(document) for document in every)

    def _left_s(self) -> float | None:
        """What the invocations that have not been had should take; None before the calibration."""
        if set(self.expected_s) != set(self.arms):
            return None
        return sum(
            self.expected_s[arm]
            for block in range(1, self.campaign.blocks + 1)
            for arm in self.arms
            if (arm, block) not in self.documents
        )

    def _predict(self) -> None:
        """The prediction that the report holds the campaign to."""
        left = self._left_s() or 0.0
        total = self._actual_s() + left
        if self.campaign.prediction.calibrated_s is None:
            self._set_prediction(calibrated_s=total)
        self.listener.say(f"calibrated: {word_minutes(left)} to go{word_cost(self.campaign, left)}")

    def _correct(self, block: int) -> None:
        """After a block: what its invocations really took stands for those to come."""
        for arm in self.arms:
            self.expected_s[arm] = container_seconds(self.documents[arm, block])
        left = self._left_s() or 0.0
        total = self._actual_s() + left
        self._set_prediction(corrected_s=[*self.campaign.prediction.corrected_s, total])
        self.listener.say(
            f"block {block} of {self.campaign.blocks} done"
            + (f"; {word_minutes(left)} to go{word_cost(self.campaign, left)}" if left else "")
        )

    def _stop_before(self, block: int) -> bool:
        """Whether the budget forbids to begin this block; the first of this command always runs.

        What an earlier command measured, and this one only goes on with, is not on this budget.
        """
        if self.budget_s is None or self.fresh:
            return False
        needed = sum(
            self.expected_s[arm] for arm in self.arms if (arm, block) not in self.documents
        )
        if not needed or not self._crosses_budget(needed):
            return False
        spent = self._actual_s() - self.kept_s
        reason = (
            f"after block {block - 1}: the next one was predicted to cross the budget of "
            f"{self.budget_s:g} s ({spent:.0f} s spent, {needed:.0f} s more)"
        )
        self.campaign = replace(self.campaign, stopped=reason)
        self._write_plan()
        self.listener.say(f"stopped {reason}")
        return True

    def _crosses_budget(self, needed_s: float) -> bool:
        """Whether so many seconds more would be too many."""
        spent_s = self._actual_s() - self.kept_s
        return self.budget_s is not None and spent_s + needed_s > self.budget_s

    def _set_prediction(
        self, *, calibrated_s: float | None = None, corrected_s: list[float] | None = None
    ) -> None:
        old = self.campaign.prediction
        self.campaign = replace(
            self.campaign,
            prediction=replace(
                old,
                calibrated_s=old.calibrated_s if calibrated_s is None else calibrated_s,
                corrected_s=old.corrected_s if corrected_s is None else corrected_s,
            ),
        )
        self._write_plan()

    def _write_plan(self) -> None:
        prediction = replace(self.campaign.prediction, actual_s=self._actual_s())
        self.campaign = replace(self.campaign, prediction=prediction)
        self.store.write_plan(self.campaign)


def _allowed_cpus(engine: Engine, wanted: tuple[int, ...] | None) -> tuple[int, ...]:
    """The CPUs to use: those wanted, or all that the engine has for us.

    Raises:
        UsageError: one that is wanted is not among them.
    """
    known = engine.cpus()
    missing = sorted(set(wanted or ()) - set(known))
    if missing:
        raise UsageError(
            f"CPUS={write_cpus(wanted or ())}: there is no CPU {write_cpus(missing)} to be "
            f"had here; there are {write_cpus(known)}",
            "name some of those, or leave CPUS out",
        )
    return wanted or known


def word_cost(campaign: Campaign, seconds: float) -> str:
    """What a time costs, where a price was given: ``, USD 0.12``."""
    if campaign.price is None:
        return ""
    return f", {campaign.price_currency} {campaign.price * seconds / 3600:.2f}"


def word_minutes(seconds: float) -> str:
    """A time for people, who wait for it: ``12 min``, and under a minute and a half ``80 s``."""
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
