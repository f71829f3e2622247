"""Validation of ``fit`` left out, or rarer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from suite.model.why import Try, Watched
from suite.worker.why.calls import rebind
from suite.worker.why.intervention import Intervention, is_worth, thin_to

if TYPE_CHECKING:
    from suite.worker.why.run import ScriptRun


def _propose(watched: Watched, _on_gpu: bool) -> Iterator[Try]:
    counts = watched.counts
    if not is_worth(watched, counts.get("validation_s", 0.0)):
        return
    every = thin_to(int(counts.get("validation", 0)))
    before = watched.settings.get("validation_freq", "1")
    steers = sorted(each.name for each in watched.callbacks if each.steers)
    if every is None or not before.isdigit():
        texts = {10**9: "without validation"}
    else:
        texts = {every * int(before): f"validation_freq={every * int(before)}"}
    for frequency, text in texts.items():
        yield Try(
            name=f"validation@{frequency}" if every else "validation",
            intervention="validation",
            target=str(frequency),
            cause="validation",
            kind="fix" if every else "ceiling",
            line=watched.lines.get("fit"),
            text=text,
            needs="what validation says is seen less often"
            + (f", also by {' and '.join(steers)}" if steers else ""),
            training="otherwise" if steers else "unchanged",
        )


def _install(run: ScriptRun, target: str) -> None:
    def change(arguments: dict[str, Any]) -> None:
        if arguments.get("validation_data") is not None or arguments.get("validation_split"):
            arguments["validation_freq"] = int(target)
            run.applied()

    run.patch("fit", lambda original: rebind(original, change))


VALIDATION = Intervention(name="validation", propose=_propose, install=_install, needs=("fit",))
