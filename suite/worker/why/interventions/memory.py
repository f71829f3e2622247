"""Every batch from memory: as fast as input could be at most."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from suite.model.why import Watched
from suite.worker.why.calls import Arguments, intercept
from suite.worker.why.chains import gives_batches, size_of
from suite.worker.why.intervention import Intervention, Offers, split_chains
from suite.worker.why.run import ScriptRun

MOST_BYTES = 2**30
"""What is larger in all is not kept, and the change then does not apply."""

ENDLESS = 64
"""So many elements stand for a data set without end."""
WITHOUT_END = -1
"""Its cardinality."""

_WORK = ("map", "flat_map", "interleave", "filter")


def heaviest_line(watched: Watched) -> int | None:
    """The line of the script where most of the input is likely to be made."""
    calls = [each for each in watched.python_calls if each.of_data and each.line]
    if calls:
        return max(calls, key=lambda call: call.seconds).line
    chains = [[each for each in chain if each.line] for chain in split_chains(watched)]
    # Of the first that works: what is trained on comes before what validates.
    works = ([stage.line for stage in chain if stage.method in _WORK] for chain in chains)
    stages = [stage.line for chain in chains for stage in chain]
    return next(filter(None, works), stages[:1] or [watched.line])[-1]


def _find(watched: Watched) -> Offers:
    loops = {each.loop for each in watched.statements if each.is_step}
    calls = [each for each in watched.python_calls if each.of_data]
    lines = sorted({each.line for each in calls if each.kind == "for" and each.line in loops})
    own = watched.clock in ("function", "tape")  # what it goes over may come from another module
    if own or watched.stages or lines or any(each.kind != "for" for each in calls):
        yield {
            "name": "memory",
            "target": ",".join(map(str, lines)),
            "text": "every batch taken from memory",
            "line": heaviest_line(watched),
            "waits": any(each.waits for each in calls),
        }


class _Memory:
    """What a run keeps in memory: data sets by their id, held so that it stays their own, and what the `for`s
    of these lines go over."""

    def __init__(self, run: ScriptRun, lines: Sequence[str]) -> None:
        self.run, self.lines, self.bytes = run, lines, 0
        self.copies: dict[int, tuple[Any, Any]] = {}
        self.items: dict[int, list[Any]] = {}
        self.most = run.task.window[1] + 2 if run.task.window else ENDLESS
        """As many elements as the run can need, one a step."""

    def fits(self, item: Any) -> bool:
        """Whether there is room for one more item, and for all before it."""
        self.bytes += size_of(item)
        return self.bytes <= MOST_BYTES

    def replace(self, arguments: Arguments) -> None:
        """Has a copy gone over in the place of a data set."""
        import tensorflow as tf

        dataset = arguments["self"]
        if tf.inside_function():
            return
        if id(dataset) not in self.copies:
            with self.run.pause():
                self.copies[id(dataset)] = (dataset, self.copy(dataset))
        memory = self.copies[id(dataset)][1]
        if memory is not None:
            arguments["self"] = memory
            self.run.applied()

    def copy(self, dataset: Any) -> Any:
        """The data set in memory; None: it is too large, or empty."""
        count, found = int(dataset.cardinality()), 0
        most = min(self.most, ENDLESS) if count == WITHOUT_END else self.most
        memory = dataset.take(most).cache()
        self.copies[id(memory)] = (memory, None)
        for element in memory:
            found += 1
            if not self.fits(element):
                return None
        if found == most and count != most:
            memory = memory.repeat()
        return memory.take(count) if count > most else memory if found else None

    def give(self, line: int, iterable: Any) -> Iterable[Any]:
        """The items that came first at this line, in their order.

        Where they don't end in time, they come again until the run is over.
        """
        if str(line) not in self.lines or not gives_batches(iterable):
            return iterable  # type: ignore[no-any-return]
        if line not in self.items:
            iterator, items = iter(iterable), list[Any]()
            with self.run.pause():
                for item in itertools.islice(iterator, self.most):
                    items.append(item)
                    if not self.fits(item) or not self.bytes:
                        return itertools.chain(items, iterator)
            self.items[line] = items
        self.run.applied()
        items = self.items[line]
        return list(items) if len(items) < self.most else itertools.cycle(items)


def _install(run: ScriptRun, target: str) -> None:
    memory = _Memory(run, target.split(","))
    intercept(run, memory.replace, "dataset.__iter__")
    run.tree.on_for(memory.give)


MEMORY = Intervention("memory", "input", _find, _install, kind="ceiling", training="otherwise")
