"""Whether the TensorFlow that would run has code for the GPU: by its capability, its driver, or a trial."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from suite.errors import OTHER_BUILD, TOO_OLD, EngineError
from suite.host.provision.resources import compile_cache
from tests.fakes.doctor_machine import BUILT, CDI, PLAIN, sees, smi
from tests.host.doctor.rows import LATE, UNTRIED, Row, a10g, h100, hold, smi_says, view

pytestmark = pytest.mark.simulated

CACHE = compile_cache(BUILT, CDI).name
WRONG = sees(
    refused="/GPU:0 gives a wrong result for a small sum by elements of whole numbers",
    diary="W0000 00:00:1795290143.066641       1 redzone_allocator.cc:1] "
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the provided PTX was compiled with an unsupported toolchain.\n",
)
UNLOADED = sees(
    refused="the GPU fails in the start-up sequence: cuModuleLoadData failed with "
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
)
HOLDS_CODE = {"capability": "compute capability 9.0: TensorFlow holds code for it"}
TAKES_LONGER = {
    "tensorflow": "what is read for the first time takes longer run `make doctor` again"
}


def of(
    name: str,
    capability: str,
    marks: str = "",
    *,
    says: Mapping[str, str] | None = None,
    **engine: Any,
) -> Row:
    """Another GPU; what TensorFlow gives there, where that is bad."""
    known = {"view": view(name, capability), **engine}
    row = smi_says(smi(name=name, capability=capability))
    return a10g(marks, smi=row, engine=known, says=says or {})


def old(
    marks: str, *, says: Mapping[str, str] = {"capability": "555 or later"}, **engine: Any
) -> Row:
    """An H100 whose driver is older than the wheel's PTX."""
    return h100(marks, driver="550.90.07", engine=engine, says=says)


BLACKWELL = smi_says(smi(name="NVIDIA B200", driver="570.86.10", capability="10.0"))
VENDOR = "vendor/tf:1"
LOCAL = {"isolation": "none", "gpu": PLAIN, "local_python": "CPython 3.12.3"}
NO_TENSORFLOW = EngineError("LOCAL_PYTHON=x has no TensorFlow", "name another one")
REFUSED = EngineError(f"the image {VENDOR} (CUDA_IMAGE) can't be pulled", "docker login")


def laid(marks: str = "", *, says: Mapping[str, str], **engine: Any) -> Row:
    """A Blackwell, and CUDA_IMAGE."""
    known = {"laid_on": VENDOR, **engine}
    return a10g(marks, smi=BLACKWELL, engine=known, question={"cuda_image": VENDOR}, says=says)


def of_ones_own(marks: str, *, says: Mapping[str, str], **engine: Any) -> Row:
    """A Blackwell, and LOCAL_PYTHON."""
    known = {**LOCAL, **engine}
    return a10g(marks, smi=BLACKWELL, engine=known, question={"engine": "local"}, says=says)


ROWS: Mapping[str, Row] = {
    "an H100 with the first driver that compiles the wheel's PTX": h100(
        driver="555.42.02", says=HOLDS_CODE
    ),
    "an H100 with an older one, that computes all the same": old(
        "capability=-",
        says={"capability": "works anyway (see tensorflow)", "tensorflow": "computes on it"},
    ),
    "an H100 with an older one, that adds up wrongly": old(
        "capability=x4 tensorflow=x4",
        view=WRONG,
        says={"capability": "too old to compile", "tensorflow": "555 or later"},
    ),
    "an H100 with an older one, and nothing built to try it": old(
        "capability=x4 " + UNTRIED, built=()
    ),
    "an H100 that comes up too late, and no compile cache yet": h100(
        "tensorflow=?", engine={"view": LATE}, says=TAKES_LONGER
    ),
    "an H100 that comes up too late on a campaign's compile cache": h100(
        "tensorflow=?",
        engine={"view": LATE, "caches": (CACHE,)},
        says=TAKES_LONGER,
    ),
    "a Maxwell": of(
        "Tesla M60",
        "5.2",
        "capability=x4 tensorflow=x4",
        view=sees(
            refused="the GPU has compute capability 5.2, which is older than this TensorFlow was built for"
        ),
        says={"capability": TOO_OLD, "tensorflow": TOO_OLD},
    ),
    "a Blackwell": of(
        "NVIDIA B200",
        "10.0",
        "capability=x4 tensorflow=x4",
        view=sees(refused="the GPU has compute capability 10.0, which is newer"),
        says={"capability": OTHER_BUILD},
    ),
    # What brings its own TensorFlow is not held against the lock.
    "an image that brings its own TensorFlow": laid(
        says={
            "capability": f"{VENDOR} (CUDA_IMAGE) has its own TensorFlow",
            "images": f"(the suite laid on {VENDOR}, not from the lock) is built",
        }
    ),
    "an image that is not built, on a base that is to be fetched": laid(
        UNTRIED,
        built=(),
        says={"base": f"python:3.13 is in the engine; {VENDOR} is not here; its registry answers"},
    ),
    "an interpreter with its own TensorFlow": of_ones_own(
        "toolkit=- passthrough=- base=+",
        says={
            "capability": "CPython 3.12.3 (LOCAL_PYTHON) has its own",
            "images": "(CPython 3.12.3 as LOCAL_PYTHON names it, not from",
            "base": "(LOCAL_PYTHON) stands in for the environments",
            "tensorflow": "TensorFlow 2.21.0 in LOCAL_PYTHON sees NVIDIA A10G",
        },
    ),
    "an interpreter without one": of_ones_own(
        "toolkit=- passthrough=- images=x3 base=? disk=? capability=? tensorflow=?",
        stock_trouble=NO_TENSORFLOW,
        says={"capability": "see images"},
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_every_line_is_right_on(name: str, tmp_path: Path) -> None:
    hold(ROWS[name], tmp_path)


@pytest.mark.parametrize(
    ("capability", "driver", "mark", "said"),
    [
        ("5.2", "560.35", "x4", "older than"),
        ("6.1", "560.35", "+", "holds code"),
        ("8.9", "560.35", "+", "holds code"),
        # Machine code alone: its driver has nothing to compile.
        ("8.9", "550.90", "+", "holds code"),
        ("9.0", "560.35", "+", "holds code"),
        ("9.0", "550.90", "x4", "driver 550.90 is too old to compile"),
        ("10.0", "560.35", "x4", "Blackwell"),
        ("12.0", "560.35", "x4", "Blackwell"),
        ("[N/A]", "560.35", "?", "does not say"),
    ],
)
def test_which_gpus_the_wheel_has_code_for(
    capability: str, driver: str, mark: str, said: str, tmp_path: Path
) -> None:
    row = smi_says(smi(driver=driver, capability=capability))
    marks = f"{UNTRIED}capability={mark}"
    hold(a10g(marks, smi=row, engine={"built": ()}, says={"capability": said}), tmp_path)
