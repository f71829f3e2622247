"""Locks and rows of a version, with scripts in uv's and pip's place."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from suite.errors import CrossoverError, NotInstalledError, UsageError
from suite.host.provision import image_table, locks
from suite.host.provision.image_table import read_specs

PINS = """tensorflow{cpu}=={tensorflow} \\
    --hash=sha256:0
keras=={keras}{within} \\
    --hash=sha256:1
numpy==2.0.2 ; python_full_version < '3.12' \\
    --hash=sha256:2
numpy==2.3.4 ; python_full_version >= '3.12' \\
    --hash=sha256:3
"""

CUDA = """nvidia-cudnn-cu12==9.10.2.21 \\
    --hash=sha256:4
"""


class Index:
    """What uv and pip say of an index; remembers what it was asked.

    ``wheels`` are the TensorFlows there are, each with its newest Python; those without wheels for ARM stand
    in ``x86_alone``, and those that bring no CUDA in ``without_cuda``.
    """

    def __init__(self) -> None:
        self.wheels = {"2.15.1": 11, "2.18.0": 12, "2.18.1": 12, "2.20.0": 13, "2.21.0": 13}
        self.x86_alone = {"2.18.0"}
        self.without_cuda: set[str] = set()
        self.keras = ("2.15.0", "3.5.0", "3.12.0", "3.12.1")
        self.down = False
        self.unfetched = ""
        self.asked: list[tuple[Sequence[str], str]] = []
        self.seeds: list[str] = []
        self.within: list[str] = []

    def run(
        self, words: Sequence[str], text: str = "", here: Path = image_table.DOCKER
    ) -> subprocess.CompletedProcess[str]:
        self.asked.append((words, text))
        out, trouble = self._answer(list(words), text, here)
        return subprocess.CompletedProcess(words, 1 if trouble else 0, out, trouble)

    def _answer(self, words: list[str], text: str, here: Path) -> tuple[str, str]:
        if words[0] == "pip":
            if self.down:
                return "", "WARNING: no route to the index\nERROR: No matching distribution found"
            python = int(next(word for word in words if "--python-v" in word).rpartition(".")[2])
            wheels = [one for one, newest in self.wheels.items() if newest >= python]
            found = self.keras if "keras" in words else wheels
            available = f"name\nAvailable versions: {', '.join(reversed(found))}\n"
            return f"{self.unfetched}{available}", ""
        if "--no-deps" in words:
            python, platform = (
                words[words.index(f"--python-{what}") + 1] for what in ("version", "platform")
            )
            return "", self._check(text, python, platform)
        made = Path(words[words.index("--output-file") + 1])
        self.seeds.append(made.read_text() if made.exists() else "")
        limits = re.findall(r'environments = \["(.*)"\]', (here / "pyproject.toml").read_text())
        self.within += limits
        if constraint := [word for word in words if word.startswith("docker/")]:
            assert (here / constraint[0]).is_file()
        made.write_text(self._resolve(words, text, f" ; {limits[0]}" if limits else ""))
        return "", ""

    def _check(self, text: str, python: str, platform: str) -> str:
        version = re.findall(r"^tensorflow\S*==(\S+)", text, re.MULTILINE)[0]
        if int(python.partition(".")[2]) > self.wheels[version]:
            return f"  × No solution found:\n  ╰─▶ tensorflow=={version} has no wheels\n      of this tag"
        if platform.startswith("aarch64") and version in self.x86_alone:
            return "no wheels for this platform"
        return ""

    def _resolve(self, words: list[str], text: str, within: str) -> str:
        pinned = re.findall(r"^tensorflow\S*==([\d.]+?)(?:\.\*)?(?: ;|$)", text, re.MULTILINE)
        exactly = max(
            (one for one in self.wheels if any(f"{one}.".startswith(f"{p}.") for p in pinned)),
            default="2.21.0",
        )
        keras = re.findall(r"^keras==(\d+\.\d+)", text, re.MULTILINE)
        cpu = "-cpu" if "tensorflow-cpu" in text or "worker-cpu" in words else ""
        version = f"{keras[0]}.1" if keras else "3.15.1"
        pins = PINS.format(cpu=cpu, tensorflow=exactly, keras=version, within=within)
        return pins if cpu or exactly in self.without_cuda else CUDA + pins


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the table and its locks, with the plain rows and one that has the older Python."""
    folder = tmp_path / "docker"
    folder.mkdir()
    shutil.copy(image_table.DOCKER.parent / "pyproject.toml", tmp_path)
    rows = re.split(r"\n(?=\[)", (image_table.DOCKER / "images.toml").read_text(encoding="utf-8"))
    kept = [row.rstrip("\n") for row in rows if re.match(r'#|\[cpu\]|\[cuda\]|\["cpu@2.15"\]', row)]
    (folder / "images.toml").write_text("\n\n".join(kept) + "\n", encoding="utf-8")
    for name in ("cpu", "cuda", "cpu-2.15"):
        shutil.copy(image_table.DOCKER / f"{name}.txt", folder)
    monkeypatch.setattr(locks, "DOCKER", folder)
    specs = lambda: read_specs(folder / "images.toml")  # noqa: E731
    for module in (image_table, locks):
        monkeypatch.setattr(module, "read_specs", specs)
    return folder


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Index:
    found = Index()
    monkeypatch.setattr(locks, "_run", found.run)
    return found


