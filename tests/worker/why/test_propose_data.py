"""What is tried of a script's data: from what was watched alone, and what must not be offered."""

from __future__ import annotations

from typing import Any

import pytest

from suite.model.why import PythonCall, Stage, Statement, Try, Watched
from suite.worker.why.interventions.cache import CACHE
from suite.worker.why.interventions.memory import MEMORY
from suite.worker.why.interventions.parallel import PARALLEL
from suite.worker.why.interventions.python_functions import PYTHON_DATA, PYTHON_MODEL
from suite.worker.why.interventions.workers import PYDATASET

SLICES = ("from_tensor_slices", {})
SHUFFLE = ("shuffle", {"random": True})
MAP = ("map", {})
FLIP = ("map", {"random": True})
UNSEEN = ("map", {"random": None})
BATCH = ("batch", {})


def chain(*stages: tuple[str, dict[str, Any]], number: int = 0, first: int = 1) -> list[Stage]:
    """A stage a line, from this line on."""
    return [
        Stage(
            **{
                "dataset": number,
                "method": method,
                "line": line,
                "random": False,
                "key": f"{line}.{method}",
                **more,
            }
        )
        for line, (method, more) in enumerate(stages, first)
    ]


def watched(*stages: Stage, **more: Any) -> Watched:
    return Watched(clock="fit", line=99, stages=list(stages), **more)


def propose(intervention: Any, seen: Watched) -> list[Try]:
    return list(intervention.propose(seen, False))


@pytest.mark.parametrize(
    ("stages", "target"),
    [
        ([SLICES, MAP, BATCH], "2.map"),
        # The last one that works, and is not random.
        ([SLICES, MAP, MAP, SHUFFLE, BATCH], "3.map"),
        ([SLICES, MAP, FLIP, BATCH], "2.map"),
        ([("from_generator", {}), SHUFFLE, BATCH], "1.from_generator"),
        # What only mixes or repeats comes behind the cache.
        ([SLICES, SHUFFLE, MAP, BATCH], "3.map,2.shuffle"),
        ([SLICES, SHUFFLE, ("repeat", {}), MAP, FLIP, BATCH], "4.map,2.shuffle,3.repeat"),
        ([SLICES, SHUFFLE, ("prefetch", {}), MAP], "4.map,2.shuffle"),
        # Batches that were mixed before are others in each epoch.
        ([SLICES, SHUFFLE, BATCH, MAP], None),
        ([SLICES, MAP, SHUFFLE, BATCH, MAP], "2.map"),
        ([SLICES, SHUFFLE, ("take", {}), MAP], None),
        ([SLICES, SHUFFLE, ("flat_map", {}), BATCH], None),
        # Random, or nobody could see whether it is.
        ([SLICES, FLIP, MAP, BATCH], None),
        ([SLICES, UNSEEN, BATCH], None),
        ([("zip", {"random": True}), MAP, BATCH], None),
        # `list_files` mixes by itself; what is always the same mix stays.
        ([SLICES, ("shuffle", {"random": True, "key": "", "line": None}), MAP], "3.map,"),
        ([SLICES, ("shuffle", {}), ("skip", {}), MAP], "4.map"),
        # Cached as it is.
        ([SLICES, MAP, ("cache", {}), SHUFFLE, BATCH], None),
        ([SLICES, ("cache", {}), MAP, BATCH], "3.map"),
        ([SLICES, SHUFFLE, ("cache", {}), MAP, BATCH], "4.map"),
        # Nothing that works, or not in the script.
        ([SLICES, SHUFFLE, BATCH], None),
        ([SLICES, ("map", {"key": "", "line": None}), BATCH], None),
        # More than a machine has.
        ([SLICES, ("map", {"bytes": 2**33}), BATCH], None),
    ],
)
def test_a_cache_is_put_behind_the_last_work_that_is_the_same_each_time(
    stages: list[tuple[str, dict[str, Any]]], target: str | None
) -> None:
    tries = propose(CACHE, watched(*chain(*stages)))
    assert [each.target for each in tries] == ([] if target is None else [target])
    for each in tries:
        assert each.training == ("distribution" if "," in each.target else "unchanged")
        assert ("behind it" in each.text) == ("," in each.target)


def test_a_stage_that_moves_finds_its_way_back_in_every_chain_or_stays() -> None:
    train = chain(SLICES, SHUFFLE, MAP, BATCH)
    other = [train[0], train[1], *chain(BATCH, number=1, first=9)]
    assert propose(CACHE, watched(*train, *[each for each in other if each.dataset]))
    both = [Stage(**{**vars(each), "dataset": 1}) for each in other]
    assert not propose(CACHE, watched(*train, *both))


