"""A script as a syntax tree: put through hooks before it is compiled, its line numbers kept.

The tree is looked up among the builtins, so that no name appears in the script's own namespace.  What
AutoGraph converts is read from the file and stays as it was written.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib.util
import io
import linecache
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
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

_CHANGES = {"assign", "assign_add", "assign_sub", "set_weights", "load_weights"}
"""Names by which variables get other values."""

_NOT_TRAINING = {"tensorflow", "keras", "tf_keras", "numpy", *sys.stdlib_module_names}
"""Modules of which a function that is imported by name takes no step."""

_FILLS = {"append", "extend", "insert", "add", "update", "setdefault", "pop", "clear"}
"""Methods by which a list, set or dict is changed where it stands."""


@dataclass(eq=False)
class _Timed:
    """A statement of a loop that is timed: its calls and seconds so far, and whether a step was taken, or a
    model called, while it ran."""

    node: ast.stmt
    calls: int = 0
    seconds: float = 0.0
    step: bool = False
    model: bool = False


@dataclass
class _Loop:
    """A loop with its timed statements, and since when the one that is running runs."""

    node: ast.For | ast.While
    statements: list[_Timed] = field(default_factory=list)
    running: _Timed | None = None
    since: float = 0.0


class Tree(ast.NodeTransformer):
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
        self.decorators: dict[int, Callable[[Any], Any]] = {}
        self._timed = False
        self._training: list[ast.AST] = []
        self._free: list[_Rule] = []
        self._loops: list[_Loop] = []

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
        inner = self.decorators.get(line, lambda decorated: decorated)
        self.decorators[line] = lambda decorated: function(inner(decorated))

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
        text = importlib.util.decode_source(self.source)
        try:
            tree = ast.parse(text, self.filename)
        except SyntaxError:
            tree = None
        if tree is None:
            text, left = leave_out(text)
            self.notes += [describe_left_out(*each) for each in left]
            tree = ast.parse(text, self.filename)
        self._lines = io.StringIO(text).readlines()
        # For AutoGraph, which reads functions again.
        linecache.cache[self.filename] = (len(text), None, self._lines, self.filename)
        return tree

    def compile(self, tree: ast.Module | None = None) -> CodeType:
        """The script's code, or that of another tree, with all that was asked for.

        Raises:
            SyntaxError: the script's own.
        """
        tree = tree or self.tree
        # What trains is looked for in the tree as it was written.
        self._training = _find_training_loops([*ast.walk(self.tree), *ast.walk(tree)])
        functions = [node for node in ast.walk(self.tree) if isinstance(node, _Function)]
        self._changing = _follow(_CHANGES, [({each.name}, _names(each)) for each in functions])
        self._free = [(_find_free(function), {function.name}) for function in functions]
        setattr(builtins, _HOOKS, self)
        return compile(self.visit(tree), self.filename, "exec", dont_inherit=True)

    def run(self, code: str, line: int, namespace: dict[str, Any]) -> None:
        """Runs code that a line of the script has as a text, as if it stood there."""
        place = ast.Pass(lineno=line, end_lineno=line, col_offset=0, end_col_offset=0)
        exec(self.compile(_place(ast.parse(code), place)), namespace)  # noqa: S102  the script's own

    # --- What is known of the loops' statements ---------------------------------------------------------

    def restart(self) -> None:
        """From now on the statements are timed from nothing."""
        now = time.perf_counter()
        for loop in self._loops:
            loop.since = now
            for each in loop.statements:
                each.calls, each.seconds = int(each is loop.running), 0.0

    def step(self) -> None:
        """A training step is counted: the statements that are running hold it."""
        for each in self._running():
            each.step = True

    def call_model(self) -> None:
        """A model is called: the statements that are running don't make data alone."""
        for each in self._running():
            each.model = True

    def _running(self) -> list[_Timed]:
        return [loop.running for loop in self._loops if loop.running]

    def statements(self) -> list[Statement]:
        """The statements of the loops that held a step, with their calls and seconds so far, those that
        are running included; in the order of the script."""
        now = time.perf_counter()
        result = []
        for loop in self._loops:
            needed = _find_needed(loop, self._free)
            makes = needed - _find_training(loop)
            for each in loop.statements if needed else ():
                lines = self._lines[each.node.lineno - 1 : each.node.end_lineno]
                result.append(
                    Statement(
                        line=each.node.lineno,
                        end_line=each.node.end_lineno or each.node.lineno,
                        text=" ".join(line.strip() for line in lines)[:TEXT_CHARS],
                        loop=loop.node.lineno,
                        calls=each.calls,
                        seconds=each.seconds + (now - loop.since if each is loop.running else 0),
                        is_step=each in needed,
                        makes=each in makes,
                        changes=not _names(each.node).isdisjoint(self._changing),
                    )
                )
        return sorted(result, key=lambda statement: (statement.line, -statement.end_line))

    def find_function(self, frame: FrameType) -> int | None:
        """The line of the ``def`` of the function that a frame runs; None: none, or it is in a loop there."""
        around = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, _Function | ast.For | ast.While)
            and node.lineno <= frame.f_lineno <= (node.end_lineno or 0)
        ]
        innermost = max(around, key=lambda node: node.lineno, default=None)
        return innermost.lineno if isinstance(innermost, _Function) else None

    # --- What is put in --------------------------------------------------------------------------------

    def visit(self, node: ast.AST) -> Any:
        """The node and what is in it, with all that was asked for."""
        line = getattr(node, "lineno", 0)
        is_thinned = (
            isinstance(node, ast.stmt)
            and line in self._thinned.keys() - self._turns.keys()
            and not _is_trivial(node)
        )
        if is_thinned:
            # Before its parts: a loop on one line stands for its body, too.
            self._turns[line] = 0
        self.generic_visit(node)
        if isinstance(node, _Function):
            self._enter(node)
        elif node in self._training:
            self._hook_loop(node)
        elif isinstance(node, ast.ImportFrom) and node.module == "__future__":
            # What Python does anyway, notebooks have behind other lines.
            new = any(item.name == "annotations" for item in node.names)
            return node if new else _place(ast.Pass(), node)
        return self._thin(node) if is_thinned else node

    def _enter(self, node: Any) -> None:
        """Decorates a function, and begins the turns of what is thinned in its loops with each call."""
        own = node.decorator_list
        if node.lineno in self.decorators:
            call: Any = _code(f"decorators[{node.lineno}]", own[0] if own else node)
            # What is no function stays outside.
            outer = [n for n, item in enumerate(own, 1) if ast.unparse(item).endswith(_DESCRIPTORS)]
            own.insert(max(outer, default=0), call.value)
        loops = _inside(node, ast.For | ast.While)
        lines = {part.lineno for loop in loops for part in _inside(loop, ast.stmt)}
        if thinned := sorted(lines & self._thinned.keys()):
            at = ast.get_docstring(node, clean=False) is not None
            node.body.insert(at, _code(f"begin_turns({thinned})", node.body[0]))

    def _thin(self, node: Any) -> ast.stmt:
        due: Any = _code(f"is_due({node.lineno})", node, "if {}: pass")
        due.body = [node]
        if isinstance(node, ast.If) and not node.orelse:
            # Of the turns in which it does something as it is.
            due.test = ast.copy_location(ast.BoolOp(ast.And(), [node.test, due.test]), due)
            due.body = node.body
        return due  # type: ignore[no-any-return]

    def _hook_loop(self, loop: Any) -> None:
        """Hooks and timers of a loop that may hold the step."""
        if isinstance(loop, ast.For):
            call: Any = _code(f"go_over({loop.lineno})", loop.iter)
            call.value.args.append(loop.iter)
            loop.iter = call.value
        # Those that hand their turn to others in between can't be timed from within.
        if not self._timed or _inside(loop, _HANDS_OVER):
            return
        timed, number = _Loop(loop), len(self._loops)
        self._loops.append(timed)
        lines = Counter(statement.lineno for statement in loop.body)
        body: list[ast.stmt] = []
        for statement in loop.body:
            at = None
            if not _is_trivial(statement) and lines[statement.lineno] == 1:
                at = len(timed.statements)
                timed.statements.append(_Timed(statement))
            body += [_code(f"begin({number}, {at})", statement), statement]
        around: Any = _code(f"begin({number}, None)", body[0], "try: pass\nfinally: {}")
        around.body = body
        loop.body = [around]

    # --- What is called there --------------------------------------------------------------------------

    def go_over(self, line: int, iterable: Any) -> Any:
        """What the ``for`` of a line goes over."""
        for function in self._on_for:
            iterable = function(line, iterable)
        return iterable

    def is_due(self, line: int) -> bool:
        """Whether the thinned statement of a line runs in this turn."""
        turn = self._turns.get(line, 0)
        self._turns[line] = turn + 1
        return turn % self._thinned[line] == 0

    def begin_turns(self, lines: list[int]) -> None:
        """The next turn of thinned statements is the first."""
        self._turns.update(dict.fromkeys(lines, 0))

    def begin(self, loop: int, statement: int | None) -> None:
        """A statement of a timed loop begins, and the one before it is over; None: one that isn't timed, or
        the turn is over."""
        now, timed = time.perf_counter(), self._loops[loop]
        if timed.running is not None:
            timed.running.seconds += now - timed.since
        timed.running, timed.since = None, now
        if statement is not None:
            timed.running = timed.statements[statement]
            timed.running.calls += 1


