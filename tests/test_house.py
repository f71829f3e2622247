"""The shape of the code: who escapes, who imports whom, and who writes sentences."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from suite.fingerprint import SUITE

ESCAPES = frozenset({"escape", "html", "saxutils", "show_plainly", "guard_formula"})
"""What makes a text safe for where it will stand."""

RENDERERS = ("render", "exports", "plots")
"""The folders of the report that know where that is."""


def test_the_renderers_alone_escape() -> None:
    for path in (SUITE / "report").rglob("*.py"):
        if path.relative_to(SUITE / "report").parts[0] in RENDERERS:
            continue
        code = path.read_text(encoding="utf-8")
        if not any(name in code for name in ESCAPES):
            continue
        names = {
            name
            for node in ast.walk(ast.parse(code))
            for name in (
                getattr(node, "id", ""),
                getattr(node, "attr", ""),
                getattr(node, "name", ""),
            )
            if isinstance(name, str)
        }
        assert not names & ESCAPES, path


def test_no_import_points_up() -> None:
    text = (SUITE.parent / "pyproject.toml").read_text(encoding="utf-8")
    assert "[[tool.importlinter.contracts]]" in text
    assert "ignore_imports" not in text, "a contract with an exception"


def list_phrases(node: ast.AST) -> Iterator[str]:
    """The texts of three words or more below a node; no docstring, and nothing that is raised."""
    if isinstance(node, ast.Raise) or (
        isinstance(node, ast.Call) and getattr(node.func, "id", "").endswith("Error")
    ):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    text = ""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value
    elif isinstance(node, ast.JoinedStr):
        text = "".join(
            str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
        )
    if len(re.findall(r"(?<![^\s(])[A-Za-z'’-]+(?=[\s,.:;)]|$)", text)) >= 3:
        yield text
    for child in ast.iter_child_nodes(node):
        if not (isinstance(node, ast.JoinedStr) and isinstance(child, ast.Constant)):
            yield from list_phrases(child)


def test_the_analysis_writes_no_sentence() -> None:
    """What the documents' rules say of a document that breaks one stands in the error that it ends in."""
    for path in (SUITE / "analysis").rglob("*.py"):
        if "documents" not in path.relative_to(SUITE).parts:
            found = list(list_phrases(ast.parse(path.read_text(encoding="utf-8"))))
            assert not found, path


def test_a_sentence_is_found_wherever_it_stands() -> None:
    code = '''
"""No word of this counts."""
NAME = "one two"
"""Nor of this."""
def tell(n):
    if n > 9:
        raise ValueError("this is an error")
    return {"a": [f"{n} is too many"], "b": f"{'this is inside'}"}
'''
    assert list(list_phrases(ast.parse(code))) == ["{} is too many", "this is inside"]


def test_only_the_one_comparison_adjusts_a_p_value() -> None:
    home = SUITE / "analysis" / "compare.py"
    holm = re.compile(r"\b(adjust\(|multipletests|false_discovery_control)")
    users = [path for path in SUITE.rglob("*.py") if holm.search(path.read_text(encoding="utf-8"))]
    assert users == [home]
