"""Every declared cell, without TensorFlow: a typo fails here, before a GPU is rented."""

from __future__ import annotations

import inspect
import itertools
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suite.cells.cell import Cell, Work
from suite.cells.links import resolve, vary
from suite.cells.scenario import Point, Scenario
from suite.cells.traits import PROFILES
from suite.content import SUITE
from suite.host.campaign.arms import ARMS
from suite.worker import scenarios
from suite.worker.scenarios.matmul import square
from suite.worker.scenarios.matmul.square import TOLERANCE, relative_error
from suite.worker.scenarios.mlp import networks, training
from suite.worker.scenarios.overhead.startup import STAGES

FAMILIES = {"matmul", "mlp", "asked", "tfdata", "overhead"}
GRAMMAR = re.compile(r"[a-z]+\.[a-z_]+(/[a-z_]+=[A-Za-z0-9._-]+)*")

CELLS = scenarios.cells()
OF_SCENARIO = [(one, cell) for one in scenarios.SCENARIOS for cell in one.cells()]

every_scenario = pytest.mark.parametrize(
    "scenario", scenarios.SCENARIOS, ids=[f"{s.family}.{s.case}" for s in scenarios.SCENARIOS]
)
every_cell = pytest.mark.parametrize("cell", CELLS, ids=[cell.id for cell in CELLS])


@pytest.mark.parametrize(("scenario", "cell"), OF_SCENARIO, ids=[c.id for _, c in OF_SCENARIO])
def test_every_axis_is_a_keyword_of_prepare_and_of_work(scenario: Scenario, cell: Cell) -> None:
    assert list(cell.params) == list(scenario.axes)
    inspect.signature(scenario.work).bind(**cell.params)
    if scenario.prepare is not None:
        signature = inspect.signature(scenario.prepare)
        signature.bind(device="/CPU:0", **cell.params)
        assert set(signature.parameters) == {"device", *scenario.axes}


BY_ID = {cell.id: cell for cell in CELLS}


@pytest.mark.parametrize(("scenario", "cell"), OF_SCENARIO, ids=[c.id for _, c in OF_SCENARIO])
def test_what_a_cell_says_of_itself_holds_together(scenario: Scenario, cell: Cell) -> None:
    assert cell.kin
    assert all(link.to in BY_ID for links in cell.links.values() for link in links)
    assert set(cell.larger) <= set(cell.params)
    # What the start-up sequence and the host measure is no operation that could be seen.
    assert (cell.device != "none") or scenario.prepare is None or cell.price == "fence"
    if cell.way is not None:
        stages = [BY_ID[stage.cell] for stage in cell.way.stages if stage.cell is not None]
        assert cell in stages
        assert all(one.way == cell.way for one in stages[:-1])
        fair = stages[-1]
        assert cell.way.stages[-1].cell == fair.id
        assert not fair.one_shot
        assert fair.kin == cell.kin


def test_a_link_to_an_axis_that_a_case_lacks_is_refused() -> None:
    with pytest.raises(ValueError, match=r"made\.up has not all of the axes m"):
        resolve(vary(m=1), "made.up", {"n": 1})
    assert resolve(vary(n=1), "made.up", {"n": 1}) is None


def test_ids_are_unique() -> None:
    declared = [cell.id for _, cell in OF_SCENARIO]
    assert len(set(declared)) == len(declared)
    assert [cell.id for cell in CELLS] == declared


@every_cell
def test_ids_follow_the_grammar(cell: Cell) -> None:
    assert GRAMMAR.fullmatch(cell.id)
    assert cell.id.startswith(f"{cell.scenario}.{cell.case}")
    assert cell.scenario in FAMILIES
    assert "@" not in cell.id, "the worker's arguments set K apart with it"


@every_cell
def test_questions_are_questions_with_everything_filled_in(cell: Cell) -> None:
    assert cell.question.endswith("?")
    assert not set("{}") & set(cell.question)
    assert cell.question[0].isupper()


@every_cell
def test_work_is_some(cell: Cell) -> None:
    assert cell.work.amount > 0
    assert re.fullmatch("[A-Za-z]+", cell.work.unit)
    assert cell.work.bytes is None or cell.work.bytes > 0


@every_cell
def test_a_profile_holds_what_the_shorter_ones_hold(cell: Cell) -> None:
    # Smoke stands apart: it holds what makes every path run, and need not be in quick.
    rest = [name for name in cell.profiles if name != "smoke"]
    assert rest
    assert rest == list(PROFILES[PROFILES.index(rest[0]) :])


@every_cell
def test_arms_and_sweeps_are_known(cell: Cell) -> None:
    assert set(cell.arms) <= set(ARMS)
    assert cell.sweep is None or cell.sweep in cell.params