# --- Notebooks -------------------------------------------------------------------------------------------

TIMES = r"(?:time|timeit|capture|prun)\b(?:[ \t]+-\w+(?:[ \t]+\d+)?)*[ \t]*"
"""Magics, with their options, that run what stands behind them."""

_MAGIC = re.compile(
    r"(?P<indent>[ \t]*)(?P<to>[\w, \t]+=[ \t]*)?(?P<magic>"
    rf"%{TIMES}(?P<code>.+)"
    r"|%%(?P<text>bash|sh|html|javascript|js|latex|markdown|svg|writefile|file|script)\b.*"
    r"|[%!].*)"
)
"""A line that only a notebook understands: one with code; one of a cell that isn't Python; any other."""

_CELL = re.compile(r"# (?:In\[|%%|cell \d|COMMAND)")


def leave_out(text: str) -> tuple[str, list[tuple[int, str]]]:
    """The text without what only a notebook understands, in as many lines; and that, with its lines."""
    lines, left, at = text.split("\n"), list[tuple[int, str]](), 0
    while at < len(lines):
        first, at = at, at + 1
        match = _MAGIC.fullmatch(lines[first])
        if match is None or not _may_begin(lines[:first], match["indent"]):
            continue
        indent, to = match["indent"], match["to"] or ""
        if match["code"]:
            lines[first] = f"{indent}{to}{match['code']}"
            continue
        while lines[at - 1].endswith("\\") and at < len(lines):
            at += 1
        while match["text"] and at < len(lines) and not _CELL.match(lines[at]):
            at += 1
        value = f"{to}[]" if to else "pass" if indent else ""
        lines[first:at] = [indent + value, *[""] * (at - first - 1)]
        left.append((first + 1, match["magic"]))
    return "\n".join(lines), left


