"""The page of a sheet of requirements: what passes, what fails, what is undecided and what would decide it.

No clock, no network, no facts of this machine: the same campaign and the same sheet give the same bytes.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from suite.analysis.result.acceptance import Acceptance, Answer, Check, Line
from suite.analysis.result.cells import OVER_BUDGET, WRONG, lacks_by
from suite.analysis.result.numbers import LEVEL
from suite.cells.traits import WITH_CONTROLS
from suite.report.sections.environment import SOMEWHERE
from suite.report.sections.opening import name_machine
from suite.report.text.evidence import fill, word_evidence
from suite.report.text.names import name_receipt
from suite.report.text.page import NO_NUMBER, Cell, Page, Row, Strong
from suite.report.text.texts import TEXTS
from suite.report.text.units import (
    join_first,
    join_words,
    show_beside,
    show_duration,
    show_gain,
    show_money,
    show_share,
    show_things,
)
from suite.report.text.wording import name_banners, word, word_invalid

_ANSWERS: dict[Answer, str] = {"pass": "pass", "fail": "FAIL", "undecided": "undecided"}

_MADE_OF = ("rate", "time", "first_call", "price", "spread")
"""What is measured on one day alone."""

_ANEW = ("flags", "profile-provisional", "control-failed", "cell-unplanned", "no-price")
"""Why only another campaign decides a line."""

_NAMED = 6
"""So many cells are named in a command."""

_FIRST = ("few-for-interval", "across-early")
"""Why more blocks first tell whether still more decide a line, and how many."""

_LISTED = 3
"""So many places of a line are named that have one reason."""

_ROWS = 12
"""So many checks of a line are shown, the worst first; accept.json has all."""

_BLANK = "_" * 24


def compose_acceptance(acceptance: Acceptance) -> Page:
    """The whole page."""
    page = Page(name_banners(acceptance.flags))
    page.title(f"Acceptance: {acceptance.title or acceptance.sheet}")
    page.paragraph(Strong(f"{acceptance.answer.upper()}."), f" {_count(acceptance)}")
    page.bullets(
        [
            *(f"UNSOUND: {word(flag)}." for flag in acceptance.flags if flag.scope == "machine"),
            *(
                f"WRONG RESULTS: {show_things(cells, 'cell')} without a number on {arm}, named in the report."
                for arm, cells in acceptance.wrong.items()
            ),
        ]
    )
    for name, codes in acceptance.failed.items():
        failed = ", ".join(TEXTS["failed"][code] for code in codes)
        page.paragraph(
            Strong(f"A control of {name} failed: {failed}."),
            " No line about its speed passes because of this.",
        )
    _write_about(page, acceptance)
    page.table("Table: the lines of the sheet.", [_show_line(line) for line in acceptance.lines])
    _write_several(page, acceptance)
    _write_deciding(page, acceptance)
    page.heading("How it was judged")
    page.paragraph(*_explain(acceptance))
    folder = f"{SOMEWHERE}/{acceptance.campaign.folder}"
    page.paragraph(
        "Whether every number follows from the documents, and this page again, byte for byte:"
    )
    sheet = shlex.quote(f"{SOMEWHERE}/{acceptance.sheet}")
    page.code(f"make check RUN={folder}")
    page.code(f"make accept RUN={folder} REQUIRE={sheet}")
    page.heading("Signatures")
    page.paragraph(f"Serial number or asset tag of the machine: {_BLANK}")
    page.table(
        "Table: who has seen this page, and agrees that it is about the machine that was delivered.",
        [
            {"for": who, "name": _BLANK, "date": "_" * 10, "signature": _BLANK}
            for who in acceptance.signed_by or (_BLANK[:12], _BLANK[:12])
        ],
    )
    page.footnotes()
    return page


def _write_several(page: Page, acceptance: Acceptance) -> None:
    """The checks of lines that have several; of many those that don't pass come first."""
    order: Sequence[Answer] = ("fail", "undecided", "pass")
    several = [
        (line, sorted(line.checks, key=lambda check: order.index(check.answer)))
        for line in acceptance.lines
        if len(line.checks) > 1
    ]
    page.table(
        "Table: the lines that are about several cells or arms, each by itself.",
        [_show_check(line, check) for line, checks in several for check in checks[:_ROWS]],
    )
    if more := sum(len(checks[_ROWS:]) for _, checks in several):
        page.paragraph(f"And {show_things(more, 'more check')}, in accept.json.")


def _count(acceptance: Acceptance) -> str:
    of = show_things(len(acceptance.lines), "line")
    counts = [
        f"{len(lines)} {words[len(lines) > 1]}"
        for answer, words in (
            ("pass", ("passes", "pass")),
            ("fail", ("fails", "fail")),
            ("undecided", ("is undecided", "are undecided")),
        )
        if (lines := acceptance.pick(answer))  # type: ignore[arg-type]
    ]
    failing = ", ".join(str(line.number) for line in acceptance.pick("fail"))
    return f"Of {of}, {join_words(counts)}." + (f" Failing: {failing}." if failing else "")


