"""Made-up machines as rows of tables, most in ``machines.toml``: what each is made of, and what the doctor is
to say of it.

No GPU stands behind any of them; the texts of drivers, hooks and engines are those that they print.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from suite.errors import GpuError
from suite.host.doctor.examine import CHECKS, Diagnosis
from suite.host.engine import GpuSupport
from suite.host.gpu.remedies import explain_refusal
from tests.fakes.doctor_machine import (
    CDI,
    GB,
    GPU_FILES,
    HOOK,
    PLAIN,
    TOOLKIT,
    UUIDS,
    FakeExamined,
    diagnose,
    line,
    make_machine,
    marks,
    ran,
    sees,
    smi,
)
from tests.fakes.engine import Life

H100 = "NVIDIA H100 80GB HBM3"
LISTED = GpuSupport(
    # As NVIDIA's toolkit names them where it is asked for indexes and UUIDs.
    devices=("nvidia.com/gpu=0", f"nvidia.com/gpu={UUIDS[0]}", "nvidia.com/gpu=all"),
    cdi_folders=(),
    runtimes=(),
)
FOLDERS = GpuSupport(devices=(), cdi_folders=("/etc/cdi", "/var/run/cdi"), runtimes=("runc",))
DRIVER_FILE = "proc/driver/nvidia/version"
LOADED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Mon Jan 1 00:00:00 UTC 2026"
SLICES = """GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-11111111-2222-3333-4444-555555555555)
  MIG 1g.10gb     Device  0: (UUID: MIG-aaaaaaaa-2222-3333-4444-555555555555)
  MIG 3g.40gb     Device  1: (UUID: MIG-bbbbbbbb-2222-3333-4444-555555555555)
"""
LATE = Life(words=[TimeoutError()])
NO_CUDA = sees(
    refused="TensorFlow sees no GPU here",
    diary="failed call to cuInit: INTERNAL: CUDA error: UNKNOWN ERROR (303)\n",
)

NO_GPU = "driver=x toolkit=- passthrough=- capability=- tensorflow=- idle-gpu=- base=+ "
DEAD = "passthrough=x4 tensorflow=? "
"""What follows where no GPU can be had."""
UNTRIED = "tensorflow=? base=+ "
"""What follows where nothing is built to try it with."""
SILENT = "driver=x4 capability=? idle-gpu=? "
"""What follows where the driver tells nothing of the GPU."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A machine, and what is found on it.

    ``marks`` are those of checks that are not a plain yes: ``+`` yes, ``x`` no (with the exit status that
    it stands for), ``?`` unknown, ``-`` not applicable; of several of one check the last counts.  ``says``
    are pieces of text by check, of the finding and its remedy together.  ``engine`` are `FakeExamined`'s
    words, or why there is none.
    """

    marks: str = ""
    says: Mapping[str, str] = field(default_factory=dict)
    smi: Mapping[str, Any] = field(default_factory=dict)
    toolkit: Mapping[str, Any] = field(default_factory=lambda: TOOLKIT)
    files: Mapping[str, str] = field(default_factory=dict)
    engine: Mapping[str, Any] | Exception = field(default_factory=dict)
    question: Mapping[str, Any] = field(default_factory=dict)
    free: int | None = 100 * GB
    writable: bool = True


def smi_says(*rows: str, apps: str = "") -> dict[str, Any]:
    return {
        "nvidia-smi --query-gpu": ran(code=0, text="\n".join(rows)),
        "nvidia-smi --query-compute-apps": ran(code=0, text=apps),
        "nvidia-smi -L": ran(code=0, text=SLICES),
    }


def smi_fails(text: str) -> dict[str, Any]:
    return {"nvidia-smi": ran(code=18, text=text)}


def view(name: str, capability: str) -> Life:
    """TensorFlow that computes on such a GPU."""
    return sees(**{"gpu.0.name": name, "gpu.0.capability": capability})


VIEW = view("NVIDIA A10G", "8.6")
WELL = {**smi_says(smi()), **TOOLKIT}


def plain(
    marks: str = "", *, engine: Mapping[str, Any] | Exception | None = None, **of: Any
) -> Row:
    """A machine without a GPU."""
    return Row(marks=NO_GPU + marks, engine=engine or {}, toolkit={}, **of)


def a10g(marks: str = "", *, engine: Mapping[str, Any] | None = None, **of: Any) -> Row:
    """A machine with an A10G, given through NVIDIA's hook, and both images built."""
    usual = {"gpu": HOOK, "built": ("cpu", "cuda"), "view": VIEW}
    given = {"smi": smi_says(smi()), "files": GPU_FILES, **of}
    return Row(marks=marks, engine={**usual, **(engine or {})}, **given)


