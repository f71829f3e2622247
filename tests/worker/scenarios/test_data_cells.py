"""The cells of tfdata and overhead: which there are, what they declare, and what their checks catch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from suite.cells.cell import Cell
from suite.cells.traits import ProfileName
from suite.worker import scenarios
from suite.worker.scenario.scenario import Inapplicable, WrongResult
from suite.worker.scenarios.mlp.networks import A, examples
from suite.worker.scenarios.overhead import calls, moves
from suite.worker.scenarios.tfdata import files, memory, pipelines, read, triple

CELLS = {cell.id: cell for cell in scenarios.cells() if cell.scenario in {"tfdata", "overhead"}}
INPUT = "tfdata.triple/pipeline={}/part=input/batch=512"
TOGETHER = "tfdata.triple/pipeline={}/part=together/batch=512"

OF_QUICK = {
    TOGETHER.format("parallel"),
    TOGETHER.format("numpy_function"),
    "overhead.eager_op",
    "overhead.function_call",
    "overhead.startup/stage=import",
    "overhead.startup/stage=step",
    "overhead.container",
}
STARTUP = {
    f"overhead.startup/stage={stage}" for stage in ("import", "devices", "kernel", "build", "step")
}
OF_STANDARD = {
    *(INPUT.format(one) for one in ("parallel", "native", "numpy_function")),
    *(TOGETHER.format(one) for one in ("parallel", "native", "numpy_function")),
    "overhead.fence",
    "overhead.eager_op",
    "overhead.function_call",
    *STARTUP,
    "overhead.container",
}
OF_SMOKE = {
    INPUT.format("native"),
    "overhead.fence",
    "overhead.eager_op",
    "overhead.function_call",
    *STARTUP,
    "overhead.container",
}


@pytest.mark.parametrize(
    ("profile", "expected"),
    [("smoke", OF_SMOKE), ("quick", OF_QUICK), ("standard", OF_STANDARD)],
)
def test_the_short_profiles_hold_these_cells(profile: ProfileName, expected: set[str]) -> None:
    assert {cell.id for cell in CELLS.values() if profile in cell.profiles} == expected


def of_case(case: str) -> list[Cell]:
    return [cell for cell in CELLS.values() if f"{cell.scenario}.{cell.case}" == case]


def test_every_case_has_its_cells() -> None:
    counts = {
        case: len(of_case(case)) for case in {f"{c.scenario}.{c.case}" for c in CELLS.values()}
    }
    assert {case: count for case, count in counts.items() if case.startswith("tfdata.")} == {
        "tfdata.slices": 8,
        "tfdata.cache": 1,
        "tfdata.map": 9,
        "tfdata.read": 5,
        "tfdata.triple": 9,
        "tfdata.to_device": 2,
    }
    assert counts["overhead.copy"] == 12
    for identity in (
        "overhead.xla_call",
        "overhead.graph_op",
        "overhead.sum/bytes=268435456",
        "overhead.copy/direction=to-device/bytes=4",
        "overhead.copy/direction=from-device/bytes=268435456",
        "tfdata.cache/batch=512/prefetch=on",
        "tfdata.read/source=jpeg/batch=32",
        "tfdata.read/source=tfrecord-disk/batch=512",
        "tfdata.to_device/ahead=on/batch=512",
        "tfdata.map/function=numpy_function/calls=autotune/place=element/batch=512/prefetch=on",
    ):
        assert identity in CELLS


def test_only_cells_that_read_files_ask_for_a_place_on_disk() -> None:
    asking = {cell.case for cell in scenarios.cells() if cell.reads_files}
    assert asking == {"read"}


def test_the_bytes_are_those_that_come_out() -> None:
    assert CELLS["tfdata.slices/batch=32/shuffle=on/prefetch=on"].work.bytes == 32 * (128 * 4 + 8)
    assert CELLS["tfdata.read/source=csv/batch=512"].work.bytes == 512 * (128 * 4 + 8)
    assert CELLS["tfdata.read/source=jpeg/batch=32"].work.bytes == 32 * 224 * 224 * 3 * 4
    assert CELLS["overhead.copy/direction=to-device/bytes=4096"].work.bytes == 4096
    # Two arrays are read and one is written.
    assert CELLS["overhead.sum/bytes=268435456"].work.bytes == 3 * 2**28


def test_the_chain_declares_its_operations() -> None:
    work = CELLS["overhead.graph_op"].work
    assert (work.amount, work.unit) == (calls.CHAIN, "operation")
    assert calls.LINKS.least == calls.CHAIN


def test_the_chains_product_is_rounded_link_by_link() -> None:
    found = calls.product()
    assert found == pytest.approx(calls.FACTOR**calls.CHAIN, rel=1e-4)
    assert found != np.float32(calls.FACTOR**calls.CHAIN)
    # One link more or less is far outside of what the check allows.
    assert abs(1 - calls.FACTOR) > 50 * calls.CHAIN_TOLERANCE


def test_the_seeded_signs_are_ones_that_differ() -> None:
    found = moves.signs(200_000)
    assert found.dtype == np.float32
    assert set(found.tolist()) == {-1.0, 1.0}
    assert found[: moves.PATTERN].tolist() == found[moves.PATTERN :][: moves.PATTERN].tolist()
    assert moves.signs(1).shape == (1,)


@dataclass(frozen=True)
class Tensor:
    """As much of an eager tensor as the checks look at."""

    array: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    def numpy(self) -> Any:
        return self.array


def batches(array: Any, size: int) -> list[tuple[Tensor]]:
    return [(Tensor(array[i : i + size]),) for i in range(0, len(array), size)]


def verify(dataset: Any, array: Any) -> str:
    exact = array.astype(np.float64)
    return pipelines.verify_sum(
        dataset, count=len(array), total=float(exact.sum()), tolerance=1e-6 * np.abs(exact).sum()
    )


def test_what_comes_out_whole_passes() -> None:
    inputs, _ = examples(A, 100)
    assert verify(batches(inputs, 32), inputs).startswith("100 elements counted; their inputs sum")


def test_a_lost_a_doubled_and_a_wrong_element_are_caught() -> None:
    inputs, _ = examples(A, 100)
    with pytest.raises(WrongResult, match="99 elements came out of 100"):
        verify(batches(inputs[1:], 32), inputs)
    doubled = inputs.copy()
    doubled[5] = doubled[6]
    with pytest.raises(WrongResult, match="the inputs sum to"):
        verify(batches(doubled, 32), inputs)
    wrong = inputs.copy()
    wrong[5, 5] = np.nan
    with pytest.raises(WrongResult, match="sum to nan"):
        verify(batches(wrong, 32), inputs)


def test_a_map_that_did_nothing_is_caught() -> None:
    inputs, _ = examples(A, 100)
    mapped = pipelines.expect(inputs, mapped=True)
    with pytest.raises(WrongResult, match="the inputs sum to"):
        verify(batches(inputs, 32), mapped)


def test_the_last_batch_has_its_shape_and_is_finite() -> None:
    inputs, _ = examples(A, 32)
    pipelines.verify_batch((Tensor(inputs),), (32, A.inputs))
    with pytest.raises(WrongResult, match="no 512 finite examples"):
        pipelines.verify_batch((Tensor(inputs),), (512, A.inputs))
    inputs[3, 3] = np.inf
    with pytest.raises(WrongResult):
        pipelines.verify_batch((Tensor(inputs),), (32, A.inputs))


def test_the_map_is_the_same_of_one_element_and_of_a_batch() -> None:
    inputs, _ = examples(A, 8)
    together = pipelines.normalise(np.tanh, np.mean, inputs)
    assert together.dtype == np.float32
    for index in range(8):
        alone = pipelines.normalise(np.tanh, np.mean, inputs[index])
        assert np.allclose(alone, together[index], atol=1e-6)
    exact = pipelines.expect(inputs, mapped=True)
    assert exact.dtype == np.float64
    assert np.allclose(exact, together, atol=1e-6)
    assert np.array_equal(pipelines.expect(inputs, mapped=False), inputs.astype(np.float64))


def test_every_declared_map_is_one_change_from_another() -> None:
    maps = set(memory.MAPS)
    assert len(maps) == len(memory.MAPS)
    for one in maps:
        near = [
            other for other in maps if sum(a != b for a, b in zip(one, other, strict=True)) == 1
        ]
        assert near, one


def test_the_triples_pipelines_say_what_differs() -> None:
    made = {name: make(512) for name, make in triple.PIPELINES.items()}
    assert [one.prefetch for one in made.values()] == ["on", "off", "on"]
    assert [(one.map.function, one.map.calls) for one in made.values() if one.map] == [
        ("native", "autotune"),
        ("native", "sequential"),
        ("numpy_function", "sequential"),
    ]
    assert {one.batch for one in made.values()} == {512}


def test_a_product_that_is_off_is_told() -> None:
    exact = np.arange(1.0, 5.0)
    assert triple.relative_error(exact, exact) == 0.0
    assert triple.relative_error(exact * 1.001, exact) == pytest.approx(1e-3)
    assert triple.relative_error(exact + np.nan, exact) != 0.0


def test_pictures_are_seeded_and_smooth() -> None:
    picture = files.draw_picture(3)
    assert (picture.shape, picture.dtype) == ((256, 256, 3), np.uint8)
    assert np.array_equal(picture, files.draw_picture(3))
    assert not np.array_equal(picture, files.draw_picture(4))
    steps = np.abs(np.diff(picture.astype(int), axis=0))
    assert np.median(steps) < 20
    assert np.ptp(picture.astype(int)) > 100


def test_every_source_has_its_batch() -> None:
    sources = {cell.params["source"] for cell in of_case("tfdata.read")}
    assert sources == {*read.READINGS, "tfrecord-disk"} == set(read.BATCHES)


@pytest.mark.parametrize(("came", "enough"), [(0, False), (4 * 900, False), (5 * 900, True)])
def test_passes_that_did_not_come_from_the_disk_are_no_reading_from_it(
    came: int, enough: bool
) -> None:
    passes = read.Passes(size=1000, before=10)
    for _ in range(6):
        passes.drops.append(1)
    if enough:
        assert f"{came} bytes came from the disk in 5 passes over 1000" in passes.witness(10 + came)
    else:
        with pytest.raises(Inapplicable, match="read from memory"):
            passes.witness(10 + came)


def test_a_kernel_that_does_not_count_is_no_witness() -> None:
    assert "nobody counts" in read.Passes(size=1000, before=None).witness(10)
    assert "nobody counts" in read.Passes(size=1000, before=10).witness(None)
