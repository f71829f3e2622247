"""The command compare: what it prints, writes and ends with."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests import synthetic, twelve
from tests.cli.shell import Shell, complaint, well


def write(folder: Path, name: str, slower: float = 1.0, seed: int = 1) -> str:
    """A campaign of products and steps that take so many times as long."""
    cells = [one for one in synthetic.make_cells() if one.scenario in {"matmul", "mlp"}]
    plan = replace(synthetic.make_campaign(blocks=4, cells=cells, seed=seed), id=name, label=None)
    truth = synthetic.slow_down(slower)
    documents = synthetic.make_documents(plan, host=synthetic.QUIET, truth=truth)
    return str(synthetic.write_campaign(folder / name, plan, documents))


def test_machines_are_printed_or_written(tmp_path: Path, shell: Shell) -> None:
    runs = twelve.write(tmp_path, "tie-1", "plain")
    prices = tmp_path / "prices.toml"
    rest = 'hourly = 2\ncurrency = "EUR"\nsource = "us"\ndate = 2020-01-01\n'
    kinds = ("tie.one", "plain.small")
    prices.write_text("".join(f'[[price]]\ntype = "{kind}"\n{rest}' for kind in kinds))
    words = ("compare", *runs, "--prices", str(prices), "--cell", twelve.LARGE)
    heard = well(shell.run(*words))
    assert heard.out.startswith("# Crossover: 2 machines by what work costs")
    assert "EUR 2.00 old" in heard.out
    out = tmp_path / "out"
    assert shell.run(*words, "--out", str(out)).status == 0
    files = {one.name for one in out.iterdir()}
    assert files == {"compare.html", "compare.json", "compare.md"}
    assert (out / "compare.md").read_text() == heard.out
    assert len(json.loads((out / "compare.json").read_text())["choices"]) == 2


def test_rows_are_what_was_asked_for(tmp_path: Path, shell: Shell) -> None:
    runs = twelve.write(tmp_path, "three-1", "three-2", "three-3", blocks=3)
    rows = {}
    for asked in ("machine", None):
        out = tmp_path / f"out-{asked}"
        words = ("--rows", asked) if asked else ()
        assert shell.run("compare", *runs, *words, "--out", str(out)).status == 0
        written = json.loads((out / "compare.json").read_text())
        rows[asked] = written["rows"], len(written.get("choices", ()))
    assert rows == {"machine": ("machine", 3), None: ("type", 1)}
    said = complaint(shell.run("compare", *runs, "--rows", "cell", "--cell", "x"), 2)
    assert said == "ROWS=cell: rows are cells; CELL: rows are machines"


def test_prices_that_are_none_are_status_5(tmp_path: Path, shell: Shell) -> None:
    run = write(tmp_path, "one")
    (tmp_path / "prices.toml").write_text("[[price]]\nhourly = 0\n")
    heard = shell.run("compare", run, "--prices", str(tmp_path / "prices.toml"))
    assert heard.status == 5
    assert "not a valid list of prices" in heard.err


@pytest.mark.parametrize(("slower", "bound", "status"), [(1.3, "5", 1), (1.3, "50", 0)])
def test_the_gate_ends_as_it_says(
    tmp_path: Path, shell: Shell, slower: float, bound: str, status: int
) -> None:
    runs = [write(tmp_path, "base"), write(tmp_path, "new", slower, seed=2)]
    heard = shell.run("compare", *runs, "--slower", bound)
    assert heard.status == status
    assert ("No slowdown shown" in heard.out) == (status == 0)


def test_a_gate_needs_two_campaigns(tmp_path: Path, shell: Shell) -> None:
    run = write(tmp_path, "base")
    assert "needs two campaigns" in complaint(shell.run("compare", run, "--slower", "5"), 2)
    assert "named twice" in complaint(shell.run("compare", run, run, "--slower", "5"), 2)
    assert shell.run("compare", run, "--slower", "-1").status == 2
