"""Products by another framework on the same device in the same hour: how much of its rate ours has.

Two commands, for two interpreters.  ``measure`` needs PyTorch and nothing of this project's host side;
on a GPU PyTorch asks cuBLAS, as TensorFlow does.  ``share`` reads what it printed beside a campaign.

    python -m tests.bench.cublas measure --device cuda > other.json
    python -m tests.bench.cublas share results/X other.json
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

SIZES = (100, 500, 1000, 2000, 3000, 4000, 5000, 8000, 10000)
PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
SAMPLE_S = 0.02
WARMUP_S = 0.3
SAMPLES = 15
LONGEST_S = 10.0
"""After a product that takes longer, no larger one is tried."""

Fence = Callable[[], None]


def measure_call(step: Callable[[], object], fence: Fence) -> float:
    """Seconds a call: the median of samples between two fences, each of at least `SAMPLE_S`.

    As the suite's own loop does it, but in a few lines of its own: the witness must not share a
    mistake with what it is a witness to.
    """
    step()
    fence()
    began = time.perf_counter()
    step()
    fence()
    once = time.perf_counter() - began
    calls = max(1, round(SAMPLE_S / once))
    until = time.perf_counter() + WARMUP_S
    samples: list[float] = []
    while True:
        fence()
        began = time.perf_counter()
        for _ in range(calls):
            step()
        fence()
        ended = time.perf_counter()
        if ended > until:
            samples.append((ended - began) / calls)
        if len(samples) == (SAMPLES if once < 1 else 3):
            return statistics.median(samples)


def measure_products(device: str) -> dict[str, Any]:
    """Seconds a product by precision and size, on random normal operands."""
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("PyTorch sees no GPU")
    fence: Fence = torch.cuda.synchronize if device == "cuda" else lambda: None
    types = {"fp32": torch.float32, "tf32": torch.float32}
    types |= {"bf16": torch.bfloat16, "fp16": torch.float16}
    found: dict[str, dict[str, float]] = {}
    for precision in PRECISIONS:
        if device != "cuda" and precision != "fp32":
            continue
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        found[precision] = {}
        for n in SIZES:
            left, right = (torch.randn(n, n, device=device).to(types[precision]) for _ in range(2))
            out = torch.empty_like(left)
            seconds = measure_call(partial(torch.matmul, left, right, out=out), fence)
            found[precision][str(n)] = seconds
            if seconds > LONGEST_S:
                break
    name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    return {"framework": f"PyTorch {torch.__version__}", "device": name, "seconds": found}


def share(folder: Path, other: dict[str, Any], arm: str) -> str:
    """A table: the campaign's rate as a share of the other framework's, by precision and size."""
    from tabulate import tabulate

    from suite.analysis.campaign.summarise import summarise
    from suite.analysis.documents.read import load_campaign

    rows = []
    for one in summarise(load_campaign(folder)).cells:
        params = one.cell.params
        plain = params.get("operands") == "device" and params.get("xla") == "off"
        if (one.cell.scenario, one.cell.case) != ("matmul", "square") or not plain:
            continue
        ours = one.arms[arm].estimate
        theirs = other["seconds"].get(str(params["precision"]), {}).get(str(params["n"]))
        if ours is None or theirs is None or one.arms[arm].invalid:
            continue
        work = one.cell.work.amount
        low, high = ours.low, ours.high
        bounds = "" if low is None or high is None else f"{theirs / high:.2f} to {theirs / low:.2f}"
        told = (f"{work / seconds / 1e12:.4g}" for seconds in (ours.value, theirs))
        rows.append((params["precision"], params["n"], *told, f"{theirs / ours.value:.2f}", bounds))
    rows.sort(key=lambda row: (PRECISIONS.index(str(row[0])), row[1]))
    rates = (f"{name}, TFLOP/s" for name in (arm, other["framework"]))
    headers = ("precision", "n", *rates, "share", "95 %")
    return tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one of the two commands."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    sharing = commands.add_parser("share")
    sharing.add_argument("folder", type=Path)
    sharing.add_argument("other", type=Path)
    sharing.add_argument("--arm", default="cuda")
    options = parser.parse_args(argv)
    if options.command == "measure":
        json.dump(measure_products(options.device), sys.stdout, indent=1)
        sys.stdout.write("\n")
    else:
        other = json.loads(options.other.read_text(encoding="utf-8"))
        sys.stdout.write(share(options.folder, other, options.arm) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
