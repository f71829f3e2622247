"""A script as a syntax tree: put through hooks before it is compiled, its line numbers kept.

The tree is looked up among the builtins, so that no name appears in the script's own namespace.  What
AutoGraph converts is read from the file and stays as it was written.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib.util
import linecache
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from types import CodeType, FrameType
from typing import Any, TypeVar

from suite.model.why import Statement

OnFor = Callable[[int, Any], Any]
"""From the line of a ``for`` and what it goes over to what it goes over instead."""

TEXT_CHARS = 80
"""A statement is quoted by so many characters."""

_TRAINS = {
    *("fit", "fit_generator", "train_on_batch", "train_step", "GradientTape", "gradient"),
    *("apply_gradients", "apply", "minimize", "get_gradients", "stateless_apply"),
}
"""Names by which a step of training is taken; what mentions one may hold the step."""

_NOT_TRAINING = {"tensorflow", "keras", "tf_keras", "numpy", *sys.stdlib_module_names}
"""Modules of which a function that is imported by name takes no step."""

_FILLS = {"append", "extend", "insert", "add", "update", "setdefault", "pop", "clear"}
"""Methods by which a list, set or dict is changed where it stands."""

_MAGIC = re.compile(r"(?P<indent>[ \t]*)(?P<to>[\w, \t]+=[ \t]*)?(?P<sign>%%|%|!|\?)(?P<rest>.*)")
_TIMES = re.compile(
    r"(?:time|timeit|capture|prun)\b(?:[ \t]+-\w+(?:[ \t]+\d+)?)*[ \t]*(?P<code>.*)"
)
"""Magics that run what stands behind them."""
_OWN_TEXT = re.compile(
    r"bash|sh|html|javascript|js|latex|markdown|svg|writefile|file|script|perl|ruby|cython"
)
"""Cells that aren't Python."""
_CELL = re.compile(r"# (?:In\[|%%|cell \d|COMMAND)")

Block = list[ast.stmt]


@dataclass
class _Loop:
    """A loop whose statements are timed: the numbers of these, and when the last of them ended."""

    node: ast.For | ast.While
    statements: dict[int, ast.stmt] = field(default_factory=dict)
    last: float = 0.0


