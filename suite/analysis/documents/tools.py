"""What others' tools print, read: ``nvidia-smi -q -x``, ``dcgmi diag -j`` and ``nvbandwidth -j``.

Recognised by what it holds, whatever the file is called.  Drivers, DCGM 2 to 4 and nvbandwidth 0.5 to 0.8
write it differently; what is not there is unknown.  Such a file can be anybody's: an XML's DTD is never read,
so that it declares no entity, and what is nested deeply, or is more than any tool prints, is refused.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

from suite import codec
from suite.analysis.result.arms import Span
from suite.analysis.result.tools import Tool, ToolGpu, ToolName, ToolTest, Way
from suite.codec import Malformed

FOLDER = "evidence"
"""Where it is kept, in a campaign's folder."""

FILES: Mapping[ToolName, tuple[str, str]] = {
    "nvidia-smi": ("nvidia-smi", "xml"),
    "dcgmi diag": ("dcgmi", "json"),
    "nvbandwidth": ("nvbandwidth", "json"),
}
"""What the file of a tool's output is called; its other ending, `.txt`, is of why there is none."""

GIVEN = "given-"
"""Before the name of a file that somebody named."""

_STEMS = {stem: tool for tool, (stem, _) in FILES.items()}
_NAME = re.compile(rf"({GIVEN})?({'|'.join(_STEMS)})(?:-\d\d?)?\.\w+")

_ROOT = "nvidia_smi_log"
_BEGIN, _END = f"<{_ROOT}", f"</{_ROOT}>"
_IDENTITY = re.compile(r"GPU-(?=sha256:|hmac:|#)")
"""Before the hash that is kept in a UUID's place."""

_DIAG = re.compile(r"DCGM (GPU )?Diagnostic")
_NVBANDWIDTH = "nvbandwidth"

_WAYS: Mapping[str, Way] = {
    "host_to_device_memcpy_ce": "copy-in",
    "device_to_host_memcpy_ce": "copy-out",
}
"""nvbandwidth's tests of the copy engine, which are set beside our copies."""

_DEEPEST = 50
"""No output is nested more deeply; nvidia-smi's has 6 levels."""

MOST_OUTPUTS = 20
"""In a campaign's folder."""

_MOST_GPUS = 128
"""Of a machine; a rack's has 72."""

_MOST_SAID = 5
"""Sentences of DCGM's on a test, the same of several GPUs once."""

_TRIES = 20
"""Lines of a log before the JSON that look like its beginning."""

_LONGEST = 300
"""Characters of what a tool says that are kept of a name or a sentence."""

Value = Any
"""An XML's root element, or a JSON's object."""


class Output(NamedTuple):
    """A tool's output, and whose it is."""

    tool: ToolName
    value: Value


def recognise(content: bytes) -> Output:
    """The output that a file holds, whatever stands before and behind it.

    Raises:
        Malformed: it holds none, or it is cut short.
    """
    text = _decode(content)
    if not text.strip():
        raise Malformed("", "is empty")
    if text.count("<") > codec.MOST_VALUES:
        raise Malformed("", f"holds over {codec.MOST_VALUES} elements, the most that are read")
    try:
        return _read_xml(text) if _BEGIN in text else _read_json(text)
    except RecursionError as error:
        raise Malformed("", "nested too deeply") from error


def write(output: Output) -> str:
    """The output alone, as it is kept."""
    if isinstance(output.value, ET.Element):
        return ET.tostring(output.value, encoding="unicode") + "\n"
    return codec.dump_document(output.value)


def map_texts(value: Value, change: Callable[[str, str], str]) -> Value:
    """An output with every text changed; ``change`` gets the name of its element or field, and the text."""
    if not isinstance(value, ET.Element):
        return _map_json(value, change, "")
    copy = ET.Element(value.tag, {k: change(k, text) for k, text in value.attrib.items()})
    copy.text, copy.tail = change(value.tag, value.text or ""), value.tail
    copy.extend([map_texts(child, change) for child in value])
    return copy


