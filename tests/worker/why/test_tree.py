"""A script put through its syntax tree behaves as it did, and what was asked for is done."""

from __future__ import annotations

import contextlib
import io
import sys
import textwrap
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.worker.why.run import ScriptRun
from suite.worker.why.stand_ins import Notebook
from suite.worker.why.tree import Tree

NASTY = {
    "for, while, else, break, continue": """
        for i in range(6):
            if i == 1: continue
            if i == 4: break
            fit(i)
        else:
            print("never")
        n = 0
        while n < 3:
            n += 1
            fit(n)
        else:
            print("ended", n)
    """,
    "returns out of loops": """
        def train():
            "a docstring"
            global last
            for i in range(5):
                for j in range(5):
                    fit(i)
                    if i * j == 6:
                        return i, j
                    last = j
        print(train(), last, train.__doc__, train.__code__.co_firstlineno)
    """,
    "errors keep their lines": """
        def step(i):
            return 1 / (2 - i)

        for i in range(4):
            fit(i)
            step(
                i)
    """,
    "errors that are caught": """
        for i in range(4):
            try:
                fit(1 / (i % 2))
            except ZeroDivisionError as error:
                print(error.__traceback__.tb_lineno, i)
                continue
            finally:
                print("finally")
            print("behind")
    """,
    "future": '''
        """The script's docstring."""
        from __future__ import annotations
        def f(x: nowhere) -> 1 + 1: return x
        for x in [1]: fit(x)
        print(__doc__, f.__annotations__)
    ''',
    "generators and async": """
        import asyncio
        def batches(n):
            for i in range(n):
                got = yield fit(i)
                if got: print("got", got)
        g = batches(3)
        print(next(g), g.send("x"), list(g))
        async def ticks():
            for i in range(2):
                fit(i)
                await asyncio.sleep(0)
                yield i
        async def main():
            async for t in ticks():
                fit(t)
            return [t async for t in ticks()]
        print(asyncio.run(main()))
    """,
    "classes, mangling, nonlocal": """
        class Trainer:
            for __field in ("a", "b"):
                locals()[__field] = 1
            def __init__(self): self.__n = 0
            @property
            def n(self): return self.__n
            @staticmethod
            def add(a, b):
                for _ in range(2): a += b
                return a
            @classmethod
            def make(cls): return cls()
            def fit(self, n):
                seen = 0
                def count():
                    nonlocal seen
                    for _ in range(n):
                        seen += 1
                    return seen
                for i in range(n):
                    self.__n += count()
                    del i
                return self
        print(Trainer.make().fit(3).n, Trainer.add(1, 2), sorted(k for k in vars(Trainer) if "__" not in k))
    """,
    "targets and stars": """
        class Box: pass
        box, table = Box(), {}
        for box.x, table["y"], *rest in [(1, 2, 3, 4)]:
            fit(box.x)
        print(box.x, table, rest)
        for x in *rest, 5: fit(x)
        for (a, b), c in zip([(1, 2)], [3]):
            print(a, b, c)
            total = (d := a) + b
        print(total, d)
    """,
    "names of its own": """
        for name in sorted(globals()):
            if not name.startswith("__"): print(name)
        print([n for n in dir() if "crossover" in n])
        for = 1
    """,
    "with and match": """
        import contextlib
        @contextlib.contextmanager
        def tape():
            print("in")
            try: yield 1
            finally: print("out")
        for i in range(3):
            with tape() as t:
                fit(t)
                if i: continue
            match i:
                case 0: print("zero")
                case _: print("other")
        raise SystemExit(3)
    """,
    "type comments and semicolons": """
        for i in range(2):  # type: int
            fit(i); print(i); x = i  # type: ignore
        lines = [
            f"{i:%d}" if i > 5 else "%s"
            % i
            for i in range(3)]
        print(lines)
    """,
    "exec and inspection": """
        import inspect
        def f(n):
            for i in range(n):
                fit(i)
        print(inspect.getsource(f))
        exec("for i in range(2): print(i)")
        print(f.__code__.co_firstlineno, sys._getframe().f_lineno)
    """,
    "a try within a loop of a try": """
        def f():
            for i in range(3):
                try:
                    for j in range(3):
                        try:
                            fit(j)
                            return i
                        finally:
                            if i < 2: break
                finally:
                    print("left", i)
            return -1
        print(f())
    """,
}


