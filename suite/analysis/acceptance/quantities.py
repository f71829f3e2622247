"""Quantities as people write them in a contract: ``at least 12 TFLOP/s``, ``30 k examples/s or more``.

Knows no campaign.  What is wrong with a text is raised as a `QuantityError`; whoever read the file knows the
line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from suite.analysis.result.acceptance import Side
from suite.analysis.statistics.rounding import settle
from suite.errors import UsageError


class QuantityError(UsageError):
    """A text is not the quantity that was wanted."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which side of a number is wanted, and of which text; ``strict``: the number itself is not."""

    side: Side
    strict: bool
    rest: str


@dataclass(frozen=True, kw_only=True)
class Amount:
    """A number as it was written, how much its ``unit`` is in that of the analysis, and of what that is."""

    number: float
    scale: float
    unit: str
    of: str = ""

    @property
    def value(self) -> float:
        """In the unit of the analysis; 2.9 % is 0.029, and not the float beneath it."""
        return settle(self.number * self.scale)


_NOT = r"(?:no|not)\s+"
_LEADING: Sequence[tuple[str, Side, bool]] = (
    (
        rf"at\s+least|minimum|min\.?|{_NOT}(?:(?:less|fewer|lower)\s+than|under|below)",
        "at least",
        False,
    ),
    (
        rf"at\s+most|up\s+to|within|maximum|max\.?|{_NOT}(?:more\s+than|over|above)",
        "at most",
        False,
    ),
    (r"over|above|(?:more|greater|higher)\s+than", "at least", True),
    (r"under|below|(?:less|fewer|lower)\s+than", "at most", True),
    ("exactly", "exactly", False),
)
_TRAILING: Sequence[tuple[str, Side]] = (
    (r"or\s+(?:more|higher|later|newer|above)|minimum", "at least"),
    (r"or\s+(?:less|lower|fewer|older|below|earlier)|maximum", "at most"),
)
_BEFORE = [
    (re.compile(rf"(?:{words})(?=\W)\s*(?P<rest>.+)", re.IGNORECASE), side, strict)
    for words, side, strict in _LEADING
]
_SIGNS: Mapping[str, tuple[Side, bool]] = {
    **dict.fromkeys(("≥", ">=", "=>", "≧", "⩾"), ("at least", False)),
    **dict.fromkeys(("≤", "<=", "=<", "≦", "⩽"), ("at most", False)),
    ">": ("at least", True),
    "<": ("at most", True),
    **dict.fromkeys(("==", "="), ("exactly", False)),
}
_BEHIND = [
    (re.compile(rf"(?P<rest>.+?)\s+(?:{words})", re.IGNORECASE), side) for words, side in _TRAILING
]

_NUMBER = re.compile(r"([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\d.])\s*(.*)", re.DOTALL)
_PLAIN_AMOUNT = re.compile(r"[\d.]+\s*[A-Za-zµμ°%×/]*(?: (?!to |and )[A-Za-z/]+)*")
_COMMA = re.compile(r"\d,\d")

_DECIMAL = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_PREFIXES = {**_DECIMAL, **_BINARY}
_RATE = re.compile(r"(Ki|Mi|Gi|Ti|[kKMGTP])?\s*([A-Za-z]+)\s*/\s*s(?:ec(?:ond)?)?")
_FLOPS = re.compile(r"([kKMGTP])?\s*(?i:flops)")
_SIZE = re.compile(r"(Ki|Mi|Gi|Ti|[kKMGTP])?\s*(?:B|[Bb]ytes?)")

_TIMES = {
    "ns": 1e-9,
    **dict.fromkeys(("us", "µs", "μs", "microseconds"), 1e-6),
    **dict.fromkeys(("ms", "milliseconds"), 1e-3),
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
}
_SHARES = dict.fromkeys(("%", "percent", "per cent"), 0.01)
_FACTORS = {**dict.fromkeys(("times", "×", "x"), 1.0), **_SHARES}
_WATTS = {"W": 1.0, "kW": 1e3}
_DEGREES = dict.fromkeys(("°C", "C", "degrees"), 1.0)
_PLAIN = dict.fromkeys(("", "lanes", "lane", "GPUs", "GPU", "CPUs", "CPU", "errors", "error"), 1.0)

_UNITS: Mapping[str, tuple[Mapping[str, float], str]] = {
    "time": (_TIMES, "1.5 ms"),
    "share": (_SHARES, "5 %"),
    "factor": (_FACTORS, "5 times"),
    "power": (_WATTS, "700 W"),
    "temperature": (_DEGREES, "85 °C"),
    "count": (_PLAIN, "8"),
}
"""By what is measured its units, and an example."""

_MONEY = re.compile(
    r"(?:(?P<before>[A-Z]{3})\s*)?(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?:\s*(?P<after>[A-Z]{3}))?"
    r"(?:\s+(?:per|for|a)\s+million\s+(?P<of>examples|steps))?"
)


