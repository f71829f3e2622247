"""The JSON of github-action-benchmark's tool ``customSmallerIsBetter``."""

from __future__ import annotations

from suite.analysis.result.campaign import Analysis
from suite.report.exports.numbers import list_numbers, write_json
from suite.report.text.wording import tell


def export_github(analysis: Analysis) -> dict[str, bytes]:
    """The seconds of a call by cell and arm; what stands beside a number is in ``extra``."""
    found = []
    for one in list_numbers(analysis):
        value, low, high = one.result.value, one.result.low, one.result.high
        entry: dict[str, object] = {"name": one.name, "unit": "s", "value": value}
        if low is not None and high is not None:
            entry["range"] = f"{low!r} to {high!r}"
        notes = [f"campaign {analysis.campaign.id}", f"n = {one.result.n}"]
        found.append(entry | {"extra": "\n".join([*notes, *tell(one.result.flags)])})
    return {f"{analysis.campaign.folder}.github.json": write_json(found)}
