"""What the numbers were measured in, as far as a report shows it: facts, images, machine, placement, and
whether the arms ran the same software.

An arm's software is somebody else's where an image or an interpreter was given that brings its own
(CUDA_IMAGE, LOCAL_PYTHON): then a ratio is of machine and build together.  That is judged by versions and
by where they came from, never by a timing.

Private by default: what identifies a machine or a person goes no further than a hash of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from msgspec import structs

from suite.analysis.campaign.consistency import tell_apart
from suite.analysis.campaign.plausibility import read_text, take_first
from suite.analysis.campaign.summarise import Summary
from suite.analysis.campaign.telemetry import sum_up
from suite.analysis.campaign.time_spent import find_timing_costs
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.result.arms import ArmAnalysis, Build, Machine, Placed, hash_identity
from suite.model import (
    NOT_FROM_LOCK,
    Campaign,
    CellResult,
    Document,
    Scalar,
    control_of,
    name_kind,
)

PRIVATE = re.compile(
    r"(^|[._])(uuid|serial|hostname|host|user|username|address|ip|mac|home)([._]|$)", re.IGNORECASE
)
"""Names of facts of which only a hash is shown."""

SOFTWARE: Mapping[str, str] = {
    "tensorflow.version": "TensorFlow",
    "keras.version": "Keras",
    "numpy.version": "NumPy",
    "python.version": "Python",
}
"""The facts that two images from the locks share, and what they are of."""

_IMAGE = ("content", "base", "lock", "origin", "id", "size_bytes")
"""Everything that tells what an arm ran in, but for the digests."""


def find_machine(loaded: LoadedCampaign) -> Machine:
    """The machine, from the first document that has each fact; the GPUs from the first of each arm on one."""
    first = take_first(loaded.documents)
    kind = read_text(first.get("cpu.architecture"))
    used, count, memory = map(first.get, ("cpu.usable", "cpu.count", "memory.bytes"))
    devices: dict[str | None, list[Document]] = {}
    for document in loaded.documents:
        devices.setdefault(loaded.campaign.arm(document.invocation.arm).device, []).append(document)
    # An arm without a device tells of GPUs only where the whole campaign has one.
    gpu_facts = [take_first(own) for device, own in devices.items() if device is not None] or [
        first
    ]
    return Machine(
        # Documents of before ARM processors had names have the architecture alone.
        cpu=read_text(first.get("cpu.model")) or (f"{kind} processor" if kind else None),
        cpus_used=read_text(used),
        cpus=None if count == used else read_text(count),
        memory_bytes=memory if isinstance(memory, int | float) and memory > 0 else None,
        gpus=tuple(
            str(value)
            for facts in gpu_facts
            for name, value in facts.items()
            if name.startswith("gpu.") and name.endswith(".name")
        ),
    )


def find_builds(summary: Summary) -> dict[str, Build]:
    """What each arm of the plan ran, by its first document that has versions; arms without any
    document are left out.

    ``others`` are what both it and the first arm have, in different versions; what is known of one alone
    says nothing.
    """
    builds: dict[str, Build] = {}
    for document in summary.loaded.documents:
        arm, lock = document.invocation.arm, document.invocation.image.lock
        versions = {
            title: str(document.facts[name])
            for name, title in SOFTWARE.items()
            if document.facts.get(name) is not None
        }
        # Where the worker refused or died there are no facts: nothing is known of what it ran.
        if arm not in builds or (versions and not builds[arm].versions):
            from_lock = lock != NOT_FROM_LOCK if lock else None
            builds[arm] = Build(versions=versions, from_lock=from_lock)
    usual = builds[summary.base].versions if summary.base in builds else {}
    return {
        arm: structs.replace(
            build, others=tuple(n for n, v in usual.items() if build.versions.get(n, v) != v)
        )
        for arm, build in builds.items()
    }


def find_differing(builds: Mapping[str, Build], campaign: Campaign) -> list[str]:
    """The arms that ran other software than the first, by where it came from or by its versions; none that is
    compared with another version of its own, of which that is what was asked."""
    first = builds.get(campaign.arms[0])
    versions = {arm for group in campaign.version_groups for arm in group[1:]}
    return [
        arm
        for arm, build in builds.items()
        if arm not in versions
        and first
        and (build.others or {first.from_lock, build.from_lock} == {True, False})
    ]


def describe_arm(summary: Summary, arm: str, build: Build | None) -> ArmAnalysis:
    """What is known of an arm beside its cells' numbers."""
    documents = [d for d in summary.loaded.documents if d.invocation.arm == arm]
    counted, value = summary.counted[arm], summary.campaign.arm(arm)
    plain = replace(value, name=value.of or name_kind(value))
    images = [document.invocation.image for document in documents]
    cells = [cell for document in counted.values() for cell in document.cells]
    return ArmAnalysis(
        gpu=value.gpu,
        device=value.device,
        plain=plain.name,
        without_gpu=control_of(plain, "hidden").name if value.gpu else None,
        blocks={block: document.invocation.status for block, document in counted.items()},
        calibrated=any(d.invocation.block == 0 == summary.campaign.calibration for d in documents),
        image=_gather({name: getattr(image, name) for name in _IMAGE} for image in images),
        digests=tuple(dict.fromkeys(digest for image in images for digest in image.digests)),
        facts=_gather(map(_list_facts, documents)),
        build=build,
        watched=sum_up(list(counted.values())),
        health=summary.health.get(arm),
        timing=find_timing_costs(summary.campaign.cells, counted.values()),
        placement=_find_placement(cells),
        elsewhere=_find_elsewhere(cells),
    )


