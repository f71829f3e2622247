"""Why a script is slow: what is asked of it, what is tried, and what a run of it tells.

A *run* executes a person's unmodified script over the same window of training steps; a *try* is one change
that some runs have.  Runs are cells of a campaign whose plan is an `Inquiry`, so that documents, receipts and
bundles are those of every campaign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Annotated, Literal

from suite.cells.cell import Cell, Param, Work, cell_id
from suite.input_limits import RANGES
from suite.model.document import Filled, Seconds
from suite.model.plan import Campaign

SCENARIO = "why"
"""The family of cells that are runs of a script."""

BASE = "base"
"""The case of a run with nothing changed."""

Cause = Literal[
    "input",
    "overhead",
    "retracing",
    "eager",
    "fetch",
    "callback",
    "validation",
    "transfer",
    "fallback",
    "start-up",
    "device",
]

Kind = Literal["fix", "ceiling"]
"""A line to write; or what a fix could give at most, which is never offered as a change."""

Training = Literal["unchanged", "rounding", "distribution", "otherwise"]
"""What a change makes of the training: equal weights; equal up to rounding; other random numbers, the same in
distribution; another training."""

Count = Annotated[int, RANGES["count"]]


@dataclass(frozen=True, kw_only=True)
class Script:
    """The script that is asked about: its file's name within its folder, its arguments, and hashes.

    ``content`` is the SHA-256 of the script, ``folder`` of all files that came in with it, ``requirements``
    of the lock of its own packages; ``data``: a folder was given.  ``text`` is the script itself, where
    that was asked for.
    """

    name: Filled
    arguments: list[str]
    content: Filled
    folder: Filled
    requirements: str | None = None
    data: bool = False
    text: str | None = None


@dataclass(frozen=True, kw_only=True)
class Try:
    """One change to a script, as a value.

    ``name`` is the intervention's, with what it is applied to behind a colon: ``cache:30``; it names a
    case.  ``intervention`` and ``target`` are what the worker needs to make the change.  ``line`` is of the
    script, ``text`` what to write there (of a ceiling: what was taken away), ``needs`` what it costs
    besides.  ``waits``: it is about waiting, which CPU seconds don't see.  ``training`` is the most that
    the change may do to the training.  ``scale``: a step does the work of so many.  ``on_gpu``: it means
    something on an arm with a GPU only.  ``late``: it takes long to try and rarely helps.
    """

    name: Filled
    intervention: Filled
    cause: Cause
    kind: Kind
    text: Filled
    target: str = ""
    line: Count | None = None
    needs: str = ""
    waits: bool = False
    training: Training = "unchanged"
    scale: Annotated[float, RANGES["call"]] = 1.0
    on_gpu: bool = False
    late: bool = False


@dataclass(frozen=True, kw_only=True)
class Round:
    """The runs of one round by arm, each in its order: the names of tries that are on at once, joined by
    ``+``, or `BASE`.  A round is a block: one container for each arm."""

    runs: dict[str, list[str]]


@dataclass(frozen=True, kw_only=True)
class Inquiry(Campaign):
    """The plan of why a script is slow; ``cells`` are the runs of the rounds so far.

    ``tries`` by arm are those that apply to the script there.
    """

    script: Script
    tries: dict[str, list[Try]] = field(default_factory=dict)
    rounds: list[Round] = field(default_factory=list)
    window_s: Seconds = 3.0

    def has_turn(self, arm: str, block: int) -> bool:
        """Whether the round of this number has runs on an arm that can run at all."""
        return super().has_turn(arm, block) and bool(self.runs_of(arm, block))

    def runs_of(self, arm: str, block: int) -> list[Cell]:
        """The runs of a round on an arm, in their order; none where it has no turn in it."""
        cells = iter(self.cells)
        for number, each in enumerate(self.rounds, 1):
            for name, cases in each.runs.items():
                runs = list(islice(cells, len(cases)))
                if (name, number) == (arm, block):
                    return runs
        return []


def list_runs(rounds: Sequence[Round]) -> list[Cell]:
    """The runs of these rounds, numbered in their order."""
    cases = (case for each in rounds for runs in each.runs.values() for case in runs)
    return [run_cell(case, number) for number, case in enumerate(cases, 1)]


def run_cell(case: str, number: int) -> Cell:
    """The cell of a run: the changes that it has, and its number within the campaign, from 1."""
    params: dict[str, Param] = {"run": number}
    return Cell(
        id=cell_id(SCENARIO, case, params),
        scenario=SCENARIO,
        case=case,
        params=params,
        question="how long does a training step take with this change?"
        if case != BASE
        else "how long does a training step of this script take?",
        work=Work(amount=1, unit="step"),
        profiles=["why"],
        one_shot=True,
        role="work",
        work_key=SCENARIO,
    )


# --- What a run tells ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One stage of a data set's chain, in the order of the chain: a method of ``tf.data``, and where the
    script calls it.

    ``random``: passed twice it gave two results (None: nobody looked).  ``parallel``: it was told to work on
    several elements at once.  ``dataset`` numbers the chain.  ``key`` is the line and the method, as a
    change is told of it; empty: it isn't a call of the script's own.  ``bytes``: what all that comes out of
    it takes in memory (None: nobody knows).
    """

    dataset: Count
    method: str
    line: Count | None
    random: bool | None = None
    parallel: bool = False
    key: str = ""
    bytes: Count | None = None