def behave(code_of: Any, source: str, path: Path) -> tuple[str, list[tuple[int, str]], str]:
    """What a script prints, the lines and names of its own frames, and its error."""
    path.write_text(source)
    out = io.StringIO()
    error = ""
    frames: list[tuple[int, str]] = []
    with contextlib.redirect_stdout(out):
        try:
            namespace = {
                "__name__": "__main__",
                "fit": lambda x: out.write(f"fit {x}\n") and x,
                "sys": sys,
            }
            exec(code_of(source.encode(), str(path)), namespace)  # noqa: S102
        except BaseException as raised:  # noqa: BLE001  a script may raise anything
            error = f"{type(raised).__name__}: {raised}"
            stack = traceback.extract_tb(raised.__traceback__)
            frames = [(f.lineno or 0, f.name) for f in stack if f.filename == str(path)]
    return out.getvalue(), frames, error


def plain(source: bytes, filename: str) -> Any:
    return compile(source, filename, "exec", dont_inherit=True)


def everything(source: bytes, filename: str) -> Any:
    tree = Tree(source, filename)
    tree.on_for(lambda _, iterable: iterable)
    tree.time_statements()
    for line in range(1, source.count(b"\n") + 1):
        if b"__future__" not in source.splitlines()[line - 1]:
            tree.thin(line, 1)
        tree.decorate(line, lambda function: function)
    return tree.compile()


def timed(source: bytes, filename: str) -> Any:
    tree = Tree(source, filename)
    tree.time_statements()
    return tree.compile()


@pytest.mark.parametrize("hooks", [everything, timed])
@pytest.mark.parametrize("name", NASTY)
def test_a_script_behaves_as_it_did(name: str, hooks: Any, tmp_path: Path) -> None:
    source = textwrap.dedent(NASTY[name]).lstrip()
    assert behave(hooks, source, tmp_path / "s.py") == behave(plain, source, tmp_path / "s.py")


def run(tree: Tree, **names: Any) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "__main__", "tree": tree, **names}
    exec(tree.compile(), namespace)  # noqa: S102
    return namespace


HOLDERS = """\
def batches():
    for x in range(3):
        yield x
def train(model):
    for x in batches():
        model.fit([y for y in (1, 2)])
do = train
for fold in range(3):
    do(model)
for x in batches():
    pass
"""


def test_every_for_that_may_hold_the_step_goes_through_the_hook() -> None:
    tree = Tree(HOLDERS.encode(), "s.py")
    lines: list[int] = []

    def shorten(line: int, iterable: Any) -> Iterator[Any]:
        lines.append(line)
        return iter(list(iterable)[:1])

    tree.on_for(shorten)

    class Model:
        fits = 0

        def fit(self, data: list[int]) -> None:
            assert data == [1, 2]
            self.fits += 1

    model = Model()
    assert run(tree, model=model)["x"] == 2
    assert lines == [8, 5]
    assert model.fits == 1


@pytest.mark.parametrize(
    ("source", "line", "done"),
    [
        ("for i in range(7):\n    done.append(i)\n", 2, [0, 3, 6]),
        ("for i in range(4):\n    for j in range(2):\n        done.append(j)\n", 2, [0, 1, 0, 1]),
        # Each call begins anew: what the statement assigns is there at the end.
        (
            "def f(n):\n    '''d'''\n    for i in range(n):\n        done.append(i)\nf(4)\nf(4)\n",
            4,
            [0, 3, 0, 3],
        ),
        ("def f(i):\n    done.append(i)\nfor i in range(4): f(i)\n", 2, [0, 3]),
        # A loop on one line is one statement.
        ("for i in range(2): done.append(i); done.append(-i)\n", 1, [0, 0, 1, -1]),
        ("if 0: pass\nelif 1:\n    done.append(1)\nelse:\n    done.append(2)\n", 2, [1]),
    ],
)
def test_a_thinned_statement_runs_on_each_third_turn(
    source: str, line: int, done: list[int]
) -> None:
    tree = Tree(source.encode(), "s.py")
    tree.thin(line, 3)
    happened: list[int] = []
    run(tree, done=happened)
    assert happened == done


