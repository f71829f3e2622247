"""Compiles the stand-ins for a GPU and lays them out as `enter.py` and the container's hook want them."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from suite.host.gpu.smi import FIELDS
from tests.fakes.tree import lay

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

SHARED = ("nvidiactl", "nvidia-uvm")
"""The device nodes beside those of the GPUs."""

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

NAMES = ", ".join(FIELDS)
ROW = (
    "{index}, Stand-in without a GPU, {version}, 16384 MiB, GPU-{uuid}, Disabled, Enabled, 9.0, "
    "1 MiB, 30, P8"
)

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


def build(site: Path, folder: Path) -> None:
    """Makes the folder of a machine with one GPU anew.

    Args:
        site: the site-packages of an environment that has the CUDA wheels, whose headers they need.
        folder: what is to hold ``driver``, ``site``, ``proc``, ``bin`` and ``devices``.
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
    install(folder, devices=1)


def install(folder: Path, devices: int) -> None:
    """Gives the machine so many GPUs, of which nothing is planted."""
    shutil.rmtree(folder / "proc", ignore_errors=True)
    rows, cards = [NAMES], {}
    for index in range(devices):
        bus = 0x81 + 0x40 * index
        digit = f"{index + 1}"
        uuid = "-".join(digit * length for length in (8, 4, 4, 4, 12))
        card = f"proc/gpus/0000:{bus:02x}:00.0/information"
        cards[card] = INFORMATION.format(uuid=uuid, bus=bus)
        rows.append(ROW.format(index=index, version=VERSION, uuid=uuid))
    files = {
        "devices": "\n".join([*(f"nvidia{index}" for index in range(devices)), *SHARED]),
        "missing": "",
        "driver/plants.conf": f"devices {devices}",
        "proc/version": f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {VERSION}",
        "bin/nvidia-smi": SMI,
        "bin/query.awk": QUERY,
        "bin/rows": "\n".join(rows),
    }
    lay(folder, {**files, **cards})
    (folder / "bin" / "nvidia-smi").chmod(0o755)
