"""The made-up campaigns that pages and pictures are tried on; each is analysed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from msgspec import structs

from suite.analysis.result.campaign import Analysis
from suite.cells.cell import Cell, Param, Work
from suite.cells.traits import ProfileName
from suite.report.pictures.picture import Bar, Mark, Part, Waterfall
from tests import synthetic
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


def change(summary: Analysis, cell_id: str, arm: str, **fields: Any) -> Analysis:
    """The analysis with something else known of one cell on one arm."""
    cells = [
        structs.replace(one, arms={**one.arms, arm: structs.replace(one.arms[arm], **fields)})
        if one.id == cell_id
        else one
        for one in summary.cells
    ]
    return structs.replace(summary, cells=tuple(cells))


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
    documents = []
    for one in synthetic.make_documents(campaign, samples=1):
        document = synthetic.kill_container(one, cells[1].id, case)
        document = synthetic.change_cell(
            document, cells[0].id, labels=[text], placement={text: 1}, elsewhere=[text]
        )
        values = {text: text, f"a{text}": text}
        invocation = replace(document.invocation, engine=values, limits=values)
        image = replace(invocation.image, base=text, origin=text, digests=[text], lock=text)
        documents.append(
            replace(
                document,
                facts={**values, "cpu.model": text, "gpu.0.name": text},
                spent_s={text: 1.0},
                invocation=replace(invocation, image=image),
            )
        )
    return study(campaign, documents)


def make_bar(label: str, transfer: float, compute: float) -> Bar:
    seconds = {"dispatch": 6e-4, "transfer": transfer, "compute": compute}
    return Bar(label=label, parts=tuple(Part(name=n, seconds=s) for n, s in seconds.items()))


BARS = (make_bar("A 32, cuda", 0.0, 2e-4), make_bar("A 512, cuda", -1e-5, 2.4e-3))
WATERFALLS = tuple(
    Waterfall(
        subject="slices",
        title="B by slices",
        arm=arm,
        steps=(
            ("as asked", Mark(value=0.25 * times, low=0.2 * times, high=0.31 * times)),
            ("tracing out", Mark(value=0.09 * times)),
            ("batch 512", Mark(value=0.001 * times)),
        ),
    )
    for arm, times in (("cpu", 1.0), ("cuda", 3.0))
)
