"""Validation of ``fit`` left out, or rarer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from suite.model.why import Try, Watched
from suite.worker.why.calls import rebind
from suite.worker.why.intervention import NEVER, Intervention, is_worth, make_try, thin_to
from suite.worker.why.run import ScriptRun


def _propose(watched: Watched, _on_gpu: bool) -> Iterator[Try]:
    if not is_worth(watched, watched.counts.get("validation_s", 0.0)):
        return
    every = thin_to(watched.counts["validation"])
    before = watched.settings.get("validation_freq", "1")
    fix = every is not None and before.isdigit()
    frequency = (every or 1) * int(before) if fix else NEVER
    steers = sorted({each.name for each in watched.callbacks if each.steers})
    yield make_try(
        f"validation:{frequency}" if fix else "validation",
        "validation",
        f"validation_freq={frequency}" if fix else "without validation",
        watched.lines.get("fit"),
        kind="fix" if fix else "ceiling",
        needs=f"validation is seen less often{', also by ' if steers else ''}{', '.join(steers)}",
        training="otherwise" if steers else "unchanged",
    )


def _install(run: ScriptRun, target: str) -> None:
    def change(arguments: dict[str, Any]) -> None:
        if arguments.get("validation_data") is not None or arguments.get("validation_split"):
            arguments["validation_freq"] = int(target or NEVER)
            run.applied()

    run.patch("fit", lambda original: rebind(original, change))


VALIDATION = Intervention(name="validation", propose=_propose, install=_install, needs=("fit",))
