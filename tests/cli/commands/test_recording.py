"""The record of false verdicts: what the command adds, what it refuses, and what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from suite.analysis.analyse import analyse_folder
from suite.cli import entry
from suite.cli.commands.record import FOLDER, add_campaigns, write_page
from suite.errors import DocumentError, UsageError
from suite.report.exports.summary import render_json
from tests.aa_campaigns import slower, write
from tests.cli.shell import Shell, well


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout without a record."""
    (tmp_path / "checkout" / "docs").mkdir(parents=True)
    return tmp_path / "checkout"


def files(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def test_a_campaign_is_added_under_a_name_that_tells_nothing(
    root: Path, tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry, "ROOT", root)
    folder = write(tmp_path / "secret-host", label="secret")
    heard = well(shell.run("record", str(folder)))
    name, page = heard.out.split()
    assert re.fullmatch(r"results/record/20261121-[0-9a-f]{12}\.json", name)
    assert files(root) == {name, page}
    assert page == "docs/record.md"
    assert (root / name).read_text(encoding="utf-8") == render_json(analyse_folder(folder))
    assert (root / page).read_text(encoding="utf-8") == write_page(root)


def test_the_page_counts_what_was_added(root: Path, tmp_path: Path) -> None:
    add_campaigns([write(tmp_path / name, id=name) for name in ("a", "b")], root)
    page = write_page(root)
    assert (
        "**Of 20 comparisons 0 (0 to 17 %) had a false verdict; of 2 tables 0 (0 to 84 %)" in page
    )
    (row,) = [line for line in page.splitlines() if line.startswith("| Made-Up")]
    assert [cell.strip() for cell in row.strip("|").split("|")] == [
        *("Made-Up Processor 9000, 4 logical CPUs used", "docker", "cpu", "itself"),
        *("20, 0 (0 to 17 %)", "0 (0 to 84 %) of 2"),
    ]

    name, _ = add_campaigns([write(tmp_path / "c", truth=slower, id="c")], root)
    page = write_page(root)
    assert "**Of 30 comparisons 1 (0.084 to 17 %) had a false verdict; of 3 tables 1 (0.84" in page
    assert f"- {Path(name).name}: matmul.square/n=100/" in page


def test_without_any_the_page_says_so(root: Path) -> None:
    assert "**No such campaign has been committed yet.**" in write_page(root)


def test_a_campaign_counts_once_and_none_is_added_where_one_is_refused(
    root: Path, tmp_path: Path, campaign: Path
) -> None:
    known, new = write(tmp_path / "a", id="a"), write(tmp_path / "b", id="b")
    add_campaigns([known], root)
    before = files(root)
    for refused, why in ((known, "stands in results/record"), (campaign, "tells nothing")):
        with pytest.raises(UsageError, match=why):
            add_campaigns([new, refused], root)
        assert files(root) == before


@pytest.mark.parametrize("text", ["{}", "no JSON"])
def test_a_file_that_is_no_summary_is_named(root: Path, text: str) -> None:
    (root / FOLDER).mkdir(parents=True)
    (root / FOLDER / "20261121-0.json").write_text(text, encoding="utf-8")
    with pytest.raises(DocumentError, match=r"20261121-0\.json is no summary"):
        write_page(root)