@dataclass(frozen=True, kw_only=True)
class PythonCall:
    """A Python function that graphs call (``tf.py_function``, ``tf.numpy_function``, ``from_generator``), or
    that Keras or a ``for`` calls for each batch (a generator, a ``PyDataset``).

    ``kind`` is one of these words, or ``for``.  ``waits``: most of its seconds took no CPU.
    """

    name: str
    line: Count | None
    kind: str
    calls: Count
    seconds: Seconds
    of_data: bool
    waits: bool = False


@dataclass(frozen=True, kw_only=True)
class Retrace:
    """A function that was traced more than once, and the reason: ``number: NAME, NAME`` of parameters,
    ``shape``, ``anew`` (it was made again and again), or empty for anything else."""

    name: str
    line: Count | None
    reason: str


@dataclass(frozen=True, kw_only=True)
class CallbackSeen:
    """A callback of the script's: seconds in its methods within the window; ``by_batch``: it has methods that
    are called at every step.  ``steers``: it has a say in the training: stops it, changes weights or rates.
    ``method`` is where that is written which takes longest.
    """

    name: str
    line: Count | None
    calls: Count
    seconds: Seconds
    by_batch: bool
    steers: bool = False
    method: str = ""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A statement of the loop around the training step.

    ``is_step``: it holds the step, or the step needs it; ``makes``: it makes what the step takes, without a
    model.  ``changes``: it gives variables other values, and is training, too.
    """

    line: Count
    end_line: Count
    text: str
    loop: Count
    calls: Count
    seconds: Seconds
    is_step: bool
    makes: bool = False
    changes: bool = False


@dataclass(frozen=True, kw_only=True)
class Watched:
    """What was seen in a run that was watched.  It chooses what is tried and says where; it names no cause.

    ``clock`` is what progress was counted by: ``fit``, ``train_on_batch``, ``function`` or ``tape``.
    ``notes`` are things to say to people (made-up data, lines left out, several GPUs).
    ``settings`` are what the model was compiled with and called by: ``run_eagerly``, ``jit_compile``,
    ``steps_per_execution``, ``validation_freq``, …, as text.
    """

    clock: str
    line: Count | None = None
    stages: list[Stage] = field(default_factory=list)
    python_calls: list[PythonCall] = field(default_factory=list)
    retraces: list[Retrace] = field(default_factory=list)
    callbacks: list[CallbackSeen] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    counts: dict[str, float] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class RunNotes:
    """What a run tells besides its times: the numbers that the script printed, in their order; what was
    watched, in a run that was; the script's own error."""

    printed: list[float] = field(default_factory=list)
    watched: Watched | None = None
    error: str | None = None
    output: str = ""
