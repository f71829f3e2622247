"""asked.matmul: a product with everything inside the timer, and the way to `matmul.square`.

Its stages: a script that makes a graph and a session for each size; the same in a warm process; eager; not
fetched; once the first time is over; and the product alone, which is `matmul.square` itself.  All but the
script are fenced, as every sample here: on a GPU an unfenced timer sees the work handed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Literal

from suite.cells.cell import Param, Work, cell_id
from suite.cells.scenario import Results, Scenario, cross
from suite.model import Check
from suite.worker.proof import placement
from suite.worker.scenario.posted import Nodes, Printed, list_halves
from suite.worker.scenario.profiles import FULL, QUICK, SMOKE, STANDARD, Profiles
from suite.worker.scenario.scenario import Prepared, Resident, WrongResult
from suite.worker.scenarios.asked.scripts import matmul as script
from suite.worker.scenarios.asked.stages import SCRIPT, On, Stage, Waterfall, pin, placed
from suite.worker.scenarios.matmul import square
from suite.worker.scenarios.mlp.networks import MATMUL
from suite.worker.scenarios.mlp.training import MATMUL_PROOF


@dataclass(frozen=True, kw_only=True)
class Timed:
    """What is inside the timer beside the product; by default as posted.

    ``process``: a ``fresh`` one runs the script and nothing else; one is ``warm`` that has multiplied before.
    ``execution``: each product has a graph and a session of its own, or is eager.  ``fetch``: the product is
    brought to Python.
    """

    process: Literal["fresh", "warm"] = "fresh"
    execution: Literal["session", "eager"] = "session"
    fetch: bool = True
    first_call: Literal["timed", "apart"] = "timed"
    operands: Literal["created inside", "created before"] = "created inside"


STAGES = (
    Stage(SCRIPT, "everything as posted"),
    Stage("session", "a process that has multiplied before", {"process": "warm"}, "start-up"),
    Stage("eager", "eager instead of graph and session", {"execution": "eager"}, "overhead"),
    Stage(
        *("naive", "the product no longer fetched", {"fetch": False}, "transfer"), effect="timing"
    ),
    Stage(
        "first-call-apart", "the first call no longer timed", {"first_call": "apart"}, "start-up"
    ),
    Stage(
        *("warm", "creation and random numbers no longer timed"),
        *({"operands": "created before"}, "start-up"),
        ons=("cpu",),
    ),
)
"""On the arm's own device the last one is `matmul.square`, and no cell of this family."""

ENDS = (100, 1000, 4000)
"""The sizes of which the shorter profiles have the first and the last stage."""


def work(n: int, stage: str, on: On) -> Work:  # noqa: ARG001  the axes of the case
    """A product; where it is fetched, what is copied back."""
    return replace(
        square.work(n), bytes_out=4.0 * n * n if WATERFALL.settings(stage).fetch else None
    )


def prepare(*, device: str, n: int, stage: str, on: On) -> Prepared:
    """An eager product of two N(0, 1) matrices, timed as the stage says.

    ``naive`` is cold once an invocation: this cell has not multiplied or drawn this size before.
    It is not cold as the very first product of a process is, which loads the libraries (that is
    the start-up sequence's kernel), nor is the memory fresh that cells before it have let go.
    """
    import tensorflow as tf

    how = WATERFALL.settings(stage)
    if how.execution == "session":
        return _prepare_session(placed(device, on), n)
    resident = None

    def create() -> list[Any]:
        return [tf.random.normal((n, n)) for _ in range(2)]

    if how.operands == "created inside":

        def step() -> list[Any]:
            operands = create()
            return [*operands, tf.matmul(*operands)]

    else:
        with tf.device(placed(device, on)):
            here = create()
        resident = Resident(device=placed(device, on), tensors=here)

        def step() -> list[Any]:
            return [*here, tf.matmul(*here)]

    def fetching() -> list[Any]:
        made = step()
        made[-1].numpy()
        return made

    return Prepared(
        step=pin(fetching if how.fetch else step, on),
        check=lambda made: check_matrices(*(matrix.numpy() for matrix in made)),
        tensors=list,
        resident=resident,
        enqueues=not how.fetch,
    )


