"""make only forwards: every target it lists exists, and no variable is ever ignored."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from suite.cli.entry import commands
from suite.fingerprint import SUITE
from tests.commands import run
from tests.test_states_apart import OWN_VIEW

ROOT = SUITE.parent
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed"),
]


OPTIONS, ASKED = (
    re.findall(r"[A-Z_]+", re.findall(rf"^{name} := (.*)$", MAKEFILE, re.MULTILINE)[0])
    for name in ("BENCH", "WHY")
)


def make(*words: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    # A make around the tests must not hand its own variables down, nor whoever runs it theirs.
    around = dict.fromkeys(("MAKEFLAGS", "MFLAGS", "MAKELEVEL", *OPTIONS, *ASKED), "")
    return run("make", *words, folder=folder, env=around)


def listed() -> list[str]:
    return re.findall(r"^  make ([a-z-]+) ", make("help").stdout, re.MULTILINE)


def test_help_lists_what_people_need_and_is_the_default() -> None:
    done = make("help")
    assert (done.returncode, done.stderr) == (0, "")
    names = "bench doctor list report images base test lint clean help"
    assert set(names.split(" ")) <= set(listed())
    assert listed()[:8] == ["bench", "why", "report", "compare", "list", "doctor", "clean", "help"]
    assert make().stdout == done.stdout


def test_every_listed_target_exists_and_every_target_is_listed() -> None:
    targets = listed()
    assert len(set(targets)) == len(targets)
    done = make("-n", *targets)
    assert done.returncode == 0, done.stderr
    phony = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert set(" ".join(phony).split()) == set(targets)


@pytest.mark.parametrize("word", ["PROFIL=smoke", "profile=smoke"])
def test_an_unknown_variable_is_status_2_and_named(word: str) -> None:
    done = make("-n", "bench", word)
    assert done.returncode == 2
    assert f"unknown variable {word.partition('=')[0]}" in done.stderr
    assert "known are: PROFILE" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bench", "TENSORFLOW=2.18"), 'as in ARMS="cpu cpu@2.20"'),
        (("doctor", "KERAS=3.12"), "are for make lock"),
        (("images", "VERSIONS=2.20 2.21"), "VERSIONS is for make bench"),
        (("lock", "KERAS="), "TENSORFLOW and KERAS are empty"),
        (("bench", "VERSIONS="), "VERSIONS is empty"),
        (("bench", "VERSIONS= ", "ARMS=cpu"), "VERSIONS is empty"),
        (("lock", "TENSORFLOW=2.18"), ""),
        (("bench", "VERSIONS=2.20 2.21"), ""),
    ],
)
def test_a_variable_of_one_command_is_refused_by_the_others(
    words: tuple[str, ...], said: str
) -> None:
    done = make("-n", *words)
    assert (done.returncode, said in done.stderr) == (2 if said else 0, True)


@pytest.mark.parametrize(("command", "variables"), [("bench", OPTIONS), ("why", ASKED)])
def test_variables_of_a_command_are_its_options(command: str, variables: list[str]) -> None:
    options = {option.name.upper() for option in commands.commands[command].params if option.name}
    assert {*variables, "SEED", "TELEMETRY"} == options
    assert " ".join(variables) in make("help").stdout


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ("bench", "PROFILE=smoke", "ONLY=matmul.* it's", "LOCAL_PYTHON=/a b/python"),
            (
                ".venv/bin/python -m nox -s bench -- --profile 'smoke' "
                "--only 'matmul.* it'\\''s' --local-python '/a b/python'"
            ),
        ),
        # What was not given is not forwarded.
        (("bench", "SEED=7", "LABEL="), ".venv/bin/python -m nox -s bench -- --seed '7'"),
        (
            ("why", "SCRIPT=a b.py", "ARGS=--lr 0.1 $x", "INCLUDE_SCRIPT=1"),
            (
                ".venv/bin/python -m nox -s why -- --script 'a b.py' "
                "--args '--lr 0.1 $x' --include-script '1'"
            ),
        ),
        (("report", "RUN=results/x"), ".venv/bin/python -m nox -s collate -- 'results/x'"),
        (
            ("list", "ONLY=m*", "PROFILE=smoke"),
            ".venv/bin/python -m suite list --only 'm*' --profile 'smoke'",
        ),
        (("images", "ARMS=cpu"), ".venv/bin/python -m nox -s build -- --arms 'cpu'"),
        (
            ("compare", "RUN=results/x results/y", "PAIRS=2:cpu/1:cpu"),
            ".venv/bin/python -m suite compare 'results/x' 'results/y' --pairs '2:cpu/1:cpu'",
        ),
        (
            ("doctor", "ENGINE=local", "JSON=1"),
            ".venv/bin/python -m nox -s doctor -- --engine 'local' --json",
        ),
        # A $ is a letter, and so is a comma.
        (("check", "RUN=/d$r/a,b #1"), ".venv/bin/python -m suite check '/d$r/a,b #1'"),
        (
            ("compare", "RUNS=a$b c", "SLOWER=5"),
            ".venv/bin/python -m suite compare 'a$b' 'c' --slower '5'",
        ),
        (("fleet", "RESULTS=a b"), ".venv/bin/python -m suite fleet 'a b'"),
        (("check", "RUN=x.zip", "KEY=k"), ".venv/bin/python -m suite check 'x.zip' --key 'k'"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_what_was_given_is_forwarded_whatever_is_in_it(words: tuple[str, ...], line: str) -> None:
    done = make("-n", *words)
    assert done.returncode == 0, done.stderr
    assert " ".join(done.stdout.splitlines()[-1].split()) == line


@pytest.mark.parametrize("name", ["KEY", "SCRIPT", "ARGS", "DATA", "REQUIREMENTS", "VERSIONS"])
def test_what_a_shell_has_for_itself_is_not_taken(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "secret")
    assert "secret" not in make("-n", "bench", "check", "bundle", "why", "RUN=x").stdout


PLACES = ["a b$HOME it's 50%", 'a;b&c (d) "b" #1 ü' + "a" * 150]


@pytest.mark.parametrize("name", PLACES)
def test_a_checkout_may_lie_in_any_path(name: str, tmp_path: Path) -> None:
    """By the environment's own Python; its scripts' first lines do not hold such a path."""
    folder = tmp_path / name
    (folder / ".venv" / "bin").mkdir(parents=True)
    lay_bare(folder, "host")
    for stamp in ("venv.stamp", "host.stamp"):
        (folder / ".venv" / stamp).touch()
    install(folder / ".venv" / "bin" / "python", '#!/bin/sh\necho "$@"\n')
    for words, line in {
        ("doctor",): "-m nox -s doctor --",
        ("check", "RUN=x"): "-m suite check x",
    }.items():
        done = make(*words, folder=folder)
        assert (done.returncode, done.stdout.strip(), done.stderr) == (0, line, "")


def test_a_colon_in_the_path_is_said_before_an_environment_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "a:b"
    folder.mkdir()
    lay_bare(folder, "host")
    done = make("doctor", folder=folder)
    assert done.returncode == 2
    assert "has a colon in it" in done.stderr
    assert not (folder / ".venv").exists()


VENV = """#!/bin/sh
# Stands for Python: `-m venv FOLDER` makes one there whose pip prints, and fails where it is to.
[ "$2" = venv ] || exit 0
mkdir -p "$3/bin"
printf '#!/bin/sh\\necho "Collecting click"; echo "WARNING: retrying" >&2; exit {code}\\n' \\
    > "$3/bin/python"
