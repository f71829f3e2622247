"""What gets into an image, and from where: the package index by hash, and nothing else."""

from __future__ import annotations

import ast
import re

import pytest

from suite.fingerprint import SUITE
from suite.host.provision.image_table import DOCKER, read_specs
from suite.host.provision.images import is_pinned

DOCKERFILES = sorted(DOCKER.glob("*Dockerfile"))

REACHES = re.compile(
    r"\b(curl|wget|git|apt|apk|dnf|yum|npm|conda|uv|ssh|scp|rsync|nc|ftp|urllib|requests|socket)\b"
    r"|^ADD\b|^COPY .*--from|^FROM (?!\$\{BASE\}$)|://",
    re.MULTILINE,
)
"""Programs, modules and instructions that bring something from elsewhere."""

INSTALL = re.compile(
    r"python3 -m pip --python \S+ install --require-hashes --no-deps --only-binary=:all: "
    r"(--(no-compile|no-cache-dir|disable-pip-version-check"
    r"|(root-user-action|progress-bar|timeout|retries)=\w+) )*-r /opt/crossover/(lock|packages).txt;"
)
"""The one way in which packages are installed: from the index, each by the hash in the lock."""


def find_breaches(text: str) -> list[str]:
    """Every step of a Dockerfile that could bring in what no lock pins."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    joined = re.sub(r"\\\n\s*", "", lines)
    rest = INSTALL.sub("", joined)
    return [
        match[0] for match in [*REACHES.finditer(joined), *re.finditer(r"(?<!-)\bpip3?\b", rest)]
    ]


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_no_step_reaches_anything_but_the_package_index(path: object) -> None:
    assert find_breaches(path.read_text(encoding="utf-8")) == []  # type: ignore[attr-defined]


def test_every_dockerfile_is_looked_at_and_two_install() -> None:
    installs = {
        path.name: path.read_text(encoding="utf-8").count("--require-hashes")
        for path in DOCKERFILES
    }
    assert installs == {"Dockerfile": 1, "laid.Dockerfile": 0, "packages.Dockerfile": 1}


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
