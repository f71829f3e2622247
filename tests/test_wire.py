"""What goes over the wire comes back the same, and what may not be in a document never gets there."""

from __future__ import annotations

import json
import math
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suite import wire
from suite.analysis.documents.read import _convert, load_document
from suite.cells.cell import Cell, Work, cell_id
from suite.cells.traits import ProfileName
from suite.model import (
    Campaign,
    CampaignIdentity,
    CellResult,
    Check,
    Container,
    Document,
    Excluded,
    Image,
    Invocation,
    InvocationStatus,
    OutcomeName,
    Prediction,
    SuiteIdentity,
    Telemetry,
)
from tests import synthetic

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
number = st.floats(allow_nan=False, allow_infinity=False)
count = st.integers(-(2**62), 2**62)
zones = st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m)))
instant = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=zones)  # noqa: DTZ001
scalar = st.one_of(st.none(), st.booleans(), text, count, number)
params = st.dictionaries(text, st.one_of(text, count, number), max_size=3)
durations = st.dictionaries(text, number, max_size=3)
series = st.lists(number, max_size=4)


def maybe(strategy: Any) -> Any:
    return st.none() | strategy


works = st.builds(Work, amount=number, unit=text, bytes=maybe(number))
results = st.builds(
    CellResult,
    id=text,
    scenario=text,
    case=text,
    params=params,
    outcome=st.sampled_from(get_args(OutcomeName)),
    reason=maybe(text),
    work=maybe(works),
    started=maybe(instant),
    ended=maybe(instant),
    container=maybe(text),
    first_call_s=maybe(number),
    calls_per_sample=maybe(count),
    warmup_status=maybe(text),
    warmup_s=series,
    samples_s=series,
    enqueue_fraction=maybe(number),
    placement=st.dictionaries(text, count, max_size=2),
    elsewhere=st.lists(text, max_size=2),
    check=maybe(st.builds(Check, what=text, value=maybe(number), tolerance=maybe(number))),
    peak_memory_bytes=maybe(count),
    labels=st.lists(text, max_size=2),
    spent_s=durations,
    absent=st.dictionaries(text, text, max_size=2),
)
suites = st.builds(SuiteIdentity, version=text, commit=maybe(text), content=text)
invocations = st.builds(
    Invocation,
    arm=text,
    block=count,
    isolation=st.sampled_from(["container", "none"]),
    image=st.builds(
        Image,
        id=text,
        content=maybe(text),
        base=text,
        digests=st.lists(text, max_size=2),
        lock=text,
        origin=text,
        size_bytes=maybe(count),
    ),
    engine=st.dictionaries(text, scalar, max_size=3),
    limits=st.dictionaries(text, scalar, max_size=3),
    containers=st.lists(
        st.builds(
            Container,
            id=text,
            started=instant,
            ended=maybe(instant),
            status=maybe(text),
            start_s=maybe(number),
        ),
        max_size=2,
    ),
    started=instant,
    status=st.sampled_from(get_args(InvocationStatus)),
    ended=maybe(instant),
    repeat=count,
)
documents = st.builds(
    Document,
    schema=st.just(wire.SCHEMA),
    suite=suites,
    campaign=st.builds(
        CampaignIdentity,
        id=text,
        profile=st.sampled_from(get_args(ProfileName)),
        seed=count,
        label=maybe(text),
    ),
    invocation=invocations,
    facts=st.dictionaries(text, scalar, max_size=4),
    cells=st.lists(results, max_size=2),
    telemetry=maybe(
        st.builds(
            Telemetry,
            started=instant,
            facts=st.dictionaries(text, scalar, max_size=2),
            at_s=series,
            series=st.dictionaries(text, st.lists(maybe(number), max_size=4), max_size=2),
            absent=st.dictionaries(text, text, max_size=2),
        )
    ),
    spent_s=durations,
    absent=st.dictionaries(text, text, max_size=2),
)
cells = st.builds(
    Cell,
    id=text,
    scenario=text,
    case=text,
    params=params,
    question=text,
    work=works,
    profiles=st.lists(st.sampled_from(get_args(ProfileName)), max_size=4),
    arms=st.lists(text, max_size=2),
    sweep=maybe(text),
    one_shot=st.booleans(),
    asked_about=st.booleans(),
    by_host=st.booleans(),
    reads_files=st.booleans(),
)
campaigns = st.builds(
    Campaign,
    schema=st.just(wire.SCHEMA),
    id=text,
    created=instant,
    profile=st.sampled_from(get_args(ProfileName)),
    seed=count,
    label=maybe(text),
    arms=st.lists(text, max_size=2),
    blocks=count,
    cells=st.lists(cells, max_size=2),
    suite=suites,
    prediction=st.builds(
        Prediction,
        before_s=number,
        calibrated_s=maybe(number),
        corrected_s=series,
        actual_s=number,
    ),
    warmup_s=number,
    measure_s=number,
    budget_s=number,
    calls=st.dictionaries(text, st.dictionaries(text, count, max_size=2), max_size=2),
    excluded=st.dictionaries(
        text,
        st.dictionaries(
            text,
            st.builds(Excluded, outcome=st.sampled_from(["skipped", "failed"]), reason=text),
            max_size=2,
        ),
        max_size=2,
    ),
    not_run=st.dictionaries(text, text, max_size=2),
    command=text,
    stopped=maybe(text),
    simulated=st.booleans(),
    price=maybe(number),
    price_currency=text,
)