def _write_about(page: Page, acceptance: Acceptance) -> None:
    """What was judged, by what, and what it was measured with."""
    plan, suite = acceptance.campaign, acceptance.suite
    about = {
        "sheet": f"{acceptance.sheet}, SHA-256 {acceptance.digest}",
        "campaign": f"{plan.id}, planned {plan.created.isoformat()}, profile {plan.profile}, "
        f"{show_things(acceptance.blocks, 'block')}, arms {', '.join(acceptance.arms)}",
        "machine": name_machine(acceptance.machine),
        "machine type": acceptance.machine_type or "not told by the machine",
        "software": ", ".join(
            filter(
                None,
                [
                    f"TensorFlow {acceptance.software or 'unknown'}",
                    acceptance.driver and f"driver {acceptance.driver}",
                    f"Crossover {suite.version}, commit {suite.commit or 'unknown'}",
                    f"analysed by {acceptance.analysed_by}",
                ],
            )
        ),
        "samples": f"{acceptance.samples}, a hash over all of them",
    }
    if acceptance.price is not None:
        price = acceptance.price
        about["price"] = f"{show_money(price.hourly, price.currency)} an hour"
    page.columns("Table: what was judged.", [("about", list(about)), ("is", list(about.values()))])


def _show_line(line: Line) -> Row:
    return {
        "line": f"{line.number}" + (f" ({line.clause})" if line.clause else ""),
        "required": _word_required(line),
        "of": _word_place(line),
        "measured": _show_measured(line, line.worst),
        "answer": _ANSWERS[line.answer],
    }


def _show_check(line: Line, check: Check) -> Row:
    return {
        "line": str(line.number),
        "of": _name_place(check) or _name_part(line.of),
        "arm": check.arm,
        "measured": _show_measured(line, check),
        "answer": _ANSWERS[check.answer],
        "receipt": name_receipt(check.cell) if check.cell else NO_NUMBER,
    }


def _word_required(line: Line) -> str:
    against = line.against or "the first arm"
    wanted = line.wanted
    if line.what == "price":
        wanted = wanted.partition(" per ")[0].partition(" for a ")[0]
    values = {"wanted": wanted, "of": line.of, "against": against}
    return fill(TEXTS["required"][line.what], values, {})


def _word_place(line: Line) -> str:
    check, many = line.worst, len(line.checks)
    if many > 1:
        cells = len({check.cell or check.of for check in line.checks})
        arms = list(dict.fromkeys(check.arm for check in line.checks if check.arm))
        of = (
            f"{show_things(cells, 'cell')} ({line.cells or 'all of work'})"
            if check.cell
            else _name_part(line.of)
        )
        return ", ".join(filter(None, [of or show_things(many, "check"), *arms]))
    return ", ".join(filter(None, [_name_place(check), check.arm])) or NO_NUMBER


def _name_place(check: Check) -> str:
    """What a check is about, beside its arm."""
    return check.cell or _name_part(check.of)


def _name_part(of: str) -> str:
    """A part of two versions in words, with its name in a sheet; anything else as it is."""
    words = TEXTS["version-parts"].get(of, of)
    return words if words == of else f"{words} ({of})"


def _show_measured(line: Line, check: Check) -> Cell:
    """A number in the sheet's unit with its interval; or why there is none."""
    why = _word_why(check)
    figure = f"of {word_evidence(check.figure)}" if check.figure else ""
    notes = tuple(filter(None, (figure, why)))
    if check.found:
        return Cell(check.found, notes)
    if check.value is None:
        sound = "sound" if line.what == "machine" and check.answer == "pass" else NO_NUMBER
        return Cell(sound, notes)
    if line.what in {"noise_floor", "spread"}:
        return Cell(show_share(check.value.value), notes)
    if line.what in {"slower_than", "faster_from"}:
        return Cell(show_gain(check.value), notes)
    scale = line.scale or 1.0
    value, low, high = (
        None if end is None else end / scale
        for end in (check.value.value, check.value.low, check.value.high)
    )
    assert value is not None  # noqa: S101  an estimate has one
    bound = (line.bound or 0.0) / scale
    return Cell(show_beside((value, low, high), bound, line.unit), notes)


def _word_why(check: Check) -> str:
    """Why a check is undecided, or fails by what is no number; empty where its number says so."""
    if check.flags:
        return (
            word_invalid(check.flags)
            if check.flags[0].severity == "invalid"
            else "; ".join(map(word, check.flags))
        )
    return word_evidence(check.reason) if check.reason else ""


