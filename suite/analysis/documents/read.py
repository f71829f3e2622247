"""JSON to words, validated: the only file of this room that reads what a campaign left behind.

Whatever is wrong with a file ends in a `DocumentError` that names the file and the field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec

from suite.analysis.documents.arm_names import tell_arms
from suite.analysis.documents.rules_plan import judge_membership, judge_plan, judge_survey
from suite.analysis.documents.schema1 import tell_traits
from suite.analysis.result.campaign import Analysis
from suite.errors import DocumentError
from suite.folder import MEND, Folder
from suite.model import PLAN, SURVEY, Campaign, Document, Survey
from suite.model.rules import Complaint, judge_document, judge_range
from suite.wire import READ, ROOT, Malformed, Place, decode_json, judge_values, parse_json, spell

DERIVED = frozenset({PLAN, "summary.json"})
"""The JSON files of a campaign folder that are no documents."""

_NAME = re.compile(r"(?P<arm>.+?)-(?P<block>\d+)(?:-r(?P<repeat>\d+))?\.json", re.ASCII)

_READ = " and ".join(map(str, READ))

Word = TypeVar("Word", Document, Campaign, Survey)


@dataclass(frozen=True, kw_only=True)
class LoadedCampaign:
    """A campaign folder as words: its name, its plan, and its documents.

    The documents are in the order of the plan's arms, then block, then repeat.  ``controls`` are
    those of arms that the plan does not list: twins, and the CUDA image without its GPU; by arm.
    ``calibration`` is the number of the block that calibrated: 1 where that is read as if it counted.
    """

    folder: str
    campaign: Campaign
    documents: list[Document]
    controls: list[Document] = field(default_factory=list)
    calibration: int = 0

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

    Raises:
        DocumentError: the folder, its plan or one of its documents can't be read or is refused.
    """
    found: dict[tuple[str, int, int], str] = {}
    documents: list[Document] = []
    with Folder.open(folder) as opened:
        plan = _load_plan(opened)
        for name in _document_files(opened):
            document = _load(opened, name, Document, judge_document)
            invocation = document.invocation
            key = (invocation.arm, invocation.block, invocation.repeat)
            if key in found:
                _refuse(
                    name,
                    "$.invocation",
                    f"arm {key[0]!r}, block {key[1]}, repeat {key[2]} is also what {found[key]} holds",
                )
            found[key] = name
            _refuse_first(name, judge_membership(document, plan))
            if name != document.name:
                _refuse(
                    name, "$.invocation", f"its arm, block and repeat belong into {document.name}"
                )
            documents.append(document)
    others = sorted({one.invocation.arm for one in documents} - set(plan.arms))
    documents.sort(key=lambda one: _place(one, [*plan.arms, *others]))
    return LoadedCampaign(
        folder=folder.resolve().name,
        campaign=plan,
        documents=[one for one in documents if one.invocation.arm in plan.arms],
        controls=[one for one in documents if one.invocation.arm in others],
    )


def load_plan(folder: Path) -> Campaign:
    """The plan of a campaign folder.

    Raises:
        DocumentError: there is no such folder, no plan in it, or the plan is refused.
    """
    with Folder.open(folder) as opened:
        return _load_plan(opened)


def _load_plan(folder: Folder) -> Campaign:
    plan = _load(folder, PLAN, Campaign, judge_plan)
    if plan.schema == 1:
        plan = replace(plan, cells=list(map(tell_traits, plan.cells)))
    return tell_arms(plan)


def is_survey(folder: Path) -> bool:
    """Whether a folder is a survey's, and not a campaign's.

    Raises:
        DocumentError: there is no such folder.
    """
    with Folder.open(folder) as opened:
        return opened.holds(SURVEY)


def load_survey(folder: Path) -> Survey:
    """The plan of a survey's folder.

    Raises:
        DocumentError: it can't be read or is refused.
    """
    with Folder.open(folder) as opened:
        return _load(opened, SURVEY, Survey, judge_survey)


def load_document(path: Path) -> Document:
    """One invocation's document, checked on its own.

    Raises:
        DocumentError: the file can't be read or is refused.
    """
    with Folder.open(path.parent) as opened:
        return _load(opened, path.name, Document, judge_document)


def read_summary(text: str | bytes) -> Analysis:
    """The analysis that the text of a campaign's ``summary.json`` holds.

    Raises:
        ValueError: it holds something else, or a number that can't be.
    """
    analysis = msgspec.convert(parse_json(text), Analysis, str_keys=True)
    for where, complaint in judge_range("$.campaign.blocks", analysis.campaign.blocks, "blocks"):
        raise ValueError(f"{where}: {complaint}")
    return analysis