class Tree:
    """The tree of a script; what is asked of it is done by `compile`.

    ``notes`` say what was left out of a notebook, once it was read.
    """

    def __init__(self, source: bytes, filename: str) -> None:
        self.source, self.filename = source, filename
        self.notes: list[str] = []
        self._lines: list[str] = []
        self._on_for: list[OnFor] = []
        self._thinned: dict[int, int] = {}
        self._turns: dict[int, int] = {}
        self._decorators: dict[int, list[Callable[[Any], Any]]] = {}
        self._timed = False
        self._loops: list[_Loop] = []
        self._steps: set[int] = set()
        self._models: set[int] = set()
        self._calls: list[int] = []
        self._seconds: list[float] = []

    def on_for(self, function: OnFor) -> None:
        """Every ``for`` that may hold the training step goes over ``function(line, iterable)``."""
        self._on_for.append(function)

    def thin(self, line: int, every: int) -> None:
        """The statement that begins at a line runs on the first and then each ``every``-th turn only.

        In a loop within a function the first turn is the first of each call, so that what the statement
        assigns is there.
        """
        self._thinned[line] = every

    def decorate(self, line: int, function: Callable[[Any], Any]) -> None:
        """The function or method whose ``def`` is at a line passes through a function, outside of its own
        decorators."""
        self._decorators.setdefault(line, []).append(function)

    def time_statements(self) -> None:
        """Puts timers around each statement of the loops that may hold the training step."""
        self._timed = True

    @functools.cached_property
    def tree(self) -> ast.Module:
        """The script's tree; `compile` changes it.

        Raises:
            SyntaxError: the script's own, as Python words it.
            ValueError: its text can't be read.
        """
        tree, text = _parse(importlib.util.decode_source(self.source), self.filename, self.notes)
        self._lines = text.splitlines(keepends=True)
        if self.notes:  # for AutoGraph, which reads functions again
            linecache.cache[self.filename] = (len(text), None, self._lines, self.filename)
        return tree

    def compile(self) -> CodeType:
        """The script's code, with all that was asked for.

        Raises:
            SyntaxError: the script's own.
        """
        nodes = list(ast.walk(self.tree))
        # What trains is looked for in the tree as it was written.
        loops = list(_training_loops(nodes)) if self._timed or self._on_for else []
        functions = [node for node in nodes if isinstance(node, _Function)]
        for function in functions:
            self._decorate(function)
        for block in chain.from_iterable(map(_blocks, nodes)):
            self._thin(block)
        for function in functions:
            self._begin(function)
        for loop in loops:
            if isinstance(loop, ast.For) and self._on_for:
                call: Any = _code(f"go_over({loop.lineno})", loop.iter)
                call.value.args.append(loop.iter)
                loop.iter = call.value
            # Those that hand their turn to others in between can't be timed from within.
            if self._timed and not any(isinstance(part, _HANDS_OVER) for part in _inside(loop)):
                self._time(_Loop(loop))
        setattr(builtins, _HOOKS, self)
        return compile(self.tree, self.filename, "exec", dont_inherit=True)

    # --- What is known of the loops' statements ---------------------------------------------------------

    def restart(self) -> None:
        """From now on the statements are timed from nothing."""
        now = time.perf_counter()
        for loop in self._loops:
            loop.last = now
        self._calls[:] = [0] * len(self._calls)
        self._seconds[:] = [0.0] * len(self._seconds)

    def step(self) -> None:
        """A training step is counted: the statements that are running hold it."""
        self._steps.update(number for _, number in self._running(sys._getframe(1)))  # noqa: SLF001

    def call_model(self) -> None:
        """A model is called: the statements that are running don't make data alone."""
        self._models.update(number for _, number in self._running(sys._getframe(1)))  # noqa: SLF001

    def statements(self) -> list[Statement]:
        """The statements of the loops that held a step, with their calls and seconds so far, those that
        are running included; in the order of the script."""
        now = time.perf_counter()
        running = {number: loop for loop, number in self._running(sys._getframe(1))}  # noqa: SLF001
        result = []
        for loop in self._loops:
            needed = _needed(loop, self._steps)
            makes = needed - _follow(loop, self._steps | self._models)
            for number, node in loop.statements.items() if needed else ():
                is_open = number in running
                seconds = self._seconds[number] + (now - loop.last if is_open else 0.0)
                result.append(
                    Statement(
                        line=node.lineno,
                        end_line=node.end_lineno or node.lineno,
                        text=" ".join(
                            line.strip() for line in self._lines[node.lineno - 1 : node.end_lineno]
                        )[:TEXT_CHARS],
                        loop=loop.node.lineno,
                        calls=self._calls[number] + is_open,
                        seconds=seconds,
                        is_step=number in needed,
                        makes=number in makes,
                    )
                )
        return sorted(result, key=lambda statement: (statement.line, -statement.end_line))

    def find_function(self, frame: FrameType) -> int | None:
        """The line of the ``def`` of the function that a frame runs; None: none, or it is in a loop there."""
        for node in ast.walk(self.tree):
            if isinstance(node, _Function):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                if (node.name, first) == (frame.f_code.co_name, frame.f_code.co_firstlineno):
                    loops = [
                        part for part in _inside(node) if isinstance(part, ast.For | ast.While)
                    ]
                    lines = [(loop.lineno, loop.end_lineno or 0) for loop in loops]
                    within = any(begin <= frame.f_lineno <= end for begin, end in lines)
                    return None if within else node.lineno
        return None

    def _running(self, frame: FrameType | None) -> Iterator[tuple[_Loop, int]]:
        """The timed statements on the stack, by number."""
        while frame is not None:
            if frame.f_code.co_filename == self.filename:
                for loop in self._loops:
                    for number, node in loop.statements.items():
                        if node.lineno <= frame.f_lineno <= (node.end_lineno or node.lineno):
                            yield loop, number
            frame = frame.f_back

    # --- What is put in --------------------------------------------------------------------------------

    def _decorate(self, node: _Function) -> None:
        own = node.decorator_list
        # What is no function stays outside.
        outer = [item for item in own if ast.unparse(item).endswith(_DESCRIPTORS)]
        at = own.index(outer[-1]) + 1 if outer else 0
        if node.lineno in self._decorators:
            call: Any = _code(f"decorator({node.lineno})", own[0] if own else node)
            own.insert(at, call.value)

    def _thin(self, block: Block) -> None:
        for at, statement in enumerate(block):
            line = statement.lineno
            if line in self._thinned.keys() - self._turns.keys() and not _is_trivial(statement):
                # Outer blocks come first: a loop on one line stands for its body, too.
                self._turns[line] = 0
                due: Any = _code(f"is_due({line})", statement, "if {}: pass")
                due.body = [statement]
                if isinstance(statement, ast.If) and not statement.orelse:
                    # Of the turns in which it does something as it is.
                    due.test = ast.copy_location(
                        ast.BoolOp(ast.And(), [statement.test, due.test]), due
                    )
                    due.body = statement.body
                block[at] = due

    def _begin(self, node: _Function) -> None:
        """Statements in the loops of a function begin their turns anew with each call of it."""
        loops = [part for part in _inside(node) if isinstance(part, ast.For | ast.While)]
        parts = chain.from_iterable(map(_inside, loops))
        lines = {part.lineno for part in parts if isinstance(part, ast.stmt)} & self._thinned.keys()
        if lines:
            at = ast.get_docstring(node, clean=False) is not None
            node.body.insert(at, _code(f"begin_turns({sorted(lines)})", node.body[0]))

    def _time(self, loop: _Loop) -> None:
        body = loop.node.body
        lines = [statement.lineno for statement in body]
        timed: Block = [_code(f"begin_turn({len(self._loops)})", body[0])]
        for statement in body:
            if _is_trivial(statement) or lines.count(statement.lineno) > 1:
                timed.append(statement)
                continue
            number = len(self._calls)
            loop.statements[number] = statement
            self._calls.append(0)
            self._seconds.append(0.0)
            call = f"end_statement({number}, {len(self._loops)})"
            timed.append(_code(call, statement, "try: pass\nfinally: {}"))
            timed[-1].body = [statement]  # type: ignore[attr-defined]
        body[:] = timed
        self._loops.append(loop)

    # --- What is called there --------------------------------------------------------------------------

    def go_over(self, line: int, iterable: Any) -> Any:
        """What the ``for`` of a line goes over."""
        for function in self._on_for:
            iterable = function(line, iterable)
        return iterable

    def decorator(self, line: int) -> Callable[[Any], Any]:
        """What the function of a line passes through."""
        return lambda function: functools.reduce(
            lambda made, decorate: decorate(made), self._decorators[line], function
        )

    def is_due(self, line: int) -> bool:
        """Whether the thinned statement of a line runs in this turn."""
        turn = self._turns.get(line, 0)
        self._turns[line] = turn + 1
        return turn % self._thinned[line] == 0

    def begin_turns(self, lines: list[int]) -> None:
        """The next turn of thinned statements is the first."""
        self._turns.update(dict.fromkeys(lines, 0))

    def begin_turn(self, loop: int) -> None:
        """A turn of a timed loop begins."""
        self._loops[loop].last = time.perf_counter()

    def end_statement(self, number: int, loop: int) -> None:
        """A timed statement ends, however: its time is what passed since the one before it."""
        ended, timed = time.perf_counter(), self._loops[loop]
        self._seconds[number] += ended - timed.last
        self._calls[number] += 1
        timed.last = ended


