"""A campaign under way: block by block, each arm's turn in its order.

Decides as values (`plan`), then acts through the engine and the store; prints nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from suite.cells.traits import SEQUENTIAL
from suite.errors import GpuError
from suite.host.campaign import durations, plan
from suite.host.campaign.document_builder import counts, is_complete
from suite.host.campaign.invocation_runner import Ask
from suite.host.campaign.listener import (
    AnalysisHooks,
    describe_again,
    describe_block,
    describe_compiled,
    describe_look,
    describe_refused,
    describe_repeat,
    describe_start,
)
from suite.host.campaign.recorder import Means, Recorder
from suite.host.provision.resources import campaign_volumes
from suite.model import Campaign, Document, container_seconds, count_compiled

REPEATS = 2
"""A disturbed invocation is run again at most so often; what disturbs all three is not an accident."""

MOST_AGAIN = 2
"""So many blocks of a campaign are measured again for an invocation's pace: more odd ones are a machine that
has no usual pace, and each costs a block's time."""


def ask_cells(campaign: Campaign, arm: str, checked: Collection[str] = ()) -> Ask:
    """What is asked of the containers of an invocation that measures the suite's own cells; ``checked`` as
    in `plan.arguments`."""
    return Ask(
        arguments=lambda cells: plan.arguments(campaign, arm, cells, checked=checked),
        volumes=lambda cells: campaign_volumes(campaign, cells),
        limit_s=lambda cell: durations.cell_deadline_s(campaign, cell),
    )


