"""Made-up campaigns with known truth: the project's one generator of them.

Deterministic: everything is drawn from the campaign's seed, nothing from the clock or the machine.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from suite.cells.cell import Cell, Param, Work, cell_id
from suite.cells.scenario import Point, Scenario
from suite.cells.traits import PROFILES, ProfileName
from suite.codec import SCHEMA, dump_document
from suite.model import (
    Arm,
    Campaign,
    CampaignIdentity,
    CellResult,
    Check,
    Container,
    Document,
    Image,
    Invocation,
    Isolation,
    Prediction,
    Scalar,
    SuiteIdentity,
    control_of,
    family_of,
)
from suite.worker import scenarios
from tests.fakes.hosts import QUIET, SILENT, TYPICAL, Host, draw_shape

__all__ = ["QUIET", "SILENT", "TYPICAL", "Host"]

CREATED = datetime(2026, 11, 21, 9, 30, tzinfo=timezone.utc)
SUITE = SuiteIdentity(version="0.1.0", commit="0" * 39 + "1", content="5" * 64)


Truth = Callable[[Cell, str], float]
"""The true seconds a call of a cell on an arm."""


TRAITS = (
    *(
        "role",
        "work_key",
        "headline",
        "larger",
        "precision",
        "device",
        "operations",
        "data",
        "dispatch",
    ),
    *("price", "priced", "links", "choices", "way"),
)
"""What a made-up cell has of the suite's own."""


def make_cell(
    scenario: str, case: str, params: Mapping[str, Param], work: Work, **fields: object
) -> Cell:
    """A cell in every profile, with what the suite declares of such a cell, and these fields."""
    name = f"{scenario}.{case}"
    declared = _declare(name, params)
    traits = (
        {trait: getattr(declared, trait) for trait in TRAITS} if declared else {"work_key": name}
    )
    if declared:
        counts = {field: value for field, value in vars(work).items() if value is not None}
        work = replace(declared.work, **{"bytes": None, **counts})
        choices = declared.choices.items()
        traits["choices"] = {axis: choice for axis, choice in choices if axis in params}
    cell = Cell(
        id=cell_id(scenario, case, params),
        scenario=scenario,
        case=case,
        params=dict(params),
        question=f"What does {case} take?",
        work=work,
        profiles=list(PROFILES),
        **traits,
    )
    return replace(cell, **fields)  # type: ignore[arg-type]


def _declare(name: str, params: Mapping[str, Param]) -> Cell | None:
    """What the suite says of a cell with these axes; None: it has no such case.

    What is left out is as in the nearest of its cells, and is left out of the cells that it leads to.
    """
    points = [
        (scenario, point)
        for scenario in scenarios.SCENARIOS
        if f"{scenario.family}.{scenario.case}" == name
        for point in scenario.points
    ]
    if not points:
        return None

    def count_equal(candidate: tuple[Scenario, Point]) -> int:
        return sum(params.get(axis) == value for axis, value in candidate[1].items())

    scenario, point = max(points, key=count_equal)
    given = {axis: value for axis, value in params.items() if axis in point and is_number(value)}
    (cell,) = replace(scenario, points=({**point, **given},)).cells()
    left_out = [f"/{axis}={value}" for axis, value in point.items() if axis not in params]
    links = {
        kind: [replace(link, to=_leave_out(link.to, left_out)) for link in links]
        for kind, links in cell.links.items()
    }
    return replace(cell, links=links)


def is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _leave_out(identity: str, axes: Iterable[str]) -> str:
    for axis in axes:
        identity = f"{identity}/".replace(f"{axis}/", "/").rstrip("/")
    return identity


def make_product(n: int, precision: str = "fp32") -> Cell:
    """A product of matrices on the device."""
    params: dict[str, Param] = {"n": n, "precision": precision, "operands": "device", "xla": "off"}
    return make_cell("matmul", "square", params, Work(amount=2.0 * n**3, unit="FLOP"), sweep="n")


def make_step(batch: int) -> Cell:
    """A training step with its data on the device."""
    params: dict[str, Param] = {"net": "A", "batch": batch, "data": "device", "precision": "fp32"}
    work = Work(amount=float(batch), unit="example")
    return make_cell("mlp", "train", params, work, sweep="batch")


