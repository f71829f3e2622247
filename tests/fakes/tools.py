"""Outputs of others' tools, as each version of them writes; made up. And the tools themselves, on PATH."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

UUID = "GPU-5d5b0f31-9a2c-4e61-8d0b-1f2e3d4c5b6a"
OTHER_UUID = "GPU-00112233-4455-6677-8899-aabbccddeeff"
SERIAL = "1329876543210"

DOCTYPE = '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">\n'

_OLD_ERRORS = "".join(
    f"<{where}><single_bit><total>{single}</total></single_bit>"
    f"<double_bit><total>0</total></double_bit></{where}>"
    for where, single in (("volatile", 1), ("aggregate", 7))
)
_NEW_ERRORS = "".join(
    f"<{where}><sram_correctable>0</sram_correctable>"
    "<sram_uncorrectable_parity>0</sram_uncorrectable_parity>"
    "<sram_uncorrectable_secded>0</sram_uncorrectable_secded>"
    f"<dram_correctable>{count}</dram_correctable><dram_uncorrectable>0</dram_uncorrectable></{where}>"
    for where, count in (("volatile", 1), ("aggregate", 7))
)

_LINK = (
    "<pci><pci_gpu_link_info><pcie_gen><max_link_gen>4</max_link_gen>"
    "<current_link_gen>1</current_link_gen></pcie_gen><link_widths>"
    "<current_link_width>16x</current_link_width></link_widths></pci_gpu_link_info>"
    "<replay_counter>0</replay_counter></pci>"
)

NAMING = {
    "serial": SERIAL,
    "pdi": "0x9f3c1d2e4b5a6978",
    "chassis_serial_number": "CH-77-0815",
    "host_id": "quartz-17",
    "gpu_fabric_guid": "0xa1b2c3d4e5f60718",
    "clusterUuid": "6f1f6c1e-0000-4000-8000-123456789abc",
    "process_name": "/home/mallory/secret_project.py",
    "vm_name": "mallorys-machine",
    "user_name": "mallory",
}
"""What names a machine, a place, a person or a process in nvidia-smi's output, by its element."""


def smi(driver: str = "580.11.22", gpus: int = 1, uuid: str = UUID, **texts: str) -> str:
    """What ``nvidia-smi -q -x`` prints; ``texts`` are other texts, by their elements' names."""
    branch = int(driver.partition(".")[0])
    new = branch >= 520
    part = "gpu_power_readings" if new else "power_readings"
    limit = "current_power_limit" if new else "enforced_power_limit"
    kind = "event" if branch >= 535 else "throttle"
    reasons = "".join(
        f"<clocks_{kind}_reason_{name}>{texts.get(name, 'Not Active')}</clocks_{kind}_reason_{name}>"
        for name in ("gpu_idle", "hw_slowdown", "hw_thermal_slowdown", "sw_power_cap")
    )

    def element(name: str, usual: str) -> str:
        return f"<{name}>{texts.get(name, usual)}</{name}>"

    gpu = "".join(
        [
            '<gpu id="00000000:65:00.0">',
            element("product_name", "Made-Up Accelerator"),
            "<mig_mode>" + element("current_mig", "N/A") + "</mig_mode>",
            element("uuid", uuid),
            *(element(name, text) for name, text in NAMING.items()),
            element("vbios_version", "95.02.66.00.02"),
            element("board_part_number", "900-00000-0000-000"),
            element("gpu_recovery_action", "None"),
            _LINK,
            f"<clocks_{kind}_reasons>{reasons}</clocks_{kind}_reasons>",
            "<ecc_mode>" + element("current_ecc", "Enabled") + "</ecc_mode>",
            f"<ecc_errors>{_NEW_ERRORS if new else _OLD_ERRORS}</ecc_errors>",
            "<remapped_rows>",
            element("remapped_row_corr", "1"),
            element("remapped_row_unc", "0"),
            element("remapped_row_pending", "No"),
            element("remapped_row_failure", "No"),
            "</remapped_rows>",
            f"<{part}>",
            element(limit, "300.00 W"),
            element("default_power_limit", "350.00 W"),
            f"</{part}>",
            "<max_clocks>" + element("sm_clock", "2000 MHz") + "</max_clocks>",
            "</gpu>",
        ]
    )
    return (
        f"{DOCTYPE}<nvidia_smi_log><timestamp>Wed Jun 10 13:05:34 2026</timestamp>"
        f"<driver_version>{driver}</driver_version>{gpu * gpus}</nvidia_smi_log>\n"
    )


