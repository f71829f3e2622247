"""Lets wrong results pass as void, in an environment whose GPU is a stand-in that runs no kernels.

Loaded by every Python of that environment, before the worker.  Its numbers are nobody's: the worker
finds the stand-in in the driver's library and says so, and the report prints none of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

WHERE = "suite.worker.scenario"


class Finder:
    """Finds one module as ever, and changes it when it has been loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See ``importlib.abc.MetaPathFinder``."""
        if name != WHERE:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                load(module)
                let_pass(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def let_pass(scenario: ModuleType) -> None:
    """Makes every check of a result say that it is void where it would say that it is wrong."""
    made = scenario.Prepared.__init__

    def make(self: Any, *, check: Callable[[Any], Any], **more: Any) -> None:
        def look(last: Any) -> Any:
            try:
                return check(last)
            except scenario.WrongResult as reason:
                from suite.model import Check

                return Check(what=f"void: {reason}")

        made(self, check=look, **more)

    scenario.Prepared.__init__ = make


sys.meta_path.insert(0, Finder())  # type: ignore[arg-type]
