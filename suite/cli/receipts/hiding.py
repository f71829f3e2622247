"""What names a machine, a person or a place is taken out of texts before they leave.

By form (addresses, serials, UUIDs, paths) wherever it stands, and by name where it is known: this machine's,
and what documents hold under a private fact's name.
"""

from __future__ import annotations

import getpass
import json
import re
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from suite import codec
from suite.analysis.campaign.environment import PRIVATE
from suite.analysis.documents.read import schema
from suite.analysis.documents.tools import FOLDER, Output, map_texts, recognise, write
from suite.analysis.result.arms import hash_identity
from suite.host.machine import identity
from suite.model import PLAN
from suite.report.render.forms import hide_forms, hide_matches, keep_arms

_VERSION = re.compile(r"version|cuda|cudnn|driver|nvidia|package", re.IGNORECASE)
"""Names of facts whose four numbers are a version, and no address."""

_OWNER = re.compile(r"[/\\](?:home|Users)[/\\]+([\w.-]+)")
_EVERYBODY = frozenset(
    {"root", "user", "admin", "ubuntu", "debian", "localhost", "nobody", "runner"}
)
NOTES = "notes."
"""Before the id of a run: the fact that holds what it told, as JSON."""

_SHORTEST = 3
"""Letters of a name that can be looked for; a shorter one would be found in other words."""


def hide(texts: Mapping[str, str]) -> dict[str, str]:
    """The texts by file's name, JSON or plain, without what identifies anybody."""
    outputs = {name for name in texts if name.startswith(f"{FOLDER}/") and name[-4:] != ".txt"}
    documents = {name for name in texts if name.endswith(".json")} - outputs
    values = {name: json.loads(texts[name]) for name in documents}
    secrets = _find_secrets(texts, values)
    with keep_arms(values.get(PLAN, {}).get("arms") or ()):
        return _hide_texts(texts, values, outputs, secrets)


def _hide_texts(
    texts: Mapping[str, str],
    values: Mapping[str, Any],
    outputs: set[str],
    secrets: list[tuple[str, str]],
) -> dict[str, str]:
    """The texts, of which ``values`` are JSON and ``outputs`` tools'."""
    hidden = {}
    for name, text in texts.items():
        if name in outputs:
            hidden[name] = _hide_output(recognise(text.encode()), secrets)
            continue
        if name not in values:
            hidden[name] = _hide_text(text, secrets)
            continue
        value = _hide_value(values[name], secrets, "")
        same = value == values[name]
        hidden[name] = text if same else codec.dump_document(value)
    return hidden


def keep_output(output: Output) -> str:
    """A tool's output as it is kept in a campaign's folder: a GPU's UUID as its hash, and nothing of what
    names this machine, its user, or anybody's process."""
    hashed = map_texts(output.value, lambda _, text: identity.hide(text))
    return _hide_output(output._replace(value=hashed), _find_secrets({}, {}))


def keep_words(text: str) -> str:
    """The same of what a tool said where it failed."""
    return _hide_text(identity.hide(text), _find_secrets({}, {}))


_NAMING = re.compile(
    r"serial|uuid|guid|^pdi$|host_?(id|name)|process_name|user|account(s|ed_\w+)?$|^vm_|chassis",
    re.IGNORECASE,
)
"""Elements and fields of tools' outputs that name a machine, a card, a person or a process."""

_KEPT = re.compile(
    r"\s*|n/a|none|(GPU|MIG)-((sha256|hmac):[0-9a-f]{16}|#[0-9a-f]{8})", re.IGNORECASE
)
"""What such a one may say: nothing, or a hash that stands for a UUID."""


def _hide_output(output: Output, secrets: list[tuple[str, str]]) -> str:
    def change(name: str, text: str) -> str:
        if _NAMING.search(name) and not _KEPT.fullmatch(text):
            return "hidden"
        return str(_hide_value(text, secrets, name))

    return write(output._replace(value=map_texts(output.value, change)))


def _find_secrets(texts: Mapping[str, str], values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names to look for and what stands in their place, the longest first."""
    host = socket.gethostname()
    words = dict.fromkeys((host, host.partition(".")[0]), "hidden-host")
    owners = _OWNER.findall("\n".join(texts.values()))
    words |= dict.fromkeys([*_list_users(), *owners], "hidden-user")
    for document in values.values():
        for name, value in document.get("facts", {}).items():
            if PRIVATE.search(name) and isinstance(value, str):
                words[value] = hash_identity(value)
    plan = values.get(PLAN, {})
    # A machine that is called after an arm, an axis or a field: the word is not about it.
    ours = json.dumps([plan.get("arms"), plan.get("calls"), schema()])
    public = {word.lower() for word in re.findall(r"\w+", ours)} | _EVERYBODY
    kept = {word for word in words if len(word) >= _SHORTEST and word.lower() not in public}
    return [(word, words[word]) for word in sorted(kept, key=lambda word: (-len(word), word))]


def _list_users() -> Iterator[str]:
    try:
        yield getpass.getuser()
    except (KeyError, OSError):
        return  # a number without a name, as in a container
    yield Path.home().name


def _hide_value(value: Any, secrets: list[tuple[str, str]], key: str) -> Any:
    if isinstance(value, dict):
        return {name: _hide_value(item, secrets, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_hide_value(item, secrets, key) for item in value]
    if not isinstance(value, str):
        return value
    if key.startswith(NOTES):
        # What is hidden must not take a quote or a brace with it.
        told = json.loads(value)
        hidden = _hide_value(told, secrets, "")
        return value if hidden == told else json.dumps(hidden, ensure_ascii=False)
    whole = _VERSION.search(key) and re.fullmatch(r"[\d.]+", value)
    return value if whole else _hide_text(value, secrets)


def _hide_text(text: str, secrets: list[tuple[str, str]]) -> str:
    text = hide_forms(text)
    for secret, word in secrets:
        whole = re.compile(rf"(?<!\w){re.escape(secret)}(?!\w)", re.IGNORECASE)
        text = hide_matches(whole, word, text, files=False)
    return text