@settings(deadline=None)
@given(documents)
def test_a_document_comes_back_as_it_was(document: Document) -> None:
    written = wire.dump_document(document)
    read = _convert(Path("cpu-01.json"), json.loads(written), Document)
    assert read == document
    # Equal words can still differ in type (1 and true): the text can't.
    assert wire.dump_document(read) == written


@settings(deadline=None)
@given(campaigns)
def test_a_plan_comes_back_as_it_was(campaign: Campaign) -> None:
    written = wire.dump_document(campaign)
    read = _convert(Path("campaign.json"), json.loads(written), Campaign)
    assert read == campaign
    assert wire.dump_document(read) == written


@given(results)
def test_a_record_is_one_line_of_ascii_that_comes_back(result: CellResult) -> None:
    line = wire.dump_record({"record": "cell", "cell": result})
    assert line.isascii()
    assert line.splitlines() == [line]
    record = wire.parse_record(line)
    assert record == {"record": "cell", "cell": wire.plain(result)}


def test_a_made_up_document_survives_the_file(tmp_path: Path) -> None:
    document = synthetic.make_document(synthetic.make_campaign(), "cuda", 1)
    path = tmp_path / "cuda-01.json"
    path.write_text(wire.dump_document(document), encoding="utf-8")
    assert load_document(path) == document


def test_documents_are_for_people_too() -> None:
    document = synthetic.make_document(synthetic.make_campaign(), "cpu", 1)
    written = wire.dump_document(document)
    assert written.endswith("}\n")
    assert written.count("\n") > 100
    assert list(json.loads(written)) == list(Document.__dataclass_fields__)
    assert wire.dump_document({"text": "a × b"}) == '{\n "text": "a × b"\n}\n'


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("dump", [wire.dump_document, wire.dump_record])
@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [1.0, x], lambda x: {"a": (x,)}])
def test_no_number_that_is_none_gets_out(value: float, dump: Any, wrap: Any) -> None:
    with pytest.raises(ValueError, match="not a number that a document can hold"):
        dump(wrap(value))


def test_a_naive_instant_does_not_get_out() -> None:
    naive = datetime(2026, 11, 21, 9, 30)  # noqa: DTZ001
    with pytest.raises(ValueError, match="no UTC offset"):
        wire.plain({"started": naive})


def test_instants_carry_their_offset() -> None:
    moment = datetime(2026, 11, 21, 9, 30, tzinfo=timezone(timedelta(hours=-5)))
    assert wire.plain(moment) == "2026-11-21T09:30:00-05:00"


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, object(), Work, 1j])
def test_what_has_no_place_on_the_wire_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="no place on the wire"):
        wire.plain([value])


@pytest.mark.parametrize(
    "line",
    [
        "",
        "hello",
        "null",
        "7",
        "[]",
        "{}",
        '{"record": null}',
        '{"record": ["cell"]}',
        '{"Record": "cell"}',
        '{"record": "cell"',
        '{"record": "cell"} {"record": "cell"}',
        '{"record": "cell", "x": NaN}',
        '{"record": "cell", "x": -Infinity}',
        '{"record": "cell", "x": 1e999}',
        "[" * 100_000,
    ],
    ids=lambda line: line[:30],
)
def test_what_is_no_record_is_refused(line: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  the text is JSON's or ours
        wire.parse_record(line)


def test_ids_keep_the_declared_order_and_numbers_as_they_are() -> None:
    assert cell_id("overhead", "fence", {}) == "overhead.fence"
    assert (
        cell_id("matmul", "square", {"n": 1000, "precision": "fp32", "share": 0.5})
        == "matmul.square/n=1000/precision=fp32/share=0.5"
    )


def test_a_gpu_is_recognised_and_not_named() -> None:
    uuid = "11111111-2222-3333-4444-55555555abcd"
    hashed = wire.hash_uuid(uuid)
    assert {wire.hash_uuid(f"{kind}-{uuid}".upper()) for kind in ("GPU", "MIG")} == {hashed}
    text = f"GPU-{uuid} and MIG-GPU-{uuid}/1/0 and MIG-{uuid}, but GPU-1 and {uuid}"
    hidden = wire.hide_uuids(text)
    assert hidden == f"GPU-{hashed} and MIG-GPU-{hashed}/1/0 and MIG-{hashed}, but GPU-1 and {uuid}"
    assert wire.hide_uuids(hidden) == hidden
