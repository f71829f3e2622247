"""The command generate: the files that are made from the code and from the committed campaigns."""

from __future__ import annotations

import re
from pathlib import Path

import click
from tabulate import tabulate

from suite import codec
from suite.analysis.analyse import analyse_folder
from suite.analysis.documents.read import load_plan, schema
from suite.cli.run_campaign import ROOT
from suite.errors import UsageError
from suite.host.doctor.examine import diagnosis_schema
from suite.model import PLAN
from suite.report.exports.summary import summary_schema, why_schema
from suite.report.pictures.picture import FOLDER
from suite.report.produce import build_report
from suite.safe_folder import Folder
from suite.worker import scenarios

_SAMPLE_MARKS = re.compile(r"(<!-- sample:begin[^\n]*\n).*?(<!-- sample:end -->)", re.DOTALL)

_CELLS, _CELLS_TABLE = "docs/cells.md", f"| {'cell':7}"
"""The page of the cells, whose head is written by hand, and where its table begins."""


def generated() -> dict[str, str]:
    """The files that are made from the code and from the committed sample, by their path."""
    rows = [
        (f"`{c.id}`", ", ".join(c.profiles), f"{c.work.amount:g} {c.work.unit}", c.question)
        for c in scenarios.cells()
    ]
    headers = ("cell", "profiles", "work per call", "question")
    head, _, _ = (ROOT / _CELLS).read_text(encoding="utf-8").partition(_CELLS_TABLE)
    schemas = {
        "schema": schema(),
        "summary-schema": summary_schema(),
        "doctor-schema": diagnosis_schema(),
        "why-schema": why_schema(),
    }
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    samples = sorted(path.parent for path in ROOT.glob(f"results/samples/*/{PLAN}"))
    # One that ended early has little to show.
    newest = [sample for sample in samples if load_plan(sample).stopped is None][-1:]
    excerpt = "".join(map(_write_excerpt, newest))
    shown, marked = _SAMPLE_MARKS.subn(lambda marks: f"{marks[1]}{excerpt}{marks[2]}", readme)
    if marked != 1:
        raise UsageError(
            "README.md: the marks around the sample are not there once", "put them back"
        )
    return {
        _CELLS: head + tabulate(rows, headers=headers, tablefmt="github") + "\n",
        **{f"docs/{name}.json": codec.dump_document(fields) for name, fields in schemas.items()},
        "README.md": shown,
    }


@click.command()
def generate() -> int:
    """Write what is made from the code: docs/cells.md, docs/schema.json, the README's sample."""
    with Folder.open(ROOT) as checkout:
        for name, text in generated().items():
            checkout.write(name, text)
            click.echo(name)
    return 0


def _write_excerpt(campaign: Path) -> str:
    """A campaign's brief, its title a heading within a page, its picture where it lies from here."""
    folder = campaign.relative_to(ROOT)
    brief = build_report(analyse_folder(campaign)).files["brief.md"]
    title, _, rest = brief.removeprefix("# ").partition("\n")
    pictures = rest.replace(f"]({FOLDER}/", f"]({folder}/{FOLDER}/")
    return f"[The whole report]({folder}/report.md). Its brief:\n\n#### {title}\n{pictures}\n"
