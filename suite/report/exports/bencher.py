"""Bencher Metric Format (bencher.dev/docs/reference/bencher-metric-format)."""

from __future__ import annotations

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import ArmResult
from suite.report.exports.numbers import list_numbers, write_json

_NS = 1e9
"""Bencher's measure ``latency`` is in nanoseconds."""


def export_bencher(analysis: Analysis) -> dict[str, bytes]:
    """The latency of a call by cell and arm, with the ends of its interval."""
    found = {one.name: {"latency": _scale(one.result)} for one in list_numbers(analysis)}
    return {f"{analysis.campaign.folder}.bencher.json": write_json(found)}


def _scale(one: ArmResult) -> dict[str, float]:
    ends = {"value": one.value, "lower_value": one.low, "upper_value": one.high}
    return {name: end * _NS for name, end in ends.items() if end is not None}
