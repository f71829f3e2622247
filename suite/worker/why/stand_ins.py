"""What a script asks for that a run can't have, and what it gets instead: data made up in the same shapes, an
empty answer, or an error that names what is missing.
"""

from __future__ import annotations

import builtins
import gzip
import importlib.util
import io
import json
import os
import pickle
import re
import socket
import sys
import tarfile
import traceback
import types
from collections.abc import Callable, Mapping
from functools import partial
from importlib.machinery import ModuleSpec
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from suite.worker.why.names import NAMES
from suite.worker.why.tree import TIMES, describe_left_out, leave_out

if TYPE_CHECKING:
    from suite.worker.why.run import ScriptRun

MOST_FILES = 20_000
"""So many files of the data's folder are looked through for one that a script would download."""

STORE = f"crossover-made-up-{os.getuid()}"
"""The folder of the files that are made up."""

_URL = re.compile(r"(https?|ftp|gs|s3)://")
_HERE = (None, "", b"localhost", "localhost", "127.0.0.1", "::1", "0.0.0.0")  # noqa: S104  no binding


class NoNetwork(socket.gaierror):
    """A run has no network; ``url`` is what was asked for, or its host."""

    def __init__(self, url: str) -> None:
        super().__init__(socket.EAI_AGAIN, f"there is no network here for {url}")
        self.url = url


NOTEBOOK = ("run_line_magic", "run_cell_magic", "magic", "system", "getoutput")
"""What a converted notebook calls of ``get_ipython()``."""


class Notebook:
    """What ``get_ipython()`` gives: it runs the code in magics, and leaves out the rest."""

    def __init__(self, run: ScriptRun) -> None:
        self._run = run

    def __bool__(self) -> bool:
        """Libraries that ask whether there is a notebook are told that there is none."""
        return False

    def __getattr__(self, name: str) -> Callable[..., list[Any]]:
        """A method by which notebooks are converted; the last argument of a magic may be code."""
        if name not in NOTEBOOK:
            raise AttributeError(f"there is no notebook here, and no get_ipython().{name}")

        def method(*words: Any) -> list[Any]:
            line, code = self._run.user_line() or 1, ""
            left = [(1, f"get_ipython().{name}{words!r}")]
            if len(words) > 1 and re.fullmatch(TIMES, str(words[0])):
                code, left = leave_out(str(words[-1]))
            for _, what in left:
                self._run.note(describe_left_out(line, what))
            self._run.tree.run(code, line, sys._getframe(1).f_globals)  # noqa: SLF001
            return []

        return method


def install(run: ScriptRun) -> None:
    """Puts the stand-ins in place, in the process that runs the script."""

    def answer(prompt: object = "") -> str:
        sys.stdout.write(f"{prompt}\n")
        run.note("input() was answered with an empty line")
        return ""

    builtins.input = answer
    shell = {"display": print, "get_ipython": lambda: Notebook(run)}
    is_converted = any(f"get_ipython().{name}(".encode() in run.tree.source for name in NOTEBOOK)
    # Where it is missing, a script sees that it is none.
    names = shell if is_converted else ["display"]
    builtins.__dict__.update({name: shell[name] for name in names})
    for name in ("IPython", "IPython.display") if not importlib.util.find_spec("IPython") else ():
        sys.modules[name] = module = types.ModuleType(name)
        module.__dict__.update(
            __path__=[],
            __spec__=ModuleSpec(name, None),
            __getattr__=lambda name: shell.get(name, lambda *_, **__: None),
        )
    os.environ |= {"MPLBACKEND": "Agg", "NO_GCE_CHECK": "true"}
    if (sets := Path(os.environ.get("DATA", "")) / "tensorflow_datasets").is_dir():
        os.environ.setdefault("TFDS_DATA_DIR", str(sets))
    socket.getaddrinfo = _refuse(socket.getaddrinfo)
    _stand_for_downloads(run)
    if importlib.util.find_spec("tensorboard") is None:
        for name in NAMES:
            if name.startswith("summary."):
                run.patch(name, partial(_write_nothing, run))


def _write_nothing(run: ScriptRun, _original: Any) -> Any:
    """What TensorFlow leaves to tensorboard to write; a callback does all else that it does."""

    def write(*_words: Any, **_named: Any) -> bool:
        run.note("tensorboard is not installed here: tf.summary writes no values")
        return False

    return write


def _refuse(original: Any) -> Any:
    def getaddrinfo(host: Any, *words: Any, **named: Any) -> Any:
        if host in (*_HERE, socket.gethostname()):
            return original(host, *words, **named)
        host = host.decode(errors="replace") if isinstance(host, bytes) else str(host)
        # Whoever asks holds the whole address in some variable.
        for frame, _ in traceback.walk_stack(sys._getframe(1)):  # noqa: SLF001
            for value in list(frame.f_locals.values()):
                if isinstance(value, str) and _URL.match(value) and host in value:
                    raise NoNetwork(value)
        raise NoNetwork(host)

    return getaddrinfo


# --- What Keras downloads --------------------------------------------------------------------------------


