"""What gets into an image, and from where: the package index by hash, and nothing else."""

from __future__ import annotations

import ast
import re
import shlex

import pytest

from suite.fingerprint import SUITE
from suite.host.provision.images import DOCKER, is_pinned, read_specs

DOCKERFILES = sorted(DOCKER.glob("*Dockerfile"))

FETCHERS = (
    r"\b(curl|wget|git|apt|apk|dnf|yum|npm|conda|uv|ssh|scp|rsync|nc|ftp|urllib|requests|socket)\b"
)
"""Programs and modules that bring something from elsewhere."""


def instructions(text: str) -> list[tuple[str, str]]:
    """A Dockerfile's instructions and their words, lines joined and comments gone."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    return [
        (line.split(None, 1)[0].upper(), line.split(None, 1)[1])
        for line in joined.splitlines()
        if line.strip()
    ]


def commands(words: str) -> list[list[str]]:
    """The commands of a RUN, each as its words."""
    split = shlex.shlex(words, posix=True, punctuation_chars=";&|")
    split.whitespace_split = True
    found: list[list[str]] = [[]]
    for word in split:
        if set(word) <= set(";&|"):
            found.append([])
        else:
            found[-1].append(word)
    return [one for one in found if one]


def find_breaches(text: str) -> list[str]:
    """Every step of a Dockerfile that could bring in what no lock pins."""
    found = []
    for name, words in instructions(text):
        if name == "ADD" or (name == "COPY" and "--from" in words) or "://" in words:
            found.append(f"{name} {words}")
        if name == "FROM" and words != "${BASE}":
            found.append(f"{name} {words}")
        for command in commands(words) if name == "RUN" else []:
            text = " ".join(command)
            if re.search(FETCHERS, text):
                found.append(text)
            if re.search(r"\bpip3?\b", text) and "install" in command:
                needed = {"--require-hashes", "--no-deps", "--only-binary=:all:"}
                strange = {"-e", "--index-url", "--extra-index-url", "--find-links", "-i", "-f"}
                source = command[command.index("-r") + 1 :] if "-r" in command else []
                if needed - set(command) or strange & set(command):
                    found.append(text)
                if source != ["/opt/crossover/lock.txt"]:
                    found.append(text)
    return found


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_no_step_reaches_anything_but_the_package_index(path: object) -> None:
    assert find_breaches(path.read_text(encoding="utf-8")) == []  # type: ignore[attr-defined]


def test_both_dockerfiles_are_looked_at_and_one_installs() -> None:
    assert [path.name for path in DOCKERFILES] == ["Dockerfile", "laid.Dockerfile"]
    installs = [path.read_text(encoding="utf-8").count("--require-hashes") for path in DOCKERFILES]
    assert installs == [1, 0]


@pytest.mark.parametrize(
    "step",
    [
        "ADD https://example.org/x /x",
        "COPY --from=other /x /x",
        "FROM python:3.13",
        "RUN curl -o /x example.org && true",
        "RUN true; \\\n    apt-get install -y x",
        "RUN python3 -m pip install tensorflow",
        "RUN pip install --require-hashes --no-deps --only-binary=:all: -r /opt/crossover/lock.txt x",
        "RUN pip install --no-deps --only-binary=:all: -r /opt/crossover/lock.txt",
        "RUN pip install --require-hashes --no-deps --only-binary=:all: -i x -r /opt/crossover/lock.txt",
        "RUN python3 -c 'import urllib.request'",
    ],
)
def test_a_step_that_would_is_found(step: str) -> None:
    assert find_breaches(f"ARG BASE\nFROM ${{BASE}}\n{step}\n")


def test_every_base_is_pinned_and_every_pin_has_its_hash() -> None:
    for spec in read_specs().values():
        assert is_pinned(spec.base)
        text = spec.lock.read_text(encoding="utf-8")
        assert "://" not in text
        pins = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]
        assert len(pins) > 20
        assert all("==" in pin and "--hash=sha256:" in pin for pin in pins)


def test_a_build_gets_the_network_and_a_run_does_not() -> None:
    """What a build is called with names no other network, and one place says what a container gets."""
    build = ast.parse((SUITE / "host" / "docker" / "build.py").read_text(encoding="utf-8"))
    (call,) = (
        node
        for node in ast.walk(build)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and ast.unparse(node.func).endswith("api.build")
    )
    named = {word.arg for word in call.keywords}
    assert not named & {"network_mode", "extra_hosts", "remote", "path"}
    said = [
        path.name
        for path in (SUITE / "host").rglob("*.py")
        if "network_mode" in path.read_text(encoding="utf-8")
    ]
    assert said == ["run.py"]
