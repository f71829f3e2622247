"""What lies under results/ is whole at every moment, named by rule, and written by one campaign."""

from __future__ import annotations

import errno
import fcntl
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from suite import codec
from suite.analysis.documents import read
from suite.errors import BusyError, DocumentError, UsageError
from suite.host.campaign.store import Store, campaign_name, only_campaign, try_machine, try_results
from suite.host.machine.lock import PLACE
from suite.model import PLAN, Document, InvocationStatus, document_name, make_pending
from suite.safe_folder import Folder
from tests import synthetic
from tests.fakes.engine import FakeEngine
from tests.plants import PLANTS, Plant


@pytest.mark.parametrize(
    ("named", "name"),
    [
        (("cuda-hidden", 12), "cuda-hidden-12.json"),
        (("cpu", 3, 1), "cpu-03-r1.json"),
        (("cpu", 100), "cpu-100.json"),
    ],
)
def test_names_are_made_by_rule(named: tuple[Any, ...], name: str) -> None:
    assert document_name(*named) == name
    created = datetime(2026, 11, 21, 10, 45, tzinfo=timezone.utc)
    assert campaign_name(created, "mybox", "verdict") == "20261121T104500Z-mybox-verdict"


def test_logs_grow_also_where_the_folder_for_them_has_gone(store: Store) -> None:
    (store.folder / "logs").rmdir()
    for text in ("one", "two\n", "", "half a character \ud800"):
        store.append_log("cpu-01", text)
    text = (store.folder / "logs" / "cpu-01.log").read_text()
    assert text == "one\ntwo\nhalf a character ?\n"


def test_what_is_there_is_not_written_into(tmp_path: Path) -> None:
    Store.create(tmp_path, "one")
    (tmp_path / "results").write_text("a file")
    for folder in (tmp_path, tmp_path / "results"):
        with pytest.raises(UsageError, match="can't make") as caught:
            Store.create(folder, "one")
        assert "RESULTS=" in caught.value.remedy
    with pytest.raises(UsageError, match="can't write"), only_campaign(tmp_path / "results"):
        pass


def test_one_campaign_at_a_time_in_a_folder_until_it_ends_or_fails(tmp_path: Path) -> None:
    with only_campaign(tmp_path / "results"):
        with pytest.raises(BusyError) as caught, only_campaign(tmp_path / "results"):
            pass
        assert caught.value.exit_status == 6
        with only_campaign(tmp_path / "elsewhere"):
            pass
    with pytest.raises(ZeroDivisionError), only_campaign(tmp_path / "results"):
        raise ZeroDivisionError
    with only_campaign(tmp_path / "results"):
        pass


def test_who_only_asks_leaves_nothing_and_is_told_the_same(tmp_path: Path) -> None:
    try_results(tmp_path / "not" / "yet")
    assert list(tmp_path.iterdir()) == []
    with only_campaign(tmp_path / "results"):
        with pytest.raises(BusyError):
            try_results(tmp_path / "results")
        assert [path.name for path in (tmp_path / "results").iterdir()] == [".lock"]
    try_results(tmp_path / "results")
    with pytest.raises(UsageError, match="can't write"):
        try_results(tmp_path / "results" / ".lock")


@pytest.mark.parametrize(
    ("number", "remedy"), [(errno.ENOSPC, "make room"), (errno.EIO, "name an")]
)
def test_a_full_disk_is_told_before_a_campaign_begins(
    number: int, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> None:
        raise OSError(number, "it is not to be")

    monkeypatch.setattr(tempfile, "TemporaryFile", fail)
    for asked in (lambda: try_results(tmp_path), lambda: only_campaign(tmp_path).__enter__()):
        with pytest.raises(UsageError) as caught:
            asked()
        assert caught.value.remedy.startswith(remedy)


def test_no_file_names_a_gpu(store: Store) -> None:
    uuid = "GPU-11111111-2222-3333-4444-555555555555"
    store.append_log("cuda-01", f"unresolvable CDI devices nvidia.com/gpu={uuid}")
    campaign = synthetic.make_campaign()
    document = synthetic.make_document(campaign, "cuda", 1)
    named = {**document.facts, "environment.NVIDIA_VISIBLE_DEVICES": uuid}
    store.write_document(replace(document, facts=named))
    for path in store.folder.rglob("*"):
        assert not path.is_file() or uuid[4:] not in path.read_text(encoding="utf-8")
    loaded = read.load_document(store.folder / "cuda-01.json")
    assert loaded.facts["environment.NVIDIA_VISIBLE_DEVICES"] == f"GPU-{codec.hash_uuid(uuid)}"


def refuse_lock(*_: object, **__: object) -> None:
    raise PermissionError(errno.EACCES, "Permission denied")


def test_a_lock_of_another_users_is_no_place_for_a_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Folder, "open_lock", refuse_lock)
    with pytest.raises(UsageError, match="Permission denied"):
        try_results(tmp_path)


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
@pytest.mark.parametrize(
    "place",
    ["logs", "logs/cpu-01.log", "plots/matmul.svg", PLAN],
)
def test_what_is_planted_in_a_folder_is_refused_and_nothing_outside_is_touched(
    place: str, plant: Plant, store: Store, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "cpu-01.log").write_text("mine")
    (outside / "matmul.svg").write_text("mine")
    (store.folder / "plots").mkdir()
    if "." not in place:
        (store.folder / place).rmdir()
    plant(store.folder / place, outside if "." not in place else outside / "cpu-01.log")
    campaign = synthetic.make_campaign(blocks=1, arms=("cpu",))
    actions = [
        lambda: store.write_plan(campaign),
        lambda: store.write_document(synthetic.make_document(campaign, "cpu", 1)),
        lambda: store.append_log("cpu-01", "hers"),
        lambda: store.write_reports({"report.md": "hers"}),
        lambda: store.write_reports({"plots/matmul.svg": "hers"}),
        lambda: store.drop_reports(["plots/matmul.svg"]),
    ]
    refused = [caught for action in actions if (caught := refusal(action))]
    assert refused
    assert all(one.startswith(f"{place}: is a") for one in refused)
    assert sorted(path.name for path in outside.iterdir()) == ["cpu-01.log", "matmul.svg"]
    assert {path.read_text() for path in outside.iterdir()} == {"mine"}