def test_a_sweep_climbs_in_declared_order() -> None:
    climbed: dict[tuple[Any, ...], float] = {}
    for cell in CELLS:
        if cell.sweep is not None:
            others = tuple(v for axis, v in cell.params.items() if axis != cell.sweep)
            key = (cell.scenario, cell.case, *others)
            assert cell.work.amount > climbed.get(key, 0.0), cell.id
            climbed[key] = cell.work.amount
    assert climbed


@pytest.mark.parametrize(
    ("profile", "case", "count"),
    [
        ("smoke", "matmul.square", 2),
        ("smoke", "mlp.train", 1),
        ("quick", "matmul.square", 4),
        ("quick", "mlp.train", 3),
        ("standard", "matmul.square", 14),
        ("standard", "matmul.extra", 1),
        ("standard", "mlp.train", 16),
        ("standard", "mlp.width", 3),
        ("full", "matmul.square", 15 + 9 + 3 + 3),
        ("full", "mlp.train", 13 + 4 + 4 + 2 + 4),
        ("full", "mlp.width", 8 + 2 + 2),
        ("full", "mlp.loop", 4),
        ("full", "mlp.infer", 6),
        ("full", "mlp.build", 3),
        ("full", "mlp.fallback", 2),
    ],
)
def test_a_profile_holds_so_many_cells_of_a_case(profile: str, case: str, count: int) -> None:
    family, name = case.split(".")
    found = [c for c in CELLS if (c.scenario, c.case) == (family, name) and profile in c.profiles]
    assert len(found) == count


def test_the_shorter_profiles_hold_no_other_product_or_training() -> None:
    cases = {
        f"{c.scenario}.{c.case}"
        for c in CELLS
        if c.scenario in {"matmul", "mlp"} and "standard" in c.profiles
    }
    assert cases == {"matmul.square", "matmul.extra", "mlp.train", "mlp.width"}


def test_each_variant_of_a_product_or_width_climbs_a_sweep_of_its_own() -> None:
    swept = [c for c in CELLS if c.case in {"square", "width"}]
    assert {cell.sweep for cell in swept if cell.case == "square"} == {"n"}
    assert {cell.sweep for cell in swept if cell.case == "width"} == {"width"}
    sizes: dict[tuple[Any, ...], list[Any]] = {}
    for cell in swept:
        others = tuple(v for axis, v in cell.params.items() if axis != cell.sweep)
        sizes.setdefault((cell.case, *others), []).append(cell.params[cell.sweep or ""])
    assert sizes["square", "tf32", "device", "off"] == [1000, 4000, 8000]
    assert sizes["square", "fp32", "host", "off"] == [100, 1000, 4000]
    assert sizes["square", "fp32", "device", "on"] == [100, 1000, 4000]
    assert sizes["width", 512, "bf16"] == [2048, 8192]
    assert sizes["width", 32, "fp32"] == [64, 512, 2048, 8192]


def test_only_the_start_up_and_the_hosts_cells_need_no_preparing() -> None:
    unprepared = {s.case for s in scenarios.SCENARIOS if s.prepare is None}
    assert unprepared == {"startup", "container", "clone"}
    stages = [cell.params["stage"] for cell in CELLS if cell.case == "startup"]
    assert stages == [stage for stage in STAGES if stage != "clone"]
    named = {s.startup for s in scenarios.SCENARIOS if s.startup is not None}
    assert named == {"clone"}
    assert named <= set(STAGES)
    assert all(cell.by_host == (cell.case == "container") for cell in CELLS)


@every_scenario
def test_a_scenario_says_what_it_is_about(scenario: Scenario) -> None:
    assert scenario.about.endswith(".")
    assert len(scenario.about) <= 120


@pytest.mark.parametrize("params", [{}, {"n": 1, "m": 2}, {"m": 1}])
def test_a_point_with_other_axes_is_refused(params: dict[str, int]) -> None:
    wrong = Scenario(
        family="made",
        case="up",
        about="Made up.",
        question="{n}?",
        axes=("n",),
        points=(Point(params=params, profiles=("full",)),),
        work=lambda **_: Work(amount=1.0, unit="call"),
        prepare=None,
        role="work",
        kin="made up",
        proof=None,
    )
    with pytest.raises(ValueError, match="other axes"):
        wrong.cells()


def test_an_id_finds_its_scenario_and_cell() -> None:
    for scenario, cell in OF_SCENARIO:
        assert scenarios.find(cell.id) == (scenario, cell)


