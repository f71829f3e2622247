"""pyperf's JSON, a file an arm: ``pyperf compare_to X-cpu.pyperf.json X-cuda.pyperf.json --table``.

It has no place for doubts, so only numbers that are to be believed are in it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from suite.analysis.result.arms import Fact
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import ArmResult
from suite.report.render.plain import show_plainly
from suite.report.text.wording import name_banners, tell

FACTS: Mapping[str, tuple[str, ...]] = {
    "driver": ("gpu.driver",),
    "kernel": ("os.kernel",),
    "microcode": ("cpu.microcode",),
    "tensorflow": ("tensorflow.version",),
    "engine": ("engine.product", "engine.version"),
}
"""Of what a machine and an arm are made, by column: the facts that tell it."""


def export_pyperf(analysis: Analysis) -> dict[str, bytes]:
    """A run an invocation, with its value in seconds alone.

    pyperf takes all values of a benchmark for independent ones.  Invocations are, samples of one are not.
    A benchmark's name is the cell's id, with the campaign's banners behind it: SIMULATED numbers never have
    the name of others.
    """
    banners = [_join(banner) for banner in name_banners(analysis.flags)]
    files = {}
    for arm, about in analysis.arms.items():
        benchmarks = []
        for cell in analysis.cells:
            result = cell.arms[arm]
            if _find_doubt(result) is None:
                name = "/".join([_join(cell.id), *banners])
                notes = "; ".join(tell(result.flags))
                metadata = {"name": name, "unit": "second", **({"notes": notes} if notes else {})}
                runs = [{"values": [value]} for value in result.values.values()]
                benchmarks.append({"metadata": metadata, "runs": runs})
        facts = {
            **_tell_facts(about.facts),
            "campaign": analysis.campaign.id,
            "cpu_model_name": analysis.machine.cpu,
        }
        content = {
            "version": "1.0",
            "metadata": {key: value for key, value in facts.items() if value},
            "benchmarks": benchmarks,
        }
        if benchmarks:
            text = json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)
            files[f"{analysis.campaign.name_file(arm)}.pyperf.json"] = f"{text}\n".encode()
    return files


def count_left_out(analysis: Analysis) -> Counter[str]:
    """How many cells on an arm are not in it, by what they are instead: INVALID, or an outcome."""
    doubts = (_find_doubt(result) for cell in analysis.cells for result in cell.arms.values())
    return Counter(filter(None, doubts))


def _find_doubt(result: ArmResult) -> str | None:
    if result.invalid:
        return "INVALID"
    return None if result.value is not None else result.outcome


def _join(text: str) -> str:
    """The text without spaces, and all in letters that can be seen."""
    return re.sub(r"\s+", "-", show_plainly(text, limit=1000).strip())


def _tell_facts(facts: Mapping[str, Sequence[Fact]]) -> dict[str, str | None]:
    """The columns of `FACTS`, from all facts: several values where one changed meanwhile."""
    texts = {
        name: "; ".join(str(value) for value in values if value is not None)
        for name, values in facts.items()
    }
    return {
        column: " ".join(filter(None, map(texts.get, names))) or None
        for column, names in FACTS.items()
    }
