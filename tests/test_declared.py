"""What the cells declare of themselves is what the analysis finds by their names: 0 differences."""

from __future__ import annotations

import fnmatch
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from suite.analysis.ablation import catalogue as by_name
from suite.analysis.ablation import cost, gains, prices, questions, step, waterfall
from suite.analysis.ablation.catalogue import Catalogue, open_catalogue
from suite.analysis.ablation.pipeline import find_pipeline
from suite.analysis.campaign import bounds, proof
from suite.analysis.campaign.controls import find_honest
from suite.analysis.campaign.summarise import CellSummary, summarise
from suite.analysis.causes import advice, naive, suspects
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.documents.schema1 import tell_traits
from suite.analysis.numbers.crossover import MAIN
from suite.cells.cell import Cell, Work
from suite.cells.families import FAMILIES
from suite.host.campaign.plan import CONTROLS
from suite.report.sections.tables import TITLES
from suite.worker import scenarios
from tests import synthetic

CELLS = scenarios.cells()


@pytest.fixture(scope="module")
def found() -> Catalogue:
    campaign = synthetic.make_campaign(cells=CELLS, blocks=1, profile="full")
    documents = synthetic.make_documents(campaign, samples=1, warmup=0, calibration=False)
    return open_catalogue(
        summarise(LoadedCampaign(folder="made-up", campaign=campaign, documents=documents))
    )


def names(cells: Iterable[CellSummary | None]) -> list[str]:
    return [one.cell.id for one in cells if one is not None]


def linked(cell: Cell, *links: Any) -> list[str]:
    return [one.to for name in links for one in cell.links.get(name, ())]


BARE = ("id", "scenario", "case", "params", "question", "profiles", "arms", "sweep", "one_shot")
BARE += ("asked_about", "by_host", "reads_files")


@pytest.mark.parametrize("cell", CELLS, ids=[cell.id for cell in CELLS])
def test_a_plan_of_schema_1_is_read_as_what_its_cells_now_say(cell: Cell) -> None:
    work = Work(amount=cell.work.amount, unit=cell.work.unit, bytes=cell.work.bytes)
    told = tell_traits(Cell(**{name: getattr(cell, name) for name in BARE}, work=work))
    declared = {one.id for one in CELLS}
    links = {
        name: [one for one in found if one.to in declared] for name, found in told.links.items()
    }
    links = {name: found for name, found in links.items() if found}
    # Which cells the twins ran, each plan says.
    assert replace(told, links=links, control=cell.control) == cell


def test_kin() -> None:
    groups: dict[Any, set[str]] = defaultdict(set)
    declared: dict[str, set[str]] = defaultdict(set)
    for cell in CELLS:
        groups[by_name.name_work(cell)].add(cell.id)
        declared[cell.kin].add(cell.id)
    assert sorted(map(sorted, groups.values())) == sorted(map(sorted, declared.values()))
    kinds = {by_name.name_work(cell)[0]: cell.kind for cell in CELLS if cell.work.unit == "FLOP"}
    assert kinds == {"product": "product", "training at width": "training at width"}


def test_work_and_its_place() -> None:
    for cell in CELLS:
        assert cell.pinned == by_name.is_pinned_to_cpu(cell), cell.id
        assert cell.precision == by_name.name_precision(cell)
        assert (cell.work.steps or 1) == by_name.count_steps(cell), cell.id
        trained = cell.kind.startswith("training") and cell.work.unit == "element"
        assert ("example" if trained else cell.work.unit) == by_name.name_unit(cell)
        assert (cell.device != "arm") == proof.is_elsewhere(cell.id), cell.id
        assert (cell.device == "none") == proof._fits(cell.id, proof.UNPLACED)
        pattern = "|".join(one.replace("*", r"\w*") for one in cell.operations)
        assert (pattern or None) == proof.find_operations(cell.id), cell.id