def _map_json(value: Any, change: Callable[[str, str], str], name: str) -> Any:
    if isinstance(value, dict):
        # What a serial number stands under says so of all that is below it.
        return {
            change("", key): _map_json(item, change, key if not key.isdigit() else name)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_map_json(item, change, name) for item in value]
    if isinstance(value, str):
        return change(name, value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        changed = change(name, f"{value}")
        return value if changed == f"{value}" else changed
    return value


def _decode(content: bytes) -> str:
    """The text of bytes in UTF-8, or in UTF-16 as PowerShell writes a file."""
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise Malformed("", f"byte {error.start} is neither UTF-8 nor UTF-16") from error


def _read_xml(text: str) -> Output:
    begin, end = text.index(_BEGIN), text.rfind(_END)
    if end < begin:
        raise Malformed("", f"is cut short: {_END} is missing")
    try:
        # From the root on: what a DTD before it declares is unknown in it.
        root = ET.fromstring(text[begin : end + len(_END)])  # noqa: S314
    except (ET.ParseError, ValueError) as error:
        raise Malformed("", f"not XML, or cut short: {error}") from error
    _demand_shallow(root)
    return Output("nvidia-smi", root)


def _demand_shallow(root: ET.Element) -> None:
    level, depth = [root], 0
    while level:
        depth += 1
        if depth > _DEEPEST:
            raise Malformed("", "nested too deeply")
        level = [child for element in level for child in element]


_ENDS = json.JSONDecoder(parse_int=len)
"""Only finds where an object ends: Python refuses to convert thousands of digits."""


def _read_json(text: str) -> Output:
    """The first object that is a tool's output; what else there is of braces can be a log's."""
    trouble: Malformed | None = None
    begins = [found.start() for found in re.finditer(r"(?m)^[ \t]*\{", text)]
    for begin in begins[:_TRIES] or [text.find("{")]:
        if begin < 0:
            continue
        try:
            start = text.index("{", begin)
            _, end = _ENDS.raw_decode(text, start)
            value = _tidy(codec.decode_json(text[start:end]))
        except json.JSONDecodeError as error:
            where = f"line {error.lineno}, column {error.colno}"
            trouble = trouble or Malformed("", f"not JSON, or cut short: {error.msg} at {where}")
            continue
        for where, complaint in codec.judge_values(value):
            raise Malformed(where, complaint)
        if (tool := _name_tool(value)) is not None:
            return Output(tool, value)
    tools = "`nvidia-smi -q -x`, `dcgmi diag -j` or `nvbandwidth -j`"
    raise trouble or Malformed("", f"is not the output of {tools}")


def _tidy(value: Any) -> Any:
    """JSON without numbers that are none: a mean over nothing is one."""
    if isinstance(value, dict):
        return {key: _tidy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_tidy(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _name_tool(value: Any) -> ToolName | None:
    if not isinstance(value, dict):
        return None
    if isinstance(value.get(_NVBANDWIDTH), dict) or _WAYS.keys() & value.keys():
        return "nvbandwidth"
    runs = value.get("iterations")
    first = runs[0] if isinstance(runs, list) and runs else value
    return "dcgmi diag" if isinstance(first, dict) and _find_diag(first) is not None else None


def _find_diag(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What DCGM's own name stands over: an object, in DCGM 2 to 4."""
    named = (item for key, item in value.items() if _DIAG.fullmatch(key))
    return next((item for item in named if isinstance(item, dict)), None)


def read_tool(file: str, content: bytes) -> Tool:
    """What a file of the folder `FOLDER` says; ``file`` is its name there.

    Raises:
        Malformed: it is not what its name says.
    """
    name = _NAME.fullmatch(file)
    if name is None:
        raise Malformed("", "is not the name of a tool's output")
    tool, given, path = _STEMS[name[2]], bool(name[1]), f"{FOLDER}/{file}"
    if file.endswith(".txt"):
        why = _shorten(content.decode(errors="replace")) or "it said nothing"
        return Tool(name=tool, file=path, given=given, failed=why)
    output = recognise(content)
    if output.tool != tool:
        raise Malformed("", f"is the output of {output.tool}, not of {tool}")
    fields = _READERS[tool](output.value)
    return Tool(name=tool, file=path, given=given, **fields)


def order_tools(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """In the order of `FILES`; what was run before what was given."""
    order = list(FILES)
    return tuple(sorted(tools, key=lambda tool: (order.index(tool.name), tool.given, tool.file)))


def _read_smi(root: ET.Element) -> dict[str, Any]:
    elements = list(root.iter("gpu"))
    if len(elements) > _MOST_GPUS:
        raise Malformed("", f"lists {len(elements)} GPUs; {_MOST_GPUS} are the most")
    gpus = tuple(map(_read_gpu, elements))
    driver = _say(root.findtext("driver_version"))
    return {
        "version": driver,
        "driver": driver,
        "taken": _say(root.findtext("timestamp")),
        "gpus": gpus,
        "failed": None if gpus else "no GPU",
    }


_PENDING = {
    "remapped_row_pending": "remapping_pending",
    "remapped_row_failure": "remapping_failed",
    "pending_blacklist": "retirement_pending",
    "pending_retirement": "retirement_pending",
    "channel_repair_pending": "channel_repair_pending",
    "tpc_repair_pending": "tpc_repair_pending",
    "unrepairable_memory": "unrepairable_memory",
}
"""Elements of nvidia-smi's that say Yes where memory or a part of the processor is to be mended, or can't,
by what the health that is watched calls it."""

_SLOWED = ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown")
"""Reasons of a lower clock that a card in order does not have, unless work makes it hot."""


def _read_gpu(gpu: ET.Element) -> ToolGpu:
    def text(*paths: str) -> str | None:
        return next(filter(None, (_say(gpu.findtext(path)) for path in paths)), None)

    def number(*paths: str) -> float | None:
        told = (_read_number(gpu.findtext(path)) for path in paths)
        return next((value for value in told if value is not None), None)

    ecc = text("ecc_mode/current_ecc")
    counts = {
        f"{kind}{suffix}": _add_errors(gpu.find(f"ecc_errors/{where}"), kind)
        for where, suffix in (("volatile", ""), ("aggregate", "_ever"))
        for kind in ("corrected", "uncorrected")
    }
    power = ("gpu_power_readings", "power_readings")
    limits = ("current_power_limit", "enforced_power_limit", "power_limit")
    rows = [number(f"remapped_rows/remapped_row_{kind}") for kind in ("corr", "unc")]
    pages = [
        number(f"retired_pages/{kind}_retirement/retired_count")
        for kind in ("multiple_single_bit", "double_bit")
    ]
    replaced = [count for count in (*rows, *pages) if count is not None]
    link = "pci/pci_gpu_link_info"
    return ToolGpu(
        name=text("product_name"),
        identity=_IDENTITY.sub("", uuid) if _IDENTITY.match(uuid := text("uuid") or "") else None,
        mig=text("mig_mode/current_mig") == "Enabled",
        ecc=None if ecc is None else ecc == "Enabled",
        **counts,
        replaced=math.fsum(replaced) if replaced else None,
        clock_most_mhz=number("max_clocks/sm_clock"),
        power_limit_w=number(*(f"{part}/{name}" for part in power for name in limits)),
        power_default_w=number(*(f"{part}/default_power_limit" for part in power)),
        generation_most=number(f"{link}/pcie_gen/max_link_gen"),
        lanes=number(f"{link}/link_widths/current_link_width"),
        replays=number("pci/replay_counter"),
        faults=tuple(dict.fromkeys(_find_faults(gpu))),
    )


def _find_faults(gpu: ET.Element) -> Iterator[str]:
    for element in gpu.iter():
        said = (element.text or "").strip()
        if element.tag in _PENDING and said == "Yes":
            yield _PENDING[element.tag]
        # One element for each reason: of drivers up to 530 throttle reasons, then event reasons.
        reason = re.sub(r"clocks_(throttle|event)_reason_", "", element.tag)
        if reason in _SLOWED and said == "Active":
            yield reason
    action = _say(gpu.findtext("gpu_recovery_action"))
    if action not in {None, "None"}:
        yield "gpu_recovery_action"


def _add_errors(counts: ET.Element | None, kind: str) -> float | None:
    """The errors of one kind: single and double bits with a total, or those of SRAM and DRAM."""
    if counts is None:
        return None
    old = {"corrected": "single_bit", "uncorrected": "double_bit"}[kind]
    new = {"corrected": "_correctable", "uncorrected": "_uncorrectable"}[kind]
    found = [_read_number(counts.findtext(f"{old}/total"))]
    found += [_read_number(element.text) for element in counts if new in element.tag]
    known = [count for count in found if count is not None]
    return math.fsum(known) if known else None


def _read_diag(value: Mapping[str, Any]) -> dict[str, Any]:
    runs = value.get("iterations", [value])
    diags = [diag for run in runs if isinstance(run, dict) and (diag := _find_diag(run))]
    if not diags:
        return {"failed": "no test ran"}
    # Of several runs the last is the one that ended them.
    diag = diags[-1]
    metadata = _as_dict(diag.get("metadata")) or _as_dict(value.get("metadata")) or diag
    outcomes: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for category in _as_dicts(diag.get("test_categories")):
        for test in _as_dicts(category.get("tests")):
            name = _say(test.get("name")) or "a test without a name"
            results = [*_as_dicts(test.get("results")), _as_dict(test.get("test_summary"))]
            outcomes.setdefault(name, []).extend(map(_read_result, filter(None, results)))
    worst = {name: _judge([outcome for outcome, _ in of]) for name, of in outcomes.items()}
    said = {
        name: tuple(dict.fromkeys(w for _, ws in of for w in ws)) for name, of in outcomes.items()
    }
    tests = [
        ToolTest(name=name, outcome=outcome, said=said[name][:_MOST_SAID])
        for name, outcome in worst.items()
        if outcome in {"failed", "warned"}
    ]
    failed = _say(diag.get("runtime_error"))
    return {
        "version": _say(metadata.get("version")),
        "driver": _say(metadata.get("Driver Version Detected")),
        "passed": list(worst.values()).count("passed"),
        "skipped": list(worst.values()).count("skipped"),
        "tests": tuple(tests),
        "failed": failed or (None if worst else "no test ran"),
    }


_OUTCOMES = {"fail": "failed", "warn": "warned", "pass": "passed"}


def _judge(outcomes: Sequence[str]) -> Any:
    """The outcome of a test, of those that it had on each GPU."""
    return next((word for word in _OUTCOMES.values() if word in outcomes), "skipped")


def _read_result(result: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """A result's outcome and words; a warning is a text, or an object that has one."""
    outcome = _OUTCOMES.get(str(result.get("status")).lower(), "skipped")
    told = result.get("warnings")
    words = [
        _say(item.get("warning") if isinstance(item, dict) else item)
        for item in (told if isinstance(told, list) else [told])
    ]
    return outcome, tuple(filter(None, words)) if outcome in {"failed", "warned"} else ()


def _read_bandwidth(value: Mapping[str, Any]) -> dict[str, Any]:
    root = _as_dict(value.get(_NVBANDWIDTH))
    if root is None:
        # Each test's matrix under its name, as collections of machines keep them.
        return _tell_rates(value, None)
    matrices = {
        str(test.get("name")): test.get("bandwidth_matrix")
        for test in _as_dicts(root.get("testcases"))
        if "bandwidth_matrix" in test
    }
    version = _say(root.get("version")) or _say(root.get("git_version"))
    rates = _tell_rates(matrices, _say(root.get("error")))
    return {"version": version, "driver": _say(root.get("Driver Version")), **rates}


def _tell_rates(matrices: Mapping[str, Any], error: str | None) -> dict[str, Any]:
    rates = {way: span for test, way in _WAYS.items() if (span := _span(matrices.get(test)))}
    return {"rates": rates, "failed": None if rates else error or "no copy between CPU and GPU"}


def _span(matrix: Any) -> Span | None:
    """The rates of a matrix of GB/s, one column a GPU, in bytes a second."""
    rows = matrix if isinstance(matrix, list) else []
    cells = [cell for row in rows if isinstance(row, list) for cell in row]
    rates = sorted(1e9 * rate for rate in map(_read_number, cells) if rate)
    if not rates:
        return None
    return Span(low=rates[0], middle=rates[len(rates) // 2], high=rates[-1])


_READERS: Mapping[ToolName, Callable[[Any], dict[str, Any]]] = {
    "nvidia-smi": _read_smi,
    "dcgmi diag": _read_diag,
    "nvbandwidth": _read_bandwidth,
}


def _read_number(text: Any) -> float | None:
    """``350.00 W`` and ``16x`` as numbers; None where it is none, or none that can be."""
    found = re.match(r"\d{1,15}(?:\.\d{1,9})?(?:e[+-]?\d{1,2})?(?![\d.])", str(text).strip())
    number = float(found[0]) if found else math.inf
    return number if number < 2**53 else None


def _say(text: Any) -> str | None:
    """What a tool says in a word or a sentence; None where it says that it has no answer."""
    said = _shorten(text) if isinstance(text, str) else ""
    nothing = re.fullmatch(r"\[?(n/?a|unknown( error)?|.*deprecated.*)\]?", said, re.IGNORECASE)
    return said if said and not nothing else None


def _shorten(text: str) -> str:
    return " ".join(text.split())[:_LONGEST]


def _as_dict(value: Any) -> Mapping[str, Any] | None:
    return value if isinstance(value, dict) else None


def _as_dicts(value: Any) -> list[Mapping[str, Any]]:
    """The objects of a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
