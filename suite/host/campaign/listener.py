"""What a campaign says to people while it runs: lines, where it stands, times and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from suite.host.campaign import plan
from suite.model import Campaign


@dataclass(frozen=True, kw_only=True)
class Progress:
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

    def show(self, progress: Progress) -> None:
        """The campaign is further on; may be shown or not, at most once a second."""


def word_begin(campaign: Campaign) -> str:
    """What a campaign is going to do, and the guess of how long it takes."""
    before_s, controls = campaign.prediction.before_s, plan.control_arms(campaign)
    calibrated = campaign.calibrated_by is not None
    return (
        f"{len(campaign.cells)} cells on {' and '.join(campaign.arms)}, "
        f"{campaign.blocks} block{'s' if campaign.blocks != 1 else ''}"
        + ("" if calibrated else " after a calibration")
        + (f", with the controls {', '.join(controls)}" if controls else "")
        + f"; about {word_minutes(before_s)}{word_cost(campaign, before_s)}, a guess until "
        + f"{'the first block' if calibrated else 'the calibration'} is done"
    )


def word_cost(campaign: Campaign, seconds: float) -> str:
    """What a time costs, where a price was given: ``, USD 0.12``."""
    if campaign.price is None:
        return ""
    return f", {campaign.price_currency} {campaign.price * seconds / 3600:.2f}"


def word_minutes(seconds: float) -> str:
    """A time for people, who wait for it: ``12 min``, and under a minute and a half ``80 s``."""
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
