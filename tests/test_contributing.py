"""CONTRIBUTING.md's scenario, put into a copy of the tree, passes what all scenarios have to."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from suite.fingerprint import SUITE
from tests.commands import run_python

ROOT = SUITE.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
NOXFILE = (ROOT / "noxfile.py").read_text(encoding="utf-8")
BLOCK = re.compile(r"<!-- (file|diff): (\S+) -->\n```[a-z]+\n(.*?)```\n", re.DOTALL)


def change(text: str, diff: str) -> str:
    """A text after a diff, each hunk of which is found in it once."""
    for hunk in diff.split("@@\n"):
        lines = hunk.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -")
        assert text.count(before) == 1, before
        text = text.replace(before, "".join(line[1:] for line in lines if line[0] in " +"))
    return text


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the tree with the scenario in it."""
    tree = tmp_path / "tree"
    for name in ("suite", "tests"):
        shutil.copytree(ROOT / name, tree / name)
    shutil.copy(ROOT / "pyproject.toml", tree)
    blocks = BLOCK.findall(PAGE)
    assert [kind for kind, _, _ in blocks] == ["file", "diff", "file"]
    for kind, name, text in blocks:
        path = tree / name
        assert path.exists() == (kind == "diff")
        path.write_text(
            text if kind == "file" else change(path.read_text(encoding="utf-8"), text),
            encoding="utf-8",
        )
    return tree


def run(tree: Path, *words: str) -> str:
    done = run_python("-m", *words, folder=tree)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.processes
def test_the_scenario_is_listed_and_passes_what_is_tested_of_all(tree: Path) -> None:
    listed = run(tree, "suite", "list", "--only", "matmul.vector/*").splitlines()
    assert [line.split()[0] for line in listed[1:]] == [
        f"matmul.vector/n={n}" for n in (100, 1000, 4000)
    ]
    for words in (("check",), ("format", "--check")):
        run(tree, "ruff", *words, "--no-cache", "suite/worker/scenarios", "tests/worker")
    told = run(
        tree,
        *("pytest", "-q", "-p", "no:cacheprovider", "-m", "not processes"),
        f"--basetemp={tree.parent / 'inner'}",
        "tests/worker/scenarios/test_scenarios.py",
        "tests/worker/scenarios/test_vector.py",
    )
    assert " failed" not in told
    assert " passed" in told


def test_the_sessions_of_nox_that_it_names_are_there_and_none_is_left_out() -> None:
    named = re.findall(
        r'^@nox\.session(?:\(name="([a-z-]+)"\))?\ndef ([a-z_]+)', NOXFILE, re.MULTILINE
    )
    sessions = {name or function for name, function in named}
    told = set(re.findall(r"nox -s ([a-z-]+)", PAGE))
    assert told <= sessions
    # The others are what make calls.
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    called = set(re.findall(r"call nox,([a-z]+)", makefile))
    assert sessions - called - {"build", "collate"} <= told