def read_wanted(text: str, *, bare: bool = False) -> Wanted:
    """Which side of what: ``at least X``, ``≥ X``, ``X or more``; ``bare``: nothing but X is ``exactly X``.

    Raises:
        QuantityError: it says none.
    """
    plain = " ".join(text.split())
    for sign, (side, strict) in _SIGNS.items():
        if plain.startswith(sign):
            return Wanted(side=side, strict=strict, rest=plain.removeprefix(sign).strip())
    for pattern, side, strict in _BEFORE:
        if found := pattern.fullmatch(plain):
            return Wanted(side=side, strict=strict, rest=found["rest"])
    for pattern, side in _BEHIND:
        if found := pattern.fullmatch(plain):
            return Wanted(side=side, strict=False, rest=found["rest"])
    if bare:
        return Wanted(side="exactly", strict=False, rest=plain)
    raise QuantityError(
        f"{text!r} does not say which way",
        f'write "at least {plain}", or "at most {plain}"'
        if _PLAIN_AMOUNT.fullmatch(plain)
        else 'write "at least" or "at most" and one number with its unit; a range is two requirements',
    )


def read_amount(text: str, of: str) -> Amount:
    """A number with a unit of what is measured (a key of `_UNITS`, ``rate`` or ``size``).

    Raises:
        QuantityError: it is none.
    """
    if of == "rate":
        number, unit = _split(text, "12 TFLOP/s")
        return _read_rate(number, unit, text)
    if of == "size":
        number, unit = _split(text, "80 GB")
        size = _SIZE.fullmatch(unit)
        if size is None:
            raise QuantityError(
                f"{text!r}: {unit!r} is not a unit of memory", 'such as "80 GB" or "80 GiB"'
            )
        return Amount(number=number, scale=_PREFIXES[size[1] or ""], unit=unit)
    units, example = _UNITS[of]
    number, unit = _split(text, example)
    if unit not in units:
        raise QuantityError(
            f"{text!r}: {unit!r} does not fit here" if unit else f"{text!r} has no unit",
            f'such as "{example}"',
        )
    return Amount(number=number, scale=units[unit], unit=unit)


def read_money(text: str) -> tuple[Amount, str]:
    """An amount of money for a million of something, and its currency.

    Raises:
        QuantityError: it is none.
    """
    _refuse_comma(text)
    found = _MONEY.fullmatch(text.strip())
    currency = (found["before"] or found["after"]) if found else None
    if found is None or not currency or (found["before"] and found["after"]):
        raise QuantityError(
            f"{text!r} is not an amount of money",
            'a number and three capital letters, such as "0.02 USD" (for a million examples; or "per '
            'million steps" behind it)',
        )
    amount = Amount(
        number=float(found["number"]), scale=1.0, unit=currency, of=found["of"] or "examples"
    )
    return amount, currency


def read_size_along(text: str) -> tuple[str, float]:
    """An axis and a size on it, such as ``batch 256``.

    Raises:
        QuantityError: it is none.
    """
    found = re.fullmatch(r"(\w+)\s*(?:=|\s)\s*(\d+(?:\.\d+)?)(?:\s+on)?", text.strip())
    if found is None:
        raise QuantityError(
            f"{text!r} is not a size", 'name an axis and a number, such as "batch 256"'
        )
    return found[1], float(found[2])


def name_unit(unit: str) -> str:
    """The unit of work of a plural: ``examples`` are of ``example``, ``copies`` of ``copy``."""
    if unit.endswith("ies"):
        return f"{unit[:-3]}y"
    return unit.removesuffix("s")


def name_many(unit: str) -> str:
    """The other way round, or a unit's symbol."""
    symbol = {"byte": "B", "FLOP": "FLOP"}.get(unit)
    return symbol or (f"{unit[:-1]}ies" if unit.endswith("y") else f"{unit}s")


def _read_rate(number: float, unit: str, text: str) -> Amount:
    plain = unit.replace(" per second", "/s")
    flops, rate = _FLOPS.fullmatch(plain), _RATE.fullmatch(plain)
    if flops:
        return Amount(number=number, scale=_PREFIXES[flops[1] or ""], unit=unit, of="FLOP")
    if rate is None or rate[2] in {"b", "bit", "bits"}:
        raise QuantityError(
            f"{text!r}: {unit!r} is not a unit of a rate" if unit else f"{text!r} has no unit",
            'such as "12 TFLOP/s", "850 GB/s" (8 bits are a byte) or "30 k examples/s"',
        )
    noun = {"B": "byte"}.get(rate[2]) or name_unit(rate[2].lower()).replace("flop", "FLOP")
    return Amount(number=number, scale=_PREFIXES[rate[1] or ""], unit=unit, of=noun)


def _split(text: str, example: str) -> tuple[float, str]:
    _refuse_comma(text)
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        raise QuantityError(f"{text!r} does not begin with a number", f'such as "{example}"')
    number = float(found[1])
    if not abs(number) < 1e100:
        raise QuantityError(
            f"{text!r} is not a number that could be measured", f'such as "{example}"'
        )
    return number, " ".join(found[2].split())


def _refuse_comma(text: str) -> None:
    if _COMMA.search(text):
        raise QuantityError(
            f"{text!r} has a comma in its number",
            "a point stands before decimals (1.5), and nothing between thousands (30000, or 30 k)",
        )
