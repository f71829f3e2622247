"""Which driver has which CUDA, which one is the last for a GPU, and what an image demands of both.  Pure.

An image says what it demands in NVIDIA_REQUIRE_* (conditions on cuda, driver, arch and brand; a comma is
"and", a space "or"); NVIDIA's toolkit refuses with the first alternative that is not met.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from suite.host.gpu.commands import newer_driver
from suite.host.machine.refusal import Refusal

CUDA_DRIVERS: Mapping[tuple[int, int], str] = {
    (10, 0): "410.48",
    (10, 1): "418.39",
    (10, 2): "440.33",
    (11, 0): "450.36.06",
    (11, 1): "455.23",
    (11, 2): "460.27.03",
    (11, 3): "465.19.01",
    (11, 4): "470.42.01",
    (11, 5): "495.29.05",
    (11, 6): "510.39.01",
    (11, 7): "515.43.04",
    (11, 8): "520.61.05",
    (12, 0): "525.60.13",
    (12, 1): "530.30.02",
    (12, 2): "535.54.03",
    (12, 3): "545.23.06",
    (12, 4): "550.54.14",
    (12, 5): "555.42.02",
    (12, 6): "560.28.03",
    (12, 8): "570.26",
    (12, 9): "575.51.03",
    (13, 0): "580.65.06",
    (13, 1): "590.44.01",
    (13, 2): "595.45.04",
}
"""By version of CUDA the first driver for Linux that has it: the releases' own, by table 3 of NVIDIA's
"CUDA Toolkit Release Notes" (13.2)."""

_LAST_BRANCHES = ((3.0, 390), (5.0, 470), (7.5, 580))
"""The last driver branch for GPUs below a compute capability: Fermi, Kepler, and Maxwell to Volta."""

_KEPLER = re.compile(
    r"\b(Tesla|Quadro|GRID) K(?!(620|1200|2200)\b)\d|GeForce GTX? (6\d\d|7(?!(45|50)\b)\d\d)\b"
)
"""Names of cards with Kepler, whose drivers are too old to say a compute capability; the K and 700 series
have a few of Maxwell."""

_CONDITION = re.compile(r"\b(cuda|driver|arch|brand)\s*(>=|<=|!=|=|<|>)\s*([\w.]+)", re.IGNORECASE)

_ORDER = {
    ">=": "{} or later",
    "<=": "{} or earlier",
    "!=": "other than {}",
    "=": "{}",
    "<": "before {}",
    ">": "after {}",
}
_NAMES = {
    "cuda": "a driver for CUDA",
    "driver": "a driver of version",
    "arch": "a GPU of compute capability",
    "brand": "a GPU of the brand",
}

_OF_DRIVER = ("cuda", "driver")

_SMALLER = (
    "take an image that demands less (CUDA_IMAGE=, BASE_IMAGE=; `docker inspect IMAGE` shows its "
    "NVIDIA_REQUIRE_CUDA)"
)


def last_branch(capability: float | None, name: str | None) -> int | None:
    """The last driver branch, such as 470, for a GPU by its compute capability, or where that is not told
    by its name; None: new ones still support it, or it is not known."""
    if capability is None:
        return 470 if _KEPLER.search(name or "") else None
    return next((branch for below, branch in _LAST_BRANCHES if capability < below), None)


def find_driver(cuda: str) -> str | None:
    """The first driver that has this version of CUDA or a later one; None: newer than the table."""
    numbers = tuple(int(part) for part in cuda.split(".")[:2] if part.isdigit())
    return next((driver for of, driver in CUDA_DRIVERS.items() if of >= numbers), None)


def word_requirement(text: str) -> Refusal | None:
    """What an image demands that this machine does not have, by the toolkit's refusal; None: no condition
    stands in it."""
    _, _, said = text.partition("unsatisfied condition:")
    # The toolkit's newer program adds what it found in brackets.
    said = re.split(r", please|\(|\n|: unknown", said)[0]
    conditions = [(key.lower(), how, value) for key, how, value in _CONDITION.findall(said)]
    if not conditions:
        return None
    wanted, remedies = [], []
    for key, how, value in conditions:
        wanted.append(f"{_NAMES[key]} {_ORDER[how].format(value)}")
        if key in ("arch", "brand"):
            remedies.append(f"rent {wanted[-1]}")
        elif how in (">=", ">", "="):
            remedies.append(_demand_driver(key, value))
    older = len(remedies) == len(conditions) and all(key in _OF_DRIVER for key, *_ in conditions)
    lead = (
        "the driver is older than the image needs" if older else "the image is not for this machine"
    )
    return Refusal(
        pattern=UNSATISFIED,
        cause=f"{lead}: the image demands {' and '.join(wanted)}",
        # Of a brand and its drivers the first: another card has another driver.
        remedy="; or ".join([*remedies[:1], _SMALLER]),
    )


def _demand_driver(key: str, value: str) -> str:
    """What to do about the driver that is demanded, by its own version or by that of its CUDA."""
    least = value if key == "driver" else find_driver(value)
    words = f"{least} or later" if least else f"the one of CUDA {value} or later"
    if least and key == "cuda":
        words += f" for CUDA {value}"
    branch = re.match(r"\d+", least or "")
    kept = branch is not None and int(branch[0]) <= _LAST_BRANCHES[-1][1]
    return newer_driver(words, past_volta=not kept)


UNSATISFIED = r"unsatisfied condition:|requirement error:"
"""How NVIDIA's toolkit refuses an image."""

REQUIREMENT = Refusal(
    pattern=UNSATISFIED,
    cause="the image demands something of the driver or the GPU that this machine does not have",
    remedy="`docker inspect IMAGE` shows it (NVIDIA_REQUIRE_CUDA); another image (CUDA_IMAGE=, BASE_IMAGE=), "
    "or another machine",
)
"""Its row, for where it does not say which condition it is."""
