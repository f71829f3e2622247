"""overhead.startup and overhead.container: what a start takes, once an invocation."""

from __future__ import annotations

from typing import Any

from suite.cells.cell import Work
from suite.cells.scenario import Scenario, cross
from suite.worker.scenario.profiles import FULL, NOT_QUICK, SMOKE

STAGES = {
    "import": ("How long does importing TensorFlow and Keras take in a fresh process?", SMOKE),
    "devices": ("How long does initialising the devices take?", NOT_QUICK),
    "kernel": ("How long does the first kernel of a process take?", NOT_QUICK),
    "build": ("How long does the first model take to build?", NOT_QUICK),
    "deep": ("How long does the first model of 50 layers take to build?", FULL),
    "step": ("How long does the first training step take, tracing included?", SMOKE),
}
"""The stages in their fixed order, but for ``clone`` behind ``build``, which is a cell of the family asked:
what each answers, and the profiles that hold it."""

START: dict[str, Any] = {
    "family": "overhead",
    "work": Work(amount=1.0, unit="start"),
    "prepare": None,
    "role": "overhead",
    "proof": None,
    "price": "start-up",
    "one_shot": True,
}
"""What every start is."""

STARTUP = tuple(
    Scenario(
        **START,
        case="startup",
        question=question,
        axes=("stage",),
        points=cross(stage=stage),
        profiles=profiles,
        kin=lambda stage: f"starting/{stage}",
    )
    for stage, (question, profiles) in STAGES.items()
)

CONTAINER = Scenario(
    **START,
    case="container",
    question="How long does starting a container take?",
    axes=(),
    points=cross(),
    profiles=SMOKE,
    kin="starting/container",
    by_host=True,
)
