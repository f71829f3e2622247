"""Arrays converted to tensors once: what was converted before is taken from there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from suite.model.why import Try, Watched
from suite.worker.why.intervention import Intervention, is_worth, make_try
from suite.worker.why.run import ScriptRun


def _propose(watched: Watched, on_gpu: bool) -> Iterator[Try]:
    calls, arrays = watched.counts.get("convert", 0.0), watched.counts.get("arrays", 0.0)
    if is_worth(watched, watched.counts.get("convert_s", 0.0)) and calls > arrays:
        # Few arrays, again and again: those themselves.  Slices of them need another way of slicing.
        fix = calls >= 4 * arrays
        yield make_try(
            "convert",
            "transfer" if on_gpu else "overhead",
            "tf.constant(…) of the array once, before the loop"
            if fix
            else "without the conversion of arrays and lists at each step",
            watched.lines.get("convert"),
            kind="fix" if fix else "ceiling",
        )


def _install(run: ScriptRun, _target: str) -> None:
    import numpy as np

    kept: dict[Any, tuple[Any, Any]] = {}

    def remember(original: Any) -> Any:
        def convert(value: Any, context: Any, dtype: Any = None) -> Any:
            is_array = isinstance(value, np.ndarray)
            if not (is_array or isinstance(value, list)):
                return original(value, context, dtype)
            place = value.__array_interface__["data"][0] if is_array else id(value)
            shape = (value.shape, value.strides, value.dtype) if is_array else len(value)
            key = (place, shape, dtype, context.device_name)
            run.applied(key in kept)
            if key not in kept:
                # With the array, so that no other one comes to lie in its place.
                kept[key] = (original(value, context, dtype), value)
            return kept[key][0]

        return convert

    run.patch("convert", remember)


CONVERT = Intervention(name="convert", propose=_propose, install=_install, needs=("convert",))