def test_sweeps() -> None:
    for cell in CELLS:
        swept = cell.scenario not in prices.NOT_SWEPT
        axes = [axis for axis in prices.AXES if swept and axis in cell.params]
        told = [*cell.larger, *({cell.sweep} - {None, *cell.larger})]
        assert told == axes, cell.id
        assert cell.larger == [axis for axis in gains.LARGER if swept and axis in cell.params]
        assert (cell.headline is not None) == ((cell.scenario, cell.case) in MAIN)


def test_prices() -> None:
    nothing = {"fence", "eager", "graph", "xla", "operation"}
    copies = {"copy-in", "copy-out"}
    bounded = {**dict.fromkeys(copies, "_bound_copy"), "memory": "_bound_sum"}
    bounded |= dict.fromkeys(("eager", "graph", "xla"), "_bound_call")
    bounded["operation"] = "_bound_operation"
    for cell in CELLS:
        assert (cell.price in nothing) == (cell.name in suspects.PRICES)
        assert (cell.price == "start-up") == (cell.name in naive.STARTS)
        assert (cell.price in copies) == (cell.case == "copy")
        assert (cell.price is not None) == (cell.scenario == "overhead")
        bound = bounds.BOUNDS.get(cell.name)
        assert (bound.__name__ if bound else None) == bounded.get(cell.price or "")
        if cell.price in copies:
            assert cell.work.bytes == cell.params["bytes"]
            assert cell.kin == f"copying/{cell.params['direction']}"


def test_dispatch(found: Catalogue) -> None:
    for one in found.cells.values():
        cell = one.cell
        kind = "graph" if cell.dispatch == "keras" else cell.dispatch
        calls = cell.work.launches or (None if kind == "eager" else cell.work.steps or 1)
        price = next((c for c in CELLS if kind and calls and c.price == kind), None)
        words = None
        if price is not None and calls is not None:
            count = "a call" if calls == 1 else f"{calls:,.0f} calls"
            words = f"{count} ({price.name})"
        today = prices.price_handover(found, one, "cuda")
        told = today.words.partition(" and ")[0] if today else None
        assert told == words, cell.id


def test_copies(found: Catalogue) -> None:
    for one in found.cells.values():
        work = one.cell.work
        if one.cell.data == "device" and work.bytes_in is None:
            continue
        if work.bytes_in is None and not one.cell.links.keys() & {"nearer", "compute"}:
            continue
        if one.cell.precision in {"bf16", "fp16"}:
            continue  # today's finder does not know that their elements are smaller, nor asks
        sizes = [(work.bytes_in, "to-device"), (work.bytes_out, "from-device")]
        words = ", ".join(f"{size:,.0f} B {way} (overhead.copy)" for size, way in sizes if size)
        if one.cell.name == "tfdata.to_device":
            words = f"{work.bytes:,.0f} B to-device (overhead.copy)"
        today = prices.price_copies(found, one, "cuda")
        assert (today.words if today else "") == words, one.cell.id


def test_nearer_fewer_and_without(found: Catalogue) -> None:
    for one in found.cells.values():
        cell = one.cell
        fewer = [
            found.vary(one, **{axis: less})
            for axis, value, less in suspects.FEWER_HANDOVERS
            if cell.params.get(axis) == value
        ]
        assert linked(cell, "fewer") == names(fewer), cell.id
        nearer = {
            words: found.vary(one, **{axis: near})
            for axis, value, near, words in suspects.DATA_NEARER
            if cell.params.get(axis) == value
        }
        assert linked(cell, "nearer") == names(nearer.values()), cell.id
        assert [link.words for link in cell.links.get("nearer", ())] == list(nearer), cell.id
        assert linked(cell, "without") == names([found.vary(one, python="none")])


