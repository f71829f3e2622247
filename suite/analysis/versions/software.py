"""What an arm ran, as far as its documents tell, and what two arms ran otherwise.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from suite.analysis.campaign.environment import SOFTWARE
from suite.analysis.documents.builds import find_inside
from suite.model import Document

Software = Mapping[str, str]
"""Versions by name, and whether oneDNN is switched on."""

FACTS: Mapping[str, tuple[str, ...]] = {
    **{title: (name,) for name, title in SOFTWARE.items()},
    "CUDA": ("tensorflow.build.cuda_version",),
    "cuDNN": ("cuda.cudnn", "tensorflow.build.cudnn_version"),
    "oneDNN": ("onednn.version",),
}
"""By name the facts that tell it, the one that says most first."""

SWITCH = "environment.TF_ENABLE_ONEDNN_OPTS"
SWITCHED = {"0": "off", "1": "on"}


def find_software(documents: Iterable[Document]) -> dict[str, Software]:
    """By arm what it ran, by its first document that tells."""
    found: dict[str, Software] = {}
    for document in documents:
        facts = document.facts
        told = {
            name: next((str(facts[fact]) for fact in names if facts.get(fact) is not None), None)
            for name, names in FACTS.items()
        }
        software = {name: version for name, version in told.items() if version is not None}
        if not software:
            continue
        git = facts.get("tensorflow.git")
        if inside := find_inside(software.get("TensorFlow", ""), str(git) if git else None):
            software = {"oneDNN": inside.onednn, "Eigen": inside.eigen, **software}
        if (state := SWITCHED.get(str(facts.get(SWITCH)))) is not None:
            software["oneDNN switched"] = state
        found.setdefault(document.invocation.arm, software)
    return found


def tell_difference(base: Software, other: Software) -> dict[str, tuple[str, str]]:
    """By name what is known of both and is not the same: the base's, and the other's."""
    return {
        name: (version, other[name])
        for name, version in base.items()
        if name in other and other[name] != version
    }
