"""Whether a Python and its TensorFlow are what the worker needs; names what was found and what lacks.

Run as ``python3 -m suite.worker.session.preflight`` when the suite is laid on an image that brings its own
TensorFlow.  Nothing newer than Python 3.8 outside functions, so that an old one can be told so.
"""

from __future__ import annotations

import json
import re
import sys

OLDEST_PYTHON = (3, 11)
"""What the worker's own source needs, and Keras."""

OLDEST_TENSORFLOW = (2, 15)
"""The last with Keras 2, the first that was tried: it trains the networks to the same losses as Keras 3
(docs/decisions/0068)."""


class Unfit(Exception):
    """This Python or its TensorFlow can't carry the worker; the text says what was found."""


def check_python() -> str:
    """Its name: ``Python 3.12.3 (/usr/bin/python3)``.

    Raises:
        Unfit: it is older than the worker needs.
    """
    version = "Python {}.{}.{} ({})".format(*sys.version_info[:3], sys.executable)
    if sys.version_info < OLDEST_PYTHON:
        raise Unfit(
            "its python3 is {}, and the worker needs {}.{} or newer".format(version, *OLDEST_PYTHON)
        )
    return version


def check_tensorflow(*, gpu: bool) -> str:
    """What there is, in words; imports TensorFlow.

    Args:
        gpu: it has to be built for NVIDIA's GPUs.

    Raises:
        Unfit: there is none that the worker can use.
    """
    software = check_python()
    try:
        import numpy as np
        import tensorflow as tf
    except Exception as error:
        # A TensorFlow that is there and can't be loaded raises whatever its libraries do.
        raise Unfit(f"its {software} can't import tensorflow and numpy: {_tell(error)}") from error
    try:
        from suite.worker.proof.facts import keras_version

        build = tf.sysconfig.get_build_info()
        version = str(tf.version.VERSION)
        keras = keras_version()
    except Exception as error:
        said = "has a tensorflow that says nothing of itself"
        raise Unfit(f"its {software} {said}: {_tell(error)}") from error
    cuda = bool(build.get("is_cuda_build", False))
    for_what = f"CUDA {build.get('cuda_version') or 'of unknown version'}" if cuda else "CPU only"
    software += f", TensorFlow {version} ({for_what}), Keras {keras}, NumPy {np.__version__}"
    if gpu and not cuda:
        raise Unfit(f"its TensorFlow is built for the CPU only (is_cuda_build: False): {software}")
    if _numbers(version) < OLDEST_TENSORFLOW:
        raise Unfit("its TensorFlow is older than {}.{}: {}".format(*OLDEST_TENSORFLOW, software))
    return software


def try_out() -> None:
    """Runs the worker's start-up sequence without a GPU, and has a graph's placement read.

    Raises:
        Unfit: one of them fails.
    """
    from suite.worker.proof import placement
    from suite.worker.session import startup

    try:
        startup.start(gpu=False)
        import tensorflow as tf

        with placement.watch() as nodes:
            tf.function(lambda left: tf.matmul(left, left))(tf.ones((2, 2)))
    except Exception as error:
        raise Unfit(f"the worker's first steps fail: {_tell(error)}") from error
    if not nodes:
        raise Unfit("its TensorFlow does not tell on which device a graph's operations ran")


def explain(error: Exception) -> str | None:
    """What this TensorFlow lacks that could explain the worker's failure; None: nothing known."""
    try:
        check_tensorflow(gpu=False)
    except Unfit as lack:
        return f"{lack} ({_tell(error)})"
    return None


def main() -> int:
    """Says in one JSON record, the last line of standard output, whether an image is fit.

    Returns:
        0, or 1 where it is unfit.
    """
    try:
        record = {"record": "fit", "found": check_tensorflow(gpu=True)}
        try_out()
    except Unfit as reason:
        record = {"record": "unfit", "reason": str(reason)}
    sys.stdout.write("\n" + json.dumps(record) + "\n")
    return 0 if record["record"] == "fit" else 1


def _numbers(version: str) -> tuple[int, ...]:
    """``(2, 17)`` of ``2.17.0+nv25.2``."""
    return tuple(int(digits) for digits in re.findall(r"\d+", version)[:2])


def _tell(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


if __name__ == "__main__":
    sys.exit(main())