def test_a_version_gets_its_locks_and_rows_as_a_person_writes_them(
    docker: Path, index: Index
) -> None:
    before = (docker / "images.toml").read_text(encoding="utf-8")
    said: list[str] = []
    locks.add_version("TENSORFLOW", "2.18", said.append)
    written = (docker / "images.toml").read_text(encoding="utf-8").removeprefix(before)
    base = image_table.read_specs()["cpu@2.15"].base
    assert written == (
        f'\n["cpu@2.18"]\nbase = "{base}"\npython = "3.11"\nlock = "cpu-2.18.txt"\n'
        f'gpu = false\nfree_gb = 5\n\n["cuda@2.18"]\nbase = "{base}"\npython = "3.11"\n'
        'lock = "cuda-2.18.txt"\ngpu = true\nfree_gb = 20\n'
    )
    specs = image_table.read_specs()
    assert [specs[name].tensorflow for name in ("cpu@2.18", "cuda@2.18")] == ["2.18.1", "2.18.1"]
    assert said[0] == (
        "docker/cpu-2.18.txt: tensorflow 2.18.1, keras 3.15.1, numpy 2.0.2; for Python 3.11 on "
        "x86_64 and aarch64; new"
    )
    # As its family's plain row where it may, and the GPU's as the CPU's; for no other system or Python.
    seeds = [(docker / f"{name}.txt").read_text() for name in ("cpu", "cuda")]
    assert list(dict.fromkeys(index.seeds)) == seeds
    kind = "platform_python_implementation == 'CPython' and sys_platform == 'linux'"
    alone = "platform_machine == 'x86_64'"
    assert index.within[-1] == f"python_full_version < '3.12' and {alone} and {kind}"
    assert f"python_full_version < '3.12' and {kind}" in index.within
    # Of what holds for the whole lock no pin need speak.
    assert "keras==3.15.1 \\\n" in (docker / "cpu-2.18.txt").read_text()
    compiled = [(words, text) for words, text in index.asked if "--output-file" in words]
    assert compiled[0][1] == (
        "tensorflow-cpu==2.18.* ; platform_machine != 'aarch64'\n"
        "tensorflow==2.18.* ; platform_machine == 'aarch64'"
    )
    assert compiled[-1][1] == "tensorflow[and-cuda]==2.18.1"
    assert "docker/cpu-2.18.txt" in compiled[-1][0]
    assert "make lock TENSORFLOW=2.18" in compiled[0][0]
    assert not any("worker-cpu" in words for words, _ in index.asked)
    # Once more it comes to the same.
    files = {path.name: path.read_bytes() for path in docker.iterdir()}
    locks.add_version("TENSORFLOW", "2.18", said.append)
    assert {path.name: path.read_bytes() for path in docker.iterdir()} == files
    assert said[-1].endswith("; for Python 3.11 on x86_64; as before")
    # What became another is told.
    index.wheels["2.18.2"] = 12
    locks.add_version("TENSORFLOW", "2.18", said.append)
    assert said[-1].endswith("; tensorflow 2.18.1 → 2.18.2")


def test_a_version_is_on_the_newest_python_that_it_has_wheels_for(
    docker: Path, index: Index
) -> None:
    said: list[str] = []
    locks.add_version("TENSORFLOW", "2.20.0", said.append)
    assert "numpy 2.3.4; for Python 3.13" in said[0]
    row = image_table.read_specs()["cpu@2.20.0"]
    assert (row.python, row.base) == ("3.13", image_table.read_specs()["cpu"].base)
    assert row.lock.name == "cpu-2.20.0.txt"


def test_processors_without_a_wheel_stand_in_the_row(docker: Path, index: Index) -> None:
    locks.add_version("TENSORFLOW", "2.18.0", str)
    assert image_table.read_specs()["cpu@2.18.0"].processors == ("x86_64",)
    assert 'processors = ["x86_64"]\n' in (docker / "images.toml").read_text(encoding="utf-8")


