"""Which driver has which CUDA, which is a GPU's last, and what an image demands of both.  Pure.

An image says what it demands in NVIDIA_REQUIRE_* (conditions on cuda, driver, arch and brand; a comma is
"and", a space "or"); NVIDIA's toolkit refuses with the first alternative that is not met.
"""

from __future__ import annotations

import re
from dataclasses import replace

from suite.host.engine import Refusal
from suite.host.gpu.refusals import COMPARED, CUDA_DRIVERS, DEMANDS, GROUPS, WORDS

(REQUIREMENT,) = GROUPS["requirement"]
"""The row of an image's demand, for where it does not say which condition it is."""

_LAST_BRANCHES = ((3.0, 390), (5.0, 470), (7.5, 580))
"""The last driver branch for GPUs below a compute capability: Fermi, Kepler, and Maxwell to Volta."""

_KEPLER = re.compile(
    r"\b(Tesla|Quadro|GRID) K(?!(620|1200|2200)\b)\d|GeForce GTX? (6\d\d|7(?!(45|50)\b)\d\d)\b"
)
"""Names of cards with Kepler, whose drivers are too old to say a compute capability; the K and 700 series
have a few of Maxwell."""

_CONDITION = re.compile(r"\b(cuda|driver|arch|brand)\s*(>=|<=|!=|=|<|>)\s*([\w.]+)", re.IGNORECASE)


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


def describe_requirement(text: str) -> Refusal | None:
    """What an image demands that this machine does not have, by the toolkit's refusal; None: no condition
    stands in it."""
    # The toolkit's newer program adds what it found in brackets.
    demand = re.split(r", please|\(|\n|: unknown", text.partition("unsatisfied condition:")[2])[0]
    conditions = [(key.lower(), how, value) for key, how, value in _CONDITION.findall(demand)]
    if not conditions:
        return None
    wanted, remedies = [], []
    for key, how, value in conditions:
        wanted.append(f"{DEMANDS[key]} {COMPARED[how].format(value)}")
        if key in ("arch", "brand"):
            remedies.append(f"rent {wanted[-1]}")
        elif how in (">=", ">", "="):
            remedies.append(_demand_driver(key, value))
    of_the_driver = all(key in ("cuda", "driver") for key, *_ in conditions)
    older = of_the_driver and len(remedies) == len(conditions)
    lead = (
        "the driver is older than the image needs" if older else "the image is not for this machine"
    )
    return replace(
        REQUIREMENT,
        cause=f"{lead}: the image demands {' and '.join(wanted)}",
        # Of a brand and its drivers the first: another card has another driver.
        remedy="; or ".join([*remedies[:1], WORDS["SMALLER_IMAGE"]]),
    )


def _demand_driver(key: str, value: str) -> str:
    """What to do about the driver that is demanded, by its own version or by that of its CUDA."""
    least = value if key == "driver" else find_driver(value)
    words = f"{least} or later" if least else f"the one of CUDA {value} or later"
    if least and key == "cuda":
        words += f" for CUDA {value}"
    branch = re.match(r"\d+", least or "")
    kept = branch is not None and int(branch[0]) <= _LAST_BRANCHES[-1][1]
    cards = WORDS["FOR_OLD_CARDS" if kept else "PAST_VOLTA"]
    return f"a newer driver, {words}: {WORDS['NEWER_DRIVER']} {cards}; {WORDS['AFTER_DRIVER']}"
