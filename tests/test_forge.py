"""The files that a forge reads fit their published schemas, and do what the project itself does."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest
from check_jsonschema import main as check
from click.testing import CliRunner
from pre_commit.commands.validate_config import validate_config

from suite.fingerprint import SUITE
from tests.test_guide import recipes

ROOT = SUITE.parent
HOOKS = ROOT / ".pre-commit-config.yaml"
FORGE = ROOT / ".github"
FORMS = sorted((FORGE / "ISSUE_TEMPLATE").glob("*.yml"))
SCHEMAS = {
    **dict.fromkeys(sorted((FORGE / "workflows").glob("*.yml")), "vendor.github-workflows"),
    **dict.fromkeys(FORMS, "vendor.github-issue-forms"),
}
"""By file the schema that it has to fit, of those that come with check-jsonschema."""


def fits(path: Path, schema: str) -> bool:
    if path.name == HOOKS.name:
        return validate_config([str(path)]) == 0
    done = CliRunner().invoke(check, ["--builtin-schema", schema, str(path)])
    assert done.exit_code in {0, 1}, done.output
    return done.exit_code == 0


@pytest.mark.parametrize("path", [*SCHEMAS, HOOKS], ids=lambda path: path.name)
def test_a_file_fits_its_schema_and_not_without_what_it_is_for(path: Path, tmp_path: Path) -> None:
    schema = SCHEMAS.get(path, "")
    assert fits(path, schema)
    text = path.read_text(encoding="utf-8")
    spoiled = tmp_path / path.name
    spoiled.write_text(re.sub(r"^(jobs|body|repos):", r"no-\1:", text, flags=re.MULTILINE))
    assert not fits(spoiled, schema)


def test_the_workflow_calls_the_check_of_every_day() -> None:
    text = (FORGE / "workflows" / "check.yml").read_text(encoding="utf-8")
    (command,) = re.findall(r"^ +- run: (.*)$", text, re.MULTILINE)
    assert shlex.split(command)[-1] == ".ci/run"
    assert re.findall(r"uses: (\S+)", text) == re.findall(r"uses: (\S+@[0-9a-f]{40}) ", text)


def test_the_hooks_are_the_linters_of_make_lint() -> None:
    tree = ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8"))
    (session,) = (
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "lint"
    )
    linters = [
        [ast.literal_eval(word) for word in node.args]
        for node in ast.walk(session)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "session.run"
    ]
    entries = re.findall(r"^ +entry: (.*)$", HOOKS.read_text(encoding="utf-8"), re.MULTILINE)
    hooks = [
        [word for word in shlex.split(entry) if word != "--force-exclude"] for entry in entries
    ]
    # A hook gets the files of the commit in place of all.
    assert hooks == [
        [".venv/bin/python", *(word for word in words[1:] if word != ".")] for words in linters
    ]


def test_the_forms_name_commands_that_there_are() -> None:
    assert [path.stem for path in FORMS] == ["bug", "result"]
    named = {
        command
        for path in FORMS
        for command in re.findall(r"make ([a-z-]+)", path.read_text(encoding="utf-8"))
    }
    assert {"doctor", "bundle", "check"} <= named <= set(recipes())
