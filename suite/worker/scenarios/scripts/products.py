"""asked.matmul: a product with everything inside the timer, and the way to `matmul.square`.

Its stages: a script that makes a graph and a session for each size; the same in a warm process; eager; not
fetched; once the first time is over; and the product alone, which on the arm's own device is
`matmul.square` itself.  All but the script are fenced, as every sample here: on a GPU an unfenced timer
sees the work handed over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

from suite.cells.cell import Param, Work, cell_id
from suite.cells.scenario import cross
from suite.cells.traits import FULL, QUICK, SMOKE, STANDARD, Profiles
from suite.model import Check
from suite.worker.proof import placement, precision
from suite.worker.scenario.scenario import (
    Nodes,
    Prepared,
    Printed,
    Resident,
    WrongResult,
    list_halves,
)
from suite.worker.scenarios import matmul
from suite.worker.scenarios.mlp.networks import MATMUL
from suite.worker.scenarios.mlp.training import MATMUL_PROOF
from suite.worker.scenarios.scripts.posted import matmul as script
from suite.worker.scenarios.scripts.waterfall import SCRIPT, On, pin, placed, read_waterfall

ENDS = (100, 1000, 4000)
"""The sizes of which the shorter profiles have the first and the last stage."""


def work(n: int, stage: str, on: On) -> Work:  # noqa: ARG001  the axes of the case
    """A product; where it is fetched, what is copied back."""
    return replace(
        matmul.product_work(n), bytes_out=4.0 * n * n if WATERFALL.settings(stage).fetch else None
    )


def prepare(*, device: str, n: int, stage: str, on: On) -> Prepared:
    """An eager product of two N(0, 1) matrices, timed as the stage says.

    ``naive`` is cold once an invocation: this cell has not multiplied or drawn this size before.
    It is not cold as the very first product of a process is, which loads the libraries (that is
    the start-up sequence's kernel), nor is the memory fresh that cells before it have let go.
    """
    import tensorflow as tf

    settings = WATERFALL.settings(stage)
    if settings.execution == "session":
        return _prepare_session(placed(device, on), n)
    resident = None

    def create() -> list[Any]:
        return [tf.random.normal((n, n)) for _ in range(2)]

    if settings.operands == "created inside":

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

    def check(made: list[Any], *, brief: bool = False) -> Check:
        return check_matrices(*(each.numpy() for each in made), allowed="fp32", brief=brief)

    return Prepared(
        step=pin(fetching if settings.fetch else step, on),
        check=check,
        brief=partial(check, brief=True),
        tensors=list,
        resident=resident,
        enqueues=not settings.fetch,
    )


def _prepare_session(place: str, n: int) -> Prepared:
    """A product in a graph and session of its own, which no eager tensor shows: so once more afterwards."""
    run_again, check = _witness(place, n)
    return Prepared(
        step=lambda: script.multiply(place, n),
        check=lambda _: check(),
        tensors=lambda _: [
            SimpleNamespace(device=where) for op, where, _ in run_again() if op in MATMUL
        ],
    )


def _witness(half: str, n: int) -> tuple[Callable[[], Nodes], Callable[[], Check]]:
    """What runs the same graph in a session once more, untimed, its operands fetched as well, and gives the
    nodes of what was executed; and the check of the product that it fetched, as of an eager one."""
    matrices: list[Any] = []

    def run_again() -> Nodes:
        import tensorflow as tf

        product = script.draw(half, n)
        metadata = tf.compat.v1.RunMetadata()
        options = tf.compat.v1.RunOptions(output_partition_graphs=True)
        with tf.compat.v1.Session(graph=product.graph) as session:
            session.run(product.initialiser)
            fetches = [product.left, product.right, product.product]
            matrices[:] = session.run(fetches, options=options, run_metadata=metadata)
        return placement.list_nodes(metadata.partition_graphs)

    return run_again, lambda: check_matrices(*matrices, allowed=precision.find_default(half))


def post(*, device: str, asked: Sequence[Mapping[str, Any]]) -> list[Printed]:
    """What the script prints, of each size and half that is asked for; on a GPU's arm it runs both.

    It always begins with the smallest size, which is the first in the process.
    """
    largest = max(cell["n"] for cell in asked)
    seconds = script.run(list_halves(device), [n for n in matmul.ASKED_ABOUT if n <= largest])
    printed = []
    for cell in asked:
        half, n = placed(device, cell["on"]), cell["n"]
        again, check = _witness(half, n)
        printed.append(Printed(seconds=seconds[half][n], check=check, again=again))
    return printed


def check_matrices(
    left: Any, right: Any, product: Any, *, allowed: str, brief: bool = False
) -> Check:
    """`matmul.check_product`'s check of a product, and that its operands are not all the same number.

    ``allowed`` is the precision that TensorFlow may choose; a small product it can compute in a better one.

    Raises:
        WrongResult: it is wrong, or they are.
    """
    checked = matmul.check_product(left, right, product, allowed, exactly=False, brief=brief)
    if len(left) > 1 and not min(left[0].std(), right[0].std()) > 0:
        raise WrongResult("the operands are constant, not random")
    return replace(checked, what=f"{checked.what}; operands random")


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


WATERFALL = read_waterfall(
    "matmul",
    make_points=lambda stage: cross(stage=stage.name, on=stage.ons, n=matmul.ASKED_ABOUT),
    fair=lambda n, **_: cell_id("matmul", "square", {"n": n, **matmul.PLAIN}),
)

SCENARIOS = WATERFALL.declare(
    prepare,
    post,
    "What does a product of n = {n} take with {new} (work on: {on})?",
    profiles=_profiles,
    work=work,
    work_key=matmul.name_product,
    sweep="n",
    larger=("n",),
    proof=lambda stage, **_: MATMUL_PROOF if stage == SCRIPT else "results",
    data="device",
    dispatch="eager",
)
