"""What an engine tells while it builds or fetches an image: as lines, and in our own words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from suite.host.docker.errors import Refused

_CHATTER = ("--->", "Removing intermediate container", "Step ")
"""What the classic builder says about its own steps; the commands' output is what tells."""


def follow_build(events: Iterator[Mapping[str, Any]]) -> Iterator[str]:
    """The output of a build's commands, by lines.

    Raises:
        Refused: one of the events is an error; its text begins with all of that output, which holds
            the reason where a command failed.
    """
    said: list[str] = []
    for event in _follow(events, said):
        for line in str(event.get("stream", "")).splitlines():
            text = " ".join(line.split())
            if text and not text.startswith(_CHATTER):
                said.append(text)
                yield text


def follow_pull(events: Iterator[Mapping[str, Any]]) -> Iterator[str]:
    """How far an image has come, in words: ``3 of 7 layers``.

    Raises:
        Refused: one of the events is an error.
    """
    layers: dict[str, str] = {}
    for event in _follow(events, []):
        layer, status = str(event.get("id", "")), str(event.get("status", ""))
        # Other events have an id too: the first one's is the image's tag.
        if layer in layers or status in {"Pulling fs layer", "Already exists"}:
            layers[layer] = status
        if status == "Pull complete" and layer in layers:
            here = sum(one in {"Pull complete", "Already exists"} for one in layers.values())
            yield f"{here} of {len(layers)} layers"


def _follow(events: Iterator[Mapping[str, Any]], said: list[str]) -> Iterator[Mapping[str, Any]]:
    """The events up to an error, whose text begins with what was ``said`` by then."""
    for event in events:
        if "error" in event:
            # Nothing comes after it; only a stream that was read to its end frees its connection.
            for _ in events:
                continue
            raise Refused(None, "\n".join([*said, str(event["error"])]))
        yield event