# --- Notebooks -------------------------------------------------------------------------------------------


def _parse(text: str, filename: str, notes: list[str]) -> tuple[ast.Module, str]:
    """A script's tree and text, in which what only a notebook understands is left out."""
    try:
        tree = ast.parse(text, filename)
    except SyntaxError:
        tree = None
    if tree is None:
        text = _leave_out(text, notes)
        tree = ast.parse(text, filename)
    if "get_ipython" in text or "__future__" in text:
        _Magics(filename, notes).visit(tree)
    return tree, text


def _leave_out(text: str, notes: list[str]) -> str:
    """The text without the lines that only a notebook understands, in as many lines."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        match = _MAGIC.fullmatch(lines[at])
        if match is None or not _begins(lines[:at], match["indent"]):
            at += 1
            continue
        first = at
        while lines[at].endswith("\\") and at + 1 < len(lines):
            at += 1
        if match["sign"] == "%%" and _OWN_TEXT.match(match["rest"]):
            while at + 1 < len(lines) and not _CELL.match(lines[at + 1]):
                at += 1
        timed = _TIMES.match(match["rest"]) if match["sign"] == "%" else None
        if timed and timed["code"]:
            lines[first] = f"{match['indent']}{match['to'] or ''}{timed['code']}"
        else:
            value = f"{match['to']}[]" if match["to"] else "pass" if match["indent"] else ""
            lines[first : at + 1] = [match["indent"] + value] + [""] * (at - first)
            notes.append(_left_out(first + 1, f"{match['sign']}{match['rest']}"))
        at += 1
    return "\n".join(lines)


def _left_out(line: int, text: str) -> str:
    return f"line {line} is a notebook's and was left out: {text[:TEXT_CHARS]}"


def _begins(before: list[str], indent: str) -> bool:
    """Whether a statement may begin behind these lines: a ``%`` there is no division."""
    try:
        ast.parse("\n".join([*before, f"{indent}pass", ""]))
    except SyntaxError as error:
        return "expected 'except' or 'finally' block" in str(error)
    return True


class _Magics(ast.NodeTransformer):
    """Takes calls of ``get_ipython()`` out, as converted notebooks have them, but for the code in them;
    and what ``__future__`` no longer holds, which notebooks have behind other lines."""

    def __init__(self, filename: str, notes: list[str]) -> None:
        self.filename = filename
        self.notes = notes

    def visit_Expr(self, node: ast.Expr) -> Any:
        call: Any = node.value
        parts = [getattr(part, "value", "") for part in call.args] if _asks_notebook(call) else []
        if len(parts) < 2 or not _TIMES.fullmatch(str(parts[0])):
            return self.generic_visit(node)
        inside: list[str] = []
        body = _parse(str(parts[-1]), self.filename, inside)[0].body
        self.notes += [_left_out(node.lineno, note.partition(": ")[2]) for note in inside]
        return [_place(statement, node) for statement in body] or _place(ast.Pass(), node)

    def visit_Call(self, node: ast.Call) -> Any:
        if not _asks_notebook(node):
            return self.generic_visit(node)
        self.notes.append(_left_out(node.lineno, ast.unparse(node)))
        return _place(ast.List([], ast.Load()), node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        if node.module != "__future__" or any(item.name == "annotations" for item in node.names):
            return node
        return _place(ast.Pass(), node)


def _asks_notebook(node: ast.expr) -> Any:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Call)
        and ast.unparse(node.func.value.func) == "get_ipython"
    )


# --- Pieces of trees -------------------------------------------------------------------------------------

_HOOKS = "__crossover__"
_Node = TypeVar("_Node", bound=ast.AST)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_DESCRIPTORS = ("staticmethod", "classmethod", "property", ".setter", ".getter", ".deleter")
_HANDS_OVER = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)


def _code(call: str, place: ast.AST, around: str = "{}") -> ast.stmt:
    """A statement with a call of the tree's, at a node's place."""
    return _place(ast.parse(around.format(f"{_HOOKS}.{call}")).body[0], place)


def _place(node: _Node, place: ast.AST) -> _Node:
    """The node with all that is in it at another's place."""
    for part in ast.walk(node):
        ast.copy_location(part, place)
    return node


