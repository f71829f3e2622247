"""Why a run of a script came to nothing: the script's own error, or what was looked for."""

from __future__ import annotations

import errno
import os
import re
import signal
import traceback
from pathlib import Path
from typing import Any

import suite
from suite.worker.why.stand_ins import NoNetwork

TEXT_CHARS = 2000
"""Of an error's own words, so many are kept."""

LAST_FRAMES = 10
"""Of the frames behind the script's first, so many of the last ones are kept."""

LOOKED_FOR = (
    "Model.fit, Model.train_on_batch, a tf.function that takes a gradient, and GradientTape.gradient with "
    "an optimizer's apply or apply_gradients"
)

ARGPARSE_ERROR = 2
"""The exit status of a script that was called with other arguments than it takes."""

_IN_FOLDER = "it was looked for from the script's folder: DATA=folder brings data in"
_MEMORY = "memory ran out"
_ADVICE = {
    "ModuleNotFoundError": "neither the image nor the script's folder has it: REQUIREMENTS=lock.txt brings "
    "packages in",
    **dict.fromkeys(("FileNotFoundError", "NotFoundError"), _IN_FOLDER),
    **dict.fromkeys(("MemoryError", "ResourceExhaustedError"), _MEMORY),
    "SystemExit": "the script ended itself before its training was seen",
}
"""By the name of an error's class, Python's or TensorFlow's."""

_LIBRARY = re.compile(r'File "[^"\n]*/(site-packages|python3\.\d+)/')

_GRAPH = re.compile(
    r'Graph execution error:|Detected at node .*|<stack traces unavailable>|^\s*File ".*',
    re.MULTILINE,
)
"""What TensorFlow says of where in a graph an error came up, around the error itself."""

LINE_CHARS = 300
"""So many characters of an error stand in a line."""

_OURS = str(Path(suite.__file__).parent)


def describe(error: BaseException, file: str) -> tuple[str, str]:
    """A script's error in a line, with what to do about it; and its traceback from the script's own first
    frame, the places of its files as they are in its folder."""
    folder = f"{Path(file).parent}{os.sep}"
    shown = traceback.TracebackException.from_exception(error)
    for part in _chain(shown):
        names = [frame.filename for frame in part.stack]
        own = part.stack[names.index(file) :] if file in names else []
        kept = [frame for frame in own if not frame.filename.startswith(_OURS)]
        part.stack = traceback.StackSummary.from_list([*kept[:1], *kept[1:][-LAST_FRAMES:]])
    said = "".join(shown.format_exception_only()).strip()
    lines = [frame.lineno for frame in shown.stack if frame.filename == file]
    if isinstance(error, SyntaxError):
        said, lines = said.splitlines()[-1], [error.lineno]
    said = " ".join(_GRAPH.sub("", said).split())
    said = said if len(said) <= LINE_CHARS else f"{said[:LINE_CHARS]} …"
    at = f"line {lines[-1]}: " if lines else ""
    advice = next(filter(None, map(_advise, _chain(error))), "")
    text = _LIBRARY.sub('File "', "".join(map(_cut, shown.format())).strip())
    return (
        "; ".join(filter(None, ((at + said).rstrip("."), advice))).replace(folder, ""),
        "\n".join(filter(None, (text, advice))).replace(folder, ""),
    )


def _cut(text: str) -> str:
    half = TEXT_CHARS // 2
    return text if len(text) <= TEXT_CHARS else f"{text[:half]} … {text[-half:]}"


def _chain(error: Any) -> list[Any]:
    """An error, or what is shown of one, and those that it came from."""
    chain: list[Any] = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or error.__context__
    return chain


def _advise(error: BaseException) -> str:
    """What to do about an error that has to do with where a run is; empty: it has not."""
    if isinstance(error, NoNetwork):
        return f"a run has no network: download {error.url}, and give its folder as DATA="
    if isinstance(error, SystemExit) and error.code == ARGPARSE_ERROR:
        return "ARGS=… are the script's arguments"
    if isinstance(error, OSError) and error.errno in (errno.EROFS, errno.EACCES):
        return "a run may write in the script's folder and in the temporary one only"
    kinds = {kind.__name__ for kind in type(error).__mro__}
    return next((text for name, text in _ADVICE.items() if name in kinds), "")


def describe_no_steps(steps: int) -> str:
    """Why no window was found."""
    if steps:
        return f"only {steps} training steps were seen before the script ended: too few to time"
    return f"no training step was seen before the script ended; looked for: {LOOKED_FOR}"


def describe_end(code: int) -> str:
    """How a process ended that did not tell; ``code`` is negative for a signal."""
    if code == -signal.SIGKILL:
        return "its process was killed, as the system does where memory runs out"
    if code < 0:
        return f"its process was ended by signal {-code} ({signal.strsignal(-code)})"
    return f"it ended its process itself (exit status {code}) before its training was seen"
