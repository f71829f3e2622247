"""Numbers with fractions are added by `math.fsum`: `sum` adds them otherwise from Python 3.12 on."""

from __future__ import annotations

import ast

import pytest

from suite.fingerprint import SUITE

COUNTS = frozenset({"n", "mild", "far", "judged", "hopeless"})
"""Fields that are whole numbers or true or false."""

WHOLE: dict[str, tuple[str, ...]] = {
    "analysis/ablation/cell_index.py": (
        "count for device, count in result.placement.items() if kind in device",
    ),
    "analysis/causes/plain_cell.py": ("labelled",),
    "analysis/statistics/moderated_variance.py": ("freedom for _, freedom in spreads.values()",),
    "analysis/statistics/ratio.py": ("counts", "len(logs) - 1 for _, logs in groups"),
    "host/gpu/nvml.py": ("for i in", "nvmlDeviceGetRemappedRows"),
    "host/telemetry/sampler.py": ("counts",),
    "report/pages/why.py": ("speed.runs for speed",),
    "worker/why/watch_data.py": ("size_of, dataset.take",),
    "report/render/html.py": ("widths",),
    "report/render/markdown.py": ("widths",),
    "report/render/paper.py": ("widths",),
    "report/render/terminal.py": ("widths",),
    "report/sections/controls.py": ("Counter",),
    "codec.py": ("items",),
    "worker/loop/counters.py": ("counts",),
    "worker/loop/trace.py": ("end - begin for begin, end in spans",),
    "worker/scenario/scratch.py": ("page & 1 for page in residency",),
    "worker/scenarios/scripts/posted/dataset.py": ("traces.values()",),
    "worker/scenarios/scripts/posted/slices.py": ("traces.values()",),
    "worker/scenarios/mlp/train.py": ("sizes",),
    "worker/scenarios/mlp/networks.py": ("array.nbytes for arrays in sets for array in arrays",),
}
"""What else is whole, by file, or of what nothing but its being finite is asked (``codec.py``)."""


def is_whole(added: ast.expr) -> bool:
    """Whether what is added can be seen to be whole: a comparison, a length, a count."""
    match added:
        case ast.GeneratorExp(elt=inner):
            return is_whole(inner)
        case ast.BoolOp(values=several):
            return all(map(is_whole, several))
        case ast.Call(func=ast.Name(id=name), args=args):
            names = {"len", "bool", "int", "isinstance"}
            return name in names or (name == "map" and getattr(args[0], "id", "") in names)
        case ast.Attribute(attr=name):
            return name in COUNTS
    return isinstance(added, ast.Compare) or (
        isinstance(added, ast.UnaryOp) and isinstance(added.op, ast.Not)
    )


def find_sums(code: str, whole: tuple[str, ...] = ()) -> list[str]:
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "sum"
        and not is_whole(node.args[0])
        and not any(text in ast.unparse(node.args[0]) for text in whole)
    ]


def test_no_fractions_are_added_by_sum() -> None:
    for path in SUITE.rglob("*.py"):
        name, code = path.relative_to(SUITE).as_posix(), path.read_text(encoding="utf-8")
        if "sum(" in code:  # most files are not parsed, which takes seconds
            sums = find_sums(code, WHOLE.get(name, ()))
            assert sums == [], f"{name}: use math.fsum, or say in WHOLE why it is whole"


def test_every_exception_is_needed() -> None:
    for name in WHOLE:
        assert find_sums((SUITE / name).read_text(encoding="utf-8")), name


@pytest.mark.parametrize(
    ("code", "seen"),
    [
        ("sum(one.seconds for one in found)", True),
        ("sum(values)", True),
        ("sum(one.n for one in found)", False),
        ("sum(one > 1 for one in found)", False),
        ("sum(map(len, found))", False),
        ("math.fsum(values)", False),
    ],
)
def test_a_sum_of_fractions_is_seen(code: str, seen: bool) -> None:
    assert bool(find_sums(code)) is seen
