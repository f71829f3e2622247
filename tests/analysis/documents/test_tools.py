"""Outputs of others' tools: every version is read, whatever stands around it, and nothing hostile is."""

from __future__ import annotations

import json

import pytest

from suite.analysis.documents.tools import read_tool, recognise, write
from suite.analysis.result.tools import Tool, ToolTest
from suite.codec import Malformed
from tests.fakes import tools

SMI, DIAG, BANDWIDTH = "nvidia-smi.xml", "dcgmi.json", "nvbandwidth.json"


def read(file: str, text: str) -> Tool:
    return read_tool(file, text.encode())


@pytest.mark.parametrize("driver", ["470.256.03", "525.60.13", "550.90.07", "580.95.05", "610.1.2"])
def test_nvidia_smi_of_every_branch_says_the_same(driver: str) -> None:
    tool = read(SMI, tools.smi(driver))
    assert (tool.name, tool.given, tool.version, tool.failed) == ("nvidia-smi", False, driver, None)
    assert tool.taken == "Wed Jun 10 13:05:34 2026"
    (gpu,) = tool.gpus
    assert (gpu.name, gpu.ecc, gpu.mig) == ("Made-Up Accelerator", True, False)
    assert (gpu.corrected, gpu.corrected_ever) == (1.0, 7.0)
    assert (gpu.uncorrected, gpu.uncorrected_ever, gpu.replaced) == (0.0, 0.0, 1.0)
    assert (gpu.power_limit_w, gpu.power_default_w) == (300.0, 350.0)
    assert (gpu.clock_most_mhz, gpu.generation_most, gpu.lanes) == (2000.0, 4.0, 16.0)
    assert gpu.faults == ()


@pytest.mark.parametrize("driver", ["470.1", "580.1"])
@pytest.mark.parametrize(
    ("texts", "faults"),
    [
        ({"gpu_idle": "Active", "sw_power_cap": "Active"}, ()),
        ({"hw_slowdown": "Active"}, ("hw_slowdown",)),
        ({"remapped_row_pending": "Yes"}, ("remapping_pending",)),
        ({"gpu_recovery_action": "Reset"}, ("gpu_recovery_action",)),
        ({"gpu_recovery_action": "N/A", "remapped_row_failure": "N/A"}, ()),
    ],
)
def test_what_is_not_as_it_should_be_on_an_idle_card(
    driver: str, texts: dict[str, str], faults: tuple[str, ...]
) -> None:
    assert read(SMI, tools.smi(driver, **texts)).gpus[0].faults == faults


def test_what_is_not_told_is_unknown() -> None:
    silent = tools.smi(current_ecc="N/A", sm_clock="N/A", uuid="N/A", current_power_limit="[N/A]")
    (gpu,) = read(SMI, silent).gpus
    assert (gpu.ecc, gpu.clock_most_mhz, gpu.identity, gpu.power_limit_w) == (None,) * 4
    assert read(SMI, tools.smi(gpus=0)).failed == "no GPU"
    # A UUID as it is tells of no machine: only what it was replaced by is an identity.
    assert read(SMI, tools.smi()).gpus[0].identity is None


@pytest.mark.parametrize("version", [2, 3, 4])
def test_dcgm_of_every_version_says_the_same(version: int) -> None:
    tool = read(DIAG, tools.diag(version, Memory="GPU 0 has 2 bad pages", PCIe="too slow"))
    assert (tool.name, tool.driver, tool.failed) == ("dcgmi diag", "580.11.22", None)
    assert (tool.version or "").startswith(f"{version}.")
    assert (tool.passed, tool.skipped) == (1, 1)
    assert tool.tests == (
        ToolTest(name="Memory", outcome="failed", said=("GPU 0 has 2 bad pages",)),
        ToolTest(name="PCIe", outcome="failed", said=("too slow",)),
    )


def test_dcgm_that_ran_no_test_says_why() -> None:
    why = "Error: Diagnostic could not be run while DCGM is paused."
    told = tools.write({"DCGM Diagnostic": {"version": "3.3.5", "runtime_error": why}})
    assert read(DIAG, told).failed == why
    runs = {"iterations": [json.loads(tools.diag()), json.loads(tools.diag(Memory="bad"))]}
    assert [test.name for test in read(DIAG, tools.write(runs)).tests] == ["Memory"]
    # Of a test that ran on several GPUs the worst counts.
    both = json.loads(tools.diag(3))
    both["DCGM Diagnostic"]["test_categories"][0]["tests"][0]["results"] += [{"status": "Warn"}]
    assert read(DIAG, tools.write(both)).tests == (ToolTest(name="Inforom", outcome="warned"),)