def refusal(action: Callable[[], None]) -> str:
    try:
        action()
    except DocumentError as error:
        return error.what
    return ""


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_a_lock_that_is_none_is_not_taken(plant: Plant, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    plant(tmp_path / "results" / ".lock", tmp_path / "outside")
    for asked in (try_results, lambda results: only_campaign(results).__enter__()):
        with pytest.raises(DocumentError, match=r"^\.lock: is a"):
            asked(tmp_path / "results")
    assert not (tmp_path / "outside").exists()


def test_a_machines_lock_that_can_not_be_opened_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PLACE, str(tmp_path / "nowhere"))
    try_machine()
    with only_campaign(tmp_path / "results") as turn:
        monkeypatch.setenv(PLACE, str(tmp_path / "locks"))
        (tmp_path / "locks").mkdir()
        monkeypatch.setattr(Folder, "open_lock", refuse_lock)
        with pytest.raises(UsageError, match="this machine's lock can't be opened") as caught:
            turn.claim(FakeEngine())
    assert PLACE in caught.value.remedy


def test_results_can_be_a_link_to_another_disk(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "results").symlink_to("disk")
    with only_campaign(tmp_path / "results"):
        Store.create(tmp_path / "results", "one").append_log("cpu-01", "said")
    assert (tmp_path / "disk" / "one" / "logs" / "cpu-01.log").read_text() == "said\n"


def test_what_killed_writers_left_is_swept_by_who_holds_the_lock(store: Store) -> None:
    (store.folder / PLAN).touch()
    (store.folder / "plots").mkdir()
    left = [".cpu-01.json.a0_z9b8c", ".campaign.json.12345678", "plots/.matmul.svg.12345678"]
    kept = [".cpu-01.json", ".mine.json.12345678", ".cpu-01.json.123456789", ".report.md.swp"]
    for name in (*left, *kept, "logs/.cuda-hidden-00.log.abcdefgh"):
        (store.folder / name).touch()
    (store.folder / ".cpu-02.json.12345678").symlink_to(store.folder / PLAN)
    with (store.folder / ".cpu-03.json.12345678").open("w") as writing:
        fcntl.flock(writing, fcntl.LOCK_EX)
        with only_campaign(store.folder.parent):
            pass
    names = {path.name for path in store.folder.iterdir()} - {"logs", "plots", PLAN}
    assert names == {*kept, ".cpu-02.json.12345678", ".cpu-03.json.12345678"}
    assert [*(store.folder / "plots").iterdir(), *(store.folder / "logs").iterdir()] == []


def test_a_document_is_only_replaced_by_one_that_has_come_as_far(store: Store) -> None:
    campaign = synthetic.make_campaign(blocks=1, arms=("cpu",))
    whole = synthetic.make_document(campaign, "cpu", 1)

    def come(cells: int, status: InvocationStatus = "running", samples: int = 3) -> Document:
        made = synthetic.make_document(campaign, "cpu", 1, samples=samples)
        pending = [make_pending(cell) for cell in campaign.cells[cells:]]
        invocation = replace(made.invocation, status=status)
        return replace(made, invocation=invocation, cells=[*made.cells[:cells], *pending])

    def lying() -> Document:
        return read.load_document(store.folder / "cpu-01.json")

    store.write_document(come(3, "interrupted"))
    again = Store(store.folder)
    for cells in (0, 1, 2):
        again.write_document(come(cells))
        again.write_document(come(cells, "interrupted"))
        assert lying() == come(3, "interrupted")
    # A worker that dies in every cell has come to the end of the list, and measured nothing.
    lost = [replace(one, outcome="failed", reason="it died") for one in come(0).cells]
    again.write_document(replace(come(3), cells=lost))
    assert lying() == come(3, "interrupted")
    again.write_document(come(3, samples=4))
    assert lying() == come(3, samples=4)
    Store(store.folder).write_document(whole)
    assert lying() == whole


def test_who_only_asks_turns_no_campaign_away(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    asking = (tmp_path / ".lock").open("r+")
    fcntl.flock(asking, fcntl.LOCK_SH)
    Timer(0.05, asking.close).start()
    with only_campaign(tmp_path):
        pass
