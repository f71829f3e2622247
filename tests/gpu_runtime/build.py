"""Compiles the stand-ins for a GPU and lays them out as `enter.py` and the container's hook want them.

    python build.py SITE FOLDER

SITE is the site-packages of an environment that has the CUDA wheels, whose headers they need.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

DRIVER = {"cuda": "libcuda.so.1", "nvml": "libnvidia-ml.so.1"}
"""What a driver's installation brings: by source file, the library's name."""

WHEELS = {
    "cudart": "cuda_runtime/lib/libcudart.so.12",
    "cublas": "cublas/lib/libcublas.so.12",
    "cublaslt": "cublas/lib/libcublasLt.so.12",
    "cudnn": "cudnn/lib/libcudnn.so.9",
    "cupti": "cuda_cupti/lib/libcupti.so.12",
}
"""What lies over NVIDIA's own in the environment: by source file, its place under ``nvidia``."""

HEADERS = ("cuda_runtime", "cuda_nvcc", "cublas")

DEVICES = ("nvidia0", "nvidiactl", "nvidia-uvm")

VERSION = "570.00.00"

SMI = f"""#!/bin/sh
case "$*" in
  *--query-gpu=*) exec awk -F ', ' -v asked="${{1#*=}}" -f "${{0%/*}}/query.awk" "${{0%/*}}/rows" ;;
  *--query-compute-apps=*) ;;
  *) echo 'NVIDIA-SMI (a stand-in without a GPU)  Driver Version: {VERSION}' ;;
esac
"""
QUERY = """NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; fields = split(asked, field, ","); next }
{
  row = ""
  for (i = 1; i <= fields; i++) {
    if (!(field[i] in column)) {
      printf "Field \\"%s\\" is not a valid field to query.\\n", field[i]
      exit 2
    }
    row = row (i > 1 ? ", " : "") $column[field[i]]
  }
  print row
}
"""
"""The fields that are asked for, in their order, from rows under their names; as nvidia-smi says where it
does not know one."""

NAMES = "index, name, driver_version, memory.total, uuid, mig.mode.current, persistence_mode, compute_cap"
ROW = "{index}, Stand-in without a GPU, {version}, 16384 MiB, GPU-{uuid}, Disabled, Enabled, 9.0"

INFORMATION = """Model: \t\t Stand-in without a GPU
GPU UUID: \t GPU-{uuid}
Bus Location: \t 0000:{bus:02x}:00.0
"""


def compile_library(
    source: str,
    target: Path,
    headers: list[Path],
    driver: Path | None = None,
    real: Path | None = None,
) -> None:
    """One library; with all names of the ``real`` one that it lies over, since NVIDIA's other libraries
    bind them all when they are opened.

    Raises:
        RuntimeError: the compiler's complaint.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    words: list[str | Path] = ["gcc", "-shared", "-fPIC", "-O3", "-w"]
    words += [*(f"-I{one}" for one in (HERE / "source", *headers)), f"-Wl,-soname,{target.name}"]
    words += ["-o", target, HERE / "source" / f"{source}.c"]
    with tempfile.TemporaryDirectory() as scratch:
        if driver is not None and real is not None:
            refusals, versions = Path(scratch, "refusals.c"), Path(scratch, "versions")
            lines = [
                f'__attribute__((weak)) int {name}(void) {{ return refuse("{name}"); }}'
                for name in list_names(real)
            ]
            refusals.write_text("\n".join(['#include "plants.h"', *lines]), encoding="utf-8")
            versions.write_text(f"{target.name} {{ global: *; }};\n", encoding="utf-8")
            words += [refusals, f"-Wl,--version-script={versions}", driver]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)


def list_names(library: Path) -> list[str]:
    """The functions that a shared library has for others."""
    done = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in done.stdout.splitlines()]
    return [row[2].partition("@")[0] for row in rows if row[1] in "TtWi"]


def build(site: Path, folder: Path, devices: int = 1) -> None:
    """Makes the folder anew.

    Args:
        site: the site-packages with the wheels' headers.
        folder: what is to hold ``driver``, ``site``, ``proc``, ``bin`` and ``devices``.
        devices: how many GPUs there are.
    """
    shutil.rmtree(folder, ignore_errors=True)
    headers = [site / "nvidia" / name / "include" for name in HEADERS]
    for source, name in DRIVER.items():
        compile_library(source, folder / "driver" / name, headers)
    driver = folder / "driver" / "libcuda.so.1"
    for source, place in WHEELS.items():
        target = folder / "site" / "nvidia" / place
        compile_library(source, target, headers, driver, site / "nvidia" / place)
    for name in ("stand_in_preamble.py", "stand_in_preamble.pth"):
        shutil.copy(HERE / "preamble" / name, folder / "site" / name)
    nodes = [*(f"nvidia{i}" for i in range(devices)), *DEVICES[1:]]
    (folder / "devices").write_text("\n".join(nodes) + "\n", encoding="utf-8")
    (folder / "missing").write_text("", encoding="utf-8")
    (folder / "driver" / "plants.conf").write_text(f"devices {devices}\n", encoding="utf-8")
    proc = folder / "proc"
    proc.mkdir()
    (proc / "version").write_text(
        f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {VERSION}\n", encoding="utf-8"
    )
    rows = [NAMES]
    for index in range(devices):
        bus = 0x81 + 0x40 * index
        digit = f"{index + 1}"
        uuid = "-".join(digit * length for length in (8, 4, 4, 4, 12))
        card = proc / "gpus" / f"0000:{bus:02x}:00.0"
        card.mkdir(parents=True)
        (card / "information").write_text(INFORMATION.format(uuid=uuid, bus=bus), encoding="utf-8")
        rows.append(ROW.format(index=index, version=VERSION, uuid=uuid))
    smi = folder / "bin" / "nvidia-smi"
    smi.parent.mkdir()
    smi.write_text(SMI, encoding="utf-8")
    smi.chmod(0o755)
    (smi.parent / "query.awk").write_text(QUERY, encoding="utf-8")
    (smi.parent / "rows").write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    build(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