def describe_left_out(line: int, text: str) -> str:
    """A note of what only a notebook understands."""
    return f"line {line} is a notebook's and was left out: {text[:TEXT_CHARS]}"


def _may_begin(before: list[str], indent: str) -> bool:
    """Whether a statement may begin behind these lines: a ``%`` there is no division."""
    try:
        ast.parse("\n".join([*before, f"{indent}pass", ""]))
    except SyntaxError as error:
        return "expected 'except' or 'finally' block" in str(error)
    return True


# --- Pieces of trees -------------------------------------------------------------------------------------

_HOOKS = "__crossover__"
_Node = TypeVar("_Node", bound=ast.AST)
_Rule = tuple[set[str], set[str]]
"""Names that follow from any of other names."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Assignment = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr
_DESCRIPTORS = ("staticmethod", "classmethod", "property", ".setter", ".getter", ".deleter")
_HANDS_OVER = ast.Yield | ast.YieldFrom | ast.Await | ast.AsyncFor | ast.AsyncWith


def _code(call: str, place: ast.AST, around: str = "{}") -> ast.stmt:
    """A statement with a call of the tree's, at a node's place."""
    return _place(ast.parse(around.format(f"{_HOOKS}.{call}")).body[0], place)


def _place(node: _Node, place: ast.AST) -> _Node:
    """The node with all that is in it at another's place."""
    for part in ast.walk(node):
        ast.copy_location(part, place)
    return node