def test_one_cache_for_a_function_that_makes_several_data_sets() -> None:
    train, test = (chain(SLICES, MAP, BATCH, number=number) for number in (0, 1))
    (one,) = propose(CACHE, watched(*train, *test))
    assert (one.name, one.line, one.text) == ("cache:2", 2, ".map(…).cache()")
    assert one.needs.startswith("memory for its elements")


@pytest.mark.parametrize(
    ("stages", "target", "training"),
    [
        ([SLICES, MAP, BATCH], "2.map;3.batch", "unchanged"),
        ([SLICES, FLIP, ("prefetch", {})], "2.map;", "distribution"),
        ([SLICES, ("map", {"parallel": True}), BATCH], ";3.batch", "unchanged"),
        ([SLICES, ("map", {"parallel": True}), BATCH, ("prefetch", {})], None, None),
        ([SLICES, ("interleave", {}), ("prefetch", {})], "2.interleave;", "unchanged"),
    ],
)
def test_maps_that_wait_are_told_to_work_at_once(
    stages: list[tuple[str, dict[str, Any]]], target: str | None, training: str | None
) -> None:
    tries = propose(PARALLEL, watched(*chain(*stages)))
    assert [(e.target, e.training, e.waits) for e in tries] == (
        [] if target is None else [(target, training, True)]
    )


def call(kind: str, line: int, *, of_data: bool = True, **more: Any) -> PythonCall:
    told = {"name": "f", "calls": 9, "seconds": 1.0, **more}
    return PythonCall(line=line, kind=kind, of_data=of_data, **told)


STEP = Statement(line=8, end_line=8, text="step(x)", loop=7, calls=9, seconds=1.0, is_step=True)


@pytest.mark.parametrize(
    ("seen", "line"),
    [
        ({"stages": chain(SLICES, MAP, BATCH)}, 2),
        ({"stages": chain(SLICES, BATCH)}, 1),
        ({"stages": chain(SLICES, UNSEEN), "python_calls": [call("py_function", 30)]}, 30),
        ({"python_calls": [call("generator", 12), call("generator", 3, seconds=0.1)]}, 12),
        # A loop over Python counts where it holds the step.
        ({"python_calls": [call("for", 7)], "statements": [STEP]}, 7),
        ({"python_calls": [call("for", 6)], "statements": [STEP]}, None),
        ({"python_calls": [call("py_function", 5, of_data=False)]}, None),
        ({}, None),
    ],
)
def test_memory_stands_for_all_input_there_is(seen: dict[str, Any], line: int | None) -> None:
    tries = propose(MEMORY, Watched(clock="fit", line=99, **seen))
    assert [(each.kind, each.line) for each in tries] == (
        [] if line is None else [("ceiling", line)]
    )
    assert [each.target for each in tries if each.target] == (["7"] if line == 7 else [])
    # What a loop of the script's own goes over may come from where nobody looks.
    assert propose(MEMORY, Watched(clock="tape", line=99, **seen))


def test_python_of_the_data_is_input_and_python_in_the_model_a_fallback() -> None:
    seen = watched(
        python_calls=[
            call("py_function", 4, name="parse", seconds=2.0, waits=True),
            call("for", 9, seconds=9.0),
            call("numpy_function", 6, name="norm", of_data=False),
        ]
    )
    (data,), (model,) = propose(PYTHON_DATA, seen), propose(PYTHON_MODEL, seen)
    assert (data.cause, data.line, data.waits, model.cause, model.line) == (
        *("input", 4, True),
        *("fallback", 6),
    )
    assert data.text == "the results of parse (line 4) taken from memory"
    assert not propose(PYTHON_MODEL, watched())


@pytest.mark.parametrize(
    ("kind", "workers", "seconds", "tried"),
    [
        ("generator", "1 threads", 1.0, True),
        ("generator", "0 threads", 1.0, True),
        # Several as it is, or a process; no `PyDataset`; next to nothing.
        ("generator", "2 threads", 1.0, False),
        ("generator", "1 processes", 1.0, False),
        ("generator", None, 1.0, False),
        ("from_generator", "1 threads", 1.0, False),
        ("generator", "1 threads", 0.4, False),
    ],
)
def test_a_pydataset_that_takes_time_is_given_workers(
    kind: str, workers: str | None, seconds: float, tried: bool
) -> None:
    seen = watched(
        python_calls=[
            call(kind, 12, name="Slices", seconds=seconds),
            call(kind, 19, name="Others", seconds=seconds / 2),
        ],
        settings={"workers": workers} if workers else {},
        counts={"seconds": 10.0},
    )
    assert [(e.name, e.line, e.waits, e.training, e.text) for e in propose(PYDATASET, seen)] == [
        (
            *("workers", 12, True, "unchanged"),
            "super().__init__(workers=4, use_multiprocessing=False, max_queue_size=10) in Slices",
        )
    ] * tried
