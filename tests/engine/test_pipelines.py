"""The input pipelines in a real TensorFlow: they do what their ids say, and nothing ahead of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from suite.host.docker.engine import DockerEngine
from suite.model import Image
from tests.engine.conftest import hear

COUNT = """
import itertools, json, threading, time
from suite.worker.scenarios.tfdata import pipelines
from suite.worker.scenarios.mlp.networks import A, examples

made, inside, most, lock = 0, 0, 0, threading.Lock()

def slow(inputs):
    global made, inside, most
    with lock:
        made += 1
        inside += 1
        most = max(most, inside)
    time.sleep(0.01)
    with lock:
        inside -= 1
    return inputs

pipelines.normalise_in_numpy = slow
inputs, labels = examples(A, 1000)
for calls, prefetch in itertools.product(("sequential", "autotune"), ("off", "on")):
    pipeline = pipelines.Pipeline(batch=4, prefetch=prefetch, function="numpy_function", calls=calls)
    batches = iter(pipeline.build(inputs, labels, endless=True))
    made = most = 0
    next(batches)
    first = made
    time.sleep(0.5)
    unasked = made - first
    for _ in range(5):
        next(batches)
    print(json.dumps([calls, prefetch, first, unasked, most]), flush=True)
    del batches
    time.sleep(0.2)
"""


@pytest.fixture(scope="module")
def counted(engine: DockerEngine, cpu_image: Image) -> dict[tuple[str, str], Any]:
    """By calls and prefetch: elements mapped for the first batch of four and, in the half second
    after it, for nobody; and the most calls of the map at once."""
    lines = map(json.loads, hear(engine, cpu_image, "-c", COUNT))
    return {(calls, prefetch): rest for calls, prefetch, *rest in lines}


def test_a_sequential_map_without_prefetch_does_what_it_is_asked_for(counted: Any) -> None:
    assert counted["sequential", "off"] == [4, 0, 1]


def test_a_prefetch_works_ahead_and_a_sequential_map_stays_one(counted: Any) -> None:
    _, unasked, most = counted["sequential", "on"]
    assert unasked > 0
    assert most == 1


def test_parallel_calls_are_parallel_where_there_are_cpus(
    engine: DockerEngine, counted: Any
) -> None:
    if len(engine.cpus()) < 2:
        pytest.skip("one CPU")
    assert counted["autotune", "on"][2] > 1
