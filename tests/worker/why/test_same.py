"""Norms and printed numbers, by which two runs are compared."""

from __future__ import annotations

import math

import numpy as np
import pytest

from suite.worker.why.same import MOST_NUMBERS, find_norm, find_numbers


def test_the_norm_is_over_all_variables_in_float64() -> None:
    small = np.full(10_000_000, 1e-4, "float32")
    assert find_norm([[np.array([3.0, 0.0])], [np.array([[4.0]])]]) == 5.0
    assert find_norm([[np.array([1000.0], "float32"), small]]) == pytest.approx(
        math.sqrt(1e6 + 0.1), rel=1e-12, abs=1e-9
    )


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("loss: 0.25 acc=1.0e-3, -2.5\n", [0.25, 1e-3, -2.5]),
        ("step 3 loss tf.Tensor(2.302585, shape=(), dtype=float32)\n", [2.302585]),
        ("[0.1 .5 3.]\n(1e-05)\n", [0.1, 0.5, 3.0, 1e-5]),
        # Keras's progress, with and without a terminal's styles.
        (
            "\x1b[1m 1/49\x1b[0m \x1b[32m━\x1b[0m\x1b[37m━\x1b[0m \x1b[1m0s\x1b[0m 12ms/step - loss: 0.5\r\n",
            [],
        ),
        ("49/49 - 1s - 12ms/step - loss: 0.25\nEpoch 2/5\nloss 0.125\n", [0.125]),
        ("1/Unknown \b\b\b\b 3s 20us/step - loss: 0.5\n", []),
        # Times and speeds.
        ("epoch took 3.25 s\nElapsed: 1.5\n12.5 samples/s\ntime 0.1\nETA: 3.5\n", []),
        (
            "loss 0.5 (3.25s, 1.5 ms)\n2026-11-26 08:00:01.125 loss 0.75\n[00:12<01:02.5] 0.25\n",
            [0.5, 0.75, 0.25],
        ),
        # Addresses, versions and names are no numbers.
        ("<f at 0x7f1257e3a0> TensorFlow 2.21.0 model1.5b nan inf\n", []),
        ("sometimes 0.5 intimate 1.5\n", [0.5, 1.5]),
    ],
)
def test_numbers_that_a_script_prints(text: str, numbers: list[float]) -> None:
    assert find_numbers(text) == numbers


def test_so_many_are_kept_and_no_line_takes_long() -> None:
    assert len(find_numbers("0.5\n" * 1000)) == MOST_NUMBERS
    assert find_numbers("1" * 100_000 + "\n" + "a/" * 50_000 + "\n" + "0.5") == [0.5]
