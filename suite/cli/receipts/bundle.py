"""A campaign's folder as one file to attach: private unless asked for otherwise, pinned, and signed."""

from __future__ import annotations

import tempfile
from pathlib import Path

from suite.analysis.documents.read import DERIVED, load_plan
from suite.analysis.documents.tools import FOLDER
from suite.cli.receipts.archive import pack
from suite.cli.receipts.check import check_folder
from suite.cli.receipts.hiding import hide
from suite.cli.receipts.signature import SIGNATURE, sign
from suite.cli.run_campaign import write_reports
from suite.errors import CrossoverError
from suite.host.campaign.store import Store
from suite.manifest import MANIFEST, list_own
from suite.model import PLAN
from suite.safe_folder import Folder


def make_bundle(folder: Path, *, identify: bool, key: Path | None) -> tuple[str, bytes]:
    """The name of a bundle and its bytes: the same folder, the same bytes.

    Without ``identify`` what names a machine, a person or a place is hidden, and the report is made anew of
    what is left.  ``key`` signs the manifest.

    Raises:
        CrossoverError: the folder does not follow from its documents.
        DocumentError: it is not a campaign's, or can't be read.
        UsageError: the key can't sign.
    """
    with Folder.open(folder) as door:
        plan = load_plan(folder)
        troubles = [trouble for result in check_folder(folder) for trouble in result.troubles]
        if troubles:
            raise CrossoverError(
                f"{folder} does not follow from its documents: {troubles[0]}",
                "`make check` lists all of it; `make report` rebuilds the report",
            )
        files = {name: door.read(name) for name in [*list_own(door), MANIFEST]}
    with tempfile.TemporaryDirectory(prefix="crossover-") as place:
        name = folder.name
        if not identify:
            texts = {n: b.decode(errors="replace") for n, b in files.items() if _is_measured(n)}
            # A folder is called after its campaign, and so after its label.
            hidden = hide({**texts, "name": plan.id})
            name = hidden.pop("name")
            files = {n: text.encode() for n, text in hidden.items()}
        here = Path(place) / name
        here.mkdir()
        with Folder.open(here) as door:
            for path, content in files.items():
                door.write(path, content)
            if not identify:
                write_reports(Store(here))
            if key is not None:
                sign(here, key)
            packed = [*list_own(door), MANIFEST, *([SIGNATURE] if key else [])]
            return f"{name}.zip", pack(name, {path: door.read(path) for path in packed})


def _is_measured(name: str) -> bool:
    """Whether a file is none that is made of others: the plan, a document, a log, a tool's output."""
    derived = DERIVED - {PLAN}
    return name.startswith((f"{FOLDER}/", "logs/")) or (
        name.endswith(".json") and name not in derived
    )
