"""Which pictures a campaign has, and the section of the report that shows them.

Draws nothing: `plots` does, where its library is installed.
"""

from __future__ import annotations

from suite.analysis.result.campaign import Analysis
from suite.report.pictures.breakdowns import depict_decomposition, depict_waterfalls
from suite.report.pictures.picture import Picture
from suite.report.pictures.pipelines import depict_pipelines
from suite.report.pictures.ratios import depict_ratios
from suite.report.pictures.sustained import depict_sustained
from suite.report.pictures.sweeps import depict_sweeps
from suite.report.text.page import Page

NOT_INSTALLED = (
    'No pictures: matplotlib is not installed here. Where it is, "make report" draws them; every '
    "number stands in the tables."
)
LATER = "The pictures are drawn when the campaign ends."


def depict(analysis: Analysis) -> tuple[Picture, ...]:
    """The pictures in the report's order, that of the brief first; a family without numbers has none."""
    pictures = [
        depict_ratios(analysis),
        depict_sweeps(analysis, "time"),
        depict_sweeps(analysis, "rate"),
        depict_decomposition(analysis),
        depict_pipelines(analysis),
        depict_waterfalls(analysis),
        depict_sustained(analysis),
    ]
    return tuple(picture for picture in pictures if picture is not None)


def write_pictures(page: Page, analysis: Analysis, undrawn: str | None) -> None:
    """The section "Pictures", of all but the brief's; nothing where there is none to show."""
    pictures = depict(analysis)[_shows_first(analysis) :]
    if not pictures or undrawn is not None:
        return
    page.heading("Pictures")
    for picture in pictures:
        word = "tables" if len(picture.tables) > 1 else "table"
        where = f" The numbers stand in the {word} of {' and '.join(picture.tables)}."
        caption = picture.caption + (where if picture.tables else "")
        page.figure(picture.name, alt=picture.alt, caption=caption)


def write_first_picture(page: Page, analysis: Analysis, undrawn: str | None) -> None:
    """The picture that the brief has: ratios, or of one arm its main sweep; or why there is none now.  Of
    versions alone no picture says what the tables don't."""
    picture = next(iter(depict(analysis)), None)
    if picture is None:
        return
    if undrawn is not None:
        page.paragraph(undrawn)
    elif _shows_first(analysis):
        page.figure(picture.name, alt=picture.alt, caption=picture.caption)


def _shows_first(analysis: Analysis) -> bool:
    """Whether the first picture is the brief's."""
    return bool(analysis.rivals) or not analysis.others
