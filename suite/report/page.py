"""A Markdown page that is being written: headings, paragraphs, tables and footnotes.

Takes text that is Markdown already; whatever comes from a document is escaped by the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tabulate import tabulate

NO_NUMBER = "—"
"""Stands where a number is missing, always with the mark of the footnote that says why."""


class Page:
    """The blocks of a page in their order, and the footnotes that they refer to.

    ``banners`` stand in the title and over every table, so that none can be quoted without them.
    """

    def __init__(self, banners: Sequence[str] = ()) -> None:
        self.banner = " · ".join(banners)
        self._blocks: list[str] = []
        self._notes: dict[str, int] = {}

    def title(self, text: str) -> None:
        """The page's title, the banners behind it."""
        self._blocks.append("# " + " — ".join(filter(None, [text, self.banner])))

    def heading(self, text: str, level: int = 2) -> None:
        """A heading of this level."""
        self._blocks.append(f"{'#' * level} {text}")

    def paragraph(self, text: str) -> None:
        """A paragraph."""
        self._blocks.append(text)

    def bullets(self, items: Iterable[str]) -> None:
        """A list; nothing where there are no items."""
        lines = [f"- {item}" for item in items]
        if lines:
            self._blocks.append("\n".join(lines))

    def table(
        self,
        caption: str,
        headers: Sequence[str],
        rows: Sequence[Sequence[str]],
        right: Iterable[int] = (),
    ) -> None:
        """A table under its caption; the columns ``right`` hold numbers and lean to the right."""
        columns = set(right)
        banner = f"**{self.banner}** · " if self.banner else ""
        self._blocks.append(banner + caption)
        self._blocks.append(
            tabulate(
                [list(row) for row in rows],
                headers=list(headers),
                tablefmt="pipe",
                disable_numparse=True,
                preserve_whitespace=True,
                colalign=["right" if i in columns else "left" for i in range(len(headers))],
            )
        )

    def mark(self, *notes: str) -> str:
        """The marks of these footnotes, such as ``[1][4]``; the same words are the same footnote."""
        marks = []
        for note in notes:
            number = self._notes.setdefault(note, len(self._notes) + 1)
            marks.append(f"[{number}]")
        return "".join(marks)

    def footnotes(self) -> None:
        """Every footnote so far, as a list."""
        self.bullets(f"[{number}] {note}" for note, number in self._notes.items())

    def render(self) -> str:
        """The whole page, with a final newline."""
        return "\n\n".join(self._blocks) + "\n"