def make_cells() -> list[Cell]:
    """A few cells of every family, in the shape of the real ones."""
    epoch = Work(amount=10_000.0, unit="example")
    batch = Work(amount=32.0, unit="element", bytes=32.0 * 516)
    call, start = (Work(amount=1.0, unit=unit) for unit in ("call", "start"))
    asked: dict[str, Param] = {"stage": "epoch1", "batch": 512}
    return [
        *(make_product(n) for n in (1000, 10, 100)),
        make_product(1000, "tf32"),
        *map(make_step, (8, 512)),
        make_cell(
            "asked", "fit", asked, epoch, long_budget=True, one_shot=True, way=None, links={}
        ),
        make_cell("tfdata", "map", {"function": "numpy_function", "batch": 32}, batch),
        make_cell("overhead", "fence", {}, call),
        make_cell("overhead", "startup", {"stage": "import"}, start, one_shot=True),
    ]


def plain_truth(cell: Cell, arm: str) -> float:
    """A CPU of 100 GFLOP/s and 20 µs a call; a GPU of 10 TFLOP/s and 200 µs a call."""
    cuda = family_of(arm) == "cuda"
    rate, call = (1e13, 200e-6) if cuda else (1e11, 20e-6)
    if cell.scenario == "matmul":
        return call + cell.work.amount / rate
    if cell.one_shot:
        return 2.5 if cuda else 1.5
    return call + cell.work.amount * (1e-8 if cuda else 4e-6)


def slow_down(times: float, *cells: str) -> Truth:
    """All cells, or these alone, take so many times as long as they plainly do."""
    return lambda cell, arm: (
        (times if not cells or cell.id in cells else 1.0) * plain_truth(cell, arm)
    )


def make_campaign(
    *,
    arms: Iterable[str] = ("cpu", "cuda"),
    blocks: int = 5,
    cells: list[Cell] | None = None,
    profile: ProfileName = "standard",
    seed: int = 7,
) -> Campaign:
    """A plan, marked as simulated."""
    arms = list(arms)
    cells = make_cells() if cells is None else cells
    return Campaign(
        schema=SCHEMA,
        id="made-up",
        created=CREATED,
        profile=profile,
        seed=seed,
        label="made-up",
        arms=arms,
        blocks=blocks,
        cells=cells,
        suite=SUITE,
        prediction=Prediction(before_s=600.0, calibrated_s=540.0, corrected_s=[530.0, 525.0]),
        warmup_s=0.3,
        measure_s=0.7,
        budget_s=15.0,
        calls={arm: {cell.id: 10 for cell in cells if not cell.one_shot} for arm in arms},
        command=f"make bench PROFILE={profile} SEED={seed}",
        simulated=True,
        every_arm=make_arms(arms),
    )


CPU = Arm(name="cpu", image="cpu", gpu=False)
CUDA = Arm(name="cuda", image="cuda", gpu=True)
HIDDEN = control_of(CUDA, "hidden")
ARMS = {
    arm.name: arm for plain in (CPU, CUDA, HIDDEN) for arm in (plain, control_of(plain, "again"))
}


def make_arms(names: Iterable[str]) -> list[Arm]:
    """Arms of these names, with their controls; one that is none of `ARMS`, nor a version of one, has a GPU
    and no control."""
    families = {name: ARMS.get(family_of(name)) for name in names}
    arms = [
        ARMS.get(name, Arm(name=name, image=name, gpu=plain is None or plain.gpu))
        for name, plain in families.items()
    ]
    if not all(families.values()):
        return arms
    hidden = [HIDDEN] if CPU in arms and CUDA in arms and HIDDEN not in arms else []
    return [*arms, *(control_of(arm, "twin") for arm in arms), *hidden]


