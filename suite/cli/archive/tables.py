"""A campaign as the rows of the archive's tables."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from suite.analysis.analyse import analyse
from suite.analysis.documents.read import load_campaign
from suite.analysis.result.campaign import Analysis
from suite.cli.processes import in_processes
from suite.manifest import hash_content
from suite.model import Document
from suite.report.exports.facts import FACTS, tell_facts
from suite.report.exports.parquet import open_duckdb, write_parquet
from suite.report.exports.tidy import list_rows, name_machine_key, type_columns


def _as_tidy(*names: str) -> dict[str, type]:
    """The types of columns that the table of cells has as well."""
    types = type_columns([])
    return {name: types[name] for name in names}


_CAMPAIGNS: Mapping[str, type] = {
    **_as_tidy("campaign", "created", "profile"),
    "label": str,
    "seed": int,
    "blocks": int,
    **_as_tidy("cpu", "cpus_used", "memory_bytes", "gpu", "suite_version", "suite_content"),
    "margin": float,
    "noise_floor": float,
    **_as_tidy("price_hourly", "price_currency", "banners"),
    "documents": int,
    "content": str,
}
_TURN: Mapping[str, type] = {"campaign": str, "arm": str, "block": int, "repeat": int}
_INVOCATIONS: Mapping[str, type] = {
    **_TURN,
    "status": str,
    "counted": bool,
    "started": datetime,
    "ended": datetime,
    "isolation": str,
    "image": str,
    "image_id": str,
    **dict.fromkeys(FACTS, str),
}
_SAMPLES: Mapping[str, type] = {
    **_TURN,
    "cell": str,
    "outcome": str,
    "first_call_s": float,
    "calls": int,
    "warmup_s": list,
    "samples_s": list,
}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A campaign for the archive: its files by table, in the order in which they are written, so that it is
    in the archive when the last one is.  ``content`` is a hash of all its documents.
    """

    campaign: str
    machine: str
    content: str
    files: Mapping[str, bytes]


def make_entries(runs: Sequence[Path], machine: str | None) -> Iterator[Entry]:
    """The entries of campaigns' folders, in their order.

    Args:
        runs: the folders.
        machine: what their person calls the machine; None: its own key names it.

    Raises:
        DocumentError: one can't be read.
        CrossoverError: the machine has no memory, or no process, for so many at once.
    """
    return in_processes(functools.partial(_make_entry, machine=machine), runs)


def _make_entry(run: Path, machine: str | None) -> Entry:
    loaded = load_campaign(run)
    analysis = analyse(loaded)
    documents = loaded.every_document
    content = hash_content(msgspec.json.encode(documents))
    # Rows can say more than their table has columns for, which nobody then reads.
    cells = list(list_rows(analysis))
    columns = {k: v for k, v in type_columns(cells).items() if k != "machine"}
    about: Mapping[str, Any] = cells[0] if cells else {}
    plan = analysis.campaign
    campaign = {
        **about,
        **structs.asdict(plan),
        "campaign": plan.id,
        "created": plan.created.isoformat(),
        "margin": analysis.margin,
        "noise_floor": analysis.noise_floor,
        "documents": len(documents),
        "content": content,
    }
    invocations = [_tell_invocation(plan.id, one, analysis) for one in documents]
    samples = list(_list_samples(plan.id, documents))
    with open_duckdb() as database:
        files = {
            "samples": write_parquet(database, _SAMPLES, samples),
            "cells": write_parquet(database, columns, cells),
            "invocations": write_parquet(database, _INVOCATIONS, invocations),
            "campaigns": write_parquet(database, _CAMPAIGNS, [campaign]),
        }
    return Entry(
        campaign=plan.id,
        machine=machine or name_machine_key(analysis),
        content=content,
        files=files,
    )


def _tell_invocation(campaign: str, one: Document, analysis: Analysis) -> dict[str, Any]:
    of, arm = one.invocation, analysis.arms.get(one.invocation.arm)
    facts = {**one.facts, **{f"engine.{name}": value for name, value in of.engine.items()}}
    excluded = {
        (x.where.get("arm"), x.where.get("block"), x.where.get("repeat", 0))
        for x in analysis.excluded
    }
    counted = arm is not None and of.block in arm.blocks
    return vars(of) | {
        "campaign": campaign,
        "counted": counted and (of.arm, of.block, of.repeat) not in excluded,
        "started": of.started.isoformat(),
        "ended": of.ended.isoformat() if of.ended else None,
        "image": of.image.content,
        "image_id": of.image.id,
        **tell_facts({name: (value,) for name, value in facts.items()}),
    }


def _list_samples(campaign: str, documents: list[Document]) -> Iterator[dict[str, Any]]:
    for one in documents:
        for cell in one.cells:
            about = {"campaign": campaign, "cell": cell.id, "calls": cell.calls_per_sample}
            yield vars(one.invocation) | vars(cell) | about
