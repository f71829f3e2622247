"""Flags in words: the registry's texts with a flag's values in their places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, get_args

from suite.analysis.result.cells import ArmResult
from suite.analysis.result.limits import ANY
from suite.analysis.result.numbers import MARGIN, Evidence, Verdict, VerdictName
from suite.flags import KINDS, Flag, is_common, pick
from suite.report.text.evidence import Shown, fill, word_evidence
from suite.report.text.texts import TEXTS

NO_VERDICTS = "no verdicts; a ratio whose interval excludes 1 is a hint, not a finding"
UNKNOWN_FLOOR = (
    f"the margin is {100 * MARGIN:.0f} %, and the noise floor unknown: no twins ran, which show what "
    "intervals miss"
)

NO_FINDING = "Too many of its invocations were disturbed: nothing here is a finding."


def name_banners(flags: Iterable[Flag]) -> tuple[str, ...]:
    """The banners of a campaign, or of several."""
    banners = TEXTS["banners"]
    named = (banners.get(flag.scope) or banners.get(flag.code) for flag in flags)
    return tuple(dict.fromkeys(filter(None, named)))


def word(flag: Flag, *, brief: bool = False) -> str:
    """The sentence of one flag, without a full stop.

    ``brief``: not in how many blocks, so that a footnote is the same in every table.
    """
    values = {"arm": "", "facts": (), **flag.where, **flag.values}
    if "of" in values:
        most = "most blocks"
        values["some"] = most if brief else f"{len(values['blocks'])} of {values['of']} blocks"
        values["blocks"] = most if brief else values["blocks"]
    if "far" in values:
        far, over = f"{100 * values['far']:.0f} %", f"over {100 * values['over']:.0f} %"
        values["far"] = over if brief else far
    return fill(KINDS[flag.code].text, values, _SHOWN)


def word_in_cell(flag: Flag) -> str:
    """The sentence of a flag on a cell, where it does not stand beside the cell's number."""
    return f"{flag.where['cell']}: {word(flag)}"


def word_invalid(flags: Sequence[Flag]) -> str:
    """Why a number is struck, in one sentence; empty where it is not."""
    in_blocks = any("blocks" in flag.where for flag in flags)
    return _word_blocks(flags) if in_blocks else "; ".join(map(word, flags))


def word_verdict(verdict: Verdict) -> str:
    """What a verdict rests on."""
    return word_evidence(verdict.reason) if verdict.reason else word_invalid(verdict.flags)


def count_verdicts(verdicts: Iterable[Verdict | Flag]) -> tuple[str, int]:
    """How many verdicts of each kind there are, such as ``slower in 3, equivalent in 2``, and how many
    in all; reasons for missing ones do not count."""
    counts = Counter(verdict.name for verdict in verdicts if isinstance(verdict, Verdict))
    parts = [f"{name.lower()} in {counts[name]}" for name in get_args(VerdictName) if counts[name]]
    return ", ".join(parts), counts.total()


def word_missing(result: ArmResult) -> str | None:
    """Why an arm has no number for a cell; None: it has one."""
    return next(map(word, pick(result.flags, "missing")), None)


def tell(flags: Iterable[Flag], *, brief: bool = False) -> list[str]:
    """What stands beside a number, in the flags' order; some that belong together are one sentence.

    What strikes the number alone, or why there is none, is told by `word_invalid` and `word_missing`.
    ``brief``: as `word`, and only what most blocks have.
    """
    beside = [
        flag
        for flag in flags
        if flag.severity != "missing"
        and (flag.severity != "invalid" or flag.scope == "arm")
        and (is_common(flag) or not brief)
    ]
    sentences = []
    for together, group in groupby(beside, key=_find_group):
        alike = list(group)
        if together == "excluded":
            sentences.append(f"{_word_blocks(alike)}; excluded")
        elif together == "cold":
            sentences.append(f"{alike[0].where['arm']}: {'; '.join(map(word, alike))}")
        else:
            sentences += [word(flag, brief=brief) for flag in alike]
    return sentences


def _find_group(flag: Flag) -> str:
    """What flags that follow each other need in common to be told in one sentence; empty: nothing."""
    if flag.code in {"ptx-jit", "cold-cache"}:
        return "cold"
    return "excluded" if flag.severity == "excluded" else ""


