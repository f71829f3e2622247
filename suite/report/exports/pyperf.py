"""pyperf's JSON, a file an arm: ``pyperf compare_to X-cpu.pyperf.json X-cuda.pyperf.json --table``."""

from __future__ import annotations

from suite.analysis.result.campaign import Analysis
from suite.report.exports.facts import tell_facts
from suite.report.exports.numbers import list_numbers, write_json
from suite.report.text.wording import tell


def export_pyperf(analysis: Analysis) -> dict[str, bytes]:
    """A run an invocation, with its value alone.

    pyperf takes all values of a benchmark for independent ones.  Invocations are, samples of one are not.
    """
    benchmarks: dict[str, list[object]] = {arm: [] for arm in analysis.arms}
    for one in list_numbers(analysis):
        metadata = {"name": one.cell, "unit": "second", "notes": "; ".join(tell(one.result.flags))}
        runs = [{"values": [value]} for value in one.result.values.values()]
        benchmarks[one.arm].append(
            {"metadata": {key: value for key, value in metadata.items() if value}, "runs": runs}
        )
    files = {}
    for arm, found in benchmarks.items():
        told = tell_facts(analysis.arms[arm].facts)
        told |= {"campaign": analysis.campaign.id, "cpu_model_name": analysis.machine.cpu}
        content = {
            "version": "1.0",
            "metadata": {key: value for key, value in told.items() if value},
            "benchmarks": found,
        }
        if found:
            files[f"{analysis.campaign.folder}-{arm}.pyperf.json"] = write_json(content)
    return files
