"""The published figures: each beside its siblings, so that a lost digit shows, and types by their names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from msgspec import structs

from suite.analysis.ablation.hardware import LANE
from suite.analysis.documents.published import COPIED, Figures, read_figures
from suite.analysis.result.limits import Figure

FIGURES = read_figures()
MEASURED = [figure for figure in FIGURES.figures if figure.kind == "measured"]

APART = 4.0
"""Siblings are within this factor of each other: what is measured of a part, or of a link."""

UNDER = 5.0
"""No more times is a peak what was measured of it: some measure with a program that reaches little."""

SLIPS = (0.1, 10.0, 1e-3, 1e3)
"""A digit that was lost or typed twice, and another unit."""


def find_siblings(figure: Figure, figures: Figures) -> Iterator[tuple[float, float]]:
    """Pairs of what a measured figure must not be over (infinity: nothing) and within the factor of."""
    for kind in figures.types:
        if kind.name in figure.types:
            carries = LANE[kind.generation] * kind.lanes
            yield carries, carries
    for part in figures.parts:
        if part.name not in figure.parts:
            continue
        peaks = figures.select(part, figure.quantity, "peak", figure.precision)
        for peak in peaks:
            yield peak.high, peak.high * APART / UNDER
        # A precision that a part does not have is made by its fp32 units.
        made = figure.quantity == "product" and not peaks
        alike = {figure.precision, *(["fp32"] if made else [])}
        quantities = {figure.quantity, *(COPIED if figure.quantity in COPIED else ())}
        # Processors have no peaks here, and are within the factor of each other.
        near = {each.name for each in figures.parts if each.device == "cpu"} | {part.name}
        for other in figures.figures:
            is_near = {*other.parts} & (near if part.device == "cpu" else {part.name})
            same = other.quantity in quantities and other.precision in alike
            if is_near and same and other.kind == "measured" and other != figure:
                yield float("inf"), other.low


def is_sound(figure: Figure, figures: Figures) -> bool:
    """Whether a measured figure has siblings, and is near to all of them."""
    siblings = list(find_siblings(figure, figures))
    return bool(siblings) and all(
        figure.high <= most and 1 / APART <= value / near <= APART
        for most, near in siblings
        for value in (figure.low, figure.high)
    )


def slip_up(figure: Figure, slip: float) -> tuple[Figure, Figures]:
    """The figure with that slip, and all with it."""
    slipped = structs.replace(figure, low=slip * figure.low, high=slip * figure.high)
    every = tuple(slipped if each is figure else each for each in FIGURES.figures)
    return slipped, Figures(parts=FIGURES.parts, types=FIGURES.types, figures=every)


def name_figure(figure: Figure) -> str:
    of = "+".join(figure.types or figure.parts)
    return f"{of}-{figure.quantity}-{figure.precision}-{figure.low:.4g}"


@pytest.mark.parametrize("figure", MEASURED, ids=name_figure)
def test_a_figure_agrees_with_its_siblings_and_would_not_with_a_slip(figure: Figure) -> None:
    assert is_sound(figure, FIGURES)
    for slip in SLIPS:
        assert not is_sound(*slip_up(figure, slip))


def test_a_peak_that_slipped_is_found_by_what_was_measured_of_its_part() -> None:
    found = 0
    for peak in FIGURES.figures:
        beside = [
            figure
            for part in FIGURES.parts
            if part.name in peak.parts and peak.kind == "peak"
            for figure in FIGURES.select(part, peak.quantity, "measured", peak.precision)
        ]
        for slip in SLIPS if beside else ():
            _, every = slip_up(peak, slip)
            assert not all(is_sound(figure, every) for figure in beside)
            found += 1
    assert found > 50


def test_every_figure_says_of_what_it_is_and_who_says_so() -> None:
    parts, types = ({each.name for each in every} for every in (FIGURES.parts, FIGURES.types))
    assert (len(parts), len(types)) == (len(FIGURES.parts), len(FIGURES.types))
    names = [name for part in FIGURES.parts for name in part.names]
    assert len(set(names)) == len(names)
    for figure in FIGURES.figures:
        assert {*figure.parts} <= parts
        assert {*figure.types} <= types
        assert 0 < figure.low <= figure.high
        assert figure.source.strip()
        assert figure.date.strip()
        # How a copy was measured decides what TensorFlow's can be.
        assert figure.quantity not in COPIED or "pinned" in figure.caveat
    for part in FIGURES.parts:
        assert any(part.name in figure.parts for figure in FIGURES.figures)
    for kind in FIGURES.types:
        assert kind.part in parts
        assert {each.quantity for each in FIGURES.figures if kind.name in each.types} == {*COPIED}


NAMES: Sequence[tuple[str | None, str | None]] = (
    ("g4dn.xlarge", "AWS g4dn"),
    # Not of those that were measured.
    ("g4dn.metal", None),
    ("g5.48xlarge", "AWS g5"),
    ("g5g.xlarge", None),
    ("gr6.4xlarge", "AWS g6"),
    ("gr6f.4xlarge", None),
    ("g6e.xlarge", "AWS g6e"),
    ("g6f.large", None),
    ("p3dn.24xlarge", "AWS p3"),
    ("a2-highgpu-1g", "GCP a2-highgpu"),
    ("a2-ultragpu-1g", "GCP a2-ultragpu"),
    ("a3-highgpu-8g", "GCP a3 of H100"),
    ("a3-ultragpu-8g", "GCP a3-ultragpu"),
    ("g2-standard-4", "GCP g2"),
    ("Standard_NC24ads_A100_v4", "Azure NC A100 v4"),
    ("standard_nc24ads_a100_v4", "Azure NC A100 v4"),
    ("Standard_NC80adis_H100_v5", "Azure NC H100 v5"),
    # Confidential: its copies are encrypted.
    ("Standard_NCC40ads_H100_v5", None),
    ("Standard_ND96asr_v4", None),
    ("Standard_ND96isr_H100_v5", None),
    ("p4de.24xlarge", None),
    ("p5.48xlarge", None),
    ("a4-highgpu-8g", None),
    ("a3-edgegpu-8g-nolssd", "GCP a3 of H100"),
    ("A2-HIGHGPU-1G", "GCP a2-highgpu"),
    ("a2-highgpu-1g-gdc", None),
    ("ecs.gn6i-c4g1.xlarge", "Alibaba gn6i"),
    ("ecs.vgn6i-m4-vws.xlarge", None),
    ("GPU-8xCPU-64GB-1xL40S", "UpCloud L40S"),
    ("GPU-12xCPU-128GB-1xL4", "UpCloud L4"),
    ("vcg-l40s-16c-180g-48vram", "Vultr L40S"),
    ("l4-90", "OVH l4"),
    ("t1-le-45", "OVH t1"),
    # Other clouds' names that begin alike.
    ("L4-1-24G", None),
    ("g5.8xlarge.4", None),
    ("g6.10xlarge.7", None),
    ("gpu_1x_a100", None),
    ("VM.GPU.A10.1", None),
    ("BM.GPU4.8", None),
    ("gx2-8x64x1v100", None),
    ("gpu-h100-sxm", None),
    ("ml.g5.xlarge", None),
    ("H100-1-80G", None),
    ("t2.micro", None),
    ("gpu-h100x1-80gb", None),
    ("[abc]", None),
    ("", None),
    (None, None),
)


@pytest.mark.parametrize(("cloud", "kind"), NAMES)
def test_a_type_is_known_by_what_a_cloud_calls_it(cloud: str | None, kind: str | None) -> None:
    alone = (Figures(parts=(), types=(each,), figures=()) for each in FIGURES.types)
    found = [each.types[0].name for each in alone if each.find_type(cloud)]
    assert found == ([kind] if kind else [])


def test_variants_that_nobody_can_tell_apart_have_the_figures_of_all() -> None:
    fast, slow, plain = (
        structs.replace(MEASURED[0], parts=("A10",), quantity="memory", variants=of)
        for of in (("2236:aaaa",), ("2236:bbbb",), ())
    )
    figures = Figures(parts=FIGURES.parts, types=(), figures=(fast, slow, plain))
    part = FIGURES.find_part("NVIDIA A10")
    for variant, expected in {
        "2236:aaaa": [fast, plain],
        "2236:bbbb": [slow, plain],
        # One of which nothing is published can be as slow as any.
        "2236:cccc": [fast, slow, plain],
        None: [fast, slow, plain],
    }.items():
        assert figures.select(part, "memory", "measured", None, variant) == expected