def _word_blocks(flags: Sequence[Flag]) -> str:
    """``cpu: block 3: steal; blocks 4, 5: …``."""
    words = [f"{name_blocks(flag.where['blocks'])}: {word(flag)}" for flag in flags]
    return f"{flags[0].where['arm']}: {'; '.join(words)}"


def name_blocks(blocks: Sequence[int]) -> str:
    """``block 3``, or ``blocks 3, 4``."""
    return f"block{'s' if len(blocks) > 1 else ''} {', '.join(map(str, blocks))}"


def describe_growth(within: Sequence[int], before: Sequence[int]) -> str:
    """``in block 3 and between measurements, before block 4``."""
    parts = [f"in {_name_invocations(within)}"] if within else []
    parts += [f"between measurements, before {_name_invocations(before)}"] if before else []
    return " and ".join(parts)


def name_xid(number: int, blocks: Sequence[int]) -> str:
    """``XID 79 (the GPU has fallen off the bus) in block 3``."""
    meaning = TEXTS["xids"].get(str(number))
    return f"XID {number}{f' ({meaning})' if meaning else ''} in {_name_invocations(blocks)}"


def _name_invocations(blocks: Sequence[int]) -> str:
    """``the preliminary run and blocks 3, 4``: block 0 kept cells going, or was a calibration."""
    counted = [block for block in blocks if block]
    parts = [
        *(["the preliminary run"] if 0 in blocks else []),
        *([name_blocks(counted)] if counted else []),
    ]
    return " and ".join(parts)


def word_held(held: Iterable[Evidence | Mapping[str, Any]]) -> str:
    """What held work back, as it was found or as it comes out of a file."""
    return word_evidence(*(Evidence(**e) if isinstance(e, Mapping) else e for e in held))


def _word_reason(reason: str | Evidence | Mapping[str, Any] | None) -> str:
    if isinstance(reason, Mapping):
        # As it comes out of a file.
        reason = Evidence(**reason)
    words = word_evidence(reason) if isinstance(reason, Evidence) else reason
    return f": {words}" if words else ""


def _word_endings(
    endings: Sequence[tuple[tuple[str, str | Evidence, str], Sequence[int]]],
) -> str:
    words = {
        outcome + _word_reason(reason) + (f" (its container: {ending})" if ending else ""): blocks
        for (outcome, reason, ending), blocks in endings
    }
    if len(words) == 1:
        return next(iter(words))
    return "; ".join(f"{name_blocks(blocks)}: {text}" for text, blocks in words.items())


def _show_range(name: str, low: float, high: float) -> str:
    ends = dict.fromkeys((f"{low:.9g}", f"{high:.9g}"))
    return f"{name} {' to '.join(ends)}"


_SHOWN: Shown = {
    "blocks": lambda blocks: blocks if isinstance(blocks, str) else name_blocks(blocks),
    "endings": _word_endings,
    "missing": lambda lost: "; ".join(
        f"{outcome} in block {block}{_word_reason(reason)}" for outcome, block, reason in lost
    ),
    "grown": lambda grown: ", ".join(f"{count} in block {block}" for count, block in grown),
    "ranges": lambda ranges: ", ".join(_show_range(*values) for values in ranges),
    "products": lambda precision: "memory" if precision == ANY else f"{precision} products",
    "codes": lambda codes: "; ".join(KINDS[code].text for code in codes),
    "whose": lambda arm: f"{arm}: " if arm else "",
    "part": {"suite": "the suite's measured part ", "image": "the image ", "facts": ""}.__getitem__,
    "sharing": TEXTS["sharing"].__getitem__,
    "remapping": lambda failed: ", and no spare rows are left for them" if failed else "",
    "worn": lambda _: ", and its caches had more errors than NVIDIA lets pass",
    "pending": lambda names: " and ".join(TEXTS["faults"][name] for name in names),
    "errors": lambda count: "1 error" if count == 1 else f"{count:,.0f} errors",
    "when": lambda when: describe_growth(*when),
    "xids": lambda xids: " and ".join(name_xid(*heard) for heard in xids),
    "kept": TEXTS["kept-going"].__getitem__,
    "held": word_held,
    "joined": "; ".join,
    "faults": lambda names: ", ".join(TEXTS["faults"].get(name, name) for name in names),
    "way": TEXTS["ways"].__getitem__,
    "listed": lambda names: f": {', '.join(names)}" if names else "",
}
"""What the placeholders of flags can ask for beside what all can."""
