"""A script's failure is told as its own: its frames, its files, and what to do."""

from __future__ import annotations

import argparse
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from suite.worker.why import failure
from suite.worker.why.stand_ins import NoNetwork


def fail(source: str, folder: Path, **names: object) -> tuple[str, str]:
    """What is told of a script that fails."""
    file = folder / "train.py"
    file.write_text(source)
    try:
        exec(compile(source, str(file), "exec"), {"__name__": "__main__", **names})  # noqa: S102
    except BaseException as error:  # noqa: BLE001  a script may raise anything
        return failure.describe(error, str(file))
    raise AssertionError("it does not fail")


def test_the_traceback_begins_with_the_scripts_own_frame(tmp_path: Path) -> None:
    reason, text = fail("def f():\n    return 1 / 0\n\nf()\n", tmp_path)
    assert reason == "line 2: ZeroDivisionError: division by zero"
    assert [line for line in text.splitlines() if "^" not in line and "~" not in line] == [
        "Traceback (most recent call last):",
        '  File "train.py", line 4, in <module>',
        "    f()",
        '  File "train.py", line 2, in f',
        "    return 1 / 0",
        "ZeroDivisionError: division by zero",
    ]


def test_frames_of_ours_and_the_middle_of_deep_ones_are_left_out(tmp_path: Path) -> None:
    source = "def f(n):\n    return f(n - 1) if n else ours(g)\ndef g():\n    raise KeyError('x')\nf(40)\n"
    namespace: dict[str, Callable[[Callable[[], object]], object]] = {}
    ours = str(Path(failure.__file__).with_name("steps.py"))
    exec(compile("def ours(g): return g()", ours, "exec"), namespace)  # noqa: S102
    reason, text = fail(source, tmp_path, ours=namespace["ours"])
    assert reason == "line 4: KeyError: 'x'"
    assert "steps.py" not in text
    assert text.count("File ") <= 1 + failure.LAST_FRAMES
    assert "line 5, in <module>" in text


def test_a_library_s_place_on_this_machine_is_not_told(tmp_path: Path) -> None:
    _, text = fail("import json\njson.loads('{')\n", tmp_path)
    assert 'File "json/decoder.py"' in text
    assert 'File "/' not in text


def test_where_in_a_graph_an_error_came_up_stands_in_the_traceback_alone(tmp_path: Path) -> None:
    said = (
        "Graph execution error:\n\nDetected at node PyFunc defined at (most recent call last):\n"
        '<stack traces unavailable>\n  File "/usr/lib/python3.11/x.py", line 9, in go\n'
        "No registered 'PyFunc' OpKernel " + 99 * "x" + "\nfor XLA" + 999 * "y"
    )
    reason, text = fail(f"raise ValueError({said!r})", tmp_path)
    assert reason.startswith("line 1: ValueError: No registered 'PyFunc' OpKernel xx")
    assert reason.endswith("y …")
    assert len(reason) < 350
    assert "Detected at node" in text


def test_an_error_that_another_led_to_keeps_both(tmp_path: Path) -> None:
    source = (
        "try:\n    {}['a']\nexcept KeyError as error:\n    raise ValueError('no a') from error\n"
    )
    _, text = fail(source, tmp_path)
    assert "KeyError: 'a'" in text
    assert text.endswith("ValueError: no a")
    assert "test_failure" not in text


def raise_(error: BaseException) -> None:
    raise error


def parse() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--needed", required=True)
    parser.parse_args([])


class NotFoundError(Exception):
    """As TensorFlow's."""


class ResourceExhaustedError(Exception):
    """As TensorFlow's."""


class Shy(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("action", "tells"),
    [
        (
            lambda: __import__("nowhere"),
            "No module named 'nowhere'; neither the image.*REQUIREMENTS=",
        ),
        (lambda: Path("data/x.csv").open(), r"'data/x.csv'; it was looked for .* DATA=folder"),  # noqa: SIM115
        (lambda: raise_(NotFoundError("x.tfrecord; No such file")), "DATA=folder"),
        (lambda: raise_(MemoryError()), "memory ran out"),
        (lambda: raise_(ResourceExhaustedError("OOM")), "memory ran out"),
        (
            lambda: raise_(NoNetwork("https://a.b/c.zip")),
            r"download https://a.b/c.zip, and .*DATA=",
        ),
        (lambda: raise_(PermissionError(13, "no", "/etc/x")), "may write in the script's folder"),
        (parse, "SystemExit: 2; ARGS="),
        (lambda: raise_(SystemExit("no data")), "SystemExit: no data; the script ended itself"),
        (lambda: raise_(KeyboardInterrupt()), "^line 1: KeyboardInterrupt$"),
        (lambda: raise_(Shy()), "^line 1: .*Shy: <exception str"),
        (lambda: raise_(ValueError("x" * 99999)), "xx …$"),
    ],
)
def test_what_can_be_done_is_said(action: Callable[[], object], tells: str, tmp_path: Path) -> None:
    reason, text = fail("action()", tmp_path, action=action)
    assert re.search(tells, reason)
    assert len(reason) < 3000
    assert len(text) < 9000


def test_a_download_is_found_behind_the_errors_that_hide_it(tmp_path: Path) -> None:
    source = (
        "try:\n    refuse()\nexcept OSError:\n"
        "    try:\n        raise RuntimeError('URL fetch failure')\n"
        "    except RuntimeError as error:\n        raise ValueError('no data') from None\n"
    )
    reason, _ = fail(source, tmp_path, refuse=lambda: raise_(NoNetwork("https://a.b/c.zip")))
    assert "download https://a.b/c.zip" in reason


def test_a_syntax_error_shows_its_line(tmp_path: Path) -> None:
    try:
        compile("x = 1\nfor = 2\n", str(tmp_path / "train.py"), "exec")
    except SyntaxError as error:
        reason, text = failure.describe(error, str(tmp_path / "train.py"))
    assert reason == "line 2: SyntaxError: invalid syntax"
    assert 'File "train.py", line 2' in text
    assert "for = 2" in text
    assert "test_failure" not in text


def test_a_script_without_training_is_told_what_was_looked_for() -> None:
    assert "Model.fit" in failure.describe_no_steps(0)
    assert "only 2 training steps" in failure.describe_no_steps(2)


@pytest.mark.parametrize(
    ("code", "tells"),
    [
        (-signal.SIGKILL, "memory"),
        (-signal.SIGSEGV, "Segmentation fault"),
        (-63, "signal 63"),
        (3, r"exit status 3"),
    ],
)
def test_a_process_that_ends_without_a_word(code: int, tells: str) -> None:
    assert tells in failure.describe_end(code)