def test_pipelines(found: Catalogue) -> None:
    for one in found.cells.values():
        pipeline = find_pipeline(found, one, "cuda")
        cell = one.cell
        if cell.role == "reference":
            continue
        waits = cell.links.keys() & {"input", "feed"} or (
            cell.data != "device" and linked(cell, "compute") and cell.params.get("data") != "host"
        )
        assert bool(waits) == (pipeline is not None), cell.id
        if pipeline is not None:
            assert linked(cell, "feed") == names(pipeline.others), cell.id
            assert linked(cell, "compute") == names([pipeline.compute_cell])
            assert bool(linked(cell, "input")) == bool(pipeline.input), cell.id
            assert bool(linked(cell, "trivial")) == bool(pipeline.trivial)
            if cell.name == "tfdata.triple":
                hides = cell.params.get("pipeline") in step.PREFETCHED
                assert (cell.data == "prefetched") == hides


def test_steps_taken_apart(found: Catalogue) -> None:
    today = {one.cell for one in step.decompose_steps(found)}
    assert {cell.id for cell in CELLS if "compute" in cell.links} == today
    for one in found.cells.values():
        if one.cell.id in today:
            assert linked(one.cell, "compute") == names([step._find_at_hand(found, one)])
    trains = {c.id for c in CELLS if c.kind.startswith("training") and c.sweep is not None}
    assert {one.cell for one in step.find_repayments(found)} == trains


def test_costs_and_advice(found: Catalogue) -> None:
    priced = {one.cell for one in cost.find_costs(found, cost.Price(hourly=1.0, currency="EUR"))}
    assert {cell.id for cell in CELLS if cell.priced} == priced
    helps = advice.advise(found)
    for kind, link in (("prefetch", "prefetched"), ("less Python in the pipeline", "native")):
        today = {(one.cell, one.gain.at, one.gain.words) for one in helps if one.kind == kind}
        assert today == {
            (cell.id, one.to, one.words) for cell in CELLS for one in cell.links.get(link, ())
        }
    larger = {one.cell for one in helps if one.kind == "a larger batch"}
    assert {found.cells[name].cell.name for name in larger} <= set(advice.MODELS)


def test_controls() -> None:
    for cell in CELLS:
        assert cell.control == any(fnmatch.fnmatchcase(cell.id, glob) for glob in CONTROLS)
        honest = find_honest(cell, CELLS)
        assert linked(cell, "honest") == ([honest[0].id] if honest else [])
        assert (1 + cell.excess if cell.excess else None) == (honest[1] if honest else None)
        assert (cell.role == "control") == (honest is not None)


def test_families() -> None:
    assert {name: one.title for name, one in FAMILIES.items()} == TITLES
    assert list(FAMILIES) == list(dict.fromkeys(cell.scenario for cell in CELLS))


def test_stages(found: Catalogue) -> None:
    for case in questions.CASES:
        for fixed in waterfall._list_fixed(found, case):
            for pinned in (False, True):
                cells = [
                    waterfall._find_cell(found, stage, fixed, pinned=pinned)
                    for stage in case.stages
                ]
                today = [
                    (one.cell.id if one else None, stage.change, stage.rule)
                    for one, stage in zip(cells, case.stages, strict=True)
                ]
                # Two cells can be the same stage, one for each place.
                changes = [stage.change for stage in case.stages]
                today = [one for one in today if one[0] is not None or changes.count(one[1]) == 1]
                ways = [
                    cell.way
                    for cell in CELLS
                    if cell.way
                    and (cell.way.name, cell.way.fixed, cell.way.pinned)
                    == (case.name, fixed, pinned)
                ]
                if today[0][0] is None:
                    assert not ways
                    continue
                assert ways
                assert all(way == ways[0] for way in ways)
                way = ways[0]
                told = [(one.cell, one.change, one.removes) for one in way.stages]
                assert told == today, (case.name, fixed, pinned)
                assert (way.title, way.unit, way.by_call) == (case.title, case.unit, case.by_call)
    ways_of = {cell.scenario for cell in CELLS if cell.way}
    assert ways_of == {"asked"}
