"""The made-up campaigns that pages and pictures are tried on; each is analysed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

from msgspec import structs

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import CellAnalysis, set_down
from suite.analysis.result.findings import Finding, Spot, Step, Tag, Total, Waterfall
from suite.analysis.result.numbers import Estimate, Ratio, Verdict, VerdictName, cite
from suite.cells.cell import Cell, Param, Work
from suite.cells.traits import Effect, ProfileName
from suite.flags import raise_flag
from tests import synthetic
from tests.changes import in_cell, invoke, plant, swap_image
from tests.rendering import study

PIPELINES = ("parallel", "native", "numpy_function")
PARTS = ("input", "together", "trivial")

NO_NUMBER: dict[str, Any] = {"value": None, "low": None, "high": None, "n": 0, "rate": None}
"""What an arm that has no number knows of a cell."""

HOSTILE = "<script>alert(1)</script> | `x` [a](http://b.example) **c**\n\n# d\x1b[31m \u202e"


def make_product(n: int) -> Cell:
    params: dict[str, Param] = {"n": n, "precision": "fp32", "operands": "device", "xla": "off"}
    work = Work(amount=2.0 * n**3, unit="FLOP")
    return synthetic.make_cell("matmul", "square", params, work, sweep="n")


def make_step(net: str, batch: int) -> Cell:
    params: dict[str, Param] = {"net": net, "batch": batch, "data": "device"}
    params |= {"precision": "fp32", "execution": "graph"}
    work = Work(amount=float(batch), unit="example")
    return synthetic.make_cell("mlp", "train", params, work, sweep="batch")


def make_part(pipeline: str, part: str) -> Cell:
    """A call of the slowest pipeline works through half a batch."""
    work = Work(amount=256.0 if pipeline == "numpy_function" else 512.0, unit="element")
    params: dict[str, Param] = {"pipeline": pipeline, "part": part, "batch": 512}
    return synthetic.make_cell("tfdata", "triple", params, work)


SWEEPS = (
    *(make_product(n) for n in (1, 10, 64, 100, 256, 1000, 4000, 10000)),
    *(make_step("A", batch) for batch in (8, 32, 128, 512, 4096)),
    *(make_step("B", batch) for batch in (10, 32, 512)),
)
"""A sweep of products, and one of steps for each of two networks."""

TRIPLE = tuple(make_part(pipeline, part) for pipeline in PIPELINES for part in PARTS)
"""Three pipelines in their parts."""

CELLS: Mapping[str, Sequence[Cell]] = {
    "few": synthetic.make_cells(),
    "sweeps": SWEEPS,
    "triple": TRIPLE,
    "triple and steps": (*TRIPLE, make_step("A", 512), make_step("B", 512)),
    "both": (*SWEEPS, *TRIPLE),
    "both and a step": (*SWEEPS, *TRIPLE, make_step("A", 256)),
}


@cache
def analyse_made(
    cells: str = "sweeps",
    arms: tuple[str, ...] = ("cpu", "cuda"),
    blocks: int = 3,
    profile: ProfileName = "standard",
) -> Analysis:
    """The analysis of a campaign of these `CELLS` that went well."""
    campaign = synthetic.make_campaign(
        cells=list(CELLS[cells]), arms=arms, blocks=blocks, profile=profile
    )
    return study(campaign, synthetic.make_documents(campaign, samples=2))


def change_cells(
    summary: Analysis, change: Callable[[int, CellAnalysis], Mapping[str, Any]]
) -> Analysis:
    """The analysis with these fields of its cells changed, by their place and what they are."""
    cells = [structs.replace(cell, **change(i, cell)) for i, cell in enumerate(summary.cells)]
    return structs.replace(summary, cells=tuple(cells))


def change(summary: Analysis, cell_id: str, arm: str, **fields: Any) -> Analysis:
    """The analysis with something else known of one cell on one arm."""

    def change_arm(_: int, cell: CellAnalysis) -> Mapping[str, Any]:
        changed = {**cell.arms, arm: structs.replace(cell.arms[arm], **fields)}
        return {"arms": changed} if cell.id == cell_id else {}

    return change_cells(summary, change_arm)


def make_hostile(text: str) -> Analysis:
    """A campaign in which every text that can be chosen freely is this one."""
    case = text.strip() or "x"
    cells = [
        synthetic.make_cell("matmul", case, {"n": 1, text: text}, Work(amount=1, unit=case)),
        synthetic.make_cell(case, "square", {"n": 2}, Work(amount=1, unit=case)),
    ]
    campaign = synthetic.make_campaign(arms=["cpu", case], blocks=1, cells=cells)
    campaign = replace(
        campaign, label=text, command=text, stopped=text, not_run={text: text}, id=case
    )
    values = {text: text, f"a{text}": text}
    documents = synthetic.make_documents(campaign, samples=1)
    for how in (
        in_cell(cells[0].id, labels=[text], placement={text: 1}, elsewhere=[text]),
        invoke(engine=values, limits=values),
        swap_image(base=text, origin=text, digests=[text], lock=text),
        lambda document: synthetic.kill_container(document, cells[1].id, case),
        lambda document: replace(
            document, facts={**values, "cpu.model": text, "gpu.0.name": text}, spent_s={text: 1.0}
        ),
    ):
        documents = plant(documents, how)
    return study(campaign, documents)


def take_apart(
    cell: str, arm: str, dispatch: float, compute: float, transfer: float
) -> tuple[Finding, ...]:
    """A step of a cell on an arm in its parts, in seconds, as findings."""
    parts = {"input": None, "transfer": transfer, "dispatch": dispatch, "compute": compute}
    whole = dispatch + compute + transfer

    def find(tag: Tag, of: str, seconds: float | None) -> Finding:
        measured = seconds is not None
        return Finding(
            tag=tag,
            arm=arm,
            cell=cell,
            of=of,
            unit="s",
            value=Estimate(value=seconds, low=None, high=None, n=3) if measured else None,
            share=seconds / (whole or 1.0) if measured else None,
            evidence=() if measured else (cite("no-input-alone"),),
        )

    rows = {**parts, "rest": 0.0}
    return find("step", "", whole), *(find("part", of, seconds) for of, seconds in rows.items())


def make_waterfall(
    arm: str,
    times: Mapping[str, float],
    name: str = "slices",
    n: int | None = None,
    effects: Mapping[str, tuple[Effect, ...]] | None = None,
) -> Waterfall:
    """A script's time after each of these changes, with an interval at the first; of the timing, but for
    those whose ``effects`` are others."""
    first, *_, last = times.values()
    _, *changes = times
    kinds = {change: (effects or {}).get(change, ("timing",)) for change in changes}
    totals: dict[tuple[Effect, ...], float] = {}
    for before, after in pairwise(times):
        totals[kinds[after]] = totals.get(kinds[after], 1.0) * times[before] / times[after]
    return Waterfall(
        name=name,
        title=name,
        unit="example",
        by_call=False,
        fixed={} if n is None else {"n": n},
        spot=Spot(arm=arm, pinned=False),
        steps=tuple(
            Step(
                cell=change,
                changes=(change,),
                effects=kinds.get(change, ()),
                rules=(),
                value=Estimate(
                    value=time,
                    low=0.8 * time if time == first else None,
                    high=1.24 * time if time == first else None,
                    n=5,
                ),
            )
            for change, time in times.items()
        ),
        factor=Ratio(value=first / last, low=None, high=None, n=5),
        totals=tuple(
            Total(effects=of, factor=Ratio(value=value, low=None, high=None, n=5))
            for of, value in totals.items()
        ),
        fair=["", *(change for change in changes if "timing" in kinds[change])][-1],
    )


NOTHING = set_down(raise_flag("no-number"), raise_flag("no-number"))
"""What is known of two arms of which one has no number."""


def judged(*names: VerdictName, blocks: Sequence[int | None] = ()) -> Analysis:
    """Two arms whose first cells have these verdicts, and ratios that go with them; so many ``blocks``
    would decide them."""

    def judge(place: int, _: CellAnalysis) -> dict[str, Any]:
        if place >= len(names):
            return {"comparisons": {"cuda": NOTHING}}
        value = {"FASTER": 0.1 + place / 100, "SLOWER": 5.0 + place}.get(names[place], 1.0)
        verdict = Verdict(
            name=names[place],
            reason=cite("not-significant", p=0.01),
            p=0.01,
            blocks=dict(enumerate(blocks)).get(place),
        )
        ratio = Ratio(value=value, low=value * 0.9, high=value * 1.1, n=3)
        return {"comparisons": {"cuda": set_down(ratio, verdict)}}

    return change_cells(analyse_made(), judge)


@cache
def analyse_explained() -> Analysis:
    """One of every picture, with two steps in their parts and a script on both arms."""
    made = analyse_made("both and a step")
    small, large = (
        cell.id
        for cell in made.cells
        if cell.params.get("batch") in {32, 512} and cell.params.get("net") == "A"
    )
    times = {"tracing timed": 0.25, "tracing out": 0.09, "batch 512": 0.001}
    return structs.replace(
        made,
        findings=(
            *take_apart(small, "cuda", 6e-4, 2e-4, 0.0),
            *take_apart(large, "cuda", 6e-4, 2.4e-3, -1e-5),
        ),
        waterfalls=(
            *(
                make_waterfall(arm, scaled, effects={"batch 512": ("training",)})
                for arm, scaled in (
                    ("cpu", times),
                    ("cuda", {change: 3 * time for change, time in times.items()}),
                )
            ),
        ),
    )
