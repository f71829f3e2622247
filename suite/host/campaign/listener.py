"""Who a campaign talks with while it runs: people, in a line each, and those who read what it measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from suite.errors import GpuError
from suite.host.campaign import plan
from suite.model import Again, Campaign, Document, InterimLook


@dataclass(frozen=True, kw_only=True)
class AnalysisHooks:
    """What the readers of the documents report; the host reads none.

    ``build_reports`` is called after every block: what there is by then is worth a report.
    ``look`` is asked after a block, with the most that there can be: how many cells are precise, of how many,
    and of each in how many blocks it is wanted in all; it sees no verdict, but of a sequential profile how
    many of its answers hold, of how many, and whether another block is wanted.
    ``disturbed`` says why an invocation has to be run again, or None; it looks at counters and at no timing.
    ``find_odd`` says which invocation, of all that count so far, kept another pace than its siblings, or
    None: its arm, its block, and its time over theirs.  ``check_first`` is called after the first block, and
    raises `UnsoundError` where the campaign is to end there.
    """

    build_reports: Callable[[], object]
    look: Callable[[int, int], tuple[int, int, Mapping[str, int]]]
    disturbed: Callable[[Document], str | None]
    find_odd: Callable[[], tuple[str, int, float] | None]
    check_first: Callable[[], object]


class Listener(Protocol):
    """Hears what a campaign has to say to people; the command line is one."""

    def say(self, line: str) -> None:
        """One line worth keeping."""

    def show(
        self, document: Document, in_flight: str | None, blocks: int, left_s: float | None
    ) -> None:
        """An invocation is further on; may be shown or not, at most once a second.

        ``in_flight`` is the cell that is being measured, ``blocks`` how many the campaign has, and ``left_s``
        how long it is predicted to go on, in seconds (None: not known yet).
        """


def describe_again(again: Again, *, barred: bool) -> str:
    """That an invocation kept another pace, and whether there is time to measure its block again."""
    what = (
        f"{again.arm} in block {again.block} took {again.pace:.2f} times as long as in its other blocks, "
        "uniformly across cells"
    )
    if barred:
        return f"{what}: the block is excluded, and the budget leaves no time to measure it again"
    return f"{what}: the block is measured again on all arms"


def describe_repeat(arm: str, block: int, reason: str, *, barred: bool) -> str:
    """That an invocation was disturbed, and whether there is time to run it again."""
    then = "and the budget leaves no time to run it again" if barred else "and run again"
    return f"{arm} block {block} is excluded, {then}: {reason}"


def describe_compiled(arm: str, *, barred: bool) -> str:
    """That a GPU's driver compiled kernels in the first block, and whether there is time to measure it
    again."""
    what = f"the first block of {arm}"
    why = (
        "the GPU's driver had to compile kernels, which made first calls look slower than they are"
    )
    if barred:
        return f"the budget leaves no time to measure {what} again: {why}"
    return f"{what} is measured again: {why}; they are cached now"


def describe_block(campaign: Campaign, block: int, left_s: float) -> str:
    """That a block is over, and how long the rest takes."""
    to_go = f"; {format_wait(campaign, left_s, ' to go')}" if left_s else ""
    return f"block {block} of {campaign.blocks} done{to_go}"


def describe_look(look: InterimLook, blocks: int, *, sequential: bool) -> str:
    """What a look saw, what follows of it, and to how many blocks the campaign is likely to come."""
    if sequential:
        if not look.cells:
            return "nothing is compared, so more blocks would answer nothing"
        then = "that is enough" if look.enough else "another block follows"
        return f"{look.precise} of {look.cells} answers hold; {then}"
    saw = f"{look.precise} of {look.cells} cells are precise enough"
    if look.enough and look.precise == look.cells:
        return saw
    if look.enough:
        return f"{saw}, and more blocks are not likely to make others so"
    rest = f", {len(look.resting)} rest from now on" if look.resting else ""
    return f"{saw}{rest}; the others are likely to need {blocks} blocks"


def describe_refused(error: GpuError) -> str:
    """That an arm is not available."""
    return f"{error.what}; the other arms go on, and the campaign ends as failed: {error.remedy}"


def describe_start(campaign: Campaign) -> str:
    """What a campaign is going to do, and the guess of how long it takes."""
    controls = plan.control_arms(campaign)
    kept = campaign.sustained
    return (
        f"{_count(len(campaign.cells), 'cell')} on {' and '.join(campaign.arms)}, "
        f"{_count(campaign.blocks, 'block')}"
        + (
            f", and before that {_count(len(kept.cells), 'cell')} kept going for {kept.seconds:g} s each"
            if kept
            else ""
        )
        + (
            f", with the control{'s' * (len(controls) > 1)} {', '.join(controls)}"
            if controls
            else ""
        )
        + f"; about {format_wait(campaign, campaign.prediction.before_s)}, an estimate until the first "
        + "block is done"
    )


def _count(number: int, noun: str) -> str:
    """``1 cell``, ``2 cells``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def format_wait(campaign: Campaign, seconds: float, what: str = "") -> str:
    """A time for people who wait for it, ``what`` it is, and what it costs where a price was given:
    ``12 min to go, USD 0.12``; under a minute and a half ``80 s``."""
    time = (f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s") + what
    if campaign.price is None:
        return time
    return f"{time}, {campaign.price_currency} {campaign.price * seconds / 3600:.2f}"
