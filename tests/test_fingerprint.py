"""The same source has the same hash, wherever it lies; another has another."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

from suite.fingerprint import SUITE, suite_content, worker_files


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The suite in another place, without what the container does not run."""
    for path in worker_files():
        target = tmp_path / "elsewhere" / path.relative_to(SUITE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return tmp_path / "elsewhere"


def test_a_copy_has_the_same_content(copy: Path) -> None:
    assert suite_content(copy) == suite_content()
    assert len(suite_content()) == 64


def test_the_container_gets_the_words_and_its_own_room_alone() -> None:
    names = [path.relative_to(SUITE).as_posix() for path in worker_files()]
    shared = {"__init__", "clock", "codec", "errors", "fingerprint", "input_limits"}
    assert {name for name in names if "/" not in name} == {f"{name}.py" for name in shared}
    rooms = {name.partition("/")[0] for name in names if "/" in name}
    assert rooms == {"cells", "model", "procfs", "worker"}
    assert "cells/cell.py" in names
    assert {"procfs/arm_cores.txt", "worker/scenarios/matmul.py"} <= set(names)


def test_what_the_container_gets_imports_nothing_of_ours_that_it_does_not_get(copy: Path) -> None:
    wanted = {
        node.module
        for path in worker_files()
        if path.suffix == ".py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("suite.")
    }
    assert {"suite.errors", "suite.cells.cell"} <= wanted
    for module in wanted:
        place = copy.joinpath(*str(module).split(".")[1:])
        assert place.with_suffix(".py").is_file() or (place / "__init__.py").is_file(), module


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        # One more character, or a new file in the worker's room.
        *((name, True) for name in ("model/arm.py", "cells/cell.py", "worker/loop/measure.py")),
        *(
            (name, True)
            for name in ("worker/scenarios/mlp/references.json", "worker/scenarios/new.py")
        ),
        # What the container does not run.
        *((name, False) for name in ("cli/entry.py", "host/campaign/plan.py")),
        *((name, False) for name in ("worker/loop/measure.pyc", "worker/a.txt")),
    ],
)
def test_what_the_container_runs_is_the_content(name: str, counts: bool, copy: Path) -> None:
    (copy / name).parent.mkdir(parents=True, exist_ok=True)
    with (copy / name).open("a") as file:
        file.write("#")
    assert (suite_content(copy) != suite_content()) == counts


def test_a_renamed_file_is_another_content(copy: Path) -> None:
    (copy / "worker" / "loop" / "measure.py").rename(copy / "worker" / "loop" / "measured.py")
    assert suite_content(copy) != suite_content()
