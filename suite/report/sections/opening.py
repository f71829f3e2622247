"""What a reader must know beside the answers: which machine, whether it is sound, what failed, what ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from suite.analysis.result.arms import Machine
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import WRONG, CellAnalysis
from suite.report.sections.controls import describe_failed, sort_controls
from suite.report.sections.limits import describe_impossible, describe_shortfalls
from suite.report.sections.sustained import describe_falls
from suite.report.sections.tools import describe_tools
from suite.report.sections.validity import describe_builds
from suite.report.sections.versions import list_versions, tell_differing
from suite.report.text.names import name_cells
from suite.report.text.units import join_words, show_bytes, show_duration, show_things
from suite.report.text.wording import NO_FINDING, word, word_invalid, word_missing


def name_machine(machine: Machine) -> str:
    """The machine in one line."""
    parts = [(machine.cpu or "processor not recorded")]
    if machine.cpus_used is not None:
        of = f" of {machine.cpus}" if machine.cpus is not None else ""
        parts.append(f"{machine.cpus_used}{of} logical CPUs used")
    if machine.memory_bytes is not None:
        parts.append(f"{show_bytes(machine.memory_bytes)} of memory")
    gpus = (
        f"{count} × {gpu}" if count > 1 else gpu for gpu, count in Counter(machine.gpus).items()
    )
    parts.append(", ".join(gpus) or "no GPU seen")
    return "; ".join(parts)


def describe_machine(analysis: Analysis) -> str:
    """The machine's type, processor, GPUs with memory and driver, and TensorFlow, as far as is known."""
    arm = analysis.arms[analysis.gpu or analysis.base]
    watched, driver = arm.watched.gpu, _read_fact(analysis, "gpu.driver")
    gpu = [
        *(
            [f"{show_bytes(watched.memory_bytes)} of GPU memory"]
            if watched and watched.memory_bytes
            else []
        ),
        *([f"driver {driver}"] if driver else []),
    ]
    builds = {arm: details.build for arm, details in analysis.arms.items()}
    every = {
        arm: build.versions.get("TensorFlow") if build else None for arm, build in builds.items()
    }
    of_versions = analysis.others and not analysis.rivals
    named = [every[arm] for arm in (list_versions(analysis) if of_versions else every)]
    versions = [str(version) for version in dict.fromkeys(named) if None not in named]
    version = " → ".join(versions) if len(versions) == 1 or of_versions else ""
    parts = [
        _read_fact(analysis, "engine.machine.type"),
        name_machine(analysis.machine),
        ", ".join(gpu),
        f"TensorFlow {version}" if version else "",
    ]
    return "; ".join(filter(None, parts))


def _read_fact(analysis: Analysis, name: str) -> str:
    """The first value that any arm's documents have of a fact."""
    values = (value for arm in analysis.arms.values() for value in arm.facts.get(name, ()))
    return next((str(value) for value in values if value is not None), "")


def name_devices(analysis: Analysis) -> str:
    """Which GPU each arm has, where there are several, and which of them the causes are about."""
    named = []
    for arm, details in analysis.arms.items():
        if details.device is not None:
            facts = (details.facts.get(f"gpu.0.{fact}", (None,))[0] for fact in ("name", "uuid"))
            name, identity = (str(value or "") for value in facts)
            which = f"{name or 'name not recorded'}{f' ({identity})' if identity else ''}"
            named.append(f"{arm} is GPU {details.device}, {which}")
    if not named:
        return ""
    return f"GPUs: {'; '.join(named)}. Causes and improvements are about {analysis.gpu}."


UNSOUND = "UNSOUND"


def judge_soundness(analysis: Analysis) -> tuple[str, str]:
    """Whether the campaign is ``sound``, in a word, and why."""
    if analysis.invalid:
        return "INVALID", word_invalid(analysis.invalid)
    controls = sort_controls(analysis)
    failed = controls["failed"] or describe_failed(analysis)
    unsound = [
        *_list_unsound(analysis)[:1],
        *(["a control failed"] if failed else []),
        *(
            f"{arm} gives wrong results in {len(wrong)} of {show_things(len(analysis.cells), 'cell')}"
            for arm, wrong in analysis.wrong.items()
        ),
        *(["impossible numbers"] if describe_impossible(analysis) else []),
    ]
    if unsound:
        return UNSOUND, "; ".join(unsound)
    doubts = [
        *(["simulated"] if _is_simulated(analysis) else []),
        *(
            f"{show_things(lost, 'cell')} of work failed on {arm}"
            for arm in analysis.arms
            if (lost := sum(cell.arms[arm].outcome == "failed" for cell in analysis.work))
        ),
        *(
            f"{answer}: {', '.join(controls[answer])}"
            for answer in ("too wide to tell", "not run")
            if controls[answer]
        ),
    ]
    if doubts or not controls["held"]:
        return "not shown to be sound", "; ".join(doubts) or "no control ran"
    return "sound", "every control ran, and held"


def _list_unsound(analysis: Analysis) -> list[str]:
    """What makes the machine unsound."""
    return [word(flag) for flag in analysis.flags if flag.scope == "machine"]


def _is_simulated(analysis: Analysis) -> bool:
    return any(flag.code in {"simulated", "stand-in"} for flag in analysis.flags)


