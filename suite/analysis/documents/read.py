"""JSON to values, validated: the only file of this room that reads what a campaign left behind.

Whatever is wrong with a file ends in a `DocumentError` that names the file and the field.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NoReturn, TypeVar, get_args, get_type_hints

import msgspec

from suite.analysis.documents.bills import Packages, read_bill
from suite.analysis.documents.rules import judge_membership, judge_plan
from suite.analysis.documents.tools import FOLDER, MOST_OUTPUTS, order_tools, read_tool
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.tools import Tool
from suite.analysis.result.why import Answer
from suite.codec import SCHEMA, Malformed, decode_json, judge_values, parse_json
from suite.errors import DocumentError
from suite.input_limits import RANGES
from suite.manifest import OWN, hash_content
from suite.model import BILLS, PLAN, Campaign, Document, name_bill
from suite.model.rules import Complaint, judge_document
from suite.model.why import SCENARIO, Inquiry
from suite.safe_folder import MEND, Folder

DERIVED = frozenset({PLAN, "summary.json", "why.json"})
"""The JSON files of a campaign folder that are no documents."""

_NAME = re.compile(r".+-\d+(-r\d+)?\.json", re.ASCII)

Kind = TypeVar("Kind", Document, Campaign)


@dataclass(frozen=True, kw_only=True)
class LoadedCampaign:
    """A campaign folder as values: its name, its plan, and its documents.

    The documents are in the order of the plan's arms, then block, then repeat.  ``controls`` are
    those of arms that the plan does not list: twins, and the CUDA image without its GPU; by arm.
    ``calibration`` is the number of the block that found K: 1 where that counts, or is read as if it did.
    ``tools`` are what others' tools say of the machine.  ``packages`` are those of the images of arms that
    are versions of each other, by arm, where its bill of materials knows them.  ``early``: the campaign is
    read before its planned end, by the sequential rule (`suite.analysis.statistics.spending`), whatever its
    profile.
    """

    folder: str
    campaign: Campaign
    documents: list[Document]
    controls: list[Document] = field(default_factory=list)
    calibration: int = 0
    tools: tuple[Tool, ...] = ()
    packages: Mapping[str, Packages] = field(default_factory=dict)
    early: bool = False

    @property
    def every_document(self) -> list[Document]:
        """The documents, and those of the controls."""
        return [*self.documents, *self.controls]

    def change(self, change: Callable[[Document], Document]) -> LoadedCampaign:
        """The campaign with every document changed."""
        documents, controls = (list(map(change, of)) for of in (self.documents, self.controls))
        return replace(self, documents=documents, controls=controls)


def load_campaign(folder: Path) -> LoadedCampaign:
    """Every document of a campaign folder, each checked on its own and against the plan.

    Of the folder that was loaded last only those are parsed whose content is new: a campaign is looked at
    after every block.

    Raises:
        DocumentError: the folder, its plan or one of its documents can't be read or is refused.
    """
    before, parsed = _parsed_of(folder.resolve()), dict[str, Document]()
    documents: list[Document] = []
    with Folder.open(folder) as opened:
        plan = _load_plan(opened)
        for name in _document_files(opened):
            content = opened.read(name)
            digest = hash_content(content)
            document = before.get(digest) or _load(name, content, Document, judge_document)
            parsed[digest] = document
            _refuse_first(name, judge_membership(document, plan))
            if name != document.name:
                complaint = f"its arm, block and repeat belong into {document.name}"
                _refuse(name, "$.invocation", complaint)
            documents.append(document)
        tools = _load_tools(opened)
        packages = _load_bills(opened, plan)
    before.clear()
    before.update(parsed)
    controls = sorted({document.invocation.arm for document in documents} - set(plan.arms))
    order = [*plan.arms, *controls]
    documents.sort(key=lambda document: _place(document, order))
    return LoadedCampaign(
        folder=folder.resolve().name,
        campaign=plan,
        documents=[document for document in documents if document.invocation.arm in plan.arms],
        controls=[document for document in documents if document.invocation.arm in controls],
        calibration=plan.calibration,
        tools=tools,
        packages=packages,
    )


@lru_cache(maxsize=1)
def _parsed_of(_folder: Path) -> dict[str, Document]:
    """The documents of this folder as it was last loaded, by the hash of their files; of no other folder,
    since a thousand are compared."""
    return {}


def _load_tools(folder: Folder) -> tuple[Tool, ...]:
    """What the kept outputs of others' tools say; nothing where there are none."""
    with contextlib.suppress(FileNotFoundError), folder.inside(FOLDER) as inner:
        names = [name for name in inner.names() if OWN[FOLDER].fullmatch(name)]
        if len(names) > MOST_OUTPUTS:
            _refuse(FOLDER, "", f"holds {len(names)} outputs of tools; {MOST_OUTPUTS} are the most")
        return order_tools(_load_tool(inner, name) for name in names)
    return ()


