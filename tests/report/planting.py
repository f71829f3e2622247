"""Puts a text into every free text of a value: of an analysis, a plan, a document."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from suite.flags import KINDS

Word = Callable[[str], str]
Planted = TypeVar("Planted")

CODES = frozenset({"code", "codes", "what"})
"""Fields whose words are the suite's own, though their type is any text."""


def plant(value: Planted, word: Word) -> Planted:
    """The value with ``word`` made of every text in it, keys too; names of fields and closed lists stay.

    The same text becomes the same everywhere, so that what refers to a name still does.
    """
    planted: Planted = _plant(value, inspect.type_info(type(value)), word)
    return planted


def _plant(value: Any, kind: inspect.Type, word: Word) -> Any:
    if isinstance(kind, inspect.UnionType):
        kind = next(option for option in kind.types if _fits(value, option))
    if isinstance(kind, inspect.StructType | inspect.DataclassType):
        made = _plant_fields(value, kind.fields, word)
    elif isinstance(kind, inspect.DictType):
        made = {
            _plant(key, kind.key_type, word): _plant(item, kind.value_type, word)
            for key, item in value.items()
        }
    elif isinstance(kind, inspect.ListType | inspect.VarTupleType):
        made = type(value)(_plant(item, kind.item_type, word) for item in value)
    elif isinstance(kind, inspect.TupleType):
        made = tuple(map(_plant, value, kind.item_types, [word] * len(value)))
    else:
        made = word(value) if isinstance(kind, inspect.StrType) else value
    return made


def _fits(value: Any, kind: inspect.Type) -> bool:
    """Whether a value is what a type of a union means."""
    if isinstance(kind, inspect.StructType | inspect.DataclassType):
        return isinstance(value, kind.cls)
    fitting = {
        str: inspect.StrType | inspect.LiteralType,
        dict: inspect.DictType,
        list: inspect.ListType,
        tuple: inspect.VarTupleType | inspect.TupleType,
        type(None): inspect.NoneType,
    }
    return isinstance(kind, fitting.get(type(value), inspect.Type))


def _plant_fields(value: Any, fields: tuple[inspect.Field, ...], word: Word) -> Any:
    made = {
        field.name: _plant_told(item, word)
        if field.name in {"values", "where"} and isinstance(item, Mapping)
        else _plant(item, field.type, word)
        for field in fields
        if field.name not in CODES
        for item in [getattr(value, field.name)]
    }
    if dataclasses.is_dataclass(value):
        return dataclasses.replace(value, **made)  # type: ignore[type-var]
    return msgspec.structs.replace(value, **made)


def _plant_told(value: Any, word: Word) -> Any:
    """What a flag or an evidence tells: of any type, and by names that their sentences know."""
    if isinstance(value, str):
        return value if value in KINDS else word(value)
    if isinstance(value, Mapping):
        return {k: v if k in CODES else _plant_told(v, word) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_plant_told(item, word) for item in value)
    if isinstance(value, msgspec.Struct):
        return plant(value, word)
    return value