class CampaignRunner:
    """Runs a campaign that has been planned, or the rest of one; ``hooks`` read what was measured by then."""

    def __init__(self, campaign: Campaign, means: Means, hooks: AnalysisHooks) -> None:
        self.recorder = Recorder(campaign, means)
        self.budget, self.write_plan = self.recorder.budget, self.recorder.write_plan
        self.listener, self.hooks = means.listener, hooks
        self.arms = [*campaign.arms, *plan.control_arms(campaign)]
        self.documents: dict[tuple[str, int], Document] = {}
        self.fresh = True
        """Nothing of a block has been measured by this command."""
        self._fewest = plan.PROFILES[campaign.profile].blocks
        self.foreseen = campaign
        """The plan with the looks that are to be expected: which cells rest when."""

    @property
    def campaign(self) -> Campaign:
        """The plan as it is by now."""
        return self.recorder.campaign

    def run(self, resumed: Sequence[Document] = ()) -> Campaign:
        """Runs every invocation that ``resumed`` does not hold complete; writes as it goes.

        An arm that is refused before it had a block is left out.

        Returns:
            the plan as it is at the end.

        Raises:
            GpuError, EngineError, UnsoundError: as `Recorder.end_with`.
        """
        with self.recorder.end_with(campaign_volumes(self.campaign, self.campaign.cells)):
            self._run_blocks(resumed)
        return self.campaign

    def _run_blocks(self, resumed: Sequence[Document]) -> None:
        complete = [document for document in resumed if is_complete(document, self.campaign)]
        self.budget.resume(complete)
        self.documents |= {(d.invocation.arm, d.invocation.block): d for d in complete}
        self.write_plan()
        self.listener.say(describe_start(self.campaign))
        for arm in plan.order_arms(self.campaign, 0):
            self._begin(arm, 0)
        block = 1
        while block <= self.campaign.blocks and not self._stop_before(block):
            missing = self._missing([block])
            self._run_block(block)
            self._learn(block)
            if block == self.campaign.calibration:
                self.hooks.check_first()
            self._look(block, anew=not self.fresh)
            if block == self.campaign.calibration:
                self._predict()
            if missing:
                self._correct(block)
                self.hooks.build_reports()
            due = block == self.campaign.blocks or (missing and block >= self._fewest)
            if due and self._measure_again():
                self._look(block, anew=True)
            block += 1

    def _begin(self, arm: str, block: int) -> None:
        """An arm's turn in the block that finds K, or before it; one that is not available is left out,
        unless it was in this block: then it is lost as in any other."""
        sharing = [name for name in self.arms if self.campaign.calibrating_arm(name) == arm]
        compared = [name for name in sharing if name in self.campaign.arms]
        try:
            document = self._invoke(arm, block)
        except GpuError as error:
            # Goes on without those that share its K, too, where an arm is left.
            left = [name for name in self.arms if name not in sharing]
            if (arm, block) in self.documents or not set(left) & set(self.campaign.arms):
                raise
            self.arms, self.recorder.refused = left, error
            missed = dict.fromkeys(compared, error.what)
            self.write_plan(not_run={**self.campaign.not_run, **missed})
            self.listener.say(describe_refused(error))
            return
        if block == self.campaign.calibration and arm not in self.campaign.calls:
            calls, excluded = plan.freeze(document)
            slow = plan.find_slow(document, self.campaign.warmup_s)
            self.write_plan(
                calls={**self.campaign.calls, **dict.fromkeys(compared, calls)},
                slow={**self.campaign.slow, **dict.fromkeys(compared, slow)},
                excluded={**self.campaign.excluded, **dict.fromkeys(compared, excluded)},
            )

    def _run_block(self, block: int) -> None:
        """The turns of a block that have not been run."""
        self.fresh = self.fresh and not self._missing([block])
        for arm in plan.order_arms(self.campaign, block):
            finds = block == self.campaign.calibration and plan.calibrates(self.campaign, arm)
            if arm in self.arms and finds:
                self._begin(arm, block)
            elif arm in self.arms:
                self._invoke(arm, block)

    def _measure_again(self) -> bool:
        """After the profile's blocks, or the last planned one: runs those again in which an invocation kept
        another pace; whether there was one.

        All arms run again, so that one rule, which knows no arm, chooses what counts for each.
        """
        before = len(self.campaign.again)
        while len(self.campaign.again) < MOST_AGAIN and (odd := self.hooks.find_odd()) is not None:
            again = plan.decide_again(odd, self.documents.values())
            needed_s = self._need_s((arm, again.block) for arm in self.arms)
            barred = self.budget.refuse(again.block, needed_s) is not None
            self.listener.say(describe_again(again, barred=barred))
            if barred:
                break
            self.write_plan(again=[*self.campaign.again, again])
            self._run_block(again.block)
        return len(self.campaign.again) > before

    def _look(self, block: int, *, anew: bool) -> None:
        """After a block: which cells rest, and how many blocks that makes.  It only foresees after the
        first, and where an earlier command looked and this one has measured nothing ``anew`` by then.

        A look sees widths and no verdict, so that it can't go on until something is found; or it is paid for,
        since a sequential rule shares out the chance of error over all looks (`find_share`).  That spends the
        rest at the last one, so that it is known before which one that is.
        """
        most, looks = self.campaign.most_blocks, self.campaign.looks
        sequential = self.campaign.profile in SEQUENTIAL
        if most is None or block >= most or 1 < block < plan.FIRST_LOOK:
            return
        if any(look.block > block for look in looks):
            return
        if sequential and (block == 1 or self._stop_before(block + 1)):
            return
        precise, cells, wanted = self.hooks.look(block, most)
        foreseen = plan.foresee(self.campaign, block, wanted)
        if block > 1 and (anew or all(look.block < block for look in looks)):
            look = plan.decide_look(self.campaign, block, precise, cells, wanted)
            self.write_plan(blocks=foreseen.blocks, looks=[*looks, look])
            self.listener.say(describe_look(look, foreseen.blocks, sequential=sequential))
        self.foreseen = replace(foreseen, looks=[*self.campaign.looks, *foreseen.looks])

    def _invoke(self, arm: str, block: int) -> Document:
        """One arm's turn, unless it has been run; again where that is of use, also where the campaign was
        stopped in between."""
        document, repeat = self.documents.get((arm, block)), self.campaign.first_counted(block)
        last = repeat + REPEATS
        if document is not None and counts(document, self.campaign):
            repeat = document.invocation.repeat + 1
        else:
            document = None
        while document is None or (repeat <= last and self._wants_repeat(document)):
            document = self.documents[arm, block] = self._record(arm, block, repeat)
            self.write_plan()
            repeat += 1
        return document

    def _wants_repeat(self, document: Document) -> bool:
        """Whether an invocation was disturbed, or kernels were compiled in one that finds K, and there is
        time to run it again."""
        of = document.invocation
        if of.block == 0:
            return False
        barred = self.budget.bars_repeat(document)
        if (reason := self.hooks.disturbed(document)) is not None:
            self.listener.say(describe_repeat(of.arm, of.block, reason, barred=barred))
            return not barred
        finds = plan.calibrates(self.campaign, of.arm) and of.arm not in self.campaign.calls
        # It will not take that again: no cell should be given up for it, and no first call told with it.
        if finds and of.repeat == 0 and count_compiled(document):
            self.listener.say(describe_compiled(of.arm, barred=barred))
            return not barred
        return False

    def _record(self, arm: str, block: int, repeat: int) -> Document:
        earlier = [self.documents.get((arm, before)) for before in range(1, block)]
        checked = plan.list_checked(filter(None, earlier))
        ask = ask_cells(self.campaign, arm, checked)
        return self.recorder.record(arm, block, ask, self._left_after, repeat=repeat)

    def _left_after(self, document: Document) -> float | None:
        left_s = self._left_s()
        return None if left_s is None else max(0.0, left_s - container_seconds(document))

    def _missing(self, blocks: Iterable[int]) -> list[tuple[str, int]]:
        """The arm and block of the invocations that have not been run in these blocks."""
        return [
            (arm, block)
            for block in blocks
            for arm in self.arms
            if not counts(self.documents.get((arm, block)), self.campaign)
        ]

    def _need_s(self, turns: Iterable[tuple[str, int]]) -> float | None:
        """What invocations of these arms in these blocks should take; None before each arm had one."""
        return self.budget.need_s(
            (arm, plan.awake_cells(self.foreseen, arm, block)) for arm, block in turns
        )

    def _left_s(self) -> float | None:
        """The same of those that have not been run."""
        return self._need_s(self._missing(range(1, self.foreseen.blocks + 1)))

    def _predict(self) -> None:
        """The prediction that the report holds the campaign to."""
        prediction = self.campaign.prediction
        if prediction.calibrated_s is None:
            whole_s = self.budget.spent_s + (self._left_s() or 0.0)
            self.write_plan(prediction=replace(prediction, calibrated_s=whole_s))

    def _learn(self, block: int) -> None:
        """After a block: what its cells really took stands for those to come."""
        for arm in self.arms:
            self.budget.expect(arm, durations.find_costs(self.documents[arm, block]))

    def _correct(self, block: int) -> None:
        """After a block: what the whole should take by now."""
        left = self._left_s() or 0.0
        prediction = self.campaign.prediction
        # A block that is measured again, when the campaign goes on, was reported already.
        if len(prediction.corrected_s) < block:
            corrected_s = [*prediction.corrected_s, self.budget.spent_s + left]
            self.write_plan(prediction=replace(prediction, corrected_s=corrected_s))
        self.listener.say(describe_block(self.campaign, block, left))

    def _stop_before(self, block: int) -> bool:
        """Whether the budget forbids to begin this block; the first of this command always runs."""
        free = self.fresh or block <= self.recorder.means.least_blocks
        needed_s = self._need_s(self._missing([block]))
        reason = None if free else self.budget.refuse(block, needed_s)
        if reason is not None:
            self.write_plan(stopped=reason)
            self.listener.say(f"stopped {reason}")
        return reason is not None
