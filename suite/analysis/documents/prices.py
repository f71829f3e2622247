"""What machines cost, from a file that a person wrote."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Literal

import msgspec

from suite.analysis.result.several import Offer
from suite.errors import DocumentError
from suite.safe_folder import Folder


def read_prices(path: Path, today: date) -> list[Offer]:
    """The prices of a file.

    Raises:
        DocumentError: it can't be read, something in it is not a price, two are of the same type and
            terms, or one is of a day to come.
    """
    try:
        with Folder.open(path.parent) as folder:
            text = folder.read(path.name)
        table = msgspec.toml.decode(text, type=dict[Literal["price"], list[Offer]])
    except (ValueError, RecursionError, DocumentError) as error:
        raise _refuse(path, str(error)) from error
    if "price" not in table:
        raise _refuse(path, "it holds no [[price]]")
    listed = set()
    for number, offer in enumerate(table["price"]):
        if (offer.type, offer.terms) in listed:
            raise _refuse(
                path, f"{offer.type}, {offer.terms}, stands twice - at `$.price[{number}]`"
            )
        if offer.date > today:
            raise _refuse(path, f"{offer.date} is still to come - at `$.price[{number}].date`")
        listed.add((offer.type, offer.terms))
    return table["price"]


def _refuse(path: Path, why: str) -> DocumentError:
    return DocumentError(
        f"{path} is not a valid list of prices: {why}",
        "docs/prices.toml is one; the guide says what is in it",
    )
