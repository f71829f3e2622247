"""Whether everything in a folder follows from its documents: one check after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import msgspec

from suite.analysis.analyse import study
from suite.analysis.documents.read import (
    LoadedCampaign,
    load_campaign,
    load_plan,
    read_answer,
    read_summary,
)
from suite.analysis.documents.rules import judge_whole
from suite.analysis.result.why import Answer
from suite.cells.cell import ALL_CPUS
from suite.cli.receipts.check_result import CheckResult
from suite.cli.receipts.differing import compare_files
from suite.cli.receipts.pictures import judge_pictures
from suite.cli.receipts.signature import SIGNATURE, judge_signature
from suite.errors import DocumentError
from suite.fingerprint import suite_content
from suite.host.campaign import request
from suite.manifest import MANIFEST, OWN, hash_content, list_own, read_lines
from suite.model import PLAN, Campaign, SuiteIdentity
from suite.model.why import Inquiry, list_runs
from suite.report.pictures.picture import FOLDER
from suite.report.produce import Result, can_draw, draw, name_report, rebuild
from suite.report.render.plain import describe_picture
from suite.report.text.units import show_things
from suite.safe_folder import Folder
from suite.worker import scenarios


def check_folder(folder: Path, signers: Path | None = None) -> Iterator[CheckResult]:
    """Every check of a campaign's folder, in the order in which they rest on each other.

    ``signers`` is who may have signed its manifest, as ssh-keygen's ALLOWED SIGNERS; None: not asked.

    Raises:
        DocumentError: there is no such folder, or something in it is not a file, or can't be read.
    """
    with Folder.open(folder) as door:
        load_plan(folder)
        content = {name: door.read(name) for name in list_own(door)}
        lines = read_lines(door.read(MANIFEST)) if door.holds(MANIFEST) else None
        ours = {*content, *OWN, MANIFEST, SIGNATURE}
        others = [name for name in door.names() if name not in ours and name[0] != "."]
        signed = door.holds(SIGNATURE)
    if signed or signers is not None:
        text, troubles = judge_signature(folder, signers)
        yield CheckResult(name="signature", text=text, troubles=troubles)
    try:
        loaded = load_campaign(folder)
    except DocumentError as error:
        yield _judge_hashes(content, lines, ())
        yield CheckResult(name="documents", text="", troubles=(error.what,))
        return
    yield _judge_hashes(content, lines, _list_running(loaded))
    yield from _check_campaign(loaded, content)
    if others:
        yield CheckResult(name="others", text=f"not looked at: {', '.join(others)}")


def _list_running(loaded: LoadedCampaign) -> tuple[str, ...]:
    """The documents of invocations that were cut off: nobody has hashed them yet."""
    return tuple(
        document.name
        for document in loaded.every_document
        if document.invocation.status == "running"
    )


def _judge_hashes(
    content: Mapping[str, bytes], lines: Mapping[str, str] | None, running: tuple[str, ...]
) -> CheckResult:
    if lines is None:
        missing = f"{MANIFEST}: is missing, so nothing shows whether a document was changed"
        return CheckResult(name="hashes", text="", troubles=(missing,))
    troubles = [f"{name}: is missing, and {MANIFEST} names it" for name in {*lines} - {*content}]
    for name, bytes_ in content.items():
        if name in lines and hash_content(bytes_) != lines[name]:
            troubles.append(f"{name}: is not the file that {MANIFEST} names")
        elif name not in lines and name not in running:
            troubles.append(f"{name}: was added, since {MANIFEST} does not name it")
    text = f"{show_things(len(lines), 'file')} as {MANIFEST} names them"
    return CheckResult(name="hashes", text=text, troubles=tuple(sorted(troubles)))


def _check_campaign(loaded: LoadedCampaign, content: Mapping[str, bytes]) -> Iterator[CheckResult]:
    documents = loaded.every_document
    each = f"{show_things(len(documents), 'document')} of this campaign, each by its schema"
    yield CheckResult(name="documents", text=each)
    last = max((document.invocation.block for document in documents), default=0)
    plan = loaded.campaign
    stopped = "" if last >= plan.blocks else "; it ended early" if plan.stopped else "; cut off"
    text = f"{last} of {show_things(plan.blocks, 'block')}{stopped}; calls and container time agree"
    troubles = tuple(judge_whole(plan, loaded.documents, loaded.controls))
    yield CheckResult(name="plan", text=text, troubles=troubles)
    yield judge_cells(plan)
    # Where it lay when the report was made is not evidence: a copy may be called otherwise.
    result = study(replace(loaded, folder=_read_name(content) or loaded.folder))
    yield from _check_report(result, content, plan.suite)


def _check_report(
    result: Result, content: Mapping[str, bytes], measured_by: SuiteIdentity
) -> Iterator[CheckResult]:
    """The report beside the analysis as it comes out here.

    Where the analysis that is there differs from it in last digits alone, the report must follow from that
    one to the byte, and say the same as it would here.
    """
    data, name = name_report(result)
    main = f"{name}.md"
    page_there = content.get(main, b"").decode(errors="replace")
    there = {name: bytes_ for name, bytes_ in content.items() if name.startswith(f"{FOLDER}/")}
    drawn = {
        name.removeprefix(f"{FOLDER}/").removesuffix(".svg"): bytes_.decode(errors="replace")
        for name, bytes_ in there.items()
        if name.endswith(".svg")
    }
    report, files = rebuild(result, page_there, drawn)
    summary, near = _compare(data, content, files.pop(data))
    yield summary
    if summary.troubles and (other := judge_suite(measured_by, request.identify_suite())):
        yield other
    page = files[main]
    if near:
        read = read_answer if isinstance(result, Answer) else read_summary
        report, files = rebuild(read(content[data]), page_there, drawn)
        del files[data]
    for name, anew in files.items():
        same, _ = _compare(name, content, anew)
        if name == main and not same.troubles:
            same, _ = _compare(name, content, page)
        yield same
    drawn_anew = draw(report) if there and can_draw() else {}
    names = {f"{FOLDER}/{picture.name}": picture for picture in report.pictures}
    yield judge_pictures(
        there,
        drawn_anew,
        [f"{name}.{end}" for name in names for end in ("svg", "png")],
        {f"{name}.svg": describe_picture(picture) for name, picture in names.items()},
    )


def judge_suite(theirs: SuiteIdentity, ours: SuiteIdentity) -> CheckResult | None:
    """That an analysis which does not come out here may be honest, of a suite that analyses otherwise; None:
    it is this very suite that measured.

    Which one analysed a folder last nobody notes (docs/decisions/0033): that it is another one than this
    speaks for nobody, so that what does not follow stays said.
    """
    if theirs == ours and not (ours.commit or "").endswith("+"):
        return None
    text = (
        f"{_name_suite(theirs)} measured this campaign, and this is {_name_suite(ours)}: what the former "
        "analysed may differ from the analysis here without having been changed; check it with that one, "
        "or make the report anew with `make report`"
    )
    return CheckResult(name="suite", text=text, unsure=True)


def _name_suite(suite: SuiteIdentity) -> str:
    """``commit 0123456789ab with changes``; outside a checkout its version and its content's hash."""
    if suite.commit is None:
        return f"version {suite.version} ({suite.content[:12]})"
    return f"commit {suite.commit[:12]}{' with changes' if suite.commit.endswith('+') else ''}"


