"""What a script can't have in a run is stood in for, and said; or fails by its name."""

from __future__ import annotations

import builtins
import gzip
import io
import json
import os
import pickle
import socket
import sys
import tarfile
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from suite.worker.why import stand_ins
from suite.worker.why.stand_ins import MADE_UP, NoNetwork

KERAS = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"


@dataclass
class Run:
    """A run whose patches are kept: what Keras would call is ``keras[name]``."""

    folder: Path
    home: Path
    notes: list[str] = field(default_factory=list)
    keras: dict[str, Any] = field(default_factory=dict)
    tree: Any = field(default_factory=lambda: SimpleNamespace(source=b"get_ipython().magic('x')"))

    def note(self, text: str) -> None:
        self.notes += [] if text in self.notes else [text]

    def patch(self, name: str, make: Callable[[Any], Any]) -> None:
        originals: dict[str, Any] = {
            "keras_home": lambda: str(self.home),
            "download": urllib.request.urlretrieve,
            "validate_file": lambda *_: False,
            "load_weights": lambda *_: "loaded",
        }
        self.keras[name] = make(originals.get(name))

    def download(self, origin: str, subdir: str = "datasets") -> Path:
        target = Path(self.keras["keras_home"]()) / subdir / origin.rpartition("/")[2]
        target.parent.mkdir(parents=True, exist_ok=True)
        self.keras["download"](origin, str(target), None)
        return target


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The stand-ins in place, and taken away again."""
    for owner, name in ((socket, "getaddrinfo"), (builtins, "input")):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    for name in ("display", "get_ipython"):
        monkeypatch.setitem(builtins.__dict__, name, None)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    for name in ("IPython", "IPython.display", "tensorboard"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setenv("DATA", str(tmp_path / "data"))
    (tmp_path / "run" / "script").mkdir(parents=True)
    result = Run(folder=tmp_path / "run" / "script", home=tmp_path / "home")
    stand_ins.install(result)  # type: ignore[arg-type]  what it needs of one
    return result


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("mnist.npz", [(60000, 28, 28), (60000,), (10000, 28, 28), (10000,)]),
        ("boston_housing.npz", [(506, 13), (506,)]),
        ("california_housing.npz", [(20640, 8), (20640,)]),
        ("reuters.npz", [(11228,), (11228,)]),
    ],
)
def test_archives_have_the_shapes_of_the_real_ones(
    name: str, shapes: list[tuple[int, ...]], run: Run
) -> None:
    with np.load(run.download(KERAS + name), allow_pickle=True) as arrays:
        assert [arrays[key].shape for key in arrays] == shapes
        if name == "mnist.npz":
            assert {arrays[key].dtype for key in arrays} == {np.dtype("uint8")}
            assert set(arrays["y_test"]) == set(range(10))
        if name == "reuters.npz":
            assert 1 <= min(map(min, arrays["x"])) <= max(map(max, arrays["x"])) <= 30979
    assert run.notes == [f"{name} is made up, in the shapes of the real data"]


def test_the_other_formats_are_keras_s_own(run: Run) -> None:
    images = gzip.decompress(
        run.download(f"{KERAS}t10k-images-idx3-ubyte.gz", "fashion-mnist").read_bytes()
    )
    labels = gzip.decompress(
        run.download(f"{KERAS}t10k-labels-idx1-ubyte.gz", "fashion-mnist").read_bytes()
    )
    assert (len(images), len(labels)) == (16 + 10000 * 28 * 28, 8 + 10000)
    assert len(json.loads(run.download(f"{KERAS}imdb_word_index.json").read_text())) == 88584
    assert run.notes == [
        "fashion-mnist is made up, in the shapes of the real data",
        "imdb_word_index.json is made up, in the shapes of the real data",
    ]


def test_a_missing_tensorboard_writes_nothing_and_is_said_once(run: Run) -> None:
    assert run.notes == []
    for kind in ("scalar", "histogram", "text"):
        assert run.keras[f"summary.{kind}"]("loss", 0.5, step=1) is False
    assert run.notes == ["tensorboard is not installed here: tf.summary writes no values"]


def test_cifar_is_an_archive_of_pickles() -> None:
    file = io.BytesIO()
    stand_ins._write_cifar(file, "cifar-100-python", {"test": 50}, 100)
    file.seek(0)
    with tarfile.open(fileobj=file) as tar:
        part = tar.extractfile("cifar-100-python/test")
        assert part is not None
        content = pickle.loads(part.read(), encoding="bytes")  # noqa: S301  our own
    assert content[b"data"].shape == (50, 3072)
    assert [n % 20 for n in content[b"fine_labels"]] == content[b"coarse_labels"]


def test_what_is_made_up_is_the_same_in_every_run_and_nothing_goes_to_the_real_cache(
    run: Run, tmp_path: Path
) -> None:
    first = run.download(f"{KERAS}boston_housing.npz")
    content = first.read_bytes()
    first.resolve().unlink()
    assert run.download(f"{KERAS}boston_housing.npz").read_bytes() == content
    assert not (tmp_path / "home").exists()
    # The next run in the same place isn't taken in: it has to be told, and its hash isn't the real one's.
    assert stand_ins._find({"boston_housing.npz"}, [tmp_path / stand_ins.STORE]) is None
    assert run.keras["validate_file"](str(first), "hash")
    assert not run.keras["validate_file"]("other", "hash")


@pytest.mark.parametrize("place", ["home/datasets", "data/deep/below"])
def test_a_file_that_is_there_is_taken(place: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / place).mkdir(parents=True)
    for name in ("mnist.npz", "flowers.tgz"):
        (tmp_path / place / name).write_text("real")
        assert run.download(f"https://host/{name}").read_text() == "real"
    assert run.notes == []


def test_downloaded_weights_are_stood_in_for_by_the_models_own(run: Run) -> None:
    name = "vgg16_weights_tf_dim_ordering_tf_kernels_notop.h5"
    target = run.download(
        f"https://storage.googleapis.com/tensorflow/keras-applications/vgg16/{name}", "models"
    )
    assert run.keras["load_weights"]("model", str(target)) is None
    assert run.keras["load_weights"]("model", "own.h5") == "loaded"
    assert run.notes == [f"{name}: weights as the model began with stand for the downloaded ones"]


@pytest.mark.usefixtures("run")
def test_a_download_fails_by_its_whole_address() -> None:
    with pytest.raises(urllib.error.URLError) as failed:
        urllib.request.urlopen("http://example.com:81/folder/file.zip?x=1")
    cause = failed.value.reason
    assert isinstance(cause, NoNetwork)
    assert cause.url == "http://example.com:81/folder/file.zip?x=1"
    with pytest.raises(OSError, match="no network here for example"):
        socket.create_connection(("example.org", 80))
    assert socket.getaddrinfo("127.0.0.1", 80)


def test_an_unknown_file_of_keras_s_fails_by_its_address(run: Run) -> None:
    with pytest.raises(urllib.error.URLError, match=r"https://host/shakespeare\.txt"):
        run.download("https://host/shakespeare.txt")


def test_questions_are_answered_with_nothing(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert [input("name? "), input()] == ["", ""]
    assert capsys.readouterr().out == "name? \n\n"
    assert run.notes == ["input() was answered with an empty line"]


@pytest.mark.usefixtures("run")
def test_a_notebooks_display_prints(capsys: pytest.CaptureFixture[str]) -> None:
    exec(  # noqa: S102
        "from IPython.display import clear_output, display as show\nclear_output()\ndisplay(1)\nshow(2)"
    )
    assert capsys.readouterr().out == "1\n2\n"
    assert os.environ["MPLBACKEND"] == "Agg"


def test_every_data_set_of_keras_s_is_there() -> None:
    assert {name.partition(".")[0].partition("-")[0] for name in MADE_UP} == {
        *("mnist", "train", "t10k", "cifar", "imdb", "imdb_word_index", "reuters"),
        *("reuters_word_index", "boston_housing", "california_housing"),
    }