def test_keras_apart_is_on_the_newest_tensorflow(docker: Path, index: Index) -> None:
    locks.add_version("KERAS", "3.12", str)
    compiled = [text for words, text in index.asked if "--output-file" in words]
    assert compiled[0] == (
        "tensorflow-cpu ; platform_machine != 'aarch64'\n"
        "tensorflow ; platform_machine == 'aarch64'\nkeras==3.12.*"
    )
    assert compiled[-1] == "tensorflow[and-cuda]==2.21.0\nkeras==3.12.*"
    assert {"cpu@keras-3.12", "cuda@keras-3.12"} <= set(image_table.read_specs())
    assert "\nkeras==3.12.1 " in (docker / "cpu-keras-3.12.txt").read_text()


@pytest.mark.parametrize(
    ("variable", "version", "there"),
    [
        ("TENSORFLOW", "2.99", "there are 2.15, 2.18, 2.20, 2.21"),
        ("TENSORFLOW", "2.18.7", "2.18.0, 2.18.1"),
        ("KERAS", "3.99", "there are 2.15, 3.5, 3.12"),
        ("KERAS", "3.1", "there are 2.15, 3.5, 3.12"),
    ],
)
def test_a_version_that_there_is_not_names_those_that_there_are(
    docker: Path, index: Index, variable: str, version: str, there: str
) -> None:
    before = sorted(path.name for path in docker.iterdir())
    with pytest.raises(UsageError, match=rf"{variable}={version}: no such version has") as caught:
        locks.add_version(variable, version, str)
    assert there in caught.value.remedy
    assert sorted(path.name for path in docker.iterdir()) == before


@pytest.mark.parametrize("version", ["2.13", "2.14", "2.14.1", "2.1"])
def test_a_version_that_cannot_be_measured_is_neither_made_nor_offered(
    docker: Path, index: Index, version: str
) -> None:
    index.wheels = {"2.13.1": 11, "2.14.1": 11, **index.wheels}
    with pytest.raises(UsageError, match=r"oldest TensorFlow .* is 2\.15") as caught:
        locks.add_version("TENSORFLOW", version, str)
    numbers = version.count(".") + 1
    assert caught.value.remedy.startswith("there are " + ("2.15," if numbers == 2 else "2.15.1,"))
    assert not any("--output-file" in words for words, _ in index.asked)


@pytest.mark.parametrize("version", ["2", "latest", "2.18.1rc0", "2.18 2.20", "../2.18", "2.18\n"])
def test_what_is_no_version_is_refused(docker: Path, index: Index, version: str) -> None:
    with pytest.raises(UsageError, match="is not a version"):
        locks.add_version("TENSORFLOW", version, str)
    assert index.asked == []


def test_a_version_for_which_there_is_no_base_leaves_nothing(docker: Path, index: Index) -> None:
    before = {path.name: path.read_bytes() for path in docker.iterdir()}
    index.wheels = {**index.wheels, "2.18.1": 10}
    with pytest.raises(CrossoverError, match=r"Python 3\.11 and x86_64, No solution found: tens"):
        locks.add_version("TENSORFLOW", "2.18", str)
    assert {path.name: path.read_bytes() for path in docker.iterdir()} == before


@pytest.mark.parametrize("there", [False, True])
def test_a_version_of_which_one_arm_cannot_be_made_changes_nothing(
    docker: Path, index: Index, there: bool
) -> None:
    if there:
        locks.add_version("TENSORFLOW", "2.18", str)
        index.wheels = {**index.wheels, "2.18.2": 12}
    before = {path.name: path.read_bytes() for path in docker.iterdir()}
    index.without_cuda = {"2.18.1", "2.18.2"}
    with pytest.raises(CrossoverError, match=r"cuda@2\.18: this TensorFlow does not bring CUDA"):
        locks.add_version("TENSORFLOW", "2.18", str)
    assert {path.name: path.read_bytes() for path in docker.iterdir()} == before


def test_a_lock_says_what_it_has_wheels_for_and_its_row_is_held_to_it(
    docker: Path, index: Index
) -> None:
    index.x86_alone = {"2.18.0"}
    locks.add_version("TENSORFLOW", "2.18.1", str)
    locks.add_version("TENSORFLOW", "2.18.0", str)
    heads = [
        (docker / f"{name}.txt").read_text(encoding="utf-8").splitlines()[0]
        for name in ("cpu-2.18.1", "cpu-2.18.0", "cuda-2.18.1")
    ]
    assert heads == [
        "# Has wheels for Python 3.11 on x86_64; 3.11 on aarch64",
        *["# Has wheels for Python 3.11 on x86_64"] * 2,
    ]
    # A row that somebody writes beside it for a base of their own.
    table = docker / "images.toml"
    rows = table.read_text(encoding="utf-8")
    table.write_text(
        f'{rows}\n["cpu@own"]\nbase = "own@sha256:{"0" * 64}"\npython = "3.12"\n'
        'lock = "cpu-2.18.1.txt"\ngpu = false\nfree_gb = 5\n',
        encoding="utf-8",
    )
    with pytest.raises(UsageError, match=r"cpu@own .* no wheels for Python 3\.12 on x86_64"):
        image_table.find_spec("cpu@own")
    assert image_table.find_spec("cpu@2.18.1").tensorflow == "2.18.1"


