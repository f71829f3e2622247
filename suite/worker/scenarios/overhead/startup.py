"""overhead.startup and overhead.container: what a start takes, once an invocation."""

from __future__ import annotations

from suite.cells.cell import Param, Work
from suite.cells.scenario import Point, Scenario
from suite.worker.scenarios.overhead.calls import ALL, FULL, NOT_QUICK

STAGES = ("import", "devices", "kernel", "build", "clone", "deep", "step")
"""The stages in their fixed order; each but ``clone``, which is a cell of the family asked, is one of
``overhead.startup``."""


def start(**_: Param) -> Work:
    """One start."""
    return Work(amount=1.0, unit="start")


STAGE_QUESTIONS = {
    "import": "How long does importing TensorFlow and Keras take in a fresh process?",
    "devices": "How long does initialising the devices take?",
    "kernel": "How long does the first kernel of a process take?",
    "build": "How long does the first model take to build?",
    "deep": "How long does the first model of 50 layers take to build?",
    "step": "How long does the first training step take, tracing included?",
}

STAGE_PROFILES = {
    "import": ALL,
    "devices": NOT_QUICK,
    "kernel": NOT_QUICK,
    "build": NOT_QUICK,
    "step": ALL,
}
"""A stage that is not named here is in the full profile alone."""

STARTUP = tuple(
    Scenario(
        family="overhead",
        case="startup",
        about="The start-up sequence, once an invocation, always in this order.",
        question=STAGE_QUESTIONS[stage],
        axes=("stage",),
        points=(Point(params={"stage": stage}, profiles=STAGE_PROFILES.get(stage, FULL)),),
        work=start,
        prepare=None,
        role="overhead",
        kin=lambda stage: f"starting/{stage}",
        proof=None,
        price="start-up",
        one_shot=True,
    )
    for stage in STAGES
    if stage in STAGE_QUESTIONS
)

CONTAINER = Scenario(
    family="overhead",
    case="container",
    about="From asking the engine to start a container to its first word.",
    question="How long does starting a container take?",
    axes=(),
    points=(Point(params={}, profiles=ALL),),
    work=start,
    prepare=None,
    role="overhead",
    kin="starting/container",
    proof=None,
    price="start-up",
    one_shot=True,
    by_host=True,
)
