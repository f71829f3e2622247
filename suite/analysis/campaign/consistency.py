"""Whether what an arm's invocations tell was alike, and what they say beside a cell's numbers; pure.

Raises flags; it drops nothing itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from suite.analysis.campaign.proof import Withheld, is_simulated
from suite.analysis.campaign.time_spent import ENDED_WELL
from suite.analysis.campaign.validity import find_labels
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.result.cells import ArmResult, Checked
from suite.analysis.result.numbers import Evidence
from suite.cells.cell import Cell
from suite.flags import Flag, raise_flag
from suite.model import (
    CACHE,
    Campaign,
    CellResult,
    Document,
    OutcomeName,
    Scalar,
    count_compiled,
)

_IDENTITY = re.compile(r"(^|[._])(driver|version|model|name)([._]|$)")
"""Facts whose change during a campaign means that something else was measured."""

_GPU = re.compile(r"^gpu(\.\d+)?\.uuid$")
"""Facts that say which GPU it was.  A driver may not tell, so that not known is no change."""


LEAST_JUMP_S = 1.0
"""What keeps a clock right moves it by less."""

_WORST: Sequence[OutcomeName] = ("failed", "skipped", "pending")
"""Of several outcomes without a number the first of these says most."""


def counted_documents(loaded: LoadedCampaign) -> dict[str, dict[int, Document]]:
    """By arm and block the documents that count: block 1 on, the last repeat of each, and of a block that is
    measured again none from before.

    Every arm of the plan is there, also one without documents.
    """
    counted = take_counted(loaded.campaign, loaded.documents)
    return {arm: counted.get(arm, {}) for arm in loaded.campaign.arms}


def take_counted(
    campaign: Campaign, documents: Iterable[Document]
) -> dict[str, dict[int, Document]]:
    """The same of some of a campaign's documents, by the arms that have any."""
    counted: dict[str, dict[int, Document]] = {}
    for document in documents:
        of = document.invocation
        if of.block >= 1 and of.repeat >= campaign.first_counted(of.block):
            counted.setdefault(of.arm, {})[of.block] = document
    return counted


def flag_campaign(loaded: LoadedCampaign) -> list[Flag]:
    """What has to be said over everything."""
    campaign = loaded.campaign
    stand_in = any(map(is_simulated, loaded.every_document))
    isolations = {document.invocation.isolation for document in loaded.documents}
    holds = {
        "stand-in": stand_in,
        "simulated": campaign.simulated and not stand_in,
        "not-containerized": "none" in isolations,
        "container-unseen": "unseen" in isolations,
    }
    return [raise_flag(code) for code, said in holds.items() if said]


def flag_arms(loaded: LoadedCampaign) -> dict[str, list[Flag]]:
    """By arm what stands beside every number on it, or against it: its invocations were not all alike.

    Something else was measured half-way: another suite, image, driver or machine; or the same, under
    other limits.
    """
    by_arm = counted_documents(loaded)
    planned = loaded.campaign.suite.content
    every = [document for documents in by_arm.values() for document in documents.values()]
    suite_changed = _vary([planned, *(document.suite.content for document in every)])
    flags: dict[str, list[Flag]] = {}
    for arm, by_block in by_arm.items():
        # An invocation whose cells all rested had no container, and tells of nothing.
        documents = [each for each in by_block.values() if each.invocation.containers]
        where = {"arm": arm}
        raised = flags[arm] = []
        if documents and suite_changed:
            raised.append(raise_flag("changed", what="suite"))
        images = [document.invocation.image for document in documents]
        if _vary(image.content or image.id for image in images):
            raised.append(raise_flag("changed", where, what="image"))
        facts = _find_changed_facts(documents)
        if facts:
            raised.append(raise_flag("changed", where, what="facts", facts=facts))
        if _vary(document.invocation.isolation for document in documents):
            raised.append(raise_flag("isolation-differs", where))
        limits = [document.invocation.limits for document in documents]
        if _vary(tuple(sorted((n, tell_apart(v)) for n, v in limit.items())) for limit in limits):
            raised.append(raise_flag("limits-differ", where))
        jumps = (document.invocation.clock_jump_s or 0.0 for document in documents)
        jump_s = max(map(abs, jumps), default=0.0)
        if jump_s >= LEAST_JUMP_S:
            raised.append(raise_flag("clock-set", where, most=jump_s))
        cells = [cell for document in documents for cell in document.cells]
        again = sum(len(cell.replaced_s) for cell in cells)
        if again:
            samples = sum(len(cell.samples_s) for cell in cells)
            share = again / samples
            raised.append(
                raise_flag("measured-again", where, again=again, samples=samples, share=share)
            )
    return flags


