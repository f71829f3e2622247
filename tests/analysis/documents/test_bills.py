"""Tests of reading bills of materials: our own as they are written, and whatever else lies in that place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from suite.analysis.documents.bills import MOST_PACKAGES, read_bill
from suite.host.provision.images import lock_identity
from suite.host.provision.sbom import write_bill
from suite.model import NOT_FROM_LOCK, Image

LOCK = """\
h5py==3.15.1 \\
    --hash=sha256:{0}
NumPy==2.3.5 ; python_version >= "3.11" \\
    --hash=sha256:{0}
tomli==2.3.0 ; python_version < "3.11" \\
    --hash=sha256:{0}
""".format("0" * 64)


def _image(lock: str) -> Image:
    return Image(id="sha256:0", content=None, base="a base", digests=[], lock=lock, origin="built")


def test_our_own_bill_is_read_as_it_is_written(tmp_path: Path) -> None:
    lock = tmp_path / "cpu.txt"
    lock.write_text(LOCK, encoding="utf-8")
    image = _image(lock_identity(lock))
    bill = write_bill("cpu", image, "3.13", "x86_64", tmp_path)
    assert read_bill(bill.encode()) == {"h5py": "3.15.1", "numpy": "2.3.5"}


def test_a_package_that_only_some_python_would_take_is_not_said_to_be_there(tmp_path: Path) -> None:
    lock = tmp_path / "cpu.txt"
    lock.write_text(LOCK, encoding="utf-8")
    bill = write_bill("cpu", _image(lock_identity(lock)), None, "x86_64", tmp_path)
    assert read_bill(bill.encode()) == {"h5py": "3.15.1", "numpy": None, "tomli": None}


def test_of_an_image_from_no_lock_nothing_is_known(tmp_path: Path) -> None:
    bill = write_bill("cpu", _image(NOT_FROM_LOCK), "3.13", "x86_64", tmp_path)
    assert read_bill(bill.encode()) == {}


def _bill(*components: Any) -> bytes:
    return json.dumps({"bomFormat": "CycloneDX", "components": components}).encode()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"bomFormat": "SPDX", "components": []}',
        b'{"bomFormat": "CycloneDX"}',
        b'{"bomFormat": "CycloneDX", "components": null}',
        _bill(*[{"name": "a", "version": "1"}] * (MOST_PACKAGES + 1)),
        _bill("h5py"),
        _bill({"name": "h5py", "version": "3.15.1"}, {"name": "@types/node", "version": "1"}),
        _bill({"name": "h5py"}),
        _bill({"name": "h5py", "version": "1](http://example.org)"}),
    ],
)
def test_what_is_no_bill_of_packages_alone_tells_nothing(content: bytes) -> None:
    assert read_bill(content) == {}


def test_names_are_compared_as_on_pypi_and_two_versions_are_none() -> None:
    absl = {"name": "Absl_Py", "version": "2.5.1", "properties": [{"name": "other", "value": "x"}]}
    twice = [{"name": "markdown", "version": version} for version in ("3.11.3", "0.1")]
    assert read_bill(_bill(absl, *twice)) == {"absl-py": "2.5.1", "markdown": None}
