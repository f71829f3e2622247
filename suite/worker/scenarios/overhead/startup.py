"""overhead.startup and overhead.container: what a start takes, once an invocation."""

from __future__ import annotations

from suite.cells.cell import Work
from suite.cells.scenario import Scenario, cross
from suite.worker.scenario.profiles import FULL, SMOKE
from suite.worker.scenarios.overhead.calls import NOT_QUICK

START = Work(amount=1.0, unit="start")

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

STARTUP = tuple(
    Scenario(
        family="overhead",
        case="startup",
        about="The start-up sequence, once an invocation, always in this order.",
        question=question,
        axes=("stage",),
        points=cross(stage=stage, profiles=profiles),
        work=START,
        prepare=None,
        role="overhead",
        kin=lambda stage: f"starting/{stage}",
        proof=None,
        price="start-up",
        one_shot=True,
    )
    for stage, (question, profiles) in STAGES.items()
)

CONTAINER = Scenario(
    family="overhead",
    case="container",
    about="From asking the engine to start a container to its first word.",
    question="How long does starting a container take?",
    axes=(),
    points=cross(profiles=SMOKE),
    work=START,
    prepare=None,
    role="overhead",
    kin="starting/container",
    proof=None,
    price="start-up",
    one_shot=True,
    by_host=True,
)