def flag_cell(
    where: Mapping[str, str], results: Mapping[int, CellResult], planned_calls: int | None
) -> list[Flag]:
    """What stands beside one cell's number on one arm, from what each block has of it."""
    flags = []
    measured = {block: result for block, result in results.items() if result.outcome == "measured"}
    if len(measured) < len(results):
        missing = [
            (result.outcome, block, find_reason(result))
            for block, result in results.items()
            if not result.samples_s
        ]
        some, every = len(measured), len(results)
        flags.append(
            raise_flag("blocks-missing", where, missing=missing, measured=some, every=every)
        )
    calls = {result.calls_per_sample for result in measured.values()}
    calls |= {planned_calls} if planned_calls is not None else set()
    if len(calls) > 1:
        flags.append(raise_flag("calls-differ", where))
    works = [result.work for result in measured.values() if result.work]
    if _vary((work.amount, work.unit) for work in works):
        flags.append(raise_flag("work-differs", where))
    return flags


def flag_labels(where: Mapping[str, str], measured: Mapping[int, CellResult]) -> list[Flag]:
    """What the documents say beside one cell's numbers on one arm."""
    labels: dict[tuple[str, str], dict[int, None]] = {}
    for block, result in measured.items():
        for label in find_labels(result):
            labels.setdefault(label, {})[block] = None
    return [
        raise_flag(code, {**where, "blocks": tuple(blocks)}, of=len(measured), label=label)
        for (code, label), blocks in labels.items()
    ]


def find_checked(results: Mapping[int, CellResult]) -> Checked | None:
    """What the checks of a cell's measured invocations on an arm computed; None: nothing."""
    measured = [result for result in results.values() if result.outcome == "measured"]
    checks = [result.check for result in measured if result.check]
    values = [check.value for check in checks if check.value is not None]
    if not values:
        return None
    tolerance = max(check.tolerance or 0.0 for check in checks)
    return Checked(low=min(values), high=max(values), tolerance=tolerance)


def find_disagreement(checked: Mapping[str, Checked | None]) -> Flag | None:
    """Why a cell's results can't be the same work on every arm and in every block, or None.

    Compares what the checks computed, relative to the largest of it, with the widest tolerance that
    one of them declares.
    """
    checks = {arm: check for arm, check in checked.items() if check is not None}
    if not checks:
        return None
    tolerance = max(check.tolerance for check in checks.values())
    ends = [end for check in checks.values() for end in (check.low, check.high)]
    # Half of each, so that the largest floats do not overflow.
    if max(ends) / 2 - min(ends) / 2 <= tolerance * max(map(abs, ends)) / 2:
        return None
    ranges = [(arm, check.low, check.high) for arm, check in checks.items()]
    return raise_flag("results-differ", tolerance=tolerance, seen=ranges)


def find_refused(
    results: Mapping[str, Mapping[str, ArmResult]], base: str, other: str
) -> dict[str, Flag]:
    """Why two arms must not be compared, by cell, of those whose checks computed what differs between them;
    ``results`` are by cell and arm."""
    found = {
        cell: find_disagreement({arm: arms[arm].check for arm in (base, other)})
        for cell, arms in results.items()
    }
    return {cell: flag for cell, flag in found.items() if flag is not None}


