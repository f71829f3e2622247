"""What a check says of a result, as one text: what it verified, or why it refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def hear(refusal: type[Exception], judge: Callable[..., Any], *given: Any, **named: Any) -> str:
    """The words of what was verified, or of a refusal of this kind; any other error goes on its way."""
    try:
        found = judge(*given, **named)
    except refusal as reason:
        return f"refused: {reason}"
    return str(getattr(found, "what", found))
