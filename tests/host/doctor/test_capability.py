"""Whether the TensorFlow that would run has code for the GPU: by its capability, its driver, or a trial."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from suite.errors import OTHER_BUILD, TOO_OLD, EngineError
from tests.fakes.doctor_machine import PLAIN, sees, smi
from tests.host.doctor.rows import UNTRIED, Row, a10g, hold, smi_says

pytestmark = pytest.mark.simulated

OLD = "the GPU has compute capability 5.2, which is older than this TensorFlow was built for"
NEW = "the GPU has compute capability 10.0, which is newer"


def of(name: str, capability: str, refused: str, remedy: str) -> Row:
    """Another GPU, which TensorFlow refuses."""
    row = smi_says(smi(name=name, capability=capability))
    marks = "capability=x4 tensorflow=x4"
    return a10g(marks, smi=row, engine={"view": sees(refused=refused)}, says={"capability": remedy})


ROWS: Mapping[str, Row] = {
    "a Maxwell": of("Tesla M60", "5.2", OLD, TOO_OLD),
    "a Blackwell": of("NVIDIA B200", "10.0", NEW, OTHER_BUILD),
    "an interpreter without a TensorFlow": a10g(
        "toolkit=- passthrough=- images=x3 base=? disk=? capability=? tensorflow=?",
        engine={
            "isolation": "none",
            "gpu": PLAIN,
            "local_python": "CPython 3.12.3",
            "stock_trouble": EngineError("LOCAL_PYTHON=x has no TensorFlow", "name another one"),
        },
        question={"engine": "local"},
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
