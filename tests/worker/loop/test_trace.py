"""What a trace says of a GPU: the union of its streams, copies apart, gaps between."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from suite.worker.loop.trace import NoTrace, summarise

US = 1_000_000  # picoseconds


def plane(name: str, **lines: list[tuple[str, int, int]]) -> Any:
    """A plane; events of a line are (name, begin, length) in microseconds."""
    names = sorted({event[0] for events in lines.values() for event in events})
    return SimpleNamespace(
        name=name,
        event_metadata={i: SimpleNamespace(name=one) for i, one in enumerate(names)},
        lines=[
            SimpleNamespace(
                name=line.replace("_", " "),
                timestamp_ns=5_000,
                events=[
                    SimpleNamespace(
                        metadata_id=names.index(one), offset_ps=at * US, duration_ps=length * US
                    )
                    for one, at, length in events
                ],
            )
            for line, events in lines.items()
        ],
    )


def space(*planes: Any) -> Any:
    return SimpleNamespace(planes=list(planes))


def test_streams_that_overlap_are_busy_once() -> None:
    gpu = plane(
        "/device:GPU:0",
        Stream_13=[("gemm", 0, 10), ("gemm", 20, 10)],
        Stream_14=[("MemcpyH2D", 5, 10)],
        XLA_Modules=[("cluster", 0, 1000)],
    )
    found = summarise(space(plane("/host:CPU", python=[("f", 0, 9)]), gpu), 100e-6, 2)
    assert found["busy_share"] == pytest.approx(0.25)
    assert found["copy_share"] == pytest.approx(0.10)
    assert (found["kernels"], found["copies"]) == (1.0, 0.5)
    assert found["longest_gap_s"] == pytest.approx(5e-6)
    assert found["call_s"] == pytest.approx(50e-6)


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (plane("/device:GPU:0", XLA_Modules=[("cluster", 0, 9)]), "no work of the GPU"),
        (plane("/host:CPU"), "no GPU"),
    ],
)
def test_a_gpu_of_which_nothing_was_seen_is_not_called_idle(seen: Any, reason: str) -> None:
    with pytest.raises(NoTrace, match=reason):
        summarise(space(seen), 1e-3, 1)
