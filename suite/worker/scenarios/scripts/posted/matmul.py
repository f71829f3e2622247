"""The script of asked.matmul: products of growing size, each in a graph and a session of its own.

Everything is inside the timer: the graph, two variables of random numbers and their initialiser, the session,
the product, which is fetched, and closing the session.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Product:
    """A graph of two random matrices and their product."""

    graph: Any
    left: Any
    right: Any
    product: Any
    initialiser: Any


def draw(half: str, n: int) -> Product:
    """The graph of one size."""
    import tensorflow as tf

    graph = tf.Graph()
    with graph.as_default(), tf.device(half):
        left = tf.compat.v1.Variable(tf.random.normal((n, n)))
        right = tf.compat.v1.Variable(tf.random.normal((n, n)))
        product = tf.matmul(left, right)
        initialiser = tf.compat.v1.global_variables_initializer()
    return Product(graph=graph, left=left, right=right, product=product, initialiser=initialiser)


def multiply(half: str, n: int) -> Any:
    """One product, fetched."""
    import tensorflow as tf

    made = draw(half, n)
    with tf.compat.v1.Session(graph=made.graph) as session:
        session.run(made.initialiser)
        return session.run(made.product)


def run(halves: Iterable[str], sizes: Iterable[int]) -> dict[str, dict[int, float]]:
    """Multiplies on each of these devices in turn; the seconds of each half, by size."""
    seconds: dict[str, dict[int, float]] = {}
    for half in halves:
        seconds[half] = {}
        for n in sizes:
            start = time.perf_counter()
            multiply(half, n)
            seconds[half][n] = time.perf_counter() - start
    return seconds
