"""Tests of what two arms ran otherwise, by their documents and by the bills of their images."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

from suite.analysis.analyse import analyse
from suite.analysis.documents.read import load_campaign
from suite.analysis.versions.software import find_software, tell_difference
from tests.golden_campaigns import write_golden

NEW = {"h5py": "3.15.1", "keras": "3.13.2", "wheel": "0.45"}
OLD = {"h5py": "3.14.0", "keras": "3.12.0", "wrapt": "1.17"}


def test_a_package_that_one_image_has_not_is_told_where_both_are_known() -> None:
    found = find_software([], {"cpu": NEW, "cpu@2.20": OLD})
    assert tell_difference(found["cpu@2.20"], found["cpu"]) == {
        "h5py": ("3.14.0", "3.15.1"),
        "wheel": ("", "0.45"),
        "wrapt": ("1.17", ""),
    }
    # Of an image without a bill nothing is said.
    assert find_software([], {"cpu": NEW}).get("cpu@2.20") is None


def _write(at: Path, bills: dict[str, str]) -> Path:
    folder = write_golden("versions", at)
    (folder / "sbom").mkdir()
    for name, text in bills.items():
        (folder / "sbom" / name).write_text(text, encoding="utf-8")
    return folder


def _bill(packages: dict[str, str]) -> str:
    components = [{"name": name, "version": version} for name, version in packages.items()]
    return json.dumps({"bomFormat": "CycloneDX", "components": components})


def test_the_bills_in_a_folder_are_read_for_arms_that_are_versions(tmp_path: Path) -> None:
    bills = {"cpu.cdx.json": _bill(NEW), "cpu-2.20.cdx.json": _bill(OLD)}
    folder = _write(tmp_path, bills)
    loaded = load_campaign(folder)
    assert loaded.packages == {"cpu": NEW, "cpu@2.20": OLD}
    (change,) = analyse(loaded).versions
    # What the documents say comes first, and of what they say the bills say nothing.
    assert list(change.software) == ["TensorFlow", "Keras", "h5py", "wheel", "wrapt"]
    shutil.rmtree(folder / "sbom")
    assert load_campaign(folder) == replace(loaded, packages={})


def test_a_bill_that_is_none_tells_nothing_and_the_numbers_stay(tmp_path: Path) -> None:
    loaded = load_campaign(_write(tmp_path, {"cpu.cdx.json": "{", "cpu-2.20.cdx.json": _bill(OLD)}))
    assert loaded.packages == {"cpu@2.20": OLD}
    (change,) = analyse(loaded).versions
    assert list(change.software) == ["TensorFlow", "Keras"]


def test_a_package_of_which_nobody_knows_whether_it_is_there_is_not_told() -> None:
    found = find_software([], {"cpu": {"h5py": None}, "cpu@2.20": {"h5py": "3.14.0"}})
    assert tell_difference(found["cpu@2.20"], found["cpu"]) == {}