def make_document(
    campaign: Campaign,
    arm: str,
    block: int,
    *,
    truth: Truth = plain_truth,
    host: Host = TYPICAL,
    samples: int = 8,
    warmup: int = 3,
    isolation: Isolation = "container",
) -> Document:
    """One complete invocation of every cell that means something on the arm.

    The arm may be a control: a twin is as fast as its arm, and draws its own noise.
    """
    draw = random.Random(f"{campaign.seed} {arm} {block}")
    declared = campaign.arm(arm)
    real = (declared.of if declared.control == "twin" else None) or arm
    place = campaign.arms.index(real) if real in campaign.arms else len(campaign.arms)
    started = campaign.created + timedelta(minutes=10 * block + 5 * place)
    container = f"{arm}-{block}-a"
    instant = started + timedelta(seconds=6)
    cells = []
    bound: dict[str, dict[str, Scalar]] = {container: {}}
    for cell in campaign.cells:
        if cell.needs_gpu and not declared.gpu:
            continue
        seconds = truth(cell, real) * math.exp(host.drift * (block - (campaign.blocks + 1) / 2))
        counts = (1, 0) if cell.one_shot else (samples, warmup)
        inside = f"{container}-{cell.process}" if cell.cpus else container
        bound[inside] = {"cpu.usable": cell.cpus} if cell.cpus else {}
        spot = (inside, instant)
        result = _measure(cell, real, draw, spot, seconds=seconds, host=host, counts=counts)
        cells.append(result)
        instant = result.ended or instant
    ended = instant + timedelta(seconds=0.5)
    return Document(
        schema=SCHEMA,
        suite=campaign.suite,
        campaign=CampaignIdentity(
            id=campaign.id, profile=campaign.profile, seed=campaign.seed, label=campaign.label
        ),
        invocation=Invocation(
            arm=arm,
            block=block,
            isolation=isolation,
            image=make_image(real),
            engine={"name": "docker", "version": "29.0.1"},
            limits={"cpus": "0-3", "memory_bytes": None},
            containers=[
                Container(
                    id=inside,
                    started=started,
                    ended=ended,
                    status="exit code 0",
                    start_s=0.8,
                    facts=facts,
                )
                for inside, facts in bound.items()
            ],
            started=started,
            status="complete",
            ended=ended,
        ),
        facts=make_facts(real),
        cells=cells,
        spent_s={
            "container_start": 0.8,
            "import": 2.5,
            "devices": 0.4,
            "kernel": 0.1,
            "build": 0.6,
            "step": 1.2,
            "facts": 0.3,
            "writing": 0.2,
        },
        absent={"telemetry": "nothing watches a made-up machine"},
    )


def make_image(arm: str) -> Image:
    """The image of an arm."""
    name = "cuda" if arm.startswith("cuda") else "cpu"
    digit = "c" if name == "cuda" else "a"
    if "@" in arm:
        name = arm.partition(":")[0].replace("@", "-")
        digit = "d0123456789"[sum(map(ord, name)) % 11]
    return Image(
        id=f"sha256:{digit * 64}",
        content=digit * 64,
        base=f"python@sha256:{'b' * 64}",
        digests=[f"sha256:{digit * 64}"],
        lock=f"docker/{name}.txt",
        origin="built from the lock",
        size_bytes=3_500_000_000 if name.startswith("cuda") else 1_200_000_000,
    )


def make_facts(arm: str) -> dict[str, Scalar]:
    """What a container of this arm sees."""
    facts: dict[str, Scalar] = {
        "cpu.model": "Made-Up Processor 9000",
        "cpu.count": 8,
        "cpu.usable": 4,
        "cpu.governor": None,
        "memory.bytes": 16 * 2**30,
        "tensorflow.version": "2.21.0",
        "tensorflow.tf32": False,
        "tensorflow.build.cuda": arm.startswith("cuda"),
    }
    if family_of(arm) == "cuda":
        facts["gpu.0.name"] = "Made-Up Accelerator"
        facts["tensorflow.devices"] = "CPU:0, GPU:0"
        facts["tensorflow.soft_placement"] = False
        facts["cuda.driver_api"] = 12050
    return facts


def make_documents(campaign: Campaign, *, calibration: bool = True, **how: Any) -> list[Document]:
    """Every invocation of a campaign that went well; ``how`` are words of `make_document`."""
    return [
        make_document(campaign, arm, block, **how)
        for arm in campaign.arms
        for block in range(0 if calibration else 1, campaign.blocks + 1)
    ]


def make_twins(
    campaign: Campaign, *, names: Iterable[str] | None = None, **how: Any
) -> list[Document]:
    """The short second invocation of every arm in every block, of these cells, or of all."""
    kept = {cell.id for cell in campaign.cells} if names is None else set(names)
    twins = [
        make_document(campaign, f"{arm}-twin", block, **how)
        for arm in campaign.arms
        for block in range(1, campaign.blocks + 1)
    ]
    return [
        replace(document, cells=[c for c in document.cells if c.id in kept]) for document in twins
    ]


