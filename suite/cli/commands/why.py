"""The command why: what makes a person's own script slow, and what would help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from suite.analysis.documents.read import load_campaign
from suite.analysis.why.decide import next_round
from suite.cli.run_campaign import conclude, start_campaign
from suite.errors import UsageError
from suite.host.campaign.arms import Arms
from suite.host.campaign.options import Options
from suite.host.campaign.recorder import Means
from suite.host.gpu.choice import ALL_GPUS
from suite.host.why.inquiry import InquiryRunner, plan_inquiry
from suite.host.why.script import bring
from suite.model import Campaign
from suite.model.why import Inquiry, Try, Watched
from suite.worker.why.interventions import INTERVENTIONS


def run_why(options: Options) -> int:
    """Asks why a script is slow.

    Returns:
        the exit status.

    Raises:
        ScriptError: it fails by itself, or trains nothing.
    """
    if options.gpu == ALL_GPUS or len(set(options.arms)) < len(options.arms):
        raise UsageError(
            "why asks about a script on one GPU, and on each arm once",
            "name one GPU, and each arm once",
        )
    brought = bring(options)

    def measure(drawn: Campaign, means: Means) -> None:
        if brought.note:
            means.listener.say(brought.note)
        folder = means.store.folder
        InquiryRunner(
            cast("Inquiry", drawn),
            means,
            brought,
            _propose,
            lambda left_s: next_round(load_campaign(folder), left_s),
        ).run()

    def draw(settled: Options, arms: Arms) -> Inquiry:
        return plan_inquiry(settled, arms, brought.script)

    return conclude(start_campaign(options, draw, measure))


def _propose(watched: Watched, gpu: bool) -> Sequence[Try]:
    return [
        change for intervention in INTERVENTIONS for change in intervention.propose(watched, gpu)
    ]
