"""The manifest of a campaign's folder: right or silent at every moment, and nobody else's doing."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from suite.errors import DocumentError
from suite.host.campaign.store import Store
from suite.manifest import MANIFEST, hash_content, read_lines, write_lines
from suite.model import Document, InvocationStatus
from tests import synthetic

PLAN = synthetic.make_campaign(blocks=2, arms=("cpu",))


def make(status: InvocationStatus = "complete", samples: int = 3) -> Document:
    document = synthetic.make_document(PLAN, "cpu", 1, samples=samples)
    ended = document.invocation.ended if status != "running" else None
    return replace(document, invocation=replace(document.invocation, status=status, ended=ended))


def pinned(store: Store) -> dict[str, str]:
    path = store.folder / MANIFEST
    return read_lines(path.read_bytes()) if path.exists() else {}


def holds(store: Store) -> bool:
    """Whether every line is of what lies there."""
    return all(
        hash_content((store.folder / name).read_bytes()) == digest
        for name, digest in pinned(store).items()
    )


def test_every_line_is_right_at_every_moment(store: Store) -> None:
    steps = (
        lambda: store.write_plan(PLAN),
        lambda: store.write_document(make("running")),
        lambda: store.append_log("cpu-01", "said"),
        lambda: store.write_document(make()),
        lambda: store.write_plan(replace(PLAN, stopped="enough")),
    )
    for step in steps:
        step()
        assert holds(store)
    assert list(pinned(store)) == ["campaign.json", "cpu-01.json", "logs/cpu-01.log"]
    store.write_reports({"report.md": "é", "plots/a.svg": "<svg/>"})
    store.pin()
    assert holds(store)
    assert "plots/a.svg" in pinned(store)
    store.drop_reports(["plots/a.svg"])
    store.pin()
    assert "plots/a.svg" not in pinned(store)


def test_a_document_under_way_has_no_hash_that_a_crash_could_leave_wrong(store: Store) -> None:
    store.write_document(make("interrupted"))
    assert "cpu-01.json" in pinned(store)
    again = Store(store.folder)
    again.write_document(make("running", samples=4))
    assert "cpu-01.json" not in pinned(store)
    again.write_document(make(samples=5))
    assert "cpu-01.json" in pinned(store)
    assert holds(store)


def test_what_somebody_else_changed_adds_or_removes_keeps_its_line_or_has_none(
    store: Store,
) -> None:
    store.write_document(make())
    before = pinned(store)["cpu-01.json"]
    (store.folder / "cpu-01.json").write_text("{}")
    (store.folder / "cpu-02.json").write_text("{}")
    again = Store(store.folder)
    again.write_reports({"report.md": "of what lies there now"})
    again.pin()
    assert pinned(store)["cpu-01.json"] == before
    assert "cpu-02.json" not in pinned(store)
    (store.folder / "cpu-01.json").unlink()
    Store(store.folder).pin()
    assert pinned(store)["cpu-01.json"] == before


def test_a_folder_without_a_manifest_gets_one_of_everything_that_is_ours(store: Store) -> None:
    synthetic.write_campaign(store.folder, PLAN)
    (store.folder / "notes.txt").write_text("mine")
    Store(store.folder).pin()
    assert holds(store)
    assert list(pinned(store)) == ["campaign.json", "cpu-00.json", "cpu-01.json", "cpu-02.json"]


def test_it_is_as_sha256sum_writes_it() -> None:
    digest = hashlib.sha256(b"a").hexdigest()
    assert write_lines({"b": digest, "a b": digest}) == f"{digest}  a b\n{digest}  b\n"
    assert read_lines(f"{digest} *b\n".encode()) == {"b": digest}


@pytest.mark.parametrize("line", ["no hash", "0" * 64 + "  a\n" + "1" * 64 + "  a", "0" * 64])
def test_what_is_no_manifest_is_refused_with_its_line(line: str) -> None:
    with pytest.raises(DocumentError, match=r"manifest\.sha256: line [12] "):
        read_lines(line.encode())