def schema() -> dict[str, Any]:
    """The JSON Schema of everything that is read here: a document, a plan, or a survey's plan."""
    references, definitions = msgspec.json.schema_components(
        [Document, Campaign, Survey], ref_template="#/$defs/{name}"
    )
    for definition in definitions.values():
        # Fields that this version does not know are refused, so the schema says so, too.
        definition["additionalProperties"] = False
        definition["description"] = " ".join(definition.get("description", "").split())
    for name in ("Document", "Campaign", "Survey"):
        definitions[name]["properties"]["schema"] = {"enum": list(READ)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A document of one invocation, or the plan of a campaign or of a survey",
        "anyOf": list(references),
        "$defs": definitions,
    }


def _place(document: Document, arms: list[str]) -> tuple[int, int, int]:
    invocation = document.invocation
    return arms.index(invocation.arm), invocation.block, invocation.repeat


def _document_files(folder: Folder) -> list[str]:
    # Hidden files are a writer's unfinished business.
    names = [n for n in folder.names() if n.endswith(".json") and not n.startswith(".")]
    names = [name for name in names if name not in DERIVED]
    for name in names:
        if not _NAME.fullmatch(name):
            raise DocumentError(
                f"{name}: no name of a document, such as cpu-01.json",
                "Move what is not part of the campaign out of its folder.",
            )
    return names


def _read_json(folder: Folder, name: str) -> dict[str, Any]:
    """The object in a folder's file of this schema."""
    try:
        value = decode_json(folder.read(name))
    except Malformed as error:
        _refuse(name, error.where, error.complaint)
    if not isinstance(value, dict):
        _refuse(name, "$", f"is {_name_type(value)}, not an object")
    number = value.get("schema")
    if number is None:
        _refuse(name, "$.schema", f"is missing; this version reads schema {_READ}")
    if not isinstance(number, int) or isinstance(number, bool):
        _refuse(name, "$.schema", f"is {_name_type(number)}, not a whole number")
    if number not in READ:
        raise DocumentError(
            f"{name}: $.schema: the file has schema {number}, this version reads {_READ}",
            "Read it with the version of the suite that wrote it, or a newer one.",
        )
    _refuse_first(name, judge_values(value))
    return value


def _refuse_first(name: str, complaints: Iterable[Complaint]) -> None:
    """Refuses the file for the first complaint, where there is one."""
    for where, complaint in complaints:
        _refuse(name, where, complaint)


def _refuse(name: str, where: str, complaint: str) -> NoReturn:
    """Gives up: names the file, the field and what is wrong with it."""
    raise DocumentError(": ".join(filter(None, [name, where, complaint])), MEND)


def _name_type(value: Any) -> str:
    """A value's type, in the words of JSON."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return "null" if value is None else names.get(type(value), "a number")


def _load(
    folder: Folder, name: str, word: type[Word], judge: Callable[[Word], Iterable[Complaint]]
) -> Word:
    loaded = _convert(name, _read_json(folder, name), word)
    _refuse_first(name, judge(loaded))
    return loaded


def _convert(name: str, value: dict[str, Any], word: type[Word]) -> Word:
    try:
        converted = msgspec.convert(value, word, strict=True)
    except msgspec.ValidationError as error:
        complaint, _, where = str(error).partition(" - at `")
        _refuse(name, where.rstrip("`") or "$", complaint)
    _refuse_first(name, _judge_unknown(value, msgspec.to_builtins(converted)))
    return converted


def _judge_unknown(value: dict[str, Any], known: Any) -> Iterable[Complaint]:
    """The fields that this version does not know: what did not survive the way into words."""
    waiting: list[tuple[Place, Any, Any]] = [(ROOT, value, known)]
    while waiting:
        place, item, shape = waiting.pop()
        if isinstance(item, dict) and isinstance(shape, dict):
            for key, inner in item.items():
                if key not in shape:
                    yield spell((place, key)), "is no field that this version knows"
                else:
                    waiting.append(((place, key), inner, shape[key]))
        elif isinstance(item, list) and isinstance(shape, list):
            if not {dict, list} & set(map(type, item)):
                continue
            for index, (inner, inner_shape) in enumerate(zip(item, shape, strict=True)):
                waiting.append(((place, index), inner, inner_shape))