def _warn(version: int, words: str) -> Any:
    """A warning, as versions have it: a text, or an object with what kind of error it is."""
    return words if version < 3 else [{"warning": words, "error_id": 6, "error_severity": 2}]


def diag(version: int = 4, **failing: str) -> str:
    """What ``dcgmi diag -j`` prints in DCGM 2, 3 or 4: Inforom passes, Permissions are skipped, and those
    that fail say why."""
    outcomes = {"Inforom": "Pass", "Permissions": "Skip", **dict.fromkeys(failing, "Fail")}
    tests: list[dict[str, Any]] = []
    for name, status in outcomes.items():
        result: dict[str, Any] = {"status": status}
        if name in failing:
            result["warnings"] = _warn(version, failing[name])
        of = {"entity_group": "GPU", "entity_group_id": 0, "entity_id": 0}
        results = [{**(of if version > 3 else {"gpu_id": "0"}), **result}]
        summary = {"test_summary": {"status": status}} if version > 3 else {}
        tests.append({"name": name, "results": results, **summary})
    root: dict[str, Any] = {"test_categories": [{"category": "Deployment", "tests": tests}]}
    if version > 3:
        entities = [{"entity_id": 0, "device_id": "0000", "serial_num": SERIAL}]
        group = {"entity_group": "GPU", "entity_group_id": 0, "entities": entities}
        versions = {"version": "4.2.1", "Driver Version Detected": "580.11.22"}
        return write({"DCGM Diagnostic": {**root, "entity_groups": [group], "metadata": versions}})
    name = "DCGM GPU Diagnostic" if version < 3 else "DCGM Diagnostic"
    versions = {"version": f"{version}.3.5", "Driver Version Detected": "580.11.22"}
    return write({name: {**versions, "GPU Device Serials": {"0": SERIAL}, **root}})


def bandwidth(
    there: Sequence[str] = ("25.0",), back: Sequence[str] = ("26.0",), **root: Any
) -> str:
    """What ``nvbandwidth -j`` prints, in GB/s a GPU; ``root`` are other fields of its object."""
    rates = {"host_to_device_memcpy_ce": there, "device_to_host_memcpy_ce": back}
    testcases = [
        {"name": name, "status": "Passed", "bandwidth_matrix": [list(of)], "sum": 1.0}
        for name, of in rates.items()
    ]
    usual = {
        "CUDA Runtime Version": 13000,
        "Driver Version": "580.11.22",
        "git_version": "v0.8",
        "testcases": testcases,
    }
    return write({"nvbandwidth": usual | root})


def write(value: Any) -> str:
    return json.dumps(value, indent=3) + "\n"


def install(folder: Path, outputs: Mapping[str, str], code: int = 0) -> Path:
    """Programs that print these texts, note that and how they were called in ``calls``, and end with a
    code."""
    folder.mkdir(exist_ok=True)
    for name, text in outputs.items():
        said = folder / f"{name}.said"
        said.write_text(text, encoding="utf-8")
        program = folder / name
        words = f'echo "{name} $* $CUDA_VISIBLE_DEVICES" >> {shlex.quote(str(folder / "calls"))}'
        program.write_text(f"#!/bin/sh\n{words}\ncat {shlex.quote(str(said))}\nexit {code}\n")
        program.chmod(0o755)
    return folder