chmod +x "$3/bin/python"
"""


def lay_bare(folder: Path, *locks: str) -> None:
    """A checkout's Makefile, and these of its locks."""
    shutil.copy(ROOT / "Makefile", folder)
    (folder / "requirements").mkdir()
    for name in locks:
        (folder / "requirements" / f"{name}.txt").touch()


def install(path: Path, program: str) -> None:
    path.write_text(program)
    path.chmod(0o755)


@pytest.mark.parametrize("code", [0, 1])
def test_setting_up_is_one_line_and_pips_own_words_come_only_where_it_fails(
    code: int, tmp_path: Path
) -> None:
    lay_bare(tmp_path, "host")
    python = tmp_path / "python"
    install(python, VENV.format(code=code))
    done = make(".venv/host.stamp", f"PYTHON={python}", folder=tmp_path)
    ours, *theirs = done.stderr.splitlines()
    assert (done.stdout, ours) == ("", "setting up .venv (once)")
    assert (tmp_path / ".venv" / "host.stamp").exists() == (code == 0)
    if code:
        assert done.returncode == 2
        assert theirs[:2] == ["Collecting click", "WARNING: retrying"]
    else:
        assert (done.returncode, theirs) == (0, [])


NOX = """#!/bin/sh
# python -m nox -s bench -- --results FOLDER …
[ "$4" = bench ] || exit 0
git status --porcelain --untracked-files=no > ../seen
mkdir -p "$7/2-sample-standard" && echo new > "$7/2-sample-standard/summary.json"
exit $(cat ../status)
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clean checkout with an old sample, whose nox measures nothing."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    folder = tmp_path / "checkout"
    old = folder / "results" / "samples" / "1-sample-standard"
    for path in (old, folder / ".venv" / "bin"):
        path.mkdir(parents=True)
    (old / "summary.json").write_text("old")
    (tmp_path / "status").write_text("0")
    lay_bare(folder, "host", "dev")
    shutil.copy(ROOT / ".gitignore", folder)
    for name in ("venv.stamp", "host.stamp", "dev.stamp"):
        (folder / ".venv" / name).touch()
    install(folder / ".venv" / "bin" / "python", NOX)
    git = ("git", "-c", "user.name=Nobody", "-c", "user.email=nobody@example.org")
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "all")):
        subprocess.run([*git, *words], cwd=folder, check=True)
    return folder


def test_a_checkout_that_can_not_be_written_says_what_it_needs(tmp_path: Path) -> None:
    lay_bare(tmp_path, "host")
    # Root may write whatever a file's mode says, but nothing on a disk that takes no writing.
    read_only = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && cd "$0" && exec "$@"'
    words = [*OWN_VIEW, "sh", "-c", read_only, str(tmp_path)]
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no mount namespace is to be had here")
    done = run(*words, "make", "bench")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].startswith("this checkout can't be written")


def samples(checkout: Path) -> list[str]:
    return sorted(path.name for path in (checkout / "results" / "samples").iterdir())


def test_the_sample_is_measured_in_a_clean_checkout_and_then_takes_the_old_ones_place(
    checkout: Path,
) -> None:
    done = make("sample", folder=checkout)
    assert done.returncode == 0, done.stderr
    assert (checkout.parent / "seen").read_text() == "", "the sample's commit would be …+"
    assert samples(checkout) == ["2-sample-standard"]
    assert not (checkout / "results" / "new-sample").exists()


def test_a_sample_that_failed_leaves_the_old_one(checkout: Path) -> None:
    (checkout.parent / "status").write_text("1")
    assert make("sample", folder=checkout).returncode == 2
    assert samples(checkout) == ["1-sample-standard"]


def test_no_sample_is_measured_where_files_differ_from_the_commit(checkout: Path) -> None:
    with (checkout / "Makefile").open("a") as file:
        file.write("# another word\n")
    done = make("sample", folder=checkout)
    assert done.returncode == 2
    assert "commit or stash them first" in done.stderr
    assert not (checkout.parent / "seen").exists()
