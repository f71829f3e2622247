"""Whether everything in a folder follows from its documents: one check after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import msgspec

from suite.analysis.analyse import analyse
from suite.analysis.documents.read import (
    LoadedCampaign,
    load_campaign,
    load_plan,
    read_summary,
)
from suite.analysis.documents.rules import judge_whole
from suite.analysis.result.campaign import Analysis
from suite.cli.receipts.differing import compare_files
from suite.cli.receipts.finding import Finding
from suite.cli.receipts.pictures import judge_pictures
from suite.cli.receipts.signature import SIGNATURE, judge_signature
from suite.errors import DocumentError
from suite.fingerprint import suite_content
from suite.manifest import MANIFEST, OWN, hash_content, list_own, read_lines
from suite.model import PLAN, Campaign
from suite.report.pictures.picture import FOLDER
from suite.report.produce import can_draw, draw, rebuild
from suite.report.render.plain import describe_picture
from suite.report.text.units import show_things
from suite.safe_folder import Folder
from suite.worker import scenarios


def check_folder(folder: Path, signers: Path | None = None) -> Iterator[Finding]:
    """Every check of a campaign's folder, in the order in which they rest on each other.

    ``signers`` is who may have signed its manifest, as ssh-keygen's ALLOWED SIGNERS; None: not asked.

    Raises:
        DocumentError: there is no such folder, or something in it is not a file, or can't be read.
    """
    with Folder.open(folder) as door:
        load_plan(folder)
        content = {name: door.read(name) for name in list_own(door)}
        lines = read_lines(door.read(MANIFEST)) if door.holds(MANIFEST) else None
        known = {*content, *OWN, MANIFEST, SIGNATURE}
        others = [name for name in door.names() if name not in known and name[0] != "."]
        signed = door.holds(SIGNATURE)
    if signed or signers is not None:
        told, troubles = judge_signature(folder, signers)
        yield Finding(name="signature", told=told, troubles=troubles)
    try:
        loaded = load_campaign(folder)
    except DocumentError as error:
        yield _judge_hashes(content, lines, ())
        yield Finding(name="documents", told="", troubles=(error.what,))
        return
    yield _judge_hashes(content, lines, _list_running(loaded))
    yield from _check_campaign(loaded, content)
    if others:
        yield Finding(name="others", told=f"not looked at: {', '.join(others)}")


def _list_running(loaded: LoadedCampaign) -> tuple[str, ...]:
    """The documents of invocations that were cut off: nobody has hashed them yet."""
    return tuple(one.name for one in loaded.every_document if one.invocation.status == "running")


def _judge_hashes(
    content: Mapping[str, bytes], lines: Mapping[str, str] | None, running: tuple[str, ...]
) -> Finding:
    if lines is None:
        missing = f"{MANIFEST}: is missing, so nothing shows whether a document was changed"
        return Finding(name="hashes", told="", troubles=(missing,))
    troubles = [f"{name}: is missing, and {MANIFEST} names it" for name in {*lines} - {*content}]
    for name, bytes_ in content.items():
        if name in lines and hash_content(bytes_) != lines[name]:
            troubles.append(f"{name}: is not the file that {MANIFEST} names")
        elif name not in lines and name not in running:
            troubles.append(f"{name}: was added, since {MANIFEST} does not name it")
    told = f"{show_things(len(lines), 'file')} as {MANIFEST} names them"
    return Finding(name="hashes", told=told, troubles=tuple(sorted(troubles)))


def _check_campaign(loaded: LoadedCampaign, content: Mapping[str, bytes]) -> Iterator[Finding]:
    documents = loaded.every_document
    each = f"{show_things(len(documents), 'document')} of this campaign, each by its schema"
    yield Finding(name="documents", told=each)
    last = max((one.invocation.block for one in documents), default=0)
    plan = loaded.campaign
    stopped = "" if last >= plan.blocks else "; it ended early" if plan.stopped else "; cut off"
    told = f"{last} of {show_things(plan.blocks, 'block')}{stopped}; calls and container time agree"
    troubles = tuple(judge_whole(plan, loaded.documents, loaded.controls))
    yield Finding(name="plan", told=told, troubles=troubles)
    yield judge_cells(plan)
    # Where it lay when the report was made is not evidence: a copy may be called otherwise.
    analysis = analyse(replace(loaded, folder=_read_name(content) or loaded.folder))
    yield from _check_report(analysis, content)


def _check_report(analysis: Analysis, content: Mapping[str, bytes]) -> Iterator[Finding]:
    """The report beside the analysis as it comes out here.

    Where the analysis that is there differs from it in last digits alone, the report must follow from that
    one to the byte, and say the same as it would here.
    """
    told = content.get("report.md", b"").decode(errors="replace")
    drawn = {
        name.removeprefix(f"{FOLDER}/").removesuffix(".svg"): bytes_.decode(errors="replace")
        for name, bytes_ in content.items()
        if name.startswith(f"{FOLDER}/") and name.endswith(".svg")
    }
    report, files = rebuild(analysis, told, drawn)
    summary, near = _compare("summary.json", content, files.pop("summary.json"))
    yield summary
    page = files["report.md"]
    if near:
        report, files = rebuild(read_summary(content["summary.json"]), told, drawn)
        del files["summary.json"]
    for name, anew in files.items():
        same, _ = _compare(name, content, anew)
        if name == "report.md" and not same.troubles:
            same, _ = _compare(name, content, page)
        yield same
    yield judge_pictures(
        {name: bytes_ for name, bytes_ in content.items() if name.startswith(f"{FOLDER}/")},
        draw(report) if can_draw() else {},
        [f"{FOLDER}/{shown.name}.{end}" for shown in report.pictures for end in ("svg", "png")],
        {f"{FOLDER}/{shown.name}.svg": describe_picture(shown) for shown in report.pictures},
    )


def judge_cells(plan: Campaign) -> Finding:
    """Whether the plan says of its cells what the suite does that it names by hash.

    Only that very suite can tell, so this is no flag of the analysis, which is the same under any other.
    """
    if plan.suite.content != suite_content():
        told = "another version of the suite measured them: only the plan says what they are"
        return Finding(name="cells", told=told)
    known = {cell.id: cell for cell in scenarios.cells()}
    troubles = []
    for cell in plan.cells:
        if cell.id not in known:
            troubles.append(f"{PLAN}: {cell.id} is not a cell of the suite that it names")
        elif cell != known[cell.id]:
            declared = vars(known[cell.id])
            fields = ", ".join(n for n, value in vars(cell).items() if value != declared[n])
            troubles.append(f"{PLAN}: {cell.id} is declared differently from its suite: {fields}")
    told = f"{show_things(len(plan.cells), 'cell')} as this suite declares them"
    return Finding(name="cells", told=told, troubles=tuple(troubles))


def _read_name(content: Mapping[str, bytes]) -> str | None:
    """What the folder was called when its report was made, as that says."""
    try:
        name = msgspec.json.decode(content.get("summary.json", b""))["campaign"]["folder"]
    except (msgspec.DecodeError, KeyError, RecursionError, TypeError):
        return None
    return name if isinstance(name, str) else None


def _compare(name: str, content: Mapping[str, bytes], anew: str) -> tuple[Finding, int]:
    """A file beside what comes out, and how many of its numbers differ in their last digits alone."""
    here = content.get(name)
    if here is None:
        return Finding(name=name, told="", troubles=(f"{name}: is missing",)), 0
    compared = compare_files(name, here.decode(errors="replace"), anew)
    trouble, near, told = compared.trouble, compared.near, "rebuilt: the same bytes"
    if near:
        told = f"rebuilt: the same but for the last digits of {show_things(near, 'number')}"
    elif trouble is None and here != anew.encode():
        trouble = f"{name}: is no UTF-8"
    return Finding(name=name, told=told, troubles=(trouble,) if trouble else ()), near