def _list_facts(document: Document) -> Mapping[str, Scalar]:
    """The facts of an invocation, with limits, engine and isolation among them."""
    invocation = document.invocation
    outside = document.telemetry.facts if document.telemetry else {}
    return {
        **document.facts,
        **{f"limits.{name}": value for name, value in invocation.limits.items()},
        **{f"engine.{name}": value for name, value in invocation.engine.items()},
        "isolation": invocation.isolation,
        # The sampler's own cost stands elsewhere, and what became of the GPU's health.
        **{
            f"outside.{name}": value
            for name, value in outside.items()
            if not name.startswith(("sampler.", "gpu.at_end."))
        },
    }


def _find_placement(results: Iterable[CellResult]) -> dict[str, Placed]:
    """On which devices the work of an arm was seen."""
    nodes: Counter[str] = Counter()
    cells: dict[str, set[str]] = {}
    for result in results:
        nodes.update(result.placement)
        for device in result.placement:
            cells.setdefault(device, set()).add(result.id)
    return {
        device: Placed(cells=len(cells[device]), nodes=nodes[device]) for device in sorted(nodes)
    }


def _find_elsewhere(results: Iterable[CellResult]) -> dict[str, tuple[str, ...]]:
    """What was seen elsewhere than on a cell's own device, by cell."""
    elsewhere: dict[str, set[str]] = {}
    for result in results:
        if result.elsewhere:
            elsewhere.setdefault(result.id, set()).update(result.elsewhere)
    return {name: tuple(sorted(names)) for name, names in elsewhere.items()}


def _gather(told: Iterable[Mapping[str, Scalar]]) -> dict[str, tuple[Scalar, ...]]:
    """Every value by name, in the order in which they were told."""
    values: dict[str, dict[tuple[str, Scalar], None]] = {}
    for facts in told:
        for name, value in facts.items():
            shown = value
            if PRIVATE.search(name) and not isinstance(value, bool | type(None)):
                shown = hash_identity(str(value))
            values.setdefault(name, {})[tell_apart(shown)] = None
    return {name: tuple(value for _, value in found) for name, found in values.items()}