def _inside(node: ast.AST, kinds: Any) -> list[Any]:
    """Nodes of these kinds in another, but for what functions that are only defined there hold."""
    found: list[Any] = []
    for child in ast.iter_child_nodes(node):
        found += [child] if isinstance(child, kinds) else []
        found += [] if isinstance(child, _SCOPES) else _inside(child, kinds)
    return found


def _find_training_loops(nodes: Sequence[ast.AST]) -> list[ast.AST]:
    """The loops that mention what may take a step, by whatever name it is reached."""
    trains = _follow(_TRAINS, [pair for node in nodes for pair in _bindings(node)])
    loops = (node for node in nodes if isinstance(node, ast.For | ast.While))
    return [loop for loop in loops if _names(loop) & trains]


def _is_trivial(node: ast.stmt) -> bool:
    trivial = (ast.Global, ast.Nonlocal, ast.Pass, ast.Break, ast.Continue, *_SCOPES)
    return isinstance(node, trivial) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def _bindings(node: ast.AST) -> Iterator[_Rule]:
    """Names that a node binds, with those that it makes them of."""
    if isinstance(node, _Function | ast.ClassDef):
        yield {node.name}, _names(node)
    elif isinstance(node, _Assignment):
        yield _names(node, ast.Store) | _writes(node) - {"self"}, _names(node)
    elif isinstance(node, ast.ImportFrom | ast.Import):
        for item in node.names:
            module = getattr(node, "module", item.name) or ""
            if module.partition(".")[0] not in _NOT_TRAINING:
                yield {(item.asname or item.name).partition(".")[0]}, _TRAINS


def _names(node: ast.AST, context: Any = ast.expr_context) -> set[str]:
    """Names and attributes that a node mentions."""
    parts = [part for part in ast.walk(node) if isinstance(getattr(part, "ctx", None), context)]
    return {getattr(part, "id", getattr(part, "attr", "")) for part in parts} - {""}


def _reads(node: ast.AST) -> set[str]:
    names = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Load)}


def _writes(node: ast.AST) -> set[str]:
    """The variables that a node assigns to, or changes where they stand."""
    result = set()
    for part in ast.walk(node):
        target: Any = None
        if not isinstance(getattr(part, "ctx", ast.Load()), ast.Load):
            target = part
        elif isinstance(part, ast.Call) and getattr(part.func, "attr", "") in _FILLS:
            target = part.func
        while isinstance(target, ast.Attribute | ast.Subscript | ast.Starred):
            target = target.value
        result |= {target.id} if isinstance(target, ast.Name) else set()
    return result


def _find_free(function: _Function) -> set[str]:
    """The names that a function reads and doesn't bind."""
    arguments = {part.arg for part in ast.walk(function) if isinstance(part, ast.arg)}
    return _reads(function) - _writes(function) - arguments


def _follow(names: set[str], rules: list[_Rule]) -> set[str]:
    """These names and all that follow by the rules."""
    count = -1
    while count != len(names):
        count = len(names)
        names = names.union(*(more for more, some in rules if some & names))
    return names


def _find_needed(loop: _Loop, free: list[_Rule]) -> set[_Timed]:
    """The statements of a loop that hold the step, or make what it takes; empty: it holds none.

    The script's functions read more than they are given: by their names, ``free`` has what.
    """
    steps = {each for each in loop.statements if each.step}
    names = _reads(loop.node.test) if isinstance(loop.node, ast.While) else set[str]()
    rules = [(_reads(each.node), _writes(each.node)) for each in loop.statements]
    return _join(loop, steps, names, rules, free) if steps else steps


def _find_training(loop: _Loop) -> set[_Timed]:
    """The statements of a loop that hold a step, call a model or take a gradient, and those that read what
    such write."""
    trains = {e for e in loop.statements if e.step or e.model or _names(e.node) & _TRAINS}
    rules = [(_writes(each.node), _reads(each.node)) for each in loop.statements]
    return _join(loop, trains, set(), rules, [])


def _join(
    loop: _Loop, some: set[_Timed], names: set[str], rules: list[_Rule], more: list[_Rule]
) -> set[_Timed]:
    """Some statements, and those that follow from them and from names: each has its rule."""
    pairs = list(zip(loop.statements, rules, strict=True))
    names = names.union(*(rule[0] for each, rule in pairs if each in some))
    names = _follow(names, [*rules, *more])
    return some | {each for each, rule in pairs if rule[1] & names}
