"""A fleet's secret: its campaigns recognise a machine by it, and it is in no file, word or job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from suite import codec
from suite.analysis.documents.read import load_campaign
from suite.host.engine import GpuRequest
from suite.host.machine.identity import SALT
from tests.cli.shell import Shell, complaint, well
from tests.fakes.engine import GPU_FACTS, FakeEngine, Worker

UUID = "GPU-11111111-2222-3333-4444-555555555555"
OURS, THEIRS = "a-secret-of-one-fleet", "a-secret-of-another"


def make_engine() -> FakeEngine:
    """An engine whose worker tells which GPU it has."""
    worker = Worker(gpu_facts={**GPU_FACTS, "gpu.0.uuid": codec.hash_uuid(UUID)})
    gpu = GpuRequest(driver="cdi", devices=(UUID,), uuid=UUID)
    return FakeEngine(otherwise=worker, gpu=gpu)


def read_all(folder: Path) -> str:
    """Every file's name and text."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return "".join(f"{path}\n{path.read_text(encoding='utf-8')}" for path in files)


def measure(shell: Shell, results: Path) -> dict[str, Any]:
    """What the documents of a new campaign recognise its machine and GPU by."""
    shell.results = results
    engine = make_engine()
    heard = well(shell.bench_short("--gpu", UUID, engine=engine))
    # Neither what is handed to the engine nor what is said and kept has the secret.
    said = repr(engine.jobs) + heard.out + heard.err + read_all(results)
    assert OURS not in said
    assert THEIRS not in said
    assert UUID not in read_all(results)
    loaded = load_campaign(shell.folder())
    cuda = next(one for one in loaded.documents if one.invocation.arm == "cuda")
    return {
        "gpu": cuda.facts["gpu.0.uuid"],
        "setting": loaded.campaign.settings["gpu"],
        "command": loaded.campaign.command.split("GPU=")[1].split()[0],
        "machine": cuda.invocation.engine["machine.id"],
        "name": loaded.campaign.id.split("-")[1],
    }


def test_a_fleet_recognises_its_machines_and_nobody_elses(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {}
    for place, salt in {"one": OURS, "two": OURS, "other": THEIRS}.items():
        monkeypatch.setenv(SALT, salt)
        told[place] = measure(shell, tmp_path / place)
        assert codec.hash_uuid(UUID) not in read_all(tmp_path / place)
    assert told["one"] == told["two"]
    for name, value in told["one"].items():
        if value not in {None, "machine"}:  # a machine may have no name
            assert value != told["other"][name], name
    assert told["one"]["gpu"] == told["one"]["setting"] == told["one"]["command"]


def test_a_campaign_goes_on_with_the_secret_that_it_began_with(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SALT, OURS)
    measure(shell, shell.results)
    heard = well(shell.resume("--gpu", UUID, "--blocks", "2", engine=make_engine()))
    monkeypatch.setenv(SALT, THEIRS)
    complaint(shell.resume("--gpu", UUID, engine=make_engine()), 2)
    monkeypatch.delenv(SALT)
    heard = shell.resume("--gpu", UUID, engine=make_engine())
    assert complaint(heard, 2).startswith(
        "the campaign began with a fleet's secret (CROSSOVER_SALT)"
    )


def test_a_campaign_without_a_secret_gets_none_later(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.bench_short("--gpu", UUID, engine=make_engine())
    monkeypatch.setenv(SALT, OURS)
    heard = shell.resume("--gpu", UUID, engine=make_engine())
    assert complaint(heard, 2).startswith("the campaign began without a fleet's secret")
    assert "unset CROSSOVER_SALT" in heard.err


def test_a_secret_that_is_none_is_refused_before_anything_begins(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SALT, "short")
    heard = shell.bench_short()
    assert complaint(heard, 2).startswith("CROSSOVER_SALT is shorter than 16")
    assert "short\n" not in heard.err
    assert not shell.results.exists()
