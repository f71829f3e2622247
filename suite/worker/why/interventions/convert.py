"""Arrays converted to tensors once: what was converted before is taken from there."""

from __future__ import annotations

from typing import Any

from suite.model.why import Watched
from suite.worker.why.calls import find_place
from suite.worker.why.intervention import Intervention, Offers, is_worth
from suite.worker.why.run import ScriptRun


def _find(watched: Watched) -> Offers:
    calls, arrays = watched.counts.get("convert", 0.0), watched.counts.get("arrays", 0.0)
    if is_worth(watched, watched.counts.get("convert_s", 0.0)) and calls > arrays:
        # Few arrays, again and again: those themselves.  Slices of them need another way of slicing.
        kind, text = "ceiling", "without the conversion of arrays and lists at each step"
        if calls >= 4 * arrays:
            kind, text = "fix", "tf.constant(…) of the array once, before the loop"
        yield {"text": text, "line": watched.lines.get("convert"), "kind": kind}


def _install(run: ScriptRun, _target: str) -> None:
    kept: dict[Any, tuple[Any, Any]] = {}

    def remember(original: Any) -> Any:
        def convert(value: Any, context: Any, dtype: Any = None) -> Any:
            place = find_place(value)
            if place is None:
                return original(value, context, dtype)
            shape = [getattr(value, each, len(value)) for each in ("shape", "strides", "dtype")]
            key = (place, *shape, dtype, context.device_name)
            run.applied(key in kept)
            if key not in kept:
                # With the array, so that no other one comes to lie in its place.
                kept[key] = (original(value, context, dtype), value)
            return kept[key][0]

        return convert

    run.patch("convert", remember)


CONVERT = Intervention("convert", "transfer", _find, _install)