def test_a_function_and_a_method_pass_through_a_decorator() -> None:
    source = (
        "class A:\n    @staticmethod\n    def f(x): return x\n    def g(self, x): return x\n"
        "def h(x): return x\nresult = [A.f(1), A().g(1), h(1)]\n"
    )
    tree = Tree(source.encode(), "s.py")
    for line in (3, 4, 5):
        tree.decorate(line, lambda function: lambda *items: 10 * function(*items))
    assert run(tree)["result"] == [10, 10, 10]


LOOPS = """\
import time
def make():
    def step(x):
        apply_gradients(x)
    return step
def train():
    step = make()
    for epoch in range(2):
        x = prepare = 0
        losses = []
        i = 0
        while i < 5:
            x = x + 1
            loss = step(x)
            losses.append(float(1))
            for _ in range(3): time.sleep(0.001)
            if i == 3: break
            i += 1
        print(end="")
        if epoch: tree_ended()
for many in range(10): make
for many in range(10): pass
train()
"""


def test_the_statements_of_the_training_loops_are_timed_exactly() -> None:
    tree = Tree(LOOPS.encode(), "loops.py")
    tree.time_statements()
    ended: list[Any] = []
    # The window ends while a statement of the outer loop is running.
    run(
        tree,
        apply_gradients=lambda _: tree.step(),
        tree_ended=lambda: ended.append(tree.statements()),
    )
    statements = {statement.line: statement for statement in ended[0]}
    assert sorted(statements) == [9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]
    assert [line for line, item in statements.items() if item.is_step] == [
        9,
        10,
        11,
        12,
        13,
        14,
        18,
    ]
    assert {line: item.calls for line, item in statements.items()} == {
        **dict.fromkeys([9, 10, 11, 12, 19, 20], 2),
        **dict.fromkeys([13, 14, 15, 16, 17], 8),
        18: 6,
    }
    assert {statements[line].loop for line in (9, 12)} == {8}
    assert statements[13].loop == 12
    assert statements[16].text == "for _ in range(3): time.sleep(0.001)"
    assert 0.024 <= statements[16].seconds < statements[12].seconds < 2
    assert statements[14].seconds < 0.01
    tree.restart()
    assert sum(statement.calls for statement in tree.statements()) == 0


FEEDS = """\
for x, y in data:
    x = augment(x)
    seen.append(x)
    with Tape() as tape:
        out = model(x)
        loss = out - y
    grads = tape.gradient(loss)
    grads = [g / 2 for g in grads]
    model.apply(grads)
    value = float(loss)
    total += value
    queue.append(value)
    if total > 9: model.save()
"""


def test_what_the_step_takes_belongs_to_the_step() -> None:
    class Model:
        def __call__(self, x: float) -> float:
            tree.call_model()
            return x

        def apply(self, grads: list[float]) -> None:
            tree.step()

        def save(self) -> None:
            pass

    tree = Tree(FEEDS.encode(), "feeds.py")
    tree.time_statements()

    class Tape(contextlib.nullcontext[Any]):
        def __enter__(self) -> Any:
            return self

        def gradient(self, loss: float) -> list[float]:
            return [loss]

    names = {"augment": abs, "Tape": Tape, "model": Model(), "total": 0, "queue": [], "seen": []}
    run(tree, data=[(1, 2)] * 3, **names)
    assert [s.line for s in tree.statements() if s.is_step] == [2, 4, 7, 8, 9]
    assert [s.line for s in tree.statements() if s.makes] == [2]