def _prepare_session(place: str, n: int) -> Prepared:
    """A product in a graph and session of its own, which no eager tensor shows: so once more afterwards."""
    again = _Again(place, n)
    return Prepared(
        step=lambda: script.multiply(place, n),
        check=lambda _: again.check(),
        tensors=lambda _: again.find_products(),
    )


class _Again:
    """The same graph in a session once more, untimed, its operands fetched as well."""

    def __init__(self, half: str, n: int) -> None:
        self._half, self._n = half, n
        self._matrices: list[Any] = []

    def look(self) -> Nodes:
        """Runs it; the nodes of what was executed."""
        import tensorflow as tf

        made = script.draw(self._half, self._n)
        told = tf.compat.v1.RunMetadata()
        options = tf.compat.v1.RunOptions(output_partition_graphs=True)
        with tf.compat.v1.Session(graph=made.graph) as session:
            session.run(made.initialiser)
            fetched = [made.left, made.right, made.product]
            self._matrices = session.run(fetched, options=options, run_metadata=told)
        return placement.list_nodes(told.partition_graphs)

    def find_products(self) -> list[Any]:
        """The products among them, each with its device."""
        return [SimpleNamespace(device=place) for op, place, _ in self.look() if op in MATMUL]

    def check(self) -> Check:
        """As of an eager product.

        Raises:
            WrongResult: it is wrong.
        """
        return check_matrices(*self._matrices)


def post(*, device: str, asked: Sequence[Mapping[str, Any]]) -> list[Printed]:
    """What the script prints, of each size and half that is asked for; on a GPU's arm it runs both.

    It always begins with the smallest size, which is the first in the process.
    """
    largest = max(cell["n"] for cell in asked)
    seconds = script.run(list_halves(device), [n for n in square.ASKED_ABOUT if n <= largest])
    printed = []
    for cell in asked:
        half, n = placed(device, cell["on"]), cell["n"]
        again = _Again(half, n)
        printed.append(Printed(seconds=seconds[half][n], check=again.check, again=again.look))
    return printed


def check_matrices(left: Any, right: Any, product: Any) -> Check:
    """Freivalds' check of a product, and that its operands are not all the same number.

    Raises:
        WrongResult: it is wrong, or they are.
    """
    found = square.check_product(left, right, product, "fp32")
    if len(left) > 1 and not min(left[0].std(), right[0].std()) > 0:
        raise WrongResult("the operands are constant, not random")
    return replace(found, what=f"{found.what}; operands random")


def _profiles(stage: str, n: int, **_: Param) -> Profiles:
    """The standard profile has all stages of one size."""
    if stage == SCRIPT:
        soon = SMOKE if n <= ENDS[1] else STANDARD
        return soon if n <= ENDS[-1] else FULL
    if stage in {"session", "eager"}:
        return STANDARD if n == ENDS[1] else FULL
    if (stage, n) == ("naive", ENDS[0]):
        return SMOKE
    return QUICK if stage in {"naive", "warm"} and n in ENDS else FULL


WATERFALL = Waterfall(
    case="matmul",
    title="a product, timed with everything around it",
    posted=Timed(),
    stages=STAGES,
    warm="first-call-apart",
    unit="product",
    by_call=True,
    axes=("n", "stage", "on"),
    over=("n",),
    make_points=lambda stage: cross(stage=stage.name, on=stage.ons, n=square.ASKED_ABOUT),
    fair=lambda n, **_: cell_id("matmul", "square", {"n": n, **square.PLAIN}),
)


SCENARIOS = tuple(
    Scenario(
        **WATERFALL.declare(stage, prepare, post),
        profiles=_profiles,
        question=f"What does a product of n = {{n}} take with {stage.new} (work on: {{on}})?",
        work=work,
        kin=square.name_product,
        sweep="n",
        larger=("n",),
        proof=MATMUL_PROOF if stage.name == SCRIPT else Results(),
        data="device",
        dispatch="eager",
    )
    for stage in STAGES
)
