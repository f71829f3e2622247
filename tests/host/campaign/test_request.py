"""What was asked for becomes a plan, and a plan can be gone on with."""

from __future__ import annotations

import re
from typing import Any

import pytest

from suite.errors import UsageError
from suite.fingerprint import suite_content
from suite.host.campaign import durations, plan
from suite.host.campaign.options import Options
from suite.host.campaign.request import (
    choose_label,
    identify_suite,
    plan_campaign,
    resume_plan,
)
from suite.model import SuiteIdentity
from suite.worker import scenarios
from tests import synthetic
from tests.host.campaign.stage import BOTH, CPU, Stage


def test_a_plan_holds_what_was_asked(suite_identity: SuiteIdentity) -> None:
    wanted = Options.parse(
        {
            "profile": "verdict",
            "only": "matmul.* overhead.*",
            "blocks": 4,
            "seed": 99,
            "label": "my-box.1",
            "gpu": None,
        }
    )
    drawn = plan_campaign(wanted, CPU, scenarios.cells())
    assert re.fullmatch(r"\d{8}T\d{6}Z-my-box\.1-verdict", drawn.id)
    assert (drawn.profile, drawn.seed, drawn.label, drawn.blocks) == ("verdict", 99, "my-box.1", 4)
    assert (drawn.arms, drawn.not_run, drawn.calls) == (["cpu"], {"cuda": "no GPU"}, {})
    assert (drawn.calibration, drawn.controls) == (1, [])
    assert {cell.scenario for cell in drawn.cells} == {"matmul", "overhead"}
    assert (drawn.warmup_s, drawn.measure_s, drawn.budget_s) == (0.1, 0.2, 4.0)
    assert drawn.command == (
        "make bench PROFILE=verdict ONLY='matmul.* overhead.*' BLOCKS=4 LABEL=my-box.1 SEED=99"
    )
    assert drawn.suite == suite_identity
    each = durations.guess_invocation_s(drawn, "cpu")
    assert drawn.prediction.before_s == pytest.approx(4 * each)


@pytest.mark.parametrize("profile", plan.PROFILES)
def test_a_profiles_own_blocks_and_times(profile: Any, suite_identity: SuiteIdentity) -> None:
    drawn = plan_campaign(Options(profile=profile), CPU, scenarios.cells())
    own = plan.PROFILES[profile]
    assert (drawn.blocks, drawn.budget_s) == (own.blocks, own.budget_s)
    assert drawn.label is None
    assert drawn.id.endswith(f"-{choose_label(None)}-{profile}")
    assert 0 <= drawn.seed < 2**31


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        ({"only": ("zzz*",)}, "matches no cell"),
        ({"only": ("overhead.container",)}, "can be measured"),
        ({"only": ("*on=cpu*",)}, "on the arm cpu"),
        *(({"label": label}, "folder's name") for label in ("a/b", "", "x" * 61, "two words")),
    ],
)
def test_a_request_that_does_not_fit_together_is_a_usage_error(
    wanted: dict[str, Any], complaint: str, suite_identity: SuiteIdentity
) -> None:
    arms = BOTH if "on the arm" in complaint else CPU
    with pytest.raises(UsageError, match=complaint) as caught:
        plan_campaign(Options(**wanted), arms, scenarios.cells())
    assert caught.value.remedy


@pytest.mark.processes
def test_the_suite_knows_itself() -> None:
    identity = identify_suite()
    assert identity.content == suite_content()
    assert identity.commit is None or re.fullmatch(r"[0-9a-f]{40}\+?", identity.commit)


def test_a_campaign_of_another_suite_is_not_gone_on_with() -> None:
    other = synthetic.make_campaign()
    assert other.suite.content != suite_content()
    with pytest.raises(UsageError, match="another suite") as caught:
        resume_plan(other, [], blocks=None)
    assert caught.value.remedy


def test_a_campaign_can_not_shrink(stage: Stage) -> None:
    campaign = stage.plan(blocks=3)
    with pytest.raises(UsageError, match="BLOCKS=2"):
        resume_plan(campaign, [], blocks=2)
    assert resume_plan(campaign, [], blocks=3) == campaign
