"""Holds what `make why` says of the scripts of tests/why/scripts against the truth.

    python -m tests.why.judge [NAME …] [--times 3] [--budget 4m] [--results FOLDER] [-- OPTION …]

Every script is asked about by the command line, without a container (what follows ``--`` is passed on), and
its why.json is held against truth.toml: is the first cause right, and its line; is the promise what the same
change made by hand gives; is nothing named where nothing is slow.  Ends with 1 where a cause is wrong.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.why.truth import SCRIPTS, lines_of, read_table

NEAR = (0.8, 1.25)
"""A promise over what is so: within these it was kept."""


def ask(
    name: str, budget: str, results: Path, options: list[str]
) -> tuple[dict[str, Any] | None, float, str]:
    """Ask why the script is slow: why.json, the seconds until it was there, and what the command said."""
    before = set(results.glob("*/why.json"))
    command = [sys.executable, "-m", "suite", "why", "--script", str(SCRIPTS / f"{name}.py")]
    command += [
        "--budget",
        budget,
        "--label",
        name.replace("_", "-"),
        "--results",
        str(results),
        *options,
    ]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    took = time.monotonic() - began
    answers = set(results.glob("*/why.json")) - before
    if not answers:
        return None, took, (done.stderr or done.stdout)[-600:]
    return json.loads(answers.pop().read_text()), took, done.stdout


def fix_of(entry: dict[str, Any], promised: dict[str, Any]) -> dict[str, Any] | None:
    """The change made by hand that is the promised one."""
    return next((f for f in entry["fix"] if re.search(f["match"], promised["name"])), None)


def gives(fix: dict[str, Any], promised: dict[str, Any]) -> list[float]:
    """What the change gives by CPU seconds and by wall time.

    One that does something every 50 times leaves a 50th of what it costs: where the product's does it every
    10 times, what that gives follows.
    """
    if "every" not in fix:
        return list(fix["gives"])
    said = re.search(r"^every (\d+) turns", promised["text"]) or re.search(
        r"(\d+)$", promised["name"]
    )
    assert said is not None, promised
    every = int(said[1])
    shares = [(1 - 1 / gain) / (1 - 1 / fix["every"]) for gain in fix["gives"]]
    return [1 / (1 - share * (1 - 1 / every)) for share in shares]


def promise_kept(
    fix: dict[str, Any] | None, promised: dict[str, Any]
) -> tuple[float | None, bool | None]:
    """The promise over what the change made by hand gives, by wall time, and whether that is near 1 by
    either clock; None where nobody made it by hand."""
    if fix is None or "gives" not in fix:
        return None, None
    ratios = [promised["gain"]["value"] / true for true in gives(fix, promised)]
    return ratios[1], any(NEAR[0] <= ratio <= NEAR[1] for ratio in ratios)


def judge(entry: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """What is right of an answer: ``cause``, ``line``, ``second``, ``kept`` and ``training`` are True or
    False, or None where there is nothing to hold them against."""
    causes = answer["causes"]
    verdict: dict[str, Any] = {"named": [(c["cause"], c["line"]) for c in causes]}
    if not entry["cause"]:
        return verdict | {
            "cause": not causes,
            "line": None,
            "second": None,
            "kept": None,
            "training": None,
        }
    first = causes[0] if causes else {}
    verdict["cause"] = first.get("cause") in entry["cause"]
    verdict["line"] = first.get("line") in lines_of(entry) if verdict["cause"] else None
    verdict["second"] = (
        len(causes) > 1 and causes[1]["cause"] in entry["second"] if "second" in entry else None
    )
    promised = first.get("fix")
    fix = fix_of(entry, promised) if promised else None
    verdict["ratio"], verdict["kept"] = promise_kept(fix, promised) if promised else (None, None)
    verdict["fix"] = promised["name"] if promised else "-"
    verdict["training"] = (
        promised["training"] == fix["training"]
        # What may round need not: the product says what it saw.
        or (promised["training"] == "unchanged" and not any(fix.get("norms", [1])))
        if promised and fix
        else None
    )
    return verdict


def mark(right: bool | None) -> str:
    return {True: "yes", False: "NO", None: "-"}[right]


def main() -> int:
    ours, _, options = "\0".join(sys.argv[1:]).partition("\0--\0")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--budget", default="4m")
    parser.add_argument("--results", type=Path, default=Path("results/judged"))
    given = parser.parse_args([part for part in ours.split("\0") if part])
    passed_on = [part for part in options.split("\0") if part] or [
        "--engine",
        "local",
        "--arms",
        "cpu",
    ]
    table = read_table()
    counts: Counter[tuple[str, bool]] = Counter()
    print(
        f"{'script':26} {'s':>5}  cause line second promise training  named; its fix; promise over truth"
    )
    for name in given.names or table:
        for _ in range(given.times):
            answer, took, said = ask(name, given.budget, given.results, passed_on)
            if answer is None:
                counts["answer", False] += 1
                print(f"{name:26} {took:5.0f}  no why.json: {said.strip()}", flush=True)
                continue
            verdict = judge(table[name], answer)
            counts["answer", True] += 1
            for what in ("cause", "line", "second", "kept", "training"):
                if verdict[what] is not None:
                    counts[what, verdict[what]] += 1
            counts["in 4 minutes", took <= 240] += 1
            standing = "/".join(arm["standing"] for arm in answer["arms"].values())
            ratio = verdict.get("ratio")
            print(
                f"{name:26} {took:5.0f}  {mark(verdict['cause']):5} {mark(verdict['line']):4} "
                f"{mark(verdict['second']):6} {mark(verdict['kept']):7} {mark(verdict['training']):8}  "
                f"{verdict['named']} {verdict.get('fix', '')} {'' if ratio is None else f'{ratio:.2f}'} "
                f"{standing}",
                flush=True,
            )
    print()
    for what in dict.fromkeys(name for name, _ in counts):
        print(f"{what}: {counts[what, True]} of {counts[what, True] + counts[what, False]}")
    return int(counts["cause", False] + counts["answer", False] > 0)


if __name__ == "__main__":
    sys.exit(main())