def change_cell(document: Document, name: str, **fields: object) -> Document:
    """The document with other fields in one of its cells."""
    cells = [replace(cell, **fields) if cell.id == name else cell for cell in document.cells]  # type: ignore[arg-type]
    return replace(document, cells=cells)


def lose_cell(document: Document, name: str, outcome: str, reason: str | None) -> Document:
    """The document with one cell skipped, failed or pending."""
    return change_cell(
        document,
        name,
        outcome=outcome,
        reason=reason,
        first_call_s=None,
        calls_per_sample=None,
        warmup_status=None,
        warmup_s=[],
        samples_s=[],
        placement={},
        check=None,
    )


def kill_container(document: Document, name: str, status: str) -> Document:
    """The document in which the container died in this cell, and a fresh one took the rest."""
    first = document.invocation.containers[0]
    index = next(i for i, cell in enumerate(document.cells) if cell.id == name)
    died = document.cells[index].ended
    assert died is not None
    second = replace(first, id=first.id[:-1] + "b", started=died)
    document = lose_cell(document, name, "failed", f"the container ended: {status}")
    cells = [
        cell if i <= index else replace(cell, container=second.id)
        for i, cell in enumerate(document.cells)
    ]
    containers = [replace(first, ended=died, status=status), second]
    return replace(
        document, cells=cells, invocation=replace(document.invocation, containers=containers)
    )


def write_campaign(
    folder: Path, campaign: Campaign, documents: Iterable[Document] | None = None
) -> Path:
    """The campaign folder as the host leaves it; without these documents, of a campaign that went well."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "campaign.json").write_text(dump_document(campaign), encoding="utf-8")
    for document in make_documents(campaign) if documents is None else documents:
        (folder / document.name).write_text(dump_document(document), encoding="utf-8")
    return folder


def _measure(
    cell: Cell,
    arm: str,
    draw: random.Random,
    spot: tuple[str, datetime],
    *,
    seconds: float,
    host: Host,
    counts: tuple[int, int],
) -> CellResult:
    """``spot``: its container and its start; ``counts``: of samples and of warm-up samples."""
    samples, warming = counts
    level = seconds * _spread(draw, host.between)
    if host.modes:
        level *= math.exp(host.modes * draw.randrange(2))
    series = [level * _spread(draw, host.within) for _ in range(samples)]
    warmup = [level * _spread(draw, host.within) for _ in range(warming)]
    if _has_shape(host):
        generator = np.random.default_rng(draw.getrandbits(64))
        added = np.exp(draw_shape(host, generator, (), warming + samples)).tolist()
        warmup = [sample * more for sample, more in zip(warmup, added, strict=False)]
        series = [sample * more for sample, more in zip(series, added[warming:], strict=True)]
    series, warmup = [_round(sample) for sample in series], [_round(sample) for sample in warmup]
    first = series[0] if cell.one_shot else _round(level + 0.05 * _spread(draw, host.within))
    device = "GPU:0" if family_of(arm) == "cuda" and cell.device == "arm" else "CPU:0"
    calls = 1 if cell.one_shot else 10
    spent = {
        "prepare": 0.1,
        "first_call": first,
        "warmup": _round(calls * sum(warmup)),
        "measure": _round(calls * sum(series)),
        "check": 0.05,
        "hygiene": 0.02,
    }
    container, started = spot
    return CellResult(
        id=cell.id,
        scenario=cell.scenario,
        case=cell.case,
        params=cell.params,
        outcome="measured",
        work=cell.work,
        first_call_s=first,
        calls_per_sample=calls,
        warmup_status="cold" if cell.one_shot else "steady",
        warmup_s=warmup,
        samples_s=series,
        placement={device: 3},
        check=Check(what="a sum", value=42.0, tolerance=1e-6),
        spent_s=spent,
        started=started,
        ended=started + timedelta(seconds=sum(spent.values())),
        container=container,
        absent={"enqueue_fraction": "not looked for", "peak_memory_bytes": "not counted"},
    )


@cache
def _has_shape(host: Host) -> bool:
    """Whether its samples are more than a level and noise."""
    return replace(host, drift=0.0, modes=0.0) != Host(between=host.between, within=host.within)


def _spread(draw: random.Random, deviation: float) -> float:
    return draw.lognormvariate(0.0, deviation) if deviation else 1.0


def _round(seconds: float) -> float:
    """To a tenth of a nanosecond or 9 digits, so that files are short."""
    return float(f"{seconds:.9g}")
