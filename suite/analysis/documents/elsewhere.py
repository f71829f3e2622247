"""What others measured of posted scripts: the only file that reads ``elsewhere.toml``."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from suite.analysis.result.findings import Elsewhere
from suite.errors import DocumentError

ELSEWHERE = Path(__file__).with_name("elsewhere.toml")


@lru_cache(maxsize=4)
def read_elsewhere(path: Path = ELSEWHERE) -> tuple[Elsewhere, ...]:
    """The times of a file, in its order.

    Raises:
        DocumentError: the file is not what it should be.
    """
    table = dict[Literal["timing"], tuple[Elsewhere, ...]]
    try:
        return msgspec.toml.decode(path.read_bytes(), type=table)["timing"]
    except (OSError, KeyError, ValueError, RecursionError) as error:
        raise DocumentError(
            f"{path} does not say what was published: {error}",
            "a clean checkout has it (`git status` shows what differs)",
        ) from error