def test_keras_on_a_tensorflow_that_cannot_be_measured_is_refused(
    docker: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name: path.read_bytes() for path in docker.iterdir()}
    index.wheels = {"2.14.1": 13}
    monkeypatch.setattr(
        index,
        "_resolve",
        lambda *_: PINS.format(cpu="-cpu", tensorflow="2.14.1", keras="2.14.0", within=""),
    )
    index.keras = ("2.14.0",)
    with pytest.raises(CrossoverError, match=r"pins TensorFlow 2\.14\.1; the oldest .* is 2\.15"):
        locks.add_version("KERAS", "2.14", str)
    assert {path.name: path.read_bytes() for path in docker.iterdir()} == before


def test_all_rows_are_resolved_anew_each_lock_once(docker: Path, index: Index) -> None:
    with (docker / "images.toml").open("a", encoding="utf-8") as table:
        cpu = image_table.read_specs()["cpu"]
        table.write(
            f'\n["cpu@onednn-off"]\nbase = "{cpu.base}"\npython = "3.13"\nlock = "cpu.txt"\n'
            "gpu = false\nfree_gb = 5\nonednn = false\n"
        )
    before = (docker / "images.toml").read_text(encoding="utf-8")
    said: list[str] = []
    locks.renew_locks(said.append)
    assert [line.partition(":")[0] for line in said] == [
        f"docker/{name}.txt" for name in ("cpu", "cuda", "cpu-2.15")
    ]
    assert (docker / "images.toml").read_text(encoding="utf-8") == before
    compiled = [words for words, _ in index.asked if "--output-file" in words]
    assert ["--upgrade" in words for words in compiled] == [True, True, False]
    assert "worker-cuda" in compiled[1]


def test_a_row_that_its_lock_has_no_wheels_for_is_told(docker: Path, index: Index) -> None:
    table = docker / "images.toml"
    text = table.read_text(encoding="utf-8")
    head, row = text.split('["cpu@2.15"]')
    row = re.sub(r'base = ".*"', f'base = "own@sha256:{"0" * 64}"', row).replace('"3.11"', '"3.12"')
    table.write_text(f'{head}["cpu@2.15"]{row}', encoding="utf-8")
    before = (docker / "cpu-2.15.txt").read_bytes()
    with pytest.raises(CrossoverError, match=r"cpu@2\.15: on Python 3\.12 and x86_64") as caught:
        locks.renew_locks(str)
    assert "`python` and `processors` of the row cpu@2.15" in caught.value.remedy
    assert (docker / "cpu-2.15.txt").read_bytes() == before


def test_an_index_that_does_not_answer_is_told(docker: Path, index: Index) -> None:
    index.down = True
    with pytest.raises(CrossoverError, match=r"does not answer for tensorflow-cpu: .*no route"):
        locks.add_version("TENSORFLOW", "2.18", str)


@pytest.mark.parametrize(
    ("fault", "error"),
    [("connection error: refused", CrossoverError), ("404 Client Error: Not Found", UsageError)],
)
def test_a_version_is_not_said_to_be_none_where_an_index_could_not_be_asked(
    docker: Path, index: Index, fault: str, error: type[CrossoverError]
) -> None:
    index.unfetched = f"  Could not fetch URL https://index/tensorflow-cpu/: {fault} - skipping\n"
    with pytest.raises(CrossoverError) as caught:
        locks.add_version("TENSORFLOW", "2.19", str)
    assert type(caught.value) is error
    assert ("does not answer: https://index" in caught.value.what) is (error is CrossoverError)
    assert "no such version" not in caught.value.what or error is UsageError
    assert "2.18" in f"{caught.value.what}{caught.value.remedy}"
    # What is offered elsewhere is taken all the same.
    locks.add_version("TENSORFLOW", "2.18", str)


def test_where_uv_is_missing_the_command_that_brings_it_is_named(
    docker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = subprocess.CompletedProcess([], 1, "", "python: No module named uv")
    monkeypatch.setattr(locks.subprocess, "run", lambda *_, **__: ran)
    with pytest.raises(NotInstalledError, match="uv is not installed") as caught:
        locks.renew_locks(str)
    assert "make .venv/dev.stamp" in caught.value.remedy
