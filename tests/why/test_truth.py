"""The table of what is true of the scripts holds together, and answers are held to it as they should be."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from suite.model.why import Cause, Training
from tests.why import truth
from tests.why.judge import gives, judge

TABLE = truth.read_table()


def test_every_script_has_its_truth() -> None:
    assert sorted(TABLE) == sorted(path.stem for path in truth.SCRIPTS.glob("*.py"))


@pytest.mark.parametrize("name", TABLE)
def test_an_entry_fits_its_script(name: str) -> None:
    entry = TABLE[name]
    assert set(entry["cause"]) <= set(get_args(Cause))
    if entry["cause"]:
        lines = entry["text"].splitlines()
        assert all(any(part in line for line in lines) for part in entry["at"])
    for each in (entry, *entry["fix"]):
        compile(truth.as_python(each["text"]), name, "exec")
        if each.get("step"):
            assert each["text"].count(each["step"] + "\n") == 1
    assert all(fix["training"] in get_args(Training) for fix in entry["fix"])


def test_what_was_measured_stands_in_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "truth.toml"
    copy.write_text(truth.TABLE.read_text())
    monkeypatch.setattr(truth, "TABLE", copy)
    fixes = [{"gives": [9.0, 8.0], "norms": [0.0]}, {"gives": [1.0, 2.0], "norms": []}]
    for _ in range(2):  # the second time in place of the first
        truth.write("flowers_map", {"step_ms": [1.0, 2.0], "repeat": [0.0], "fixes": fixes})
    before, after = (
        truth.tomllib.loads(path.read_text()) for path in (truth.SCRIPTS / "truth.toml", copy)
    )
    assert [fix["gives"] for fix in after["flowers_map"]["fix"]] == [[9.0, 8.0], [1.0, 2.0]]
    assert {**after, "flowers_map": 0} == {**before, "flowers_map": 0}


def named(
    cause: str, line: int, name: str = "cache:22", gain: float = 2.0, training: str = "unchanged"
) -> dict[str, Any]:
    fix = {"name": name, "text": "", "gain": {"value": gain}, "training": training}
    return {"cause": cause, "line": line, "fix": fix}


@pytest.mark.parametrize(
    ("causes", "right"),
    [
        ([named("input", 22)], {"cause": True, "line": True, "kept": True, "training": True}),
        ([named("input", 99, gain=3.0)], {"cause": True, "line": False, "kept": False}),
        ([named("input", 22, training="otherwise")], {"cause": True, "training": False}),
        ([named("input", 22, name="shuffle@22")], {"cause": True, "kept": None}),
        ([named("eager", 22)], {"cause": False, "line": None}),
        ([], {"cause": False, "kept": None}),
    ],
)
def test_an_answer_is_held_to_what_is_true(causes: list[Any], right: dict[str, Any]) -> None:
    entry = TABLE["flowers_map"]
    entry = entry | {"fix": [entry["fix"][0] | {"gives": [1.9, 5.0]}, *entry["fix"][1:]]}
    verdict = judge(entry, {"causes": causes})
    assert {key: verdict[key] for key in right} == right


def test_nothing_may_be_named_of_a_healthy_script() -> None:
    assert judge(TABLE["healthy_mlp"], {"causes": []})["cause"] is True
    assert judge(TABLE["healthy_mlp"], {"causes": [named("input", 3)]})["cause"] is False


@pytest.mark.parametrize(
    "promised",
    [
        {"name": "statement:30", "text": "every 5 turns of the loop only: save(50)"},
        {"name": "callbacks:Log2.batch.5", "text": "`if batch % 5: return` as the first line"},
        {"name": "validation:5", "text": "validation_freq=5"},
    ],
)
def test_what_is_done_more_often_gives_less(promised: dict[str, Any]) -> None:
    # Of 10, 8 are for what is done each time: done every 4 times it takes 2 of 4, every 5 times 1.6 of 3.6.
    assert gives({"every": 4, "gives": [2.5, 1.0]}, promised) == pytest.approx([10 / 3.6, 1.0])
    assert gives({"gives": [2.5, 1.0]}, promised) == [2.5, 1.0]
