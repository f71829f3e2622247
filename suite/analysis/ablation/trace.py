"""A profiler's trace as an independent measurement of a cause: what the GPU did in a few untimed calls.

Pure.  The traces stand in the calibration's documents, whose samples do not count.
"""

from __future__ import annotations

from collections.abc import Mapping

from suite.analysis.campaign.summarise import Summary

Trace = Mapping[str, float]
"""What one trace says, as the worker's trace.py names it."""


def find_traces(summary: Summary) -> dict[str, dict[str, Trace]]:
    """The traces by arm and cell, from the calibration."""
    found: dict[str, dict[str, Trace]] = {}
    for document in summary.loaded.documents:
        if document.invocation.block == 0:
            traces = {one.id: one.trace for one in document.cells if one.trace}
            found.setdefault(document.invocation.arm, {}).update(traces)
    return found