def test_what_the_step_reads_by_itself_is_made_for_it_and_its_own_names_are_not() -> None:
    source = """\
def train():
    loss = model(x)
    fit(loss)
def model(value): return value * scale
for i in range(3):
    x = i + 1
    scale = 2
    train()
    loss = x
    value = i
"""
    tree = Tree(source.encode(), "globals.py")
    tree.time_statements()
    run(tree, fit=lambda _: tree.step())
    assert [s.line for s in tree.statements() if s.is_step] == [6, 7, 8]


def test_a_statement_that_gives_variables_other_values_is_training_too() -> None:
    source = """\
def follow(target): target.assign(1)
class Agent:
    def learn(self, how): count(); self.steps.append(1)
    def copy(self): follow(self.target)
agent = Agent()
agent.target, agent.steps = Target(), []
for turn in range(3):
    agent.learn(fit)
    agent.copy()
    print(len(agent.steps), end="")
"""
    tree = Tree(source.encode(), "agent.py")
    tree.time_statements()
    run(tree, fit=0, count=tree.step, Target=lambda: SimpleNamespace(assign=print))
    assert [s.line for s in tree.statements() if s.changes] == [9]


def test_timers_cost_less_than_a_microsecond_a_statement() -> None:
    source = b"for i in range(20000):\n" + b"    fit\n" * 10
    loops = [Tree(source, "s.py") for _ in range(5)]
    for tree in loops:
        tree.time_statements()
    codes = [tree.compile() for tree in loops]
    began = time.process_time()
    exec(codes[-1], {"fit": 0})  # noqa: S102
    assert (time.process_time() - began) / 200_000 < 1e-6


NOTEBOOK = '''\
#!/usr/bin/env python
# In[1]:
%matplotlib inline
!pip install \\
    tensorflow  # it's
from __future__ import absolute_import, print_function
text = """
%not a magic
"""
kept = ("%d" % 5,
        "%d"
        % 6)
files = !ls
if True:
    %load_ext tensorboard
try:
    !nvidia-smi
except OSError:
    pass
# In[2]:
%%bash
echo "it's
# In[3]:
%%time
a = 1
# In[4]:
%time b = 2
c = %time 3
get_ipython().run_line_magic('matplotlib', 'inline')
get_ipython().run_cell_magic('time', '', 'd = 4\\n!ls\\ne = 5')
get_ipython().run_line_magic('time', 'f = 6')
get_ipython().system('ls')
g = get_ipython().getoutput('ls')
last = 1
line = __import__("sys")._getframe().f_lineno
'''


def test_a_notebooks_lines_are_left_out_and_lines_stay() -> None:
    tree = Tree(NOTEBOOK.encode(), "nb.py")
    script: Any = SimpleNamespace(tree=tree, file=tree.filename, note=tree.notes.append)
    script.user_line = lambda: ScriptRun.user_line(script)
    names = run(tree, get_ipython=lambda: Notebook(script))
    assert [names[name] for name in "abcdefg"] == [1, 2, 3, 4, 5, 6, []]
    assert names["kept"] == ("5", "6")
    assert names["text"] == "\n%not a magic\n"
    assert names["files"] == []
    assert (
        names["line"]
        == NOTEBOOK.splitlines().index('line = __import__("sys")._getframe().f_lineno') + 1
    )
    left = [int(note.split()[1]) for note in tree.notes]
    assert left == [3, 4, 13, 15, 17, 21, 24, 29, 30, 32, 33]


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (b"x = 1\nfor = 2\n", 2),
        (b"%matplotlib inline\nx = (\n", 2),
        (b"def f(:\n    %time x\n", 1),
        (b"# coding: nowhere\n", 0),
        (b"x = '\xff'\n", 0),
        (b"x = 1\n\x00\n", 0),
        (b"return 1\n", 1),
    ],
)
def test_a_syntax_error_is_the_scripts(source: bytes, line: int) -> None:
    with pytest.raises((SyntaxError, ValueError)) as raised:
        Tree(source, "s.py").compile()
    assert getattr(raised.value, "lineno", None) == (line or None)
    assert getattr(raised.value, "filename", None) == ("s.py" if line else None)
    assert not (line and raised.value.__context__)
