"""How do you know?  One page with all that stands behind the numbers of one cell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import ArmResult, CellAnalysis
from suite.analysis.result.receipt import Receipt, Turn
from suite.flags import pick
from suite.report.pictures.picture import Picture
from suite.report.sections.environment import show_facts, write_facts, write_images
from suite.report.sections.tables.cells import (
    compare_arms,
    show_time,
    show_verdict,
    write_marks,
)
from suite.report.text.names import name_receipt
from suite.report.text.page import NO_NUMBER, Cell, Code, Page, Row
from suite.report.text.units import show_rate, show_seconds, show_whole
from suite.report.text.wording import name_banners, tell, word

_SOFTWARE = re.compile(
    r"(?:version|git|compiler|driver|release|kernel)$|^cuda\.(?!cache)|^tensorflow\.build|content"
)
"""Facts that say what was loaded."""

_SEEN: Mapping[str, str] = {
    "clock_mhz": "CPU clock, MHz",
    "gpu.clock_sm_mhz": "GPU clock, MHz",
    "gpu.mean_power_w": "GPU power, W",
    "gpu.temperature_c": "GPU, °C",
    "gpu.slowdown_share": "GPU slowed, share",
    "gpu.capped_share": "power-capped, share",
    "gpu.other_processes": "others on the GPU",
    "cpu.throttle_events": "CPU slowed, times",
    "throttled_share": "quota, share",
    "cpu.quota_share": "quota above, share",
    "steal_share": "steal, share",
    "pressure_share": "waited, share",
    "foreign_cpus": "others' CPUs",
}
"""What the machine did while a cell ran, and what it is called."""


def explain_excluded(analysis: Analysis, receipt: Receipt) -> dict[str, tuple[str, ...]]:
    """By document why its samples do not count; nothing where they do."""
    found = next(one for one in analysis.cells if one.id == receipt.cell)
    return {one.document: _explain(analysis, found.arms[one.arm], one) for one in receipt.turns}


def _explain(analysis: Analysis, result: ArmResult, one: Turn) -> tuple[str, ...]:
    if one.block in result.values and one.last:
        return ()
    if not one.block:
        return ("the calibration, which finds the calls in a sample and never counts",)
    place = {"arm": one.arm, "block": one.block, "repeat": one.repeat}
    told = [word(flag) for flag in analysis.excluded if dict(flag.where) == place]
    told += [
        word(flag)
        for flag in (
            *pick(result.flags, "excluded"),
            *result.invalid,
            *pick(result.flags, "missing"),
        )
        if one.block in flag.where.get("blocks", (one.block,))
    ]
    # Another arm's odd invocation takes its block with it.
    told += [
        f"{flag.where['arm']} in this block: {word(flag)}"
        for flag in analysis.excluded
        if flag.code == "off-pace" and flag.where["block"] == one.block and not told
    ]
    return tuple(dict.fromkeys(told)) or (f"{one.outcome}",)


def compose_receipt(
    analysis: Analysis,
    receipt: Receipt,
    whys: Mapping[str, Sequence[str]],
    picture: Picture | None,
) -> Page:
    """The whole page; ``picture`` is shown where there is one, ``whys`` are as of `explain_excluded`."""
    cell = next(one for one in analysis.cells if one.id == receipt.cell)
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
    told = {flag for one in cell.arms.values() for flag in tell(one.flags)}
    page.bullets(sorted(told)) if told else page.paragraph("No flag is attached to these numbers.")
    page.heading("Software that was loaded")
    _write_software(page, analysis)
    write_images(page, analysis.arms)
    page.heading("How to measure it again")
    _write_repeating(page, analysis, receipt, cell)
    write_marks(page)
    return page


def _write_claim(page: Page, analysis: Analysis, cell: CellAnalysis) -> None:
    rows: list[Row] = []
    for arm, result in cell.arms.items():
        rate = result.value and show_rate(result.work.amount, result.work.unit, result.value)
        ratio, verdict = Cell(""), Cell("")
        if arm in cell.comparisons:
            ratio = compare_arms(cell, arm, analysis.base)
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
    def show_value(one: Turn) -> Cell:
        return Cell(show_seconds(one.value) if one.value else NO_NUMBER, tuple(whys[one.document]))

    def show_kept(one: Turn) -> str:
        kept = 0 if whys[one.document] else len(one.samples) - one.start
        return f"{kept} of {len(one.samples)}, after {len(one.warmup)}"

    shown: Mapping[str, Callable[[Turn], str | Cell]] = {
        "arm": lambda one: one.arm,
        "block": lambda one: f"{one.block}" + (f", repeat {one.repeat}" if one.repeat else ""),
        "value": show_value,
        "samples, after warm-up": show_kept,
        "calls per sample": lambda one: show_whole(one.calls) if one.calls else NO_NUMBER,
        "steady": lambda one: one.steady or one.outcome,
        "begun": lambda one: (
            one.started.isoformat(timespec="seconds") if one.started else NO_NUMBER
        ),
        "document": lambda one: f"{one.document} {one.digest[:16]}",
    }
    page.columns(
        "Table: every invocation. A value is the mean of the samples that count; one with a mark does not "
        "count, and the footnote says why. The document is followed by the beginning of its SHA-256.",
        [(head, [*map(show, receipt.turns)]) for head, show in shown.items()],
    )


def _write_seen(page: Page, receipt: Receipt) -> None:
    names = [name for name in _SEEN if any(name in one.seen for one in receipt.turns)]
    if not names:
        page.paragraph("No telemetry was recorded.")
        return
    page.table(
        "Table: the machine while this cell ran; a dash where it is not known.",
        [
            {"arm": one.arm, "block": str(one.block)}
            | {_SEEN[n]: f"{one.seen[n]:.4g}" if n in one.seen else NO_NUMBER for n in names}
            for one in receipt.turns
            if _SEEN.keys() & one.seen.keys()
        ],
    )


def _tell_places(receipt: Receipt) -> list[str]:
    told: dict[str, None] = {}
    for one in receipt.turns:
        if one.outcome != "measured":
            continue
        nodes = ", ".join(f"{count} on {device}" for device, count in one.on.items())
        away = ", ".join(one.elsewhere)
        seen = f"nodes seen: {nodes}" if nodes else "no node was seen"
        told[f"{one.arm}: {seen}" + (f"; elsewhere: {away}" if away else "")] = None
        if one.check:
            told[f"{one.arm}: verified: {one.check}"] = None
    return [*told] or ["It was measured nowhere."]


def _write_software(page: Page, analysis: Analysis) -> None:
    facts = {arm: show_facts(one) for arm, one in analysis.arms.items()}
    names = sorted({name for one in facts.values() for name in one if _SOFTWARE.search(name)})
    write_facts(page, "Table: versions as they were loaded.", names, facts)


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
    turns = [one for one in receipt.turns if one.arm == arm]
    images = analysis.arms[arm].image.get("id", ())
    if not images or not turns or turns[0].isolation != "container":
        return None
    cpus = analysis.arms[arm].facts.get("limits.cpus", (None,))[0]
    calls = next((one.calls for one in reversed(turns) if one.calls), None)
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
    target = [one for one in words if "=" not in one] or ["make", "bench"]
    left_out = {"ONLY", "LABEL", "PRICE", "SEED", "BUDGET"}
    given = [one for one in words if "=" in one and one.partition("=")[0] not in left_out]
    return " ".join([*target, *(_quote(one) for one in (*given, f"ONLY={cell}", f"SEED={seed}"))])


def _quote(word: str) -> str:
    name, _, value = word.partition("=")
    return f"{name}={shlex.quote(value)}"