def find_missing(
    campaign: Campaign,
    cell: Cell,
    arm: str,
    results: Mapping[int, CellResult],
    documents: Mapping[int, Document],
) -> tuple[OutcomeName, Flag]:
    """Why an arm has no number for a cell: the outcome that says most, and what every block has of it."""
    where = {"arm": arm, "cell": cell.id}
    if results:
        outcomes = {result.outcome for result in results.values()}
        worst = next(name for name in _WORST if name in outcomes)
        endings: list[tuple[tuple[str, str | Evidence, str], list[int]]] = []
        for block, result in results.items():
            container = _find_ending(result, documents[block])
            ending = result.outcome, find_reason(result) or "", container
            alike = next((blocks for other, blocks in endings if other == ending), None)
            if alike is None:
                endings.append((ending, [block]))
            else:
                alike.append(block)
        if [ending for ending, _ in endings] == [("pending", "", "")]:
            return worst, raise_flag("not-reached", where)
        return worst, raise_flag("not-measured", where, endings=endings)
    if cell.needs_gpu and not campaign.arm(arm).gpu:
        return "skipped", raise_flag("not-on-arm", where, arms=campaign.gpu_arms)
    left = campaign.excluded.get(arm, {}).get(cell.id)
    if left is not None and campaign.calibration:
        # A block found it, and all of that block was set aside.
        ending = (left.outcome, left.reason, "")
        return left.outcome, raise_flag(
            *("not-measured", where), endings=[(ending, [campaign.calibration])]
        )
    if left is not None:
        return left.outcome, raise_flag(
            *("left-out", where), outcome=left.outcome, reason=left.reason
        )
    return "pending", raise_flag("not-tried" if documents else "no-block", where)


def _find_changed_facts(documents: Sequence[Document]) -> list[str]:
    """The facts of another driver or machine."""
    facts = [document.facts for document in documents]
    watched = [document.telemetry.facts for document in documents if document.telemetry]
    return [
        *_find_varying(facts, _IDENTITY, known=False),
        *_find_varying(facts, _GPU),
        *sorted({*_find_varying(watched, _GPU), *_find_varying(watched, _IDENTITY)}),
    ]


def _find_varying(
    told: Sequence[Mapping[str, Scalar]], names: re.Pattern[str], *, known: bool = True
) -> list[str]:
    """The facts of such names that were not the same everywhere, or wherever they were ``known``, sorted."""
    found = sorted({name for facts in told for name in facts if names.search(name)})
    seen = {
        name: {
            tell_apart(facts.get(name)) for facts in told if not (known and facts.get(name) is None)
        }
        for name in found
    }
    return [name for name in found if len(seen[name]) > 1]


def flag_cold(arm: str, documents: Mapping[int, Document]) -> list[Flag]:
    """What a cold figure (a first call, a start) on an arm holds beside what it is about: kernels that a
    GPU's driver compiled while an invocation ran.

    Only what the documents bear out: a cache that grew, or one that could not be read.
    """
    compiled = {
        block: count_compiled(document)
        for block, document in sorted(documents.items())
        if f"{CACHE}.at_start.files" in document.facts
    }
    grown = [(count, block) for block, count in compiled.items() if count]
    unknown = [block for block, count in compiled.items() if count is None]
    flags = [raise_flag("ptx-jit", {"arm": arm}, grown=grown)] if grown else []
    return [*flags, *([raise_flag("cold-cache", {"arm": arm}, unknown=unknown)] if unknown else [])]


def find_reason(result: CellResult) -> str | Evidence | None:
    """Why a cell has no number, in its document's words or as what was found in it."""
    return result.why if isinstance(result, Withheld) else result.reason


def _find_ending(result: CellResult, document: Document) -> str:
    """How the container ended in which a cell failed, where the cell's reason does not say it."""
    endings = {container.id: container.status for container in document.invocation.containers}
    ending = endings.get(result.container or "")
    if result.outcome != "failed" or not ending or ending == ENDED_WELL:
        return ""
    return "" if ending in f"failed: {result.reason}" else ending


def _vary(values: Iterable[object]) -> bool:
    """Whether they are not all the same."""
    return len(set(values)) > 1


def tell_apart(value: Scalar) -> tuple[str, Scalar]:
    """What is equal of equal values alone: True == 1 == 1.0 in Python; in a document they are different
    answers."""
    return (type(value).__name__, value)
