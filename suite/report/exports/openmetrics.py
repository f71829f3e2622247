"""OpenMetrics, as ``promtool tsdb create-blocks-from openmetrics`` reads it into Prometheus."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

from suite.analysis.result.campaign import Analysis
from suite.report.exports.facts import tell_facts
from suite.report.exports.numbers import list_numbers
from suite.report.exports.tidy import name_machine_key
from suite.report.render.plain import show_plainly

_GAUGES = {
    "call_seconds": ("Time of a call.", attrgetter("value")),
    "call_low_seconds": ("Lower end of its 95 % CI.", attrgetter("low")),
    "call_high_seconds": ("Upper end of its 95 % CI.", attrgetter("high")),
}


def export_openmetrics(analysis: Analysis) -> dict[str, bytes]:
    """A gauge a cell and arm, at the time when the campaign was planned."""
    at = f"{analysis.campaign.created.timestamp():.3f}"
    campaign, machine = analysis.campaign.id, name_machine_key(analysis)
    lines = []
    for name, (told, take) in _GAUGES.items():
        full = f"crossover_{name}"
        lines += [f"# TYPE {full} gauge", f"# UNIT {full} seconds", f"# HELP {full} {told}"]
        for one in list_numbers(analysis):
            labels = {"cell": one.cell, "arm": one.arm, "machine": machine, "campaign": campaign}
            if (value := take(one.result)) is not None:
                lines.append(f"{full}{_write_labels(labels)} {value!r} {at}")
    lines += [
        "# TYPE crossover_campaign info",
        "# HELP crossover_campaign What an arm ran on, and in.",
    ]
    for arm, about in analysis.arms.items():
        labels = {"campaign": campaign, "machine": machine, "arm": arm}
        told = _write_labels(labels | tell_facts(about.facts))
        lines.append(f"crossover_campaign_info{told} 1 {at}")
    text = "\n".join([*lines, "# EOF"]) + "\n"
    return {f"{analysis.campaign.folder}.openmetrics": text.encode()}


def _write_labels(labels: Mapping[str, str | None]) -> str:
    escaped = {
        name: show_plainly(value or "", limit=1000).replace("\\", "\\\\").replace('"', '\\"')
        for name, value in labels.items()
    }
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped.items()) + "}"
