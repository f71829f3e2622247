"""What goes over the wire comes back the same, and what may not be in a document never gets there."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import is_dataclass
from datetime import datetime, timedelta, timezone
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from suite import codec
from suite.analysis.documents.read import convert
from suite.cells.cell import Work, cell_id
from suite.model import Campaign, CellResult, Document
from tests import synthetic

zones = st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m)))
PLAIN: Mapping[Any, st.SearchStrategy[Any]] = {
    str: st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    int: st.integers(-(2**62), 2**62),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    datetime: st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=zones),  # noqa: DTZ001
    NoneType: st.none(),
}


def anything(kind: Any) -> st.SearchStrategy[Any]:
    """Every value of a declared type, so that a new field is tried too."""
    origin, inside = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        fields = {name: anything(hint) for name, hint in get_type_hints(kind).items()}
        if "schema" in fields:
            fields["schema"] = st.just(codec.SCHEMA)
        return st.builds(kind, **fields)  # type: ignore[arg-type]
    if origin is Literal:
        return st.sampled_from(inside)
    if origin in {Union, UnionType}:
        return st.one_of(*map(anything, inside))
    if origin is list:
        return st.lists(anything(inside[0]), max_size=2)
    if origin is dict:
        return st.dictionaries(anything(inside[0]), anything(inside[1]), max_size=2)
    return PLAIN[kind]


@pytest.mark.parametrize("kind", [Document, Campaign])
def test_what_is_written_comes_back_as_it_was(kind: type) -> None:
    @settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow])
    @given(anything(kind))
    def comes_back(one: object) -> None:
        written = codec.dump_document(one)
        read: Any = convert("any.json", json.loads(written), kind)
        assert read == one
        # Equal words can still differ in type (1 and true): the text can't.
        assert codec.dump_document(read) == written

    comes_back()


@settings(deadline=None, max_examples=30)
@given(anything(CellResult))
def test_a_record_is_one_line_of_ascii_that_comes_back(result: CellResult) -> None:
    line = codec.dump_record({"record": "cell", "cell": result})
    assert line.isascii()
    assert line.splitlines() == [line]
    record = codec.parse_record(line)
    assert record == {"record": "cell", "cell": codec.plain(result)}


def test_documents_are_for_people_too() -> None:
    document = synthetic.make_document(synthetic.make_campaign(), "cpu", 1)
    written = codec.dump_document(document)
    assert written.endswith("}\n")
    assert written.count("\n") > 100
    assert list(json.loads(written)) == list(Document.__dataclass_fields__)
    assert codec.dump_document({"text": "a × b"}) == '{\n "text": "a × b"\n}\n'


@pytest.mark.parametrize("value", [math.nan, [1.0, math.inf], {"a": (-math.inf,)}])
@pytest.mark.parametrize("dump", [codec.dump_document, codec.dump_record])
def test_no_number_that_is_none_gets_out(value: object, dump: Any) -> None:
    with pytest.raises(ValueError, match="not a number that a document can hold"):
        dump(value)


def test_instants_carry_their_offset() -> None:
    naive = datetime(2026, 11, 21, 9, 30)  # noqa: DTZ001
    with pytest.raises(ValueError, match="no UTC offset"):
        codec.plain({"started": naive})
    moment = naive.replace(tzinfo=timezone(timedelta(hours=-5)))
    assert codec.plain(moment) == "2026-11-21T09:30:00-05:00"


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, object(), Work, 1j])
def test_what_has_no_place_on_the_wire_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="no place on the wire"):
        codec.plain([value])


@pytest.mark.parametrize(
    "line",
    [
        *("", "hello", "[]", "{}", '{"record": ["cell"]}', '{"record": "cell"'),
        *('{"record": "cell"} {"record": "cell"}', '{"record": "cell", "x": NaN}'),
        *('{"record": "cell", "x": 1e999}', "[" * 100_000),
    ],
    ids=lambda line: line[:30],
)
def test_what_is_no_record_is_refused(line: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  the text is JSON's or ours
        codec.parse_record(line)


def test_ids_keep_the_declared_order_and_numbers_as_they_are() -> None:
    assert cell_id("overhead", "fence", {}) == "overhead.fence"
    assert (
        cell_id("matmul", "square", {"n": 1000, "precision": "fp32", "share": 0.5})
        == "matmul.square/n=1000/precision=fp32/share=0.5"
    )


def test_a_gpu_is_recognised_and_not_named() -> None:
    uuid = "11111111-2222-3333-4444-55555555abcd"
    hashed = codec.hash_uuid(uuid)
    assert {codec.hash_uuid(f"{kind}-{uuid}".upper()) for kind in ("GPU", "MIG")} == {hashed}
    text = f"GPU-{uuid} and MIG-GPU-{uuid}/1/0 and MIG-{uuid}, but GPU-1 and {uuid}"
    hidden = codec.hide_uuids(text)
    assert hidden == f"GPU-{hashed} and MIG-GPU-{hashed}/1/0 and MIG-{hashed}, but GPU-1 and {uuid}"
    assert codec.hide_uuids(hidden) == hidden
