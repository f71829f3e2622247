"""What arms are by their names: plans did not say it before ``every_arm``.  Frozen; pure.

A plan with ``every_arm`` says all of this itself, so that a new arm adds nothing here.
"""

from __future__ import annotations

from dataclasses import replace

from suite.model import Arm, Campaign, control_of

_CPU = Arm(name="cpu", image="cpu", gpu=False)
_CUDA = Arm(name="cuda", image="cuda", gpu=True)
_HIDDEN = control_of(_CUDA, "hidden")

NAMED = {
    arm.name: arm for plain in (_CPU, _CUDA, _HIDDEN) for arm in (plain, control_of(plain, "again"))
}
"""Every arm that a plan could have, by name."""


def tell_arms(plan: Campaign) -> Campaign:
    """The plan with every arm as a value, where it had names alone.

    Raises:
        KeyError: a name is none of `NAMED`.
    """
    if plan.every_arm:
        return plan
    arms = [NAMED[name] for name in plan.arms]
    hidden = [_HIDDEN] if _CPU in arms and _CUDA in arms and _HIDDEN not in arms else []
    twins = [control_of(arm, "twin") for arm in arms]
    return replace(plan, every_arm=[*arms, *twins, *hidden])
