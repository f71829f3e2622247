"""The command record: a campaign in which nothing differs is added to those that are committed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from suite.analysis.analyse import analyse_folder
from suite.analysis.documents.read import read_summary
from suite.analysis.result.record import Trial
from suite.analysis.several.record import add_up, read_trial
from suite.errors import DocumentError, UsageError
from suite.folder import MEND, Folder
from suite.manifest import hash_content
from suite.report.exports.summary import render_json
from suite.report.pages.record import compose_record
from suite.report.render.markdown import render_page

FOLDER = "results/record"
PAGE = "docs/record.md"


def add_campaigns(folders: Iterable[Path], root: Path) -> list[str]:
    """Adds the summaries of finished campaigns, made anew from their documents, and makes the page.

    A file is named by the day and a hash of what it holds, which tells nothing of whose it is.

    Returns:
        the paths of what was written, below ``root``.

    Raises:
        DocumentError: a campaign can't be read.
        UsageError: something can differ in one, or it stands in the record; nothing is written then.
    """
    known = {trial.campaign for trial in read_record(root).values()}
    added = {}
    for folder in folders:
        analysis = analyse_folder(folder)
        trial = read_trial(analysis)
        if trial.campaign in known:
            raise UsageError(f"{trial.campaign} stands in {FOLDER}", "each campaign counts once")
        known.add(trial.campaign)
        text = render_json(analysis)
        digest = hash_content(text.encode())[:12]
        added[f"{FOLDER}/{analysis.campaign.created:%Y%m%d}-{digest}.json"] = text
    with Folder.open(root) as checkout:
        for name, text in added.items():
            checkout.write(name, text)
        checkout.write(PAGE, write_page(root))
    return [*added, PAGE]


def write_page(root: Path) -> str:
    """The page of what is committed."""
    return render_page(compose_record(add_up(read_record(root))))


def read_record(root: Path) -> dict[str, Trial]:
    """What is committed, by the files' names.

    Raises:
        DocumentError: a file is no summary of a campaign.
        UsageError: something can differ in a campaign.
    """
    with Folder.open(root) as checkout:
        try:
            folder = checkout.inside(FOLDER)
        except FileNotFoundError:
            return {}
        with folder:
            names = [name for name in folder.names() if name.endswith(".json")]
            return {name: _read(folder, name) for name in names}


def _read(folder: Folder, name: str) -> Trial:
    try:
        return read_trial(read_summary(folder.read(name)))
    except ValueError as error:
        raise DocumentError(
            f"{FOLDER}/{name} is no summary of a campaign: {error}", MEND
        ) from error