def _load_tool(folder: Folder, name: str) -> Tool:
    try:
        return read_tool(name, folder.read(name))
    except Malformed as error:
        _refuse(f"{FOLDER}/{name}", error.where, error.complaint)


def _load_bills(folder: Folder, plan: Campaign) -> dict[str, Packages]:
    """By arm the packages of its image, of arms that are compared as versions and have a bill."""
    bills = {arm: name_bill(plan.arm(arm).image) for group in plan.version_groups for arm in group}
    found: dict[str, Packages] = {}
    if not bills:
        return found
    # What can't be read here tells nothing; no number depends on it.
    with contextlib.suppress(FileNotFoundError, DocumentError), folder.inside(BILLS) as inner:
        kept = set(inner.names())
        for arm, name in bills.items():
            with contextlib.suppress(DocumentError):
                if name in kept and (packages := read_bill(inner.read(name))):
                    found[arm] = packages
    return found


def _place(document: Document, arms: list[str]) -> tuple[int, int, int]:
    invocation = document.invocation
    return arms.index(invocation.arm), invocation.block, invocation.repeat


def load_plan(folder: Path) -> Campaign:
    """The plan of a campaign folder.

    Raises:
        DocumentError: there is no such folder, no plan in it, or the plan is refused.
    """
    with Folder.open(folder) as opened:
        return _load_plan(opened)


def _load_plan(folder: Folder) -> Campaign:
    content = folder.read(PLAN)
    asks = _parse(PLAN, content).get("profile") == SCENARIO
    return _load(PLAN, content, Inquiry if asks else Campaign, judge_plan)


def load_document(path: Path) -> Document:
    """One invocation's document, checked on its own.

    Raises:
        DocumentError: the file can't be read or is refused.
    """
    with Folder.open(path.parent) as opened:
        return _load(path.name, opened.read(path.name), Document, judge_document)


def read_summary(text: str | bytes) -> Analysis:
    """The analysis that the text of a campaign's ``summary.json`` holds.

    Raises:
        ValueError: it holds something else, or a number that can't be.
    """
    analysis = msgspec.convert(parse_json(text), Analysis, str_keys=True)
    if complaint := RANGES["blocks"].refuse(analysis.campaign.blocks):
        raise ValueError(f"$.campaign.blocks: {complaint}")
    return analysis


def read_answer(text: str | bytes) -> Answer:
    """The same of ``why.json``.

    Raises:
        ValueError: it holds something else.
    """
    return msgspec.convert(parse_json(text), Answer, str_keys=True)


def schema() -> dict[str, Any]:
    """The JSON Schema of everything that is read here: a document, or a plan."""
    references, definitions = msgspec.json.schema_components(
        [Document, Campaign, Inquiry], ref_template="#/$defs/{name}"
    )
    for definition in definitions.values():
        # Fields that this version does not know are refused, so the schema says so, too.
        definition["additionalProperties"] = False
        definition["description"] = " ".join(definition.get("description", "").split())
    for name in ("Document", "Campaign", "Inquiry"):
        definitions[name]["properties"]["schema"] = {"const": SCHEMA}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A document of one invocation, or the plan of a campaign or of an inquiry",
        "anyOf": list(references),
        "$defs": definitions,
    }


