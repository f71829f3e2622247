"""The cells of tfdata and overhead: what their checks let pass, and what they catch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from suite.worker import scenarios
from suite.worker.scenario.scenario import Inapplicable, WrongResult
from suite.worker.scenarios import overhead
from suite.worker.scenarios.mlp.networks import A, examples
from suite.worker.scenarios.tfdata import memory, pipelines, read
from tests.worker.verdict import hear


def test_the_bytes_are_those_that_come_out() -> None:
    work = {cell.id: cell.work for cell in scenarios.cells()}
    assert work["tfdata.read/source=csv/batch=512"].bytes == 512 * (128 * 4 + 8)
    assert work["tfdata.read/source=jpeg/batch=32"].bytes == 32 * 224 * 224 * 3 * 4
    assert work["overhead.copy/direction=to-device/bytes=4096"].bytes == 4096
    # Two arrays are read and one is written.
    assert work["overhead.sum/bytes=268435456"].bytes == 3 * 2**28
    assert work["overhead.graph_op"].amount == overhead.LINKS.least == overhead.CHAIN


def test_the_chains_product_is_rounded_link_by_link() -> None:
    found = overhead.product()
    assert found == pytest.approx(overhead.FACTOR**overhead.CHAIN, rel=1e-4)
    assert found != np.float32(overhead.FACTOR**overhead.CHAIN)
    # One link more or less is far outside of what the check allows.
    assert abs(1 - overhead.FACTOR) > 50 * overhead.CHAIN_TOLERANCE


def test_the_seeded_signs_are_ones_that_differ() -> None:
    signs = overhead.draw_signs(200_000)
    assert (signs.dtype, signs.shape, set(signs.tolist())) == (np.float32, (200_000,), {-1.0, 1.0})


def tensor(array: Any) -> Any:
    """As much of an eager tensor as the checks look at."""
    return SimpleNamespace(shape=tuple(array.shape), numpy=lambda: array)


def test_what_comes_out_whole_passes_and_a_lost_a_doubled_and_a_wrong_element_do_not() -> None:
    inputs, _ = examples(A, 100)
    exact = inputs.astype(np.float64)

    def verify(out: Any, exact: Any = exact) -> str:
        batches = [(tensor(out[i : i + 32]),) for i in range(0, len(out), 32)]
        total, tolerance = float(exact.sum()), 1e-6 * np.abs(exact).sum()
        told = {"count": 100, "total": total, "tolerance": tolerance}
        return hear(WrongResult, pipelines.verify_sum, batches, **told)

    assert verify(inputs).startswith("100 elements counted; their inputs sum")
    assert verify(inputs[1:]) == "refused: 99 elements came out of 100"
    doubled, wrong = inputs.copy(), inputs.copy()
    doubled[5] = doubled[6]
    assert verify(doubled).startswith("refused: the inputs sum to")
    wrong[5, 5] = np.nan
    assert verify(wrong).startswith("refused: the inputs sum to nan")
    # Nor does a map that did nothing.
    mapped = pipelines.expect(inputs, mapped=True)
    assert verify(inputs, mapped).startswith("refused: the inputs sum to")


def test_the_last_batch_has_its_shape_and_is_finite() -> None:
    inputs = examples(A, 32)[0].copy()

    def verify(count: int) -> str:
        return hear(WrongResult, pipelines.verify_batch, (tensor(inputs),), (count, A.inputs))

    assert verify(32) == "None"
    assert "no 512 finite examples" in verify(512)
    inputs[3, 3] = np.inf
    assert "no 32 finite examples" in verify(32)


def test_the_map_is_the_same_of_one_element_and_of_a_batch() -> None:
    inputs, _ = examples(A, 8)
    together = pipelines.normalise(np.tanh, np.mean, inputs)
    alone = [pipelines.normalise(np.tanh, np.mean, one) for one in inputs]
    exact = pipelines.expect(inputs, mapped=True)
    assert (together.dtype, exact.dtype) == (np.float32, np.float64)
    assert np.allclose(alone, together, atol=1e-6)
    assert np.allclose(exact, together, atol=1e-6)
    assert np.array_equal(pipelines.expect(inputs, mapped=False), inputs.astype(np.float64))


def test_every_declared_map_is_one_change_from_another() -> None:
    for one in memory.MAPS:
        changes = [sum(map(str.__ne__, map(str, one), map(str, two))) for two in memory.MAPS]
        assert changes.count(0) == 1
        assert 1 in changes, one


def test_pictures_are_seeded_and_smooth() -> None:
    picture = read.draw_picture(3)
    assert (picture.shape, picture.dtype) == ((256, 256, 3), np.uint8)
    assert np.array_equal(picture, read.draw_picture(3))
    assert not np.array_equal(picture, read.draw_picture(4))
    assert np.median(np.abs(np.diff(picture.astype(int), axis=0))) < 20
    assert np.ptp(picture.astype(int)) > 100


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (10, 10, "refused: 5 passes over 1000 bytes had 0 bytes from a disk"),
        (10, 10 + 4 * 900, "3600 bytes from a disk: they were read from memory"),
        (10, 10 + 5 * 900, "4500 bytes came from the disk in 5 passes over 1000"),
        # A kernel that does not count is no witness.
        (None, 10, "nobody counts"),
        (10, None, "nobody counts"),
    ],
)
def test_passes_that_did_not_come_from_the_disk_are_no_reading_from_it(
    before: int | None, after: int | None, said: str
) -> None:
    assert said in hear(Inapplicable, read.describe_passes, 5, 1000, before=before, after=after)
