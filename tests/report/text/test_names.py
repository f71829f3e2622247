"""What cells are called, and what a person means by a name."""

from __future__ import annotations

import pytest

from suite.report.text.names import choose_cells, name_cells, name_receipt
from tests.report.campaigns import analyse_made

IDS = ["m.square/n=1/on=host", "m.square/n=1/on=device", "m.square/n=10/on=device", "m.extra/n=10"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        (IDS[2], [2]),
        (name_receipt(IDS[1]), [1]),
        ("m.square/n=10", [2]),
        ("m.square/on=host", [0]),
        ("m.square/n=1", [0, 1]),
        ("m.square", [0, 1, 2]),
        ("m.square/n=2", []),
        ("n=10", []),
        ("", []),
    ],
)
def test_a_cell_is_meant_by_its_id_its_receipt_or_its_name_in_a_table(
    word: str, meant: list[int]
) -> None:
    assert choose_cells(word, IDS) == [IDS[place] for place in meant]


def test_every_name_in_a_table_means_its_own_cell() -> None:
    cells = analyse_made("both").cells
    names = name_cells(cells)
    ids = [cell.id for cell in cells]
    assert [choose_cells(names[cell], ids) for cell in ids] == [[cell] for cell in ids]
