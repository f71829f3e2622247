"""Which campaigns may stand beside each other, and which of them are of one instance of a machine.  Pure.

Recognised by what their documents hold: ids, values, and the hashes of machines and GPUs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from suite.analysis.result.campaign import Analysis
from suite.flags import Flag, raise_flag

COPIED = 0.05
"""Two campaigns that share so many of their values are one: no two measurements agree to the last digit."""

Instance = tuple[bool, list[Analysis]]
"""Whether it is known which instance it is, and its campaigns."""


def admit(
    analyses: Sequence[Analysis], copies: Mapping[str, Flag]
) -> tuple[list[Analysis], list[Flag]]:
    """The campaigns that most others can stand beside, and why the rest can't; ``copies`` is `find_copies`.

    Of the same values under two identities one is a copy, and nobody can tell which: neither counts.
    """
    content = _find_usual([analysis.suite.content for analysis in analyses])
    method = _find_usual([_describe_method(analysis) for analysis in analyses])
    admitted: list[Analysis] = []
    excluded = []
    names: set[str] = set()
    for run, analysis in enumerate(analyses, start=1):
        name = analysis.campaign.id
        flag = raise_flag("same-campaign") if name in names else copies.get(name)
        flag = flag or _find_other(analysis, content, method)
        names.add(name)
        if flag is None:
            admitted.append(analysis)
        else:
            excluded.append(replace(flag, where={"run": run, "campaign": name}))
    return admitted, excluded


def _find_usual(values: Sequence[str]) -> str:
    """What most have; of several the first."""
    return Counter(values).most_common(1)[0][0]


def _describe_method(analysis: Analysis) -> str:
    """How a campaign measured, in a word for each part."""
    plan = analysis.campaign
    times = (f"warmup_s={plan.warmup_s:g}", f"measure_s={plan.measure_s:g}")
    names = []
    for name, fact in (("isolation", "isolation"), ("tensorflow", "tensorflow.version")):
        values = {str(v) for arm in analysis.arms.values() for v in arm.facts.get(fact, ())}
        names.append(f"{name}={'/'.join(sorted(values))}")
    return " ".join((*times, *names))


def find_copies(analyses: Sequence[Analysis]) -> dict[str, Flag]:
    """By campaign, why it is one of those whose values another has as well.

    Of two that are of the same instance the later one is named; of two identities, or where one tells none,
    both are.
    """
    by_name = {analysis.campaign.id: analysis for analysis in reversed(analyses)}
    by_name = {name: by_name[name] for name in dict.fromkeys(a.campaign.id for a in analyses)}
    values: dict[str, set[tuple[str, float]]] = {}
    holders: dict[tuple[str, float], list[str]] = {}
    flags: dict[str, Flag] = {}
    for name, analysis in by_name.items():
        results = ((cell.id, result) for cell in analysis.cells for result in cell.arms.values())
        values[name] = {(id_, v) for id_, result in results for v in result.values.values()}
        shared = Counter(holder for value in values[name] for holder in holders.get(value, ()))
        for value in values[name]:
            holders.setdefault(value, []).append(name)
        for other, count in shared.items():
            share = count / max(1, min(len(values[name]), len(values[other])))
            if share <= COPIED:
                continue
            marks = _identify(analysis), _identify(by_name[other])
            if marks[0] & marks[1]:
                flags.setdefault(name, raise_flag("copied", share=share, campaign=other))
            else:
                code = "contradicts" if all(marks) else "copied-somewhere"
                for mine, theirs in ((name, other), (other, name)):
                    flags[mine] = raise_flag(code, share=share, campaign=theirs)
    return {name: flags[name] for name in by_name if name in flags}


def _find_other(analysis: Analysis, content: str, method: str) -> Flag | None:
    if not any(arm.blocks for arm in analysis.arms.values()):
        return raise_flag("none-counts")
    if analysis.suite.content != content:
        return raise_flag("other-suite", content=analysis.suite.content[:12], usual=content[:12])
    if (ours := _describe_method(analysis)) != method:
        return raise_flag("other-method", ours=ours.split(), usual=method.split())
    return None


def group_instances(admitted: Sequence[Analysis]) -> list[Instance]:
    """The campaigns by the instance that they are of, and whether that is known.

    The same machine or the same GPU is the same instance; a campaign that tells neither stands alone.
    """
    groups: list[tuple[set[str], list[Analysis]]] = []
    for analysis in admitted:
        marks = _identify(analysis)
        near = [group for group in groups if group[0] & marks]
        members = [member for _, analyses in near for member in analyses]
        for group in near:
            groups.remove(group)
            marks |= group[0]
        groups.append((marks, [*members, analysis]))
    return [(bool(marks), members) for marks, members in groups]


def _identify(analysis: Analysis) -> set[str]:
    """The hashes by which a campaign's machine and GPU are recognised; none where nothing was told."""
    return {
        f"{kind} {name}"
        for arm in analysis.arms.values()
        for kind, fact in (("machine", "engine.machine.id"), ("gpu", "gpu.0.uuid"))
        for name in arm.facts.get(fact, ())
        if name
    }
