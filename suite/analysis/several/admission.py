"""Which campaigns may stand beside each other, and which of them are of one instance of a machine.  Pure.

Recognised by what their documents hold: ids, values, and the hashes of machines and GPUs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.shortlist import Exclusion
from suite.flags import Flag, raise_flag

COPIED = 0.05
"""Two campaigns that share so many of their values are one: no two measurements agree to the last digit."""

_HASHED = re.compile("[0-9a-f]{8}")
"""The label of a campaign that nobody gave one: a hash of the machine that the command ran on."""

Instance = tuple[bool, list[Analysis]]
"""Whether it is known which instance it is, and its campaigns."""


def admit(analyses: Sequence[Analysis]) -> tuple[list[Analysis], list[Exclusion]]:
    """The campaigns that most others can stand beside, and the rest with the reason."""
    content = _find_usual([one.suite.content for one in analyses])
    method = _find_usual([_tell_method(one) for one in analyses])
    admitted: list[Analysis] = []
    excluded = []
    counts: dict[str, int] = {}
    first: dict[tuple[str, float], str] = {}
    for run, one in enumerate(analyses, start=1):
        flag = _find_again(one, counts, first) or _find_other(one, content, method)
        if flag is None:
            admitted.append(one)
        else:
            excluded.append(Exclusion(run=run, campaign=one.campaign.id, flag=flag))
    return admitted, excluded


def _find_usual(found: Sequence[str]) -> str:
    """What most have; of several the first."""
    return Counter(found).most_common(1)[0][0]


def _tell_method(one: Analysis) -> str:
    """How a campaign measured, in a word for each part."""
    plan = one.campaign
    times = (f"warmup_s={plan.warmup_s:g}", f"measure_s={plan.measure_s:g}")
    names = []
    for name, fact in (("isolation", "isolation"), ("tensorflow", "tensorflow.version")):
        values = {str(v) for arm in one.arms.values() for v in arm.facts.get(fact, ())}
        names.append(f"{name}={'/'.join(sorted(values))}")
    return " ".join((*times, *names))


def _find_again(
    one: Analysis, counts: dict[str, int], first: dict[tuple[str, float], str]
) -> Flag | None:
    """Why a campaign is one of those that were named before, under its name or another; and it is one of
    them from now on.

    It is held against all of them at once: ``counts`` are their values, ``first`` is who had each value
    first.
    """
    name = one.campaign.id
    if name in counts:
        return raise_flag("same-campaign")
    results = ((cell.id, result) for cell in one.cells for result in cell.arms.values())
    values = {(cell, value) for cell, result in results for value in result.values.values()}
    counts[name] = len(values)
    holders = Counter(first.setdefault(value, name) for value in values)
    for other, count in counts.items():
        share = holders[other] / max(1, min(len(values), count))
        if share > COPIED and other != name:
            return raise_flag("copied", share=share, campaign=other)
    return None


def _find_other(one: Analysis, content: str, method: str) -> Flag | None:
    if not any(arm.blocks for arm in one.arms.values()):
        return raise_flag("none-counts")
    if one.suite.content != content:
        return raise_flag("other-suite", content=one.suite.content[:12], usual=content[:12])
    if (ours := _tell_method(one)) != method:
        return raise_flag("other-method", ours=ours.split(), usual=method.split())
    return None


def group_instances(admitted: Sequence[Analysis]) -> list[Instance]:
    """The campaigns by the instance that they are of, and whether that is known.

    The same machine or the same GPU is the same instance; a campaign that tells neither stands alone.
    """
    groups: list[tuple[set[str], list[Analysis]]] = []
    for one in admitted:
        marks = _identify(one)
        near = [group for group in groups if group[0] & marks]
        members = [member for _, found in near for member in found]
        for group in near:
            groups.remove(group)
            marks |= group[0]
        groups.append((marks, [*members, one]))
    return [(bool(marks), members) for marks, members in groups]


def _identify(one: Analysis) -> set[str]:
    """The hashes by which a campaign's machine and GPU are recognised; none where nothing was told."""
    found = set()
    for arm in one.arms.values():
        machines = arm.facts.get("engine.machine.id", ())
        if arm.facts.get("engine.endpoint.here") == (True,) and not any(machines):
            # From before documents told it.
            machines = (one.campaign.label,) if _HASHED.fullmatch(one.campaign.label or "") else ()
        found |= {f"machine {name}" for name in machines if name}
        found |= {f"gpu {name}" for name in arm.facts.get("gpu.0.uuid", ()) if name}
    return found