def judge_cells(plan: Campaign) -> CheckResult:
    """Whether the plan says of its cells what the suite does that it names by hash.

    Only that very suite can tell, so this is no flag of the analysis, which is the same under any other.
    """
    if plan.suite.content != suite_content():
        text = "another version of the suite measured them: only the plan says what they are"
        return CheckResult(name="cells", text=text)
    runs = list_runs(plan.rounds) if isinstance(plan, Inquiry) else []
    declared = {cell.id: cell for cell in (*scenarios.cells(), *runs)}
    troubles = []
    for cell in plan.every_cell:
        ours = declared.get(cell.id)
        if ours is None:
            troubles.append(f"{PLAN}: {cell.id} is not a cell of the suite that it names")
            continue
        if ours.cpus == ALL_CPUS and cell.cpus is not None:
            # How many all are is the machine's to say.
            ours = replace(ours, cpus=cell.cpus)
        if cell != ours:
            fields = ", ".join(n for n, value in vars(cell).items() if value != vars(ours)[n])
            troubles.append(f"{PLAN}: {cell.id} is declared differently from its suite: {fields}")
    text = f"{show_things(len(plan.every_cell), 'cell')} as this suite declares them"
    return CheckResult(name="cells", text=text, troubles=tuple(troubles))


def _read_name(content: Mapping[str, bytes]) -> str | None:
    """What the folder was called when its report was made, as that says."""
    try:
        told = msgspec.json.decode(content.get("why.json") or content.get("summary.json", b""))
        name = told["folder"] if "folder" in told else told["campaign"]["folder"]
    except (msgspec.DecodeError, KeyError, RecursionError, TypeError):
        return None
    return name if isinstance(name, str) else None


def _compare(name: str, content: Mapping[str, bytes], anew: str) -> tuple[CheckResult, int]:
    """A file beside what comes out, and how many of its numbers differ in their last digits alone."""
    here = content.get(name)
    if here is None:
        return CheckResult(name=name, text="", troubles=(f"{name}: is missing",)), 0
    compared = compare_files(name, here.decode(errors="replace"), anew)
    trouble, near, text = compared.trouble, compared.near, "rebuilt: the same bytes"
    if near:
        text = f"rebuilt: the same but for the last digits of {show_things(near, 'number')}"
    elif trouble is None and here != anew.encode():
        trouble = f"{name}: is not UTF-8"
    return CheckResult(name=name, text=text, troubles=(trouble,) if trouble else ()), near
