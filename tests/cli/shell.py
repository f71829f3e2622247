"""The commands as people call them, with a scripted engine in the engine's place."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from suite.analysis.documents.read import load_campaign
from suite.cli import entry, run_campaign
from suite.cli.entry import main
from suite.host.campaign.options import Options
from suite.host.telemetry.observer import Observe
from suite.model import Campaign
from tests.fakes.engine import FakeEngine


@dataclass
class Heard:
    """What a command said and how it ended."""

    status: int
    out: str
    err: str


class Shell:
    """Runs commands against a fake engine and a results folder of the test's own."""

    def __init__(
        self,
        results: Path,
        made: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        self.results = results
        self._made = made
        self._capsys = capsys
        self.engine: FakeEngine | Exception = FakeEngine()
        self.opened: list[Options] = []
        for module in (run_campaign, entry):
            monkeypatch.setattr(module, "open_engine", self._open)
        self.watched: list[str] = []
        monkeypatch.setattr(run_campaign, "make_observer", self._observe)

    def _open(self, options: Options, _: object) -> FakeEngine:
        self.opened.append(options)
        if isinstance(self.engine, Exception):
            raise self.engine
        return self.engine

    def _observe(self, _engine: object, mode: str) -> Observe:
        self.watched.append(mode)
        return lambda *_: "nobody watches a scripted engine"

    def run(self, *words: str) -> Heard:
        """Whatever the command says, no traceback is for people."""
        self._capsys.readouterr()
        status = main(words)
        heard = self._capsys.readouterr()
        assert "Traceback" not in heard.out + heard.err
        return Heard(status, heard.out, heard.err)

    def bench(self, *words: str, engine: FakeEngine | Exception | None = None) -> Heard:
        """A new campaign: of the smoke profile, unless another is asked for."""
        self.engine = engine or FakeEngine()
        profile = () if "--profile" in words else ("--profile", "smoke")
        return self.run("bench", "--results", str(self.results), *profile, *words)

    def bench_short(self, *words: str, engine: FakeEngine | Exception | None = None) -> Heard:
        """A new campaign of two cells: every cell has every document written anew."""
        return self.bench(*words, "--only", "overhead.f*", engine=engine)

    def bench_once(self, *words: str, engine: FakeEngine | None = None) -> Path:
        """A campaign of `bench_short`, or of its own cells, made once a file of tests; its folder."""
        made = self._made / hashlib.sha256(repr(words).encode()).hexdigest()[:16]
        if made.exists():
            shutil.copytree(made, self.results)
            return self.folder()
        measure = self.bench if "--only" in words else self.bench_short
        well(measure(*words, engine=engine))
        shutil.copytree(self.results, made)
        self.opened.clear()
        self.watched.clear()
        return self.folder()

    def resume(self, *words: str, engine: FakeEngine | None = None) -> Heard:
        """Goes on with the only campaign there is."""
        self.engine = engine or FakeEngine()
        return self.run("bench", "--resume", str(self.folder()), *words)

    def plan(self) -> Campaign:
        """What the only campaign there is set out to do."""
        return load_campaign(self.folder()).campaign

    def folder(self) -> Path:
        """The only campaign there is."""
        (found,) = [path for path in self.results.iterdir() if path.is_dir()]
        return found


def well(heard: Heard) -> Heard:
    """What was said where all went well."""
    assert heard.status == 0, heard.err + heard.out
    return heard


def fail(heard: Heard) -> str:
    """What was said where a command found what it looked for: exit status 1."""
    assert heard.status == 1, heard.err + heard.out
    return heard.out


def complaint(heard: Heard, status: int) -> str:
    """What people read where a command could not do its work: one line, and what to do next."""
    assert heard.status == status
    lines = [line for line in heard.err.splitlines() if line.startswith("crossover: ")]
    assert len(lines) == 1, heard.err
    assert "  what to do: " in heard.err
    return lines[0].removeprefix("crossover: ")
