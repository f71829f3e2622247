"""The command generate: the files that are made from the code and from the committed campaigns."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import indent

import click
from tabulate import tabulate

from suite import codec
from suite.analysis.analyse import analyse_folder
from suite.analysis.documents.read import load_campaign, load_plan, schema
from suite.analysis.why.answer import answer
from suite.cli.run_campaign import ROOT
from suite.errors import UsageError
from suite.host.doctor.examine import diagnosis_schema
from suite.model import PLAN
from suite.report.exports.summary import accept_schema, summary_schema, why_schema
from suite.report.pictures.picture import FOLDER
from suite.report.produce import build_report
from suite.safe_folder import Folder
from suite.worker import scenarios

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
        "accept-schema": accept_schema(),
    }
    samples = sorted(path.parent for path in ROOT.glob(f"results/samples/*/{PLAN}"))
    # One that ended early has little to show.
    newest = [sample for sample in samples if load_plan(sample).stopped is None][-1:]
    excerpt = "".join(map(_write_excerpt, newest))
    asked = sorted(path.parent for path in ROOT.glob(f"results/samples/why/*/{PLAN}"))
    return {
        _CELLS: head + tabulate(rows, headers=headers, tablefmt="github") + "\n",
        **{f"docs/{name}.json": codec.dump_document(fields) for name, fields in schemas.items()},
        "README.md": _fill("README.md", "sample", excerpt),
        "docs/why.md": _fill("docs/why.md", "scripts", "".join(map(_write_script, asked))),
    }


@click.command()
def generate() -> int:
    """Write what is made from the code: docs/cells.md, the schemas, the samples in two pages."""
    with Folder.open(ROOT) as checkout:
        for name, text in generated().items():
            checkout.write(name, text)
            click.echo(name)
    return 0


def _fill(name: str, mark: str, text: str) -> str:
    """A page with the text between its marks."""
    marks = re.compile(f"(<!-- {mark}:begin[^\n]*\n).*?(<!-- {mark}:end -->)", re.DOTALL)
    page = (ROOT / name).read_text(encoding="utf-8")
    filled, times = marks.subn(lambda around: f"{around[1]}{text}{around[2]}", page)
    if times != 1:
        raise UsageError(f"{name}: the marks around the {mark} are not there once", "put them back")
    return filled


def _write_script(folder: Path) -> str:
    """A script that was asked about, whose folder has its text (INCLUDE_SCRIPT=1), and the screen that came
    out."""
    asked = answer(load_campaign(folder))
    screen = indent(build_report(asked, pictures=False).terminal, "    ")
    return f"### {asked.script}\n\n```python\n{asked.text}```\n\n{screen}\n\n"


def _write_excerpt(campaign: Path) -> str:
    """A campaign's brief, its title a heading within a page, its picture where it lies from here."""
    folder = campaign.relative_to(ROOT)
    brief = build_report(analyse_folder(campaign)).files["brief.md"]
    title, _, rest = brief.removeprefix("# ").partition("\n")
    pictures = rest.replace(f"]({FOLDER}/", f"]({folder}/{FOLDER}/")
    return f"[The whole report]({folder}/report.md). Its brief:\n\n#### {title}\n{pictures}\n"
