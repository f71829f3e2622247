"""An analysis to every file that is derived from it.  Writes nothing itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec

from suite.analysis.result.acceptance import Acceptance
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.receipt import Receipt, TryReceipt
from suite.analysis.result.several import Versus
from suite.analysis.result.why import Answer
from suite.report.exports.cells import render_csv
from suite.report.exports.summary import render_json
from suite.report.pages.acceptance import compose_acceptance
from suite.report.pages.brief import ROOM, compose_brief, compose_screen
from suite.report.pages.campaign import compose
from suite.report.pages.comparison import compose_versus
from suite.report.pages.gallery import LATER, NOT_INSTALLED, depict
from suite.report.pages.machines import compose_machines, depict_machines
from suite.report.pages.receipt import compose_receipt, explain_excluded
from suite.report.pages.why import compose_try, compose_why, compose_why_screen
from suite.report.pictures.picture import FOLDER, Picture
from suite.report.pictures.samples import depict_samples
from suite.report.pictures.why import depict_why
from suite.report.render.forms import keep_arms
from suite.report.render.html import render_html_page
from suite.report.render.markdown import render_page
from suite.report.render.paper import Sheet, render_docx, render_pdf
from suite.report.render.plain import show_privately
from suite.report.render.terminal import MOST_LINES, render_lines
from suite.report.text.names import name_receipt
from suite.report.text.page import Limits, Page

Result = Analysis | Answer
"""What is known of a folder: of a campaign, or of why a script is slow."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """The derived files by name, each as text, and a few plain lines for a terminal.

    ``name`` is the page's, without ending.  ``page`` and ``pictures`` are what `draw` makes the other files
    of; there are none where ``undrawn`` says why.
    """

    analysis: Result
    name: str
    page: Page = field(compare=False)
    undrawn: str | None
    pictures: tuple[Picture, ...]
    files: dict[str, str]
    terminal: str


def name_report(result: Result) -> tuple[str, str]:
    """The file of all that is known, for programs, and the name of the page, without ending."""
    return ("why.json", "why") if isinstance(result, Answer) else ("summary.json", "report")


def build_report(result: Result, *, pictures: bool = True) -> Report:
    """Everything that is derived from a result; the same result, the same bytes.

    ``pictures`` is false where there is no time for them now.
    """
    with keep_arms(result.arms):
        return _build(result, LATER if not pictures else None if can_draw() else NOT_INSTALLED)


def rebuild(
    result: Result, markdown: str, drawn: Mapping[str, str]
) -> tuple[Report, dict[str, str]]:
    """The report as one that is there has to be, and its texts: ``markdown`` is its page, which says whether
    there were no pictures, ``drawn`` are its pictures as SVG by name."""
    undrawn = next((why for why in (LATER, NOT_INSTALLED) if why in markdown), None)
    with keep_arms(result.arms):
        report = _build(result, undrawn)
        pictures = {picture.name: drawn.get(picture.name, "") for picture in report.pictures}
        whole = render_html_page(report.page, pictures)
    return report, {**report.files, f"{report.name}.html": whole}


LONGEST_BRIEF = 6000
"""Characters of ``brief.md``: a page that somebody reads whole, and that every form takes."""


def _build(result: Result, undrawn: str | None) -> Report:
    data, name = name_report(result)
    before, after = dict[str, str](), dict[str, str]()
    if isinstance(result, Answer):
        page, screen = compose_why(result, undrawn), compose_why_screen(result)
        pictures = tuple(filter(None, [depict_why(result)]))
    else:
        page, screen = compose(result, undrawn), compose_screen(result, undrawn)
        pictures = depict(result)
        before, after = {"brief.md": fit_brief(result, undrawn)}, {"cells.csv": render_csv(result)}
    return Report(
        analysis=result,
        name=name,
        page=page,
        undrawn=undrawn,
        pictures=pictures if undrawn is None else (),
        files={data: render_json(result), **before, f"{name}.md": render_page(page), **after},
        terminal=render_lines(screen, most=MOST_LINES),
    )


def fit_brief(analysis: Analysis, undrawn: str | None = None) -> str:
    """``brief.md`` in at most `LONGEST_BRIEF` characters.

    Of a campaign whose names or reasons are long it tells less: long texts are cut first, then rows of
    tables; the decision only where the smallest page with it is too long, and whole blocks at last.
    """
    sizes = [(room, LONGEST_BRIEF) for room in range(ROOM, 0, -1)]
    for room, strong in [*sizes, *((1, letters) for letters in (2000, 1000, 500, 100))]:
        page = compose_brief(analysis, undrawn, room)
        page.shorten(
            Limits(
                paragraph=20 + 100 * room,
                cell=60 + 4 * room,
                strong=strong,
                rows=2 * room,
                hide=show_privately,
            )
        )
        if len(brief := render_page(page)) <= LONGEST_BRIEF:
            return brief
    while len(brief) > LONGEST_BRIEF:
        # The last says where the rest is.
        del page.blocks[-2]
        brief = render_page(page)
    return brief


def build_comparison(
    versus: Versus, analyses: Sequence[Analysis], *, pictures: bool = False
) -> dict[str, str | bytes]:
    """The report over several campaigns: its files by name, the Markdown first.

    ``pictures``: with what machines cost drawn beside what they reach.
    """
    if versus.rows == "cell":
        page, shown = compose_versus(versus, analyses), []
    else:
        shown = depict_machines(versus) if pictures and can_draw() else []
        page = compose_machines(versus, analyses, shown)
    with keep_arms(arm for analysis in analyses for arm in analysis.arms):
        return {
            "compare.md": render_page(page),
            "compare.json": render_json(versus),
            **_draw("compare", page, shown),
        }


def build_receipt(
    result: Result, receipt: Receipt | TryReceipt, *, pictures: bool
) -> dict[str, str | bytes]:
    """The page of evidence for one cell or try: its files by name; ``pictures``: with a cell's samples
    drawn."""
    picture = None
    if isinstance(result, Answer):
        assert isinstance(receipt, TryReceipt)  # noqa: S101  both are of one folder
        page = compose_try(result, receipt)
    else:
        assert isinstance(receipt, Receipt)  # noqa: S101
        whys = explain_excluded(result, receipt)
        picture = depict_samples(result, receipt, whys) if pictures and can_draw() else None
        page = compose_receipt(result, receipt, whys, picture)
    name = f"defend-{name_receipt(receipt.cell)}"
    with keep_arms(result.arms):
        return {f"{name}.md": render_page(page), **_draw(name, page, [picture] if picture else [])}


def build_acceptance(acceptance: Acceptance) -> dict[str, str | bytes]:
    """The page of a sheet: its files by name, the Markdown first."""
    page = compose_acceptance(acceptance)
    with keep_arms(acceptance.arms):
        return {
            "accept.md": render_page(page),
            "accept.json": render_json(acceptance),
            "accept.html": render_html_page(page),
        }


def print_page(name: str, document: str, sheet: Sheet = "a4") -> dict[str, str | bytes]:
    """A page without pictures, as HTML, for paper: a PDF and a Word document, by their names.

    Raises:
        UsageError: a library that they need is missing.
    """
    return {
        f"{name}.pdf": render_pdf(document, sheet),
        f"{name}.docx": render_docx(document, [], sheet),
    }


def can_draw() -> bool:
    """Whether the library that draws is installed; does not load it."""
    return find_spec("matplotlib") is not None


def draw(report: Report) -> dict[str, str | bytes]:
    """The files that take seconds: the page as HTML, and the pictures by their path."""
    with keep_arms(report.analysis.arms):
        return _draw(report.name, report.page, report.pictures)


def _draw(name: str, page: Page, pictures: Sequence[Picture]) -> dict[str, str | bytes]:
    """A page as HTML with its pictures inside, and these by their path."""
    if not pictures:
        return {f"{name}.html": render_html_page(page)}
    # Here, so that what draws nothing (a list, a plan, a look) does not wait for it.
    from suite.report.plots import render_png, render_svg  # noqa: PLC0415

    drawn: dict[str, str] = {picture.name: render_svg(picture) for picture in pictures}
    files: dict[str, str | bytes] = {f"{name}.html": render_html_page(page, drawn)}
    for picture in pictures:
        files[f"{FOLDER}/{picture.name}.svg"] = drawn[picture.name]
        files[f"{FOLDER}/{picture.name}.png"] = render_png(picture)
    return files


def print_report(analysis: Analysis, sheet: Sheet) -> dict[str, bytes]:
    """The report for paper: a PDF and a Word document, by their names.

    Raises:
        UsageError: a library that they need is missing.
    """
    drawn = draw(build_report(analysis))
    document = str(drawn["report.html"])
    pictures = [content for content in drawn.values() if isinstance(content, bytes)]
    name = analysis.campaign.folder
    return {
        f"{name}.pdf": render_pdf(document, sheet),
        f"{name}.docx": render_docx(document, pictures, sheet),
    }