def test_an_unknown_id_names_its_neighbours() -> None:
    with pytest.raises(KeyError, match=r"did you mean .*matmul.square/n=1000/"):
        scenarios.find("matmul.square/n=1001/precision=fp32/operands=device/xla=off")
    with pytest.raises(KeyError, match=r"no cell zzz'"):
        scenarios.find("zzz")


@pytest.mark.processes
@pytest.mark.parametrize(
    "module",
    sorted(
        path.relative_to(SUITE.parent).with_suffix("").as_posix().replace("/", ".")
        for path in (SUITE / "worker").rglob("*.py")
        if path.name != "__init__.py"
    ),
)
def test_importing_the_worker_needs_no_tensorflow(module: str) -> None:
    code = (
        "import sys; sys.modules['tensorflow'] = sys.modules['keras'] = None\n"
        f"import {module}\n"
        "assert sys.modules['tensorflow'] is None\n"
        "print('fine')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=SUITE.parent, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")


def operands(size: int) -> tuple[Any, Any]:
    source = np.random.default_rng(size)
    return (
        source.standard_normal((size, size), dtype=np.float32),
        source.standard_normal((size, size), dtype=np.float32),
    )


def tf32(matrix: Any) -> Any:
    """Rounded to 10 bits of mantissa, as a tensor core reads its operands."""
    bits = matrix.view(np.uint32)
    return ((bits + np.uint32(0x0FFF) + ((bits >> 13) & 1)) & np.uint32(0xFFFFE000)).view(
        np.float32
    )


@pytest.mark.parametrize("size", [1, 2, 10, 100, 255, 256, 257, 500])
def test_a_float32_product_passes_its_check(size: int) -> None:
    left, right = operands(size)
    assert relative_error(left, right, left @ right) <= TOLERANCE["fp32"] / 10


@pytest.mark.parametrize("size", [10, 100, 300])
def test_a_tf32_product_does_not_pass_as_float32(size: int) -> None:
    left, right = operands(size)
    error = relative_error(left, right, tf32(left) @ tf32(right))
    assert 1e-4 < error < 1e-3
    assert error > 10 * TOLERANCE["fp32"]


@settings(max_examples=50, deadline=None)
@given(
    size=st.integers(1, 120),
    row=st.integers(0, 119),
    column=st.integers(0, 119),
    off=st.floats(0.5, 100).map(np.float32),
)
def test_one_wrong_element_is_caught(size: int, row: int, column: int, off: Any) -> None:
    left, right = operands(size)
    product = left @ right
    product[row % size, column % size] += off
    assert relative_error(left, right, product) > TOLERANCE["fp32"]


@pytest.mark.parametrize("wrong", [0.0, np.nan])
def test_a_product_of_nothing_is_caught(wrong: float) -> None:
    left, right = operands(50)
    assert not relative_error(left, right, np.full((50, 50), wrong)) <= TOLERANCE["fp32"]


def test_the_work_of_a_product_is_two_n_cubed() -> None:
    assert square.work(n=1000) == Work(amount=2e9, unit="FLOP")


@pytest.mark.parametrize("network", networks.NETWORKS.values(), ids=networks.NETWORKS)
def test_data_and_weights_are_the_same_bits_every_time(network: networks.Network) -> None:
    inputs, labels = networks.examples(network, 40)
    assert inputs.shape == (40, network.inputs)
    assert inputs.dtype == np.float32
    assert labels.shape == (40, 1)
    assert labels.min() >= 0
    assert labels.max() < network.classes
    again, _ = networks.examples(network, 40)
    assert np.array_equal(inputs, again)
    shapes = [array.shape for array in networks.weights(network)]
    widths = [network.inputs, *(units for units, _ in network.layers)]
    assert shapes == [
        shape
        for before, after in itertools.pairwise(widths)
        for shape in [(before, after), (after,)]
    ]
    assert all(
        np.array_equal(a, b)
        for a, b in zip(networks.weights(network), networks.weights(network), strict=True)
    )


@pytest.mark.parametrize(
    ("losses", "complaint"),
    [
        ([0.7, float("nan")], "not finite"),
        ([float("inf"), 0.5], "not finite"),
        ([0.7, 0.8], "did not fall"),
        ([0.7, 0.7], "did not fall"),
    ],
)
def test_a_training_that_learns_nothing_is_a_wrong_result(
    losses: list[float], complaint: str
) -> None:
    with pytest.raises(training.WrongResult, match=complaint):
        training.check_losses(losses)


def test_a_falling_loss_is_what_arms_are_compared_by() -> None:
    check = training.check_losses([0.7, 0.9, 0.5])
    assert check.value == 0.5
    assert check.tolerance == training.CHECK_TOLERANCE