def _document_files(folder: Folder) -> list[str]:
    # Hidden files are a writer's unfinished business.
    names = [name for name in folder.names() if name.endswith(".json") and name[0] != "."]
    names = [name for name in names if name not in DERIVED]
    for name in names:
        if not _NAME.fullmatch(name):
            raise DocumentError(
                f"{name}: is not a document's name, such as cpu-01.json",
                "Move what is not part of the campaign out of its folder.",
            )
    return names


def _load(
    name: str, content: bytes, kind: type[Kind], judge: Callable[[Kind], Iterable[Complaint]]
) -> Kind:
    """A file's content as a value of its type that breaks none of its rules."""
    loaded = convert(name, _parse(name, content), kind)
    _refuse_first(name, judge(loaded))
    return loaded


def _parse(name: str, content: bytes) -> dict[str, Any]:
    """The object in a file of this schema."""
    try:
        value = decode_json(content)
    except Malformed as error:
        _refuse(name, error.where, error.complaint)
    if not isinstance(value, dict):
        _refuse(name, "$", "is not a JSON object")
    number = value.get("schema")
    if number != SCHEMA or not isinstance(number, int):
        given = f"is {number}" if isinstance(number, int) else "is not a whole number"
        raise DocumentError(
            f"{name}: $.schema: {given if 'schema' in value else 'is missing'}; this version reads {SCHEMA}",
            "Read it with the version of the suite that wrote it, which its `suite` names, or measure anew.",
        )
    _refuse_first(name, judge_values(value))
    return value


def convert(name: str, value: dict[str, Any], kind: type[Kind]) -> Kind:
    """Plain values as a value of this type, which has a field for each of them.

    Raises:
        DocumentError: names the file and the field that does not fit.
    """
    try:
        converted = msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as error:
        complaint, _, where = str(error).partition(" - at `")
        _refuse(name, where.rstrip("`") or "$", complaint)
    _refuse_first(name, _find_unknown("$", value, converted))
    return converted


def _find_unknown(path: str, value: Any, known: Any) -> Iterator[Complaint]:
    """The fields that this version does not know: msgspec forbids them in its own types, and passes over
    them in dataclasses, which the worker needs.  ``known`` is what was made of the value."""
    if isinstance(value, dict):
        kind: type = type(known)
        holding = _list_fields(kind)
        for key, item in value.items():
            if holding is not None and key not in holding:
                yield f"{path}.{key}", "is not a field that this version knows"
            elif holding is None:
                yield from _find_unknown(f"{path}.{key}", item, known[key])
            elif holding[key]:
                yield from _find_unknown(f"{path}.{key}", item, getattr(known, key))
    elif isinstance(value, list):
        for index, (item, known_item) in enumerate(zip(value, known, strict=True)):
            yield from _find_unknown(f"{path}[{index}]", item, known_item)


@cache
def _list_fields(kind: type) -> dict[str, bool] | None:
    """The fields of a dataclass, and whether something in them is one; None: it is none."""
    if not is_dataclass(kind):
        return None
    return {name: _holds_dataclass(hint) for name, hint in get_type_hints(kind).items()}


def _holds_dataclass(hint: Any) -> bool:
    return is_dataclass(hint) or any(map(_holds_dataclass, get_args(hint)))


def _refuse_first(name: str, complaints: Iterable[Complaint]) -> None:
    """Refuses the file for the first complaint, where there is one."""
    for where, complaint in complaints:
        _refuse(name, where, complaint)


def _refuse(name: str, where: str, complaint: str) -> NoReturn:
    """Gives up: names the file, the field and what is wrong with it."""
    raise DocumentError(": ".join(filter(None, [name, where, complaint])), MEND)
