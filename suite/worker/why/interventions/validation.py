"""Validation of ``fit`` left out, or rarer."""

from __future__ import annotations

from suite.model.why import Watched
from suite.worker.why.calls import Arguments, intercept
from suite.worker.why.intervention import NEVER, Intervention, Offers, is_worth, thin_to
from suite.worker.why.run import ScriptRun


def _find(watched: Watched) -> Offers:
    if not is_worth(watched, watched.counts.get("validation_s", 0.0)):
        return
    every, before = thin_to(watched.counts["validation"]), watched.settings["validation_freq"]
    line, steers = watched.lines.get("fit"), any(each.steers for each in watched.callbacks)
    training = "otherwise" if steers else "unchanged"
    yield {"text": "without validation", "line": line, "kind": "ceiling", "training": training}
    # What steers by validation would train otherwise.
    if every is not None and before.isdigit() and not steers:
        frequency = f"{every * int(before)}"
        yield {"text": f"validation_freq={frequency}", "line": line, "target": frequency}


def _install(run: ScriptRun, target: str) -> None:
    def change(arguments: Arguments) -> None:
        if arguments.get("validation_data") is not None or arguments.get("validation_split"):
            arguments["validation_freq"] = int(target or NEVER)
            run.applied()

    intercept(run, change, "fit")


VALIDATION = Intervention(
    "validation", "validation", _find, _install, needs="validation is seen less often"
)