def _stand_for_downloads(run: ScriptRun) -> None:
    made_up: set[str] = set()
    home = run.folder.parent / "keras"
    home.mkdir(exist_ok=True)
    homes: list[str] = []

    def watch_home(original: Any) -> Any:
        homes.append(original())
        return lambda: str(home)

    def watch_download(original: Any) -> Any:
        def download(origin: str, target: str, *rest: Any) -> Any:
            name = PurePosixPath(urlsplit(origin).path).name
            places = [Path(place) for place in (*homes, os.environ.get("DATA")) if place]
            own = _find({name, Path(target).name}, places)
            if own is None and "keras-applications" in origin:
                run.note(f"{name}: weights as the model began with stand for the downloaded ones")
                made_up.add(target)
            elif own is None and name in MADE_UP:
                folder = Path(target).parent.name
                label = name if folder == "datasets" else folder
                run.note(f"{label} is made up, in the shapes of the real data")
                made_up.add(target)
                own = _make(name, run.folder.parents[1])
            elif own is None:
                return original(origin, target, *rest)
            Path(target).unlink(missing_ok=True)
            Path(target).symlink_to(own or os.devnull)
            return target, None

        return download

    def answer(value: Any, original: Any) -> Any:
        def call(*words: Any, **named: Any) -> Any:
            is_real = made_up.isdisjoint(map(str, (*words, *named.values())))
            return original(*words, **named) if is_real else value

        return call

    run.patch("keras_home", watch_home)
    run.patch("download", watch_download)
    run.patch("validate_file", partial(answer, True))
    run.patch("load_weights", partial(answer, None))


def _find(names: set[str], places: list[Path]) -> Path | None:
    """The first file of one of the names in the folders, however deep; none that another run made up."""
    files = (path for place in places for path in islice(place.rglob("*"), MOST_FILES))
    own = (path for path in files if path.name in names and path.parent.name != STORE)
    return next((path for path in own if path.is_file()), None)


def _make(name: str, folder: Path) -> Path:
    """The made-up file of a name, which the runs of a container share."""
    store = folder / STORE
    store.mkdir(mode=0o700, exist_ok=True)
    path, part = store / name, store / f"{name}.{os.getpid()}"
    if not path.exists():
        with part.open("wb") as file:
            MADE_UP[name](file)
        part.rename(path)
    return path


def _images(count: int, shape: tuple[int, ...], classes: int) -> tuple[Any, Any]:
    """Bytes as images: a picture for each class, and noise on it."""
    import numpy as np

    pictures = np.random.default_rng(classes).integers(128, size=(classes, *shape), dtype=np.uint8)
    source = np.random.default_rng(count)
    labels = source.integers(classes, size=count, dtype=np.uint8)
    return pictures[labels] + source.integers(128, size=(count, *shape), dtype=np.uint8), labels


def _texts(count: int, words: int, classes: int, length: int) -> tuple[Any, Any]:
    """Lists of word numbers, of which the low ones are as frequent as in texts, and classes."""
    import numpy as np

    source = np.random.default_rng(count)
    lengths = source.lognormal(np.log(length), 0.6, count).astype(int).clip(11, 2500)
    numbers = (words ** source.random(int(lengths.sum()))).astype(int)
    texts = np.empty(count, object)
    texts[:] = [part.tolist() for part in np.split(numbers, lengths.cumsum()[:-1])]
    return texts, source.integers(classes, size=count)


def _houses(count: int, width: int, dtype: str) -> tuple[Any, Any]:
    import numpy as np

    x = np.random.default_rng(count).standard_normal((count, width)).astype(dtype)
    return x, (20 + x.sum(axis=1)).astype(dtype)


def _write_arrays(file: Any, made: tuple[Any, Any], train: int = 0) -> None:
    """An archive of NumPy's: in one, or with so many for training."""
    import numpy as np

    x, y = made
    halves = {"x_train": x[:train], "y_train": y[:train], "x_test": x[train:], "y_test": y[train:]}
    np.savez(file, **(halves if train else {"x": x, "y": y}))


def _write_cifar(file: Any, folder: str, counts: Mapping[str, int], classes: int) -> None:
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name, count in counts.items():
            x, y = _images(count, (3072,), classes)
            labels = dict.fromkeys((b"labels", b"fine_labels"), y.tolist())
            data = pickle.dumps({b"data": x, b"coarse_labels": (y % 20).tolist(), **labels})
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))


def _write_idx(file: Any, count: int, part: int) -> None:
    with gzip.open(file, "wb", compresslevel=0) as packed:
        packed.write(bytes(8 if part else 16) + _images(count, (28, 28), 10)[part].tobytes())


def _write_words(file: Any, count: int) -> None:
    file.write(json.dumps({f"word{n}": n for n in range(1, count + 1)}).encode())


_TEN = {**{f"data_batch_{n}": 10_000 for n in range(1, 6)}, "test_batch": 10_000}
_HUNDRED = {"train": 50_000, "test": 10_000}

MADE_UP: Mapping[str, Callable[[Any], None]] = {
    "mnist.npz": lambda file: _write_arrays(file, _images(70_000, (28, 28), 10), 60_000),
    "train-images-idx3-ubyte.gz": lambda file: _write_idx(file, 60_000, 0),
    "train-labels-idx1-ubyte.gz": lambda file: _write_idx(file, 60_000, 1),
    "t10k-images-idx3-ubyte.gz": lambda file: _write_idx(file, 10_000, 0),
    "t10k-labels-idx1-ubyte.gz": lambda file: _write_idx(file, 10_000, 1),
    "cifar-10-python.tar.gz": lambda file: _write_cifar(file, "cifar-10-batches-py", _TEN, 10),
    "cifar-100-python.tar.gz": lambda file: _write_cifar(file, "cifar-100-python", _HUNDRED, 100),
    "imdb.npz": lambda file: _write_arrays(file, _texts(50_000, 88_584, 2, 200), 25_000),
    "imdb_word_index.json": lambda file: _write_words(file, 88_584),
    "reuters.npz": lambda file: _write_arrays(file, _texts(11_228, 30_979, 46, 120)),
    "reuters_word_index.json": lambda file: _write_words(file, 30_979),
    "boston_housing.npz": lambda file: _write_arrays(file, _houses(506, 13, "float64")),
    "california_housing.npz": lambda file: _write_arrays(file, _houses(20_640, 8, "float32")),
}
"""By the name of the file that Keras downloads: what writes one like it."""