def _blocks(node: ast.AST) -> Iterator[Block]:
    for _, value in ast.iter_fields(node):
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            yield value


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """What is in a node, but for what functions that are only defined there hold."""
    waiting = list(ast.iter_child_nodes(node))
    while waiting:
        child = waiting.pop()
        yield child
        if not isinstance(child, _SCOPES):
            waiting += ast.iter_child_nodes(child)


def _training_loops(nodes: list[ast.AST]) -> Iterator[ast.For | ast.While]:
    """The loops that mention what may take a step, by whatever name it is reached."""
    made = [pair for node in nodes for pair in _bindings(node)]
    trains = set(_TRAINS)
    before = 0
    while before != len(trains):
        before = len(trains)
        trains.update(*(names for names, mentions in made if mentions & trains))
    for node in nodes:
        if isinstance(node, ast.For | ast.While) and _mentions(node) & trains:
            yield node


def _is_trivial(node: ast.stmt) -> bool:
    trivial = (ast.Global, ast.Nonlocal, ast.Pass, ast.Break, ast.Continue, *_SCOPES)
    return isinstance(node, trivial) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def _mentions(node: ast.AST) -> set[str]:
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return names | {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}


def _bindings(node: ast.AST) -> Iterator[tuple[set[str], set[str]]]:
    """Names that a node binds, with those that it makes them of."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield {node.name}, _mentions(node)
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
        stored = [part for part in ast.walk(node) if isinstance(part, ast.Attribute)]
        attributes = {part.attr for part in stored if isinstance(part.ctx, ast.Store)}
        yield _writes(node) - {"self"} | attributes, _mentions(node)
    elif isinstance(node, ast.ImportFrom | ast.Import):
        for item in node.names:
            module = (node.module or "") if isinstance(node, ast.ImportFrom) else item.name
            if module.partition(".")[0] not in _NOT_TRAINING:
                yield {(item.asname or item.name).partition(".")[0]}, _TRAINS


def _root(node: ast.expr) -> set[str]:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _reads(node: ast.AST) -> set[str]:
    names = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Load)}


def _writes(node: ast.AST) -> set[str]:
    result = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name | ast.Attribute | ast.Subscript):
            result |= _root(part) if not isinstance(part.ctx, ast.Load) else set()
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            result |= _root(part.func.value) if part.func.attr in _FILLS else set()
    return result


def _needed(loop: _Loop, steps: set[int]) -> set[int]:
    """The statements of a loop that hold the step, or make what it takes; empty: it holds none.

    Goes on until nothing is added, since a turn takes what the last one left.
    """
    needed = steps & loop.statements.keys()
    names = _reads(loop.node.test) if isinstance(loop.node, ast.While) else set()
    count = 0
    while needed and count != len(needed) + len(names):
        count = len(needed) + len(names)
        for number, node in loop.statements.items():
            if number in needed or _writes(node) & names:
                needed.add(number)
                names |= _reads(node)
    return needed


def _follow(loop: _Loop, numbers: set[int]) -> set[int]:
    """The statements of a loop that hold one of these or take a gradient, and those that read what such
    write."""
    found = {n for n, node in loop.statements.items() if n in numbers or _mentions(node) & _TRAINS}
    count = -1
    while count != len(found):
        count = len(found)
        names = set[str]().union(*(_writes(loop.statements[number]) for number in found))
        found |= {number for number, node in loop.statements.items() if _reads(node) & names}
    return found