@pytest.mark.parametrize(
    ("text", "span"),
    [
        (tools.bandwidth(["25.0"]), (25e9, 25e9)),
        (tools.bandwidth(["12.5", "N/A", "1.3e+01"]), (12.5e9, 13e9)),
        (tools.write({"host_to_device_memcpy_ce": [["25.0", "24.5"]]}), (24.5e9, 25e9)),
    ],
)
def test_nvbandwidth_tells_a_rate_for_each_gpu(text: str, span: tuple[float, float]) -> None:
    rate = read(BANDWIDTH, text).rates["copy-in"]
    assert (rate.low, rate.high) == pytest.approx(span)


def test_nvbandwidth_that_measured_nothing_says_why() -> None:
    tool = read(BANDWIDTH, tools.bandwidth(testcases=None, error="CUDA_ERROR_NO_DEVICE"))
    assert (tool.failed, tool.rates) == ("CUDA_ERROR_NO_DEVICE", {})
    # A mean over no number is written as none, and no number is too long.
    for number in ("NaN", "-Infinity", "1" * 9999, "1e999"):
        odd = tools.bandwidth().replace('"sum": 1.0', f'"average": {number}')
        assert read(BANDWIDTH, odd).failed is None
        assert '"average": null' in write(recognise(odd.encode()))


OUTPUTS = {SMI: tools.smi(), DIAG: tools.diag(), BANDWIDTH: tools.bandwidth()}
LOG = "[2026-06-10 13:05] {starting}\nWARNING: persistence mode is off\n"


@pytest.mark.parametrize("file", OUTPUTS)
@pytest.mark.parametrize(
    "content",
    [
        lambda text: text.encode("utf-8-sig"),
        lambda text: b"\xff\xfe" + text.replace("\n", "\r\n").encode("utf-16-le"),
        lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
        lambda text: f"{LOG}{text}done in 3 s\n".encode(),
        lambda text: (text + text).encode() if text[0] == "{" else text.encode(),
    ],
    ids=["a mark", "PowerShell", "the other order", "a log around it", "twice"],
)
def test_what_stands_around_an_output_does_not_matter(file: str, content: object) -> None:
    text = OUTPUTS[file]
    assert read_tool(file, content(text)) == read(file, text)  # type: ignore[operator]


BOMB = (
    '<?xml version="1.0"?><!DOCTYPE nvidia_smi_log [<!ENTITY a "boom"><!ENTITY b "&a;&a;&a;">]>'
    "<nvidia_smi_log><gpu>&b;</gpu></nvidia_smi_log>"
)
FILE = BOMB.replace('"&a;&a;&a;"', 'SYSTEM "file:///etc/hostname"')


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is empty"),
        (b"\xff\xfe", "is empty"),
        (b" \n", "is empty"),
        (b"hello", "is not the output of `nvidia-smi -q -x`"),
        (b"==NVSMI LOG==\nDriver Version : 580", "is not the output of"),
        (b'{"a": 1}', "is not the output of"),
        (b"[1, 2]", "is not the output of"),
        (b"\xe9\x00\xff", "is neither UTF-8 nor UTF-16"),
        (tools.smi()[:-30].encode(), "is cut short: </nvidia_smi_log> is missing"),
        (tools.smi().replace("</gpu>", "").encode(), "not XML, or cut short"),
        (tools.diag()[:-9].encode(), "not JSON, or cut short"),
        (tools.bandwidth()[:99].encode(), "not JSON, or cut short"),
        (b'{"nvbandwidth": {}, "nvbandwidth": {}}', "stands twice"),
        (BOMB.encode(), "undefined entity"),
        (FILE.encode(), "undefined entity"),
        (b"<nvidia_smi_log>" + b"<a>" * 99 + b"</a>" * 99 + b"</nvidia_smi_log>", "too deeply"),
        (b'{"nvbandwidth": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "too deeply"),
        (b"<a>" * 1_000_001, "over 1000000 elements"),
        (b'{"nvbandwidth": {"x": [' + b"1," * 1_000_001 + b"1]}}", "over 1000000 values"),
    ],
)
def test_what_is_none_is_refused(content: bytes, complaint: str) -> None:
    with pytest.raises(Malformed) as refused:
        recognise(content)
    assert complaint in f"{refused.value}"


def test_a_file_is_what_its_name_says() -> None:
    assert read_tool("given-dcgmi-2.json", tools.diag().encode()).given
    assert read_tool("dcgmi.txt", b"exit code 1:\n no daemon\n").failed == "exit code 1: no daemon"
    for file in (BANDWIDTH, "notes.json", "dcgmi-100.json"):
        with pytest.raises(Malformed):
            read_tool(file, tools.diag().encode())