def warn(analysis: Analysis) -> list[str]:
    """What a reader must know before any answer: what else makes the machine unsound than `judge_soundness`
    says, wrong results, failed controls, impossible numbers, rates that don't last."""
    invalid = [word_invalid(analysis.invalid)] if analysis.invalid else []
    unsound = [] if analysis.invalid else _list_unsound(analysis)[1:]
    return [
        *(f"{UNSOUND}: {why}." for why in unsound),
        *tell_wrong(analysis),
        *tell_differing(analysis),
        *describe_failed(analysis),
        *describe_impossible(analysis),
        *describe_shortfalls(analysis),
        *describe_falls(analysis),
        *describe_tools(analysis),
        *(
            f"{flag.where['arm']} in block {flag.where['block']} {word(flag)}."
            for flag in analysis.excluded
            if flag.code in {"off-pace", "off-pace-then"}
        ),
        *(f"THE CAMPAIGN IS INVALID: {why}. {NO_FINDING}" for why in invalid),
        *(describe_builds(analysis) if analysis.software_differs else []),
    ]


def tell_wrong(analysis: Analysis) -> list[str]:
    """Which arm was refused or computes wrongly, before a word of its speed."""
    sentences, refused = [], analysis.campaign.not_run
    for arm in analysis.arms:
        if arm in refused:
            sentences.append(_end(f"{arm} WAS NOT MEASURED: {refused[arm]}"))
        if wrong := analysis.wrong.get(arm):
            reason = word_missing(analysis.results(arm)[wrong[0]]) or ""
            why = reason.partition(WRONG)[2].strip()
            sentences.append(
                f"{arm} GIVES WRONG RESULTS: {show_things(len(wrong), 'cell')} without a number, the "
                f"first {wrong[0]}: {why}."
            )
    return sentences


def account(analysis: Analysis) -> list[str]:
    """What was measured and what was not, and how long it took."""
    campaign = analysis.campaign
    cells, work = show_things(len(analysis.cells), "cell"), len(analysis.work)
    of = f"{work} of work" + ", the others explain or check these" * (work < len(analysis.cells))
    sentences = [f"{cells}, each a case with its settings ({of}); profile {campaign.profile}."]
    if campaign.rechecks:
        sentences.append(f"It measured these cells of {campaign.rechecks} again.")
    alike: dict[str, list[str]] = {}
    for arm, details in analysis.arms.items():
        done = f"{len(details.blocks)} of {show_things(campaign.blocks, 'block')} done"
        outcomes = count_outcomes(analysis.cells, arm, why=True)
        alike.setdefault(f"{done}, {outcomes}.", []).append(arm)
    sentences += [f"{join_words(arms)}: {words}" for words, arms in alike.items()]
    for arm, reason in campaign.not_run.items():
        if arm not in analysis.arms:
            # Without what was looked at.
            sentences.append(_end(f"{arm} was not run: {reason.partition(': looked at')[0]}"))
    if campaign.stopped:
        sentences.append(_end(f"The campaign ended early: {campaign.stopped}"))
    deaths = len(analysis.deaths)
    if deaths:
        sentences.append(f"{show_things(deaths, 'container')} died.")
    if campaign.prediction.actual_s > 0:
        took = show_duration(campaign.prediction.actual_s)
        sentences.append(f"It took {took} of container time.")
    return sentences


def _say_why(cells: Sequence[CellAnalysis], arm: str, outcome: str) -> str:
    """Why cells were skipped or failed: of one which, the one reason of all, or the first of several."""
    names = name_cells(cells)
    whys = {
        names[cell.id]: (word_missing(cell.arms[arm]) or "").partition(outcome)[2].lstrip(": ")
        for cell in cells
        if cell.arms[arm].outcome == outcome
    }
    name, why = next(iter(whys.items()))
    if len(whys) == 1:
        return f" ({name}: {why})"
    return f" ({why})" if len(set(whys.values())) == 1 else f" (the first: {name}: {why})"


def count_outcomes(cells: Sequence[CellAnalysis], arm: str, *, why: bool = False) -> str:
    """What became of these cells on an arm: ``58 of 60 measured, 2 skipped``, and ``why`` these were."""
    results = [cell.arms[arm] for cell in cells]
    counts = Counter(result.outcome for result in results if result.outcome != "measured")
    numbers = sum(result.estimate is not None for result in results)
    invalid = sum(bool(result.estimate and result.invalid) for result in results)
    besides = f" ({invalid} INVALID)" if invalid else ""
    parts = [f"{numbers} of {len(results)} measured{besides}"]
    if counts["skipped"]:
        parts.append(f"{counts['skipped']} skipped{_say_why(cells, arm, 'skipped') if why else ''}")
    if counts["failed"]:
        parts.append(f"{counts['failed']} failed{_say_why(cells, arm, 'failed') if why else ''}")
    if counts["pending"]:
        parts.append(f"{counts['pending']} pending")
    refused = len(results) - numbers - counts.total()
    if refused:
        parts.append(f"{refused} without a number")
    return ", ".join(parts)


def _end(sentence: str) -> str:
    """The sentence with its full stop; a reason from outside can have brought one."""
    return sentence if sentence.endswith(".") else f"{sentence}."