def _write_deciding(page: Page, acceptance: Acceptance) -> None:
    """What would decide each line that is undecided, and the commands."""
    undecided = acceptance.pick("undecided")
    if not undecided:
        return
    page.heading("What would decide it")
    reasons: dict[str, dict[int, list[str]]] = {}
    sentences: list[str] = []
    for line in undecided:
        for place, sentence in _decide(line):
            reasons.setdefault(sentence, {}).setdefault(line.number, []).append(place)
    for sentence, lines in reasons.items():
        names = join_words([_name(line, of) for line, of in lines.items()])
        sentences.append(f"Line{'s' * (len(lines) > 1)} {names}: {sentence}.")
    page.bullets(sentences)
    folder = f"{SOMEWHERE}/{acceptance.campaign.folder}"
    decides = acceptance.decides
    if decides is not None:
        numbers = join_words([str(number) for number in decides.lines])
        takes = ", about " + show_duration(decides.seconds) if decides.seconds else ""
        price = acceptance.price
        money = (
            f", about {show_money(decides.money, price.currency)}"
            if decides.money and price
            else ""
        )
        page.paragraph(
            f"For line{'s' * (len(decides.lines) > 1)} {numbers}, on the same machine, "
            f"{show_things(decides.more, 'more block')}{takes}{money}, by the pace of this campaign:"
        )
        page.code(f"make bench RESUME={folder} BLOCKS={decides.blocks}")
    for line in undecided:
        wider = max((c.blocks or 0 for c in line.checks if c.both), default=0)
        if wider:
            page.paragraph(f"For line {line.number}, of each campaign where it was measured:")
            page.code(f"make bench RESUME={folder} BLOCKS={wider}")
            page.code(f"make bench RESUME={shlex.quote(line.against)} BLOCKS={wider}")
    anew = [
        check
        for line in undecided
        for check in line.checks
        if check.answer == "undecided" and _find_code(check) in _ANEW
    ]
    if anew:
        cells = list(dict.fromkeys(check.cell for check in anew if check.cell))
        profile = acceptance.campaign.profile
        words = [f"PROFILE={profile if profile in WITH_CONTROLS else 'standard'}"]
        if any(
            _find_code(check) == "cell-unplanned" or lacks_by(check.flags, OVER_BUDGET)
            for check in anew
        ):
            words = ["PROFILE=full"]
        # What is about no cell is about all of them.
        few = len(cells) <= _NAMED and all(check.cell for check in anew)
        words += [f"ONLY={shlex.quote(' '.join(cells))}"] if few else []
        words += ["PRICE=…"] if any(_find_code(check) == "no-price" for check in anew) else []
        page.paragraph("Another campaign; the command says beforehand how long it takes:")
        page.code(f"make bench {' '.join(words)}")


def _name(line: int, places: Sequence[str]) -> str:
    """A line's number, with the places where it is about several."""
    named = list(filter(None, places))
    return f"{line} ({join_first(_LISTED, named)})" if named else f"{line}"


def _decide(line: Line) -> Iterator[tuple[str, str]]:
    """Of each check that is undecided its place, where there are several; why it is, and what would decide
    it."""
    for check in line.checks:
        if check.answer == "undecided":
            code = _find_code(check)
            promised = check.blocks is not None and code not in _FIRST
            values = {
                "blocks": check.blocks,
                "apart": check.apart or 0.0,
                "whose": f" of this campaign and of {line.against}" if check.both else "",
            }
            if code == "flags" and not check.cell:
                code = "invalid"
            what = fill(TEXTS["decides"]["blocks" if promised else code], values, {})
            place = ", ".join(filter(None, [_name_place(check), check.arm]))
            yield place if len(line.checks) > 1 else "", f"{_word_why(check)}; {what}"


def _find_code(check: Check) -> str:
    if lacks_by(check.flags, WRONG):
        return "wrong-results"
    if any(flag.code == "results-differ" for flag in check.flags):
        return "results-differ"
    return check.reason.code if check.reason and not check.flags else "flags"


def _explain(acceptance: Acceptance) -> Iterator[str]:
    checks = show_things(acceptance.counted, "check")
    yield (
        f"The sheet comes to {checks}, and each has an interval at {100 * acceptance.confidence:.4g} %, so "
        f"that all hold at once in {100 * (1 - LEVEL):.0f} % of campaigns (Bonferroni; Student's t on "
        "logarithms, a block is one observation; between campaigns Welch's). A line passes where its whole "
        "interval lies on the right side, fails where it lies wholly on the wrong one, and is undecided "
        "otherwise. Facts, controls and spreads are exact. "
    )
    if any(line.what in _MADE_OF for line in acceptance.lines):
        yield (
            "Rates, times and prices are those of the days on which this campaign ran: on another day, or "
            "another machine of the type, they may differ by more than the interval. "
        )
    if any(
        line.what in {"slower_than", "as_fast_as"} and line.against not in acceptance.arms
        for line in acceptance.lines
    ):
        yield "Campaigns were not interleaved: no interval covers drift between them. "
    if any(line.what == "expected" for line in acceptance.lines):
        yield "What is expected comes from published figures: the footnotes name each and its source. "
