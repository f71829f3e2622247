"""What others' tools say of the machine, beside what was measured here.  Words only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import starmap

from suite.analysis.result.arms import Health, Span, WatchedGpu
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.tools import CopyBeside, Tool, ToolGpu
from suite.report.text.evidence import fill
from suite.report.text.page import NO_NUMBER, Cell, Page, Row
from suite.report.text.texts import TEXTS
from suite.report.text.units import show_percent, show_power, show_rate
from suite.report.text.wording import word

_WORDS, _HEADS = TEXTS["tools"], ("what", "it says", "measured here", "beside each other")

MOST_TESTS = 10
"""No more tests that did not pass are listed; the rest is counted."""


def describe_tools(analysis: Analysis) -> list[str]:
    """What a reader must not miss of it."""
    flags = analysis.tools.flags if analysis.tools else ()
    # Of several GPUs that are alike one sentence.
    return list(dict.fromkeys(f"{word(flag)}." for flag in flags))


def write_tools(page: Page, analysis: Analysis) -> None:
    """The section "Others' tools"; absent where no output is kept."""
    if analysis.tools is None:
        return
    page.heading("Others' tools")
    page.paragraph(TEXTS["about"]["tools"])
    page.bullets(describe_tools(analysis))
    rows = [row for tool in analysis.tools.outputs for row in _list_rows(analysis, tool)]
    page.table(TEXTS["captions"]["tools"], rows)


def _list_rows(analysis: Analysis, tool: Tool) -> Iterator[Row]:
    name = _name_tool(tool)

    def make(what: str, says: str, here: str = "", beside: str = "") -> Row:
        cells: dict[str, str | Cell] = {"tool": name}
        for head, text in zip(_HEADS, (what, says, here, beside), strict=True):
            cells[head] = text or NO_NUMBER
        return cells

    if tool.failed:
        yield make(_WORDS["nothing"], f"nothing: {tool.failed}")
    watched = [
        (details.watched.gpu, details.health)
        for details in analysis.arms.values()
        if details.gpu and details.watched.gpu
    ]
    for what, (theirs, ours) in _GPU_ROWS.items() if tool.gpus else ():
        yield make(_WORDS[what], _count(map(theirs, tool.gpus)), _join(starmap(ours, watched)))
    outcomes = Counter[str](test.outcome for test in tool.tests)
    counts = {"passed": tool.passed, **outcomes, "skipped": tool.skipped}
    if told := ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count):
        yield make(_WORDS["tests"], told)
    for test in tool.tests[:MOST_TESTS]:
        yield make(test.name, ": ".join([test.outcome, *["; ".join(test.said)] * bool(test.said)]))
    if len(tool.tests) > MOST_TESTS:
        yield make(_WORDS["tests"], f"{len(tool.tests) - MOST_TESTS} more that did not pass")
    for way, span in tool.rates.items():
        what = _WORDS["copy"].format(way=TEXTS["ways"][way])
        says = _describe_rates(span, analysis.tools.carries) if analysis.tools else ""
        copies = analysis.tools.copies if analysis.tools else ()
        own = [copy for copy in copies if (copy.file, copy.way) == (tool.file, way)]
        for here, beside in map(_describe_copy, own) if own else [("", "")]:
            yield make(what, says, here, beside)


def _name_tool(tool: Tool) -> Cell:
    """The tool with its version; a footnote says where its output is, and whose choice it was."""
    taken = f", taken {tool.taken}" if tool.taken else ""
    how = "a file that EVIDENCE named" if tool.given else "run before anything was measured"
    version = f" {tool.version}" if tool.version else ""
    return Cell(f"{tool.name}{version}", (f"{tool.file}: {how}{taken}",))


def _describe_rates(span: Span, carries: float | None) -> str:
    """Their rates, and their share of what the link carries."""
    ends = dict.fromkeys(show_rate(end, "byte", 1.0) or "" for end in (span.low, span.high))
    text = " to ".join(ends)
    if carries is not None:
        share, link = show_percent(span.high / carries), show_rate(carries, "byte", 1.0)
        text += f", {share} of the {link} that the link carries as the driver reports it"
    return text


def _describe_copy(copy: CopyBeside) -> tuple[str, str]:
    """Our rates, and what they are beside theirs."""
    rates = [f"{copy.arm}: {show_rate(copy.called, 'byte', 1.0)} a call"]
    if copy.copied:
        rates.append(f"{show_rate(copy.copied, 'byte', 1.0)} over the link alone")
    values = {
        "share": copy.called / copy.theirs.high,
        "times": max(copy.called, copy.copied or 0.0) / copy.theirs.high,
    }
    return ", ".join(rates), fill(TEXTS["beside"][copy.verdict], values, {})


def _describe_memory(gpu: ToolGpu) -> str:
    parts = [] if gpu.ecc is None else ["ECC on" if gpu.ecc else "ECC off"]
    for name, since, ever in (
        ("uncorrected", gpu.uncorrected, gpu.uncorrected_ever),
        ("corrected", gpu.corrected, gpu.corrected_ever),
    ):
        counts = [f"{since:,.0f} since the driver was loaded"] if since is not None else []
        counts += [f"{ever:,.0f} in the card's life"] if ever is not None else []
        parts += [f"{name} {', '.join(counts)}"] if counts else []
    if gpu.replaced is not None:
        parts.append(f"rows or pages replaced: {gpu.replaced:,.0f}")
    return "; ".join(parts)


def _describe_power(limit: float | None, usual: float | None) -> str:
    default = f" (default {show_power(usual)})" if usual is not None else ""
    return "" if limit is None else f"{show_power(limit)}{default}"


def _describe_clock(clock: float | None) -> str:
    return "" if clock is None else f"{clock:,.0f} MHz"


def _describe_link(generation: float | None, lanes: float | None) -> str:
    if generation is None or lanes is None:
        return ""
    return f"PCIe generation {generation:.0f} with {lanes:.0f} lanes"


def _describe_errors(_: WatchedGpu, health: Health | None) -> str:
    count = health.counts.get("memory_errors") if health else None
    return f"uncorrected {count.last:,.0f} since the driver was loaded" if count else ""


def _describe_peak(gpu: WatchedGpu, _: Health | None) -> str:
    return f"up to {_describe_clock(gpu.clock_mhz.high)}" if gpu.clock_mhz else ""


def _list_faults(gpu: ToolGpu) -> str:
    return ", ".join(dict.fromkeys(TEXTS["faults"][fault] for fault in gpu.faults)) or "none"


_GPU_ROWS: dict[
    str, tuple[Callable[[ToolGpu], str], Callable[[WatchedGpu, Health | None], str]]
] = {
    "gpu": (lambda gpu: gpu.name or "without a name", lambda *_: ""),
    "memory": (_describe_memory, _describe_errors),
    "power": (
        lambda gpu: _describe_power(gpu.power_limit_w, gpu.power_default_w),
        lambda gpu, _: _describe_power(gpu.power_limit_w, gpu.power_default_w),
    ),
    "clock": (lambda gpu: _describe_clock(gpu.clock_most_mhz), _describe_peak),
    "link": (
        lambda gpu: _describe_link(gpu.generation_most, gpu.lanes),
        lambda gpu, _: _describe_link(gpu.pcie_generation, gpu.pcie_lanes),
    ),
    "faults": (_list_faults, lambda *_: ""),
}
"""By row what nvidia-smi tells of a GPU, and what was seen of ours while it worked."""


def _count(texts: Iterable[str]) -> str:
    """What is so on several GPUs once, with how many they are."""
    counts = Counter(text or NO_NUMBER for text in texts)
    alone = counts.total() == 1
    return "; ".join(text if alone else f"{count} × {text}" for text, count in counts.items())


def _join(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(filter(None, texts)))
