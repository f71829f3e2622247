"""How do you know?  One page with all that stands behind the numbers of one cell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import ArmResult, CellAnalysis
from suite.analysis.result.receipt import Receipt, Turn
from suite.flags import pick
from suite.report.pictures.picture import Picture
from suite.report.sections.environment import show_facts, write_digests, write_facts, write_images
from suite.report.sections.tables.cells import (
    show_arm_ratio,
    show_time,
    show_verdict,
    write_marks,
)
from suite.report.text.names import name_receipt
from suite.report.text.page import NO_NUMBER, Cell, Code, Page, Row
from suite.report.text.texts import TEXTS
from suite.report.text.units import show_rate, show_seconds, show_whole
from suite.report.text.wording import name_banners, tell, word

_SOFTWARE = re.compile(
    r"(?:version|git|compiler|driver|release|kernel)$|^cuda\.(?!cache)|^tensorflow\.build|content"
)
"""Facts that say what was loaded."""


def explain_excluded(analysis: Analysis, receipt: Receipt) -> dict[str, tuple[str, ...]]:
    """By document why its samples do not count; nothing where they do."""
    (arms,) = (cell.arms for cell in analysis.cells if cell.id == receipt.cell)
    return {turn.document: _explain(analysis, arms[turn.arm], turn) for turn in receipt.turns}


def _explain(analysis: Analysis, result: ArmResult, turn: Turn) -> tuple[str, ...]:
    if turn.block in result.values and turn.last:
        return ()
    if not turn.block:
        return ("the calibration, which finds the calls in a sample and never counts",)
    place = {"arm": turn.arm, "block": turn.block, "repeat": turn.repeat}
    flags = result.flags
    whys = [word(flag) for flag in analysis.excluded if dict(flag.where) == place]
    whys += [
        word(flag)
        for flag in (*pick(flags, "excluded"), *result.invalid, *pick(flags, "missing"))
        if turn.block in flag.where.get("blocks", (turn.block,))
    ]
    # Another arm's odd invocation takes its block with it.
    whys += [
        f"{flag.where['arm']} in this block: {word(flag)}"
        for flag in analysis.excluded
        if flag.code == "off-pace" and flag.where["block"] == turn.block and not whys
    ]
    return tuple(dict.fromkeys(whys)) or (turn.outcome,)


def compose_receipt(
    analysis: Analysis,
    receipt: Receipt,
    whys: Mapping[str, Sequence[str]],
    picture: Picture | None,
) -> Page:
    """The whole page; ``picture`` is shown where there is one, ``whys`` are as of `explain_excluded`."""
    (cell,) = (cell for cell in analysis.cells if cell.id == receipt.cell)
    page = Page(name_banners(analysis.flags))
    page.title(f"How do you know? {cell.id}")
    campaign, suite = analysis.campaign, analysis.suite
    page.paragraph(f"{receipt.question} Receipt {name_receipt(cell.id)}.")
    page.paragraph(
        f"From campaign {campaign.id}, made {campaign.created.isoformat()}, profile "
        f"{campaign.profile}, seed {campaign.seed}; suite {suite.version}, commit "
        f"{suite.commit or 'unknown'}, content {suite.content}."
    )
    _write_claim(page, analysis, cell)
    if picture is not None:
        page.figure(picture.name, alt=picture.alt, caption=picture.caption)
    page.heading("What was measured")
    _write_turns(page, receipt, whys)
    _write_seen(page, receipt)
    page.heading("Placement and correctness")
    page.bullets(_tell_places(receipt))
    page.heading("Caveats")
    caveats = {flag for result in cell.arms.values() for flag in tell(result.flags)}
    page.bullets(sorted(caveats) or ["No flag is attached to these numbers."])
    page.heading("Software that was loaded")
    _write_software(page, analysis)
    write_images(page, analysis.arms)
    write_digests(page, analysis.arms)
    page.heading("How to measure it again")
    _write_repeating(page, analysis, receipt, cell)
    write_marks(page, analysis.share)
    return page


def _write_claim(page: Page, analysis: Analysis, cell: CellAnalysis) -> None:
    rows: list[Row] = []
    for arm, result in cell.arms.items():
        rate = result.value and show_rate(result.work.amount, result.work.unit, result.value)
        ratio, verdict = Cell(""), Cell("")
        if arm in cell.comparisons:
            ratio = show_arm_ratio(cell, arm, analysis.base)
            verdict = show_verdict(cell.verdicts[arm])
        rows.append(
            {
                "arm": arm,
                "time per call": show_time(result),
                "rate": rate or NO_NUMBER,
                f"against {analysis.base}": ratio,
                "verdict": verdict,
                "blocks": show_whole(result.n),
            }
        )
    page.table("Table: the claim, with its 95 % CIs.", rows)


def _write_turns(page: Page, receipt: Receipt, whys: Mapping[str, Sequence[str]]) -> None:
    rows: list[Row] = []
    for turn in receipt.turns:
        why = tuple(whys[turn.document])
        kept = 0 if why else len(turn.samples) - turn.start
        begun = turn.started.isoformat(timespec="seconds") if turn.started else NO_NUMBER
        rows.append(
            {
                "arm": turn.arm,
                "block": f"{turn.block}" + (f", repeat {turn.repeat}" if turn.repeat else ""),
                "value": Cell(show_seconds(turn.value) if turn.value else NO_NUMBER, why),
                "samples, after warm-up": f"{kept} of {len(turn.samples)}, after {len(turn.warmup)}",
                "calls per sample": show_whole(turn.calls) if turn.calls else NO_NUMBER,
                "steady": turn.steady or turn.outcome,
                "begun": begun,
                "document": f"{turn.document} {turn.digest[:16]}",
            }
        )
    page.table(TEXTS["captions"]["turns"], rows)


def _write_seen(page: Page, receipt: Receipt) -> None:
    heads = {
        name: head
        for name, head in TEXTS["machine"].items()
        if any(name in turn.seen for turn in receipt.turns)
    }
    if not heads:
        page.paragraph("No telemetry was recorded.")
        return
    page.table(
        "Table: the machine while this cell ran; a dash where it is not known.",
        [
            {"arm": turn.arm, "block": str(turn.block)}
            | {h: f"{turn.seen[n]:.4g}" if n in turn.seen else NO_NUMBER for n, h in heads.items()}
            for turn in receipt.turns
            if heads.keys() & turn.seen.keys()
        ],
    )


def _tell_places(receipt: Receipt) -> list[str]:
    sentences = []
    for turn in (turn for turn in receipt.turns if turn.outcome == "measured"):
        nodes = ", ".join(f"{count} on {device}" for device, count in turn.on.items())
        away = f"; elsewhere: {', '.join(turn.elsewhere)}" if turn.elsewhere else ""
        where = f"nodes seen: {nodes}" if nodes else "no node was seen"
        sentences.append(f"{turn.arm}: {where}{away}")
        sentences += [f"{turn.arm}: verified: {turn.check}"] if turn.check else []
    return [*dict.fromkeys(sentences)] or ["It was measured nowhere."]


def _write_software(page: Page, analysis: Analysis) -> None:
    facts = {arm: show_facts(details) for arm, details in analysis.arms.items()}
    names = {name for of_arm in facts.values() for name in of_arm if _SOFTWARE.search(name)}
    write_facts(page, "Table: versions as they were loaded.", sorted(names), facts)


def _write_repeating(page: Page, analysis: Analysis, receipt: Receipt, cell: CellAnalysis) -> None:
    page.paragraph(
        "Once, by hand, in the image that an arm ran in. An id is one engine's own: elsewhere ",
        Code("make images"),
        " builds the image, and the content hash above says whether it is the same.",
    )
    for arm in analysis.arms:
        line = _write_docker(analysis, receipt, arm)
        page.code(line) if line else page.paragraph(f"{arm} ran in no container.")
    page.paragraph("As a campaign, with blocks and arms as they were:")
    page.code(write_bench(analysis.campaign.command, analysis.campaign.seed, cell.id))


def _write_docker(analysis: Analysis, receipt: Receipt, arm: str) -> str | None:
    turns = [turn for turn in receipt.turns if turn.arm == arm]
    images = analysis.arms[arm].image.get("id", ())
    if not images or not turns or turns[0].isolation != "container":
        return None
    cpus = receipt.cpus or analysis.arms[arm].facts.get("limits.cpus", (None,))[0]
    calls = next((turn.calls for turn in reversed(turns) if turn.calls), None)
    gpu = analysis.arms[arm].gpu
    campaign = analysis.campaign
    words = ["docker", "run", "--rm", "--network=none"]
    words += [f"--cpuset-cpus={cpus}"] if cpus else []
    words += ["--gpus=all"] if gpu else []
    words += [str(images[-1]), "script" if receipt.scripted else "measure"]
    words += ["--gpu"] if gpu else []
    if receipt.scripted:
        return shlex.join([*words, receipt.cell])
    words += [f"--warmup={campaign.warmup_s:g}", f"--measure={campaign.measure_s:g}"]
    return shlex.join([*words, receipt.cell + (f"@{calls}" if calls else "")])


def write_bench(command: str, seed: int, cell: str) -> str:
    """The campaign's command for one cell alone, its seed said; nobody's label or price."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    target = [text for text in words if "=" not in text] or ["make", "bench"]
    pairs = [text.partition("=")[::2] for text in words if "=" in text]
    left_out = {"ONLY", "LABEL", "PRICE", "SEED", "BUDGET"}
    variables = [(name, value) for name, value in pairs if name not in left_out]
    variables += [("ONLY", cell), ("SEED", f"{seed}")]
    return " ".join([*target, *(f"{name}={shlex.quote(value)}" for name, value in variables)])
