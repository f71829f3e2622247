"""Lines of TensorFlow's that look like trouble and are none.  Pure."""

from __future__ import annotations

import re

HARMLESS: tuple[tuple[str, str], ...] = (
    (
        r"NUMA node read from SysFS had negative|file to read NUMA node|built without NUMA support",
        "its line on a NUMA node of -1 (a virtual machine tells none of its GPU; TensorFlow takes node 0)",
    ),
    (
        r"Unable to register cu\w+ factory|computation placer already registered",
        "its lines on factories that are registered already (two parts of it bring the same one)",
    ),
    (
        r"TF-TRT Warning|libnvinfer|Cannot dlopen some TensorRT libraries",
        "its lines on TensorRT, which nothing here uses",
    ),
    (
        r"this is not a failure",
        "its line on memory that it only tried to get",
    ),
    (
        r"Falling back to the (?:CUDA )?driver|Relying on driver to perform ptx compilation",
        "its line on ptxas, in whose place the driver compiles (slower at the first call alone)",
    ),
    (
        r"does not indicate an error and you can ignore|OUT_OF_RANGE: End of sequence",
        "its line on the end of a data set",
    ),
    (
        r"Delay kernel timed out|gpu_timer\.cc",
        "its line on a timer of XLA's, which it uses while it chooses between algorithms",
    ),
    (
        r"oneDNN custom operations|optimized (?:with|to use)|before absl::InitializeLog|MLIR crash",
        "",
    ),
)
"""Lines that look like trouble and are none: a pattern, and what it is about; nothing where every start has
it."""

_HARMLESS = re.compile("|".join(pattern for pattern, _ in HARMLESS), re.IGNORECASE)


def is_harmless(line: str) -> bool:
    """Whether a line of TensorFlow's is known to mean nothing."""
    return _HARMLESS.search(line) is not None


def name_harmless(diary: str) -> list[str]:
    """What the lines of a diary that only look like trouble are about."""
    return [why for pattern, why in HARMLESS if why and re.search(pattern, diary, re.IGNORECASE)]
