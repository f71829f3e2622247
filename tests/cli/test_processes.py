"""Many folders, by several processes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from suite.cli.processes import in_processes
from suite.errors import CrossoverError, DocumentError

FOLDERS = [Path(f"campaign-{number}") for number in range(4)]


def tell(folder: Path) -> tuple[str, int]:
    """A folder's name, and the process that was asked."""
    return folder.name, os.getpid()


def refuse(folder: Path) -> str:
    raise DocumentError(f"{folder.name}: no document", "ask for another")


def die(_: Path) -> None:
    os._exit(1)


@pytest.fixture(autouse=True)
def two_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})


@pytest.mark.processes
def test_many_are_made_by_other_processes_in_their_order() -> None:
    made = list(in_processes(tell, FOLDERS))
    assert [name for name, _ in made] == [one.name for one in FOLDERS]
    assert os.getpid() not in {process for _, process in made}


def test_a_few_are_not_worth_a_process() -> None:
    assert list(in_processes(tell, FOLDERS[:3])) == [tell(one) for one in FOLDERS[:3]]


@pytest.mark.processes
def test_what_is_refused_there_is_refused_here() -> None:
    with pytest.raises(DocumentError, match="campaign-0: no document") as caught:
        list(in_processes(refuse, FOLDERS))
    assert caught.value.remedy == "ask for another"


@pytest.mark.processes
def test_a_process_that_dies_is_told() -> None:
    with pytest.raises(CrossoverError, match="a process that read a campaign ended"):
        list(in_processes(die, FOLDERS))
