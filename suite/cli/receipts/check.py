"""Whether everything in a folder follows from its documents: one check after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec

from suite.analysis.analyse import analyse, analyse_survey
from suite.analysis.documents.read import LoadedCampaign, load_campaign, load_plan, load_survey
from suite.analysis.documents.rules_whole import judge_whole
from suite.cli.receipts.differing import find_difference
from suite.cli.receipts.signature import SIGNATURE, judge_signature
from suite.content import suite_content
from suite.errors import DocumentError
from suite.folder import Folder
from suite.manifest import MANIFEST, OWN, hash_content, list_own, read_lines
from suite.model import PLAN, SURVEY, Campaign
from suite.report.pictures.picture import FOLDER
from suite.report.produce import build_survey_report, can_draw, draw, rebuild
from suite.report.text.units import show_things
from suite.worker import scenarios


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One check: what it is about, what it found in order, and what it did not, by file and field."""

    name: str
    told: str
    troubles: tuple[str, ...] = ()


def check_folder(folder: Path, signers: Path | None = None) -> Iterator[Finding]:
    """Every check of a campaign's or a survey's folder, in the order in which they rest on each other.

    ``signers`` is who may have signed its manifest, as ssh-keygen's ALLOWED SIGNERS; None: not asked.

    Raises:
        DocumentError: it is no such folder, or something in it is no file, or can't be read.
    """
    with Folder.open(folder) as door:
        is_survey = door.holds(SURVEY)
        load_survey(folder) if is_survey else load_plan(folder)
        content = {name: door.read(name) for name in list_own(door)}
        lines = read_lines(door.read(MANIFEST)) if door.holds(MANIFEST) else None
        known = {*content, *OWN, MANIFEST, SIGNATURE}
        others = [name for name in door.names() if name not in known and name[0] != "."]
        signed = door.holds(SIGNATURE)
    if signed or signers is not None:
        told, troubles = judge_signature(folder, signers)
        yield Finding(name="signature", told=told, troubles=troubles)
    try:
        loaded = None if is_survey else load_campaign(folder)
        found = None if loaded else analyse_survey(folder)
    except DocumentError as error:
        yield _judge_hashes(content, lines, ())
        yield Finding(name="documents", told="", troubles=(error.what,))
        return
    yield _judge_hashes(content, lines, _list_running(loaded) if loaded else ())
    if loaded:
        yield from _check_campaign(loaded, content)
    elif found:
        yield from _compare(content, build_survey_report(*found)[0])
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
    yield Finding(name="plan", told=told, troubles=tuple(judge_whole(loaded)))
    yield judge_cells(plan)
    # Where it lay when the report was made is no evidence: a copy may be called otherwise.
    analysis = analyse(replace(loaded, folder=_read_name(content) or loaded.folder))
    drawn = {
        name.removeprefix(f"{FOLDER}/").removesuffix(".svg"): bytes_.decode(errors="replace")
        for name, bytes_ in content.items()
        if name.startswith(f"{FOLDER}/") and name.endswith(".svg")
    }
    report, files = rebuild(analysis, content.get("report.md", b"").decode(errors="replace"), drawn)
    yield from _compare(content, files)
    yield _judge_pictures(content, draw(report) if can_draw() else {}, report.pictures)


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
            troubles.append(f"{PLAN}: {cell.id} is no cell of the suite that it names")
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


def _compare(content: Mapping[str, bytes], files: Mapping[str, str]) -> Iterator[Finding]:
    for name, anew in files.items():
        here = content.get(name)
        if here is None:
            trouble: str | None = f"{name}: is missing"
        else:
            trouble = find_difference(name, here.decode(errors="replace"), anew)
            if trouble is None and here != anew.encode():
                trouble = f"{name}: is no UTF-8"
        told = "rebuilt: the same bytes"
        yield Finding(name=name, told=told, troubles=(trouble,) if trouble else ())


def _judge_pictures(
    content: Mapping[str, bytes], drawn: Mapping[str, str | bytes], wanted: tuple[str, ...]
) -> Finding:
    """A picture is drawn anew.  Another matplotlib draws other bytes: then its words are compared, and
    its strokes are only as good as the manifest, which is said."""
    there = [name for name in content if name.startswith(f"{FOLDER}/")]
    troubles = [f"{name}: is missing" for name in wanted if name not in there]
    troubles += [f"{name}: is no picture of this report" for name in there if name not in wanted]
    otherwise = []
    for name in set(there) & set(wanted):
        anew = drawn.get(name)
        if content[name] == (anew.encode() if isinstance(anew, str) else anew):
            continue
        otherwise.append(name)
        if isinstance(anew, str) and _read_words(content[name]) != _read_words(anew.encode()):
            troubles.append(f"{name}: its title or description is not what comes out")
    told = f"{show_things(len(there), 'file')}, drawn anew: the same bytes"
    if otherwise:
        told = (
            f"{len(otherwise)} of {show_things(len(there), 'file')} can't be drawn to the same bytes "
            f"here: what they show rests on {MANIFEST} alone"
        )
    return Finding(name="pictures", told=told, troubles=tuple(sorted(troubles)))


def _read_words(svg: bytes) -> list[str | None]:
    """The title and the description of a picture; of what is none, nothing."""
    try:
        root = ET.fromstring(svg)  # noqa: S314  no entity is expanded beyond expat's own limit
    except ET.ParseError:
        return []
    return [one.text for one in root if one.tag.rpartition("}")[2] in {"title", "desc"}]
