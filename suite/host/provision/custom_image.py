"""An image that already holds Python and a GPU TensorFlow (CUDA_IMAGE), on which the suite is laid.

Pure; knows no engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from suite import codec
from suite.errors import VENDOR_IMAGE, EngineError
from suite.host.provision.image_table import DOCKER, ImageSpec
from suite.host.provision.images import is_pinned

CUSTOM = "cuda"
"""The row of images.toml whose place such an image takes."""

WAYS_OUT = (
    f"name another image, such as CUDA_IMAGE={VENDOR_IMAGE} (what it takes: Python 3.11 or newer with "
    "TensorFlow 2.15 or newer, built with CUDA, all of it readable by any user); or leave CUDA_IMAGE "
    "out for the locked TensorFlow"
)

OTHER_TENSORFLOW = (
    f"name one with what is missing, such as CUDA_IMAGE={VENDOR_IMAGE} or another LOCAL_PYTHON; or leave "
    "both out for the locked TensorFlow"
)
"""What to do about a TensorFlow from elsewhere that the worker can't work with."""

_LACKS = {
    r"(?i)python3: (command )?(not found|permission denied)": (
        "it has no python3 on its PATH that any user may run"
    ),
    r"/bin/sh\W*: (stat|no such file)": (
        "it has no shell (/bin/sh), with which the suite's folders are made"
    ),
}
"""What it means where not even the worker's own check could run."""


def overlay_on(spec: ImageSpec, reference: str) -> ImageSpec:
    """That of a row of the table with CUDA_IMAGE: the suite on that image, and no lock."""
    return replace(
        spec,
        name=f"{spec.name}-laid",
        base=reference,
        dockerfile=DOCKER / "laid.Dockerfile",
        origin=f"the suite laid on {reference} (CUDA_IMAGE): not from the lock",
        python="",
        laid=True,
    )


def add_digest(reference: str, digests: Iterable[str]) -> str:
    """A reference with the digest by which its own registry knows what is here, so that it names
    the same image elsewhere and later.

    ``digests`` are the engine's, such as ``nvcr.io/nvidia/tensorflow@sha256:…``.  The reference as
    it is where none is of its repository: an image that was built here, or an image's id.
    """
    ours = (digest for digest in digests if _repository(digest) == _repository(reference))
    digest = None if is_pinned(reference) else next(ours, None)
    return f"{reference}@{digest.partition('@')[2]}" if digest else reference


def _repository(reference: str) -> str:
    # A colon in front of a slash is that of a port.
    name = re.sub(r"(@.*|:[^/]*)$", "", reference)
    return name.removeprefix("docker.io/").removeprefix("library/")


def refuse_custom(reference: str, where: str, text: str) -> EngineError:
    """The error for an image that is not here and not available; names the ways out."""
    registry, slash, _ = reference.partition("/")
    named = slash and ("." in registry or ":" in registry)
    login = f"`docker login {registry}`" if named else "`docker login`"
    return EngineError(
        f"the image {reference} (CUDA_IMAGE) is not in the engine ({where}) and can't be pulled: "
        f"{text}",
        f"`docker images` shows what is here, and `docker load` brings one from a file; {login} if "
        "the registry limits or wants it; or leave CUDA_IMAGE out for the locked TensorFlow",
    )


def explain_unfit(reference: str, text: str) -> EngineError | None:
    """The error for an image that can't carry the suite, from what its build said, or None.

    ``text`` is the end of the build's output, in which the worker's own check has left a record
    of what it found (see ``suite.worker.session.preflight``).
    """
    checked = [
        record for record in map(_read, text.splitlines()) if record.get("record") == "unfit"
    ]
    reasons = [str(record.get("reason")) for record in checked]
    reasons += [lack for pattern, lack in _LACKS.items() if re.search(pattern, text)]
    if not reasons:
        return None
    what = f"the suite can't be laid on {reference} (CUDA_IMAGE): {reasons[0]}"
    return EngineError(what, WAYS_OUT)


def describe_check(line: str) -> str | None:
    """What a line of the build's output means to people: the record of a check that went well."""
    record = _read(line)
    if record.get("record") != "fit":
        return None
    return f"it holds {record.get('found')}, and the worker's first steps ran"


def _read(line: str) -> dict[str, Any]:
    try:
        return codec.parse_record(line)
    except ValueError:
        return {}
