"""Arrays converted to tensors once: what was converted before is taken from there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from suite.model.why import Try, Watched
from suite.worker.why.intervention import Intervention, is_worth

if TYPE_CHECKING:
    from suite.worker.why.run import ScriptRun


def _propose(watched: Watched, on_gpu: bool) -> Iterator[Try]:
    counts = watched.counts
    calls, arrays = counts.get("convert", 0.0), counts.get("arrays", 0.0)
    if is_worth(watched, counts.get("convert_s", 0.0)) and calls > arrays:
        # Few arrays, again and again: those themselves.  Slices of them: another way of slicing.
        fix = calls >= 4 * arrays
        yield Try(
            name="convert",
            intervention="convert",
            cause="transfer" if on_gpu else "overhead",
            kind="fix" if fix else "ceiling",
            line=watched.lines.get("convert"),
            text="tf.constant(…) of the array once, before the loop"
            if fix
            else "without the conversion of NumPy arrays and lists at each step",
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
            if key in kept:
                run.applied()
            else:
                # With the array, so that no other one comes to lie in its place.
                kept[key] = (original(value, context, dtype), value)
            return kept[key][0]

        return convert

    run.patch("convert", remember)


CONVERT = Intervention(name="convert", propose=_propose, install=_install, needs=("convert",))
