"""What has not changed is not done again: how often, never how fast."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from suite.analysis.analyse import look, look_early, look_for_odd
from suite.analysis.campaign import invocation_value
from suite.analysis.documents import read, telemetry
from suite.analysis.documents.read import load_campaign
from suite.cli.run_campaign import conclude, write_reports
from suite.host.campaign.store import Store
from suite.model import Document, Telemetry
from suite.report import plots, produce
from tests import synthetic

PLAN = synthetic.make_campaign(blocks=3)
DOCUMENTS = synthetic.make_documents(PLAN)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The documents that were parsed, by name, in their order."""
    names: list[str] = []
    convert = read.convert

    def count(name: str, value: dict[str, Any], kind: type[Any]) -> Any:
        names.extend([name] if kind is Document else [])
        return convert(name, value, kind)

    monkeypatch.setattr(read, "convert", count)
    return names


def test_after_each_block_only_its_documents_are_parsed(tmp_path: Path, parsed: list[str]) -> None:
    store = Store(synthetic.write_campaign(tmp_path / "c", PLAN, []))
    for block in range(PLAN.blocks + 1):
        turns = [of for of in DOCUMENTS if of.invocation.block == block]
        for document in turns:
            store.write_document(document)
        parsed.clear()
        write_reports(store, pictures=False)
        look(store.folder, block, fewest=3, most=10)
        look_for_odd(store.folder)
        assert parsed == sorted(document.name for document in turns)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often something was made of a value, by what."""
    counts: Counter[str] = Counter()
    for name, kept in (("joined", telemetry._JOINED), ("read", invocation_value._READINGS)):

        def count(values: Any, make: Any = kept._make, name: str = name) -> Any:
            counts[name] += len(values)
            return make(values)

        monkeypatch.setattr(kept, "_make", count)
    return counts


def watch(document: Document) -> Document:
    """With a telemetry that saw a counter beside its cells."""
    seen = Telemetry(
        started=document.invocation.started,
        at_s=[0.0, 600.0],
        series={"cpu.steal_s": [0.0, 0.0]},
    )
    return replace(document, telemetry=seen, absent={})


def test_after_each_block_only_its_documents_are_joined_and_read(
    tmp_path: Path, made: Counter[str]
) -> None:
    store = Store(synthetic.write_campaign(tmp_path / "c", PLAN, []))
    for block in range(1, PLAN.blocks + 1):
        turns = [watch(of) for of in DOCUMENTS if of.invocation.block == block]
        for document in turns:
            store.write_document(document)
        made.clear()
        look(store.folder, block, fewest=3, most=10)
        write_reports(store, pictures=False)
        look_early(store.folder)
        cells = [cell for document in turns for cell in document.cells if cell.samples_s]
        assert made == {"joined": len(turns), "read": len(cells)}


def test_a_document_that_changed_is_parsed_again_and_no_other_campaigns_is_kept(
    tmp_path: Path, parsed: list[str]
) -> None:
    folder = synthetic.write_campaign(tmp_path / "c", PLAN, DOCUMENTS)
    load_campaign(folder)
    first = DOCUMENTS[-1]
    (folder / first.name).write_text(
        synthetic.dump_document(replace(first, facts={**first.facts, "cpu.count": 9}))
    )
    parsed.clear()
    assert load_campaign(folder).documents[-1].facts["cpu.count"] == 9
    assert parsed == [first.name]
    other = synthetic.write_campaign(tmp_path / "d", PLAN, DOCUMENTS)
    parsed.clear()
    load_campaign(other)
    load_campaign(folder)
    assert Counter(parsed) == dict.fromkeys((document.name for document in DOCUMENTS), 2)


def test_pictures_are_drawn_once_a_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(produce, "can_draw", lambda: True)
    drawn: Counter[str] = Counter()
    for form in ("render_svg", "render_png"):
        render = getattr(plots, form)

        def count(picture: Any, render: Any = render, form: str = form) -> Any:
            drawn[f"{picture.name} {form}"] += 1
            return render(picture)

        monkeypatch.setattr(plots, form, count)
    store = Store(synthetic.write_campaign(tmp_path / "c", PLAN, DOCUMENTS))
    write_reports(store, pictures=False)
    assert not drawn
    conclude(store)
    assert set(drawn.values()) == {1}
    assert len(drawn) == len(list((store.folder / "plots").iterdir()))