def h100(
    marks: str = "",
    *,
    driver: str = "570.86.15",
    engine: Mapping[str, Any] | None = None,
    files: Mapping[str, str] | None = None,
    **of: Any,
) -> Row:
    """The same with an H100, given by CDI; its driver is new enough unless it says otherwise."""
    usual = {"gpu": CDI, "support": LISTED, "view": view(H100, "9.0")}
    row = smi_says(smi(name=H100, driver=driver, mig="Disabled", capability="9.0"))
    loaded = {DRIVER_FILE: LOADED.replace("570.86.15", driver)}
    given = {"smi": row, "files": {**GPU_FILES, **loaded, **(files or {})}, **of}
    return a10g(marks, engine={**usual, **(engine or {})}, **given)


MACHINES = {"plain": plain, "a10g": a10g, "h100": h100}
NAMED: Mapping[str, Any] = {
    "@HOOK": HOOK,
    "@CDI": CDI,
    "@PLAIN": PLAIN,
    "@LISTED": LISTED,
    "@FOLDERS": FOLDERS,
    "@LATE": LATE,
    "@NO_CUDA": NO_CUDA,
}


def read_rows(path: Path) -> dict[str, Row]:
    """The rows of a TOML file: by name one of `MACHINES`, and what differs from it."""
    return {name: _make(**row) for name, row in msgspec.toml.decode(path.read_bytes()).items()}


def _make(
    machine: str,
    marks: str = "",
    *,
    engine: Mapping[str, Any] = {},
    files: Mapping[str, str] = {},
    smi: Mapping[str, tuple[int, str]] = {},
    question: Mapping[str, Any] = {},
    **more: Any,
) -> Row:
    words = {
        name: tuple(word) if isinstance(word, list) else word for name, word in question.items()
    }
    known = {name: _make_part(name, value) for name, value in engine.items()}
    row = MACHINES[machine](marks, engine=known, question=words, **more)
    answers = {words: ran(code, text) for words, (code, text) in smi.items()}
    return replace(row, files={**row.files, **files}, smi={**row.smi, **answers})


def _make_part(name: str, value: Any) -> Any:
    """What an engine has: by its name, a refusal by the engine's text, an error, or TensorFlow's facts."""
    if isinstance(value, str):
        return NAMED.get(value, value)
    if name == "gpu" and "refused" in value:
        return explain_refusal(value["refused"])
    if name == "gpu":
        return GpuError(value["error"], value["remedy"])
    return sees(**value) if name == "view" else value


def hold(row: Row, root: Path) -> tuple[Diagnosis, FakeExamined | None]:
    """Lets the doctor look at the machine, and holds what it says against the row."""
    engine = None if isinstance(row.engine, Exception) else FakeExamined(**row.engine)
    machine = make_machine(
        root,
        engine or row.engine,  # type: ignore[arg-type]
        files={"sys/class/dmi/id/sys_vendor": "Made-Up Cloud", **row.files},
        programs={**row.smi, **row.toolkit},
        free=row.free,
        writable=row.writable,
    )
    found = diagnose(machine, **row.question)
    different = dict(mark.split("=") for mark in row.marks.split())
    expected = {**dict.fromkeys(CHECKS, "+"), "base": "-", "expected": "-", **different}
    assert marks(found) == expected
    stops = [int(mark[1:]) for mark in expected.values() if mark[1:]]
    assert found.status == next(iter(stops), 0), found.verdict
    for check, words in row.says.items():
        one = line(found, check)
        assert words in f"{one.text} {one.remedy}", one
    for one in found.checks:
        assert one.text
        assert one.remedy or one.state != "no", one
        assert "this check itself failed" not in one.text, one
        # A GPU's driver that compiles first takes no time that anybody would notice.
        assert "minutes" not in one.text or one.id in ("images", "duration"), one
        assert not one.stops or one.state == "no", one
        told = f"{one.text} {one.remedy} {one.facts}"
        assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-|somebody", told), told
    # Where it can't be tried, nobody tries.
    assert engine is None or engine.has_probe_image() or engine.gpus_asked == []
    assert engine is None or engine.closed()
    return found, engine
