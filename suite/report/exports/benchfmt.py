"""Go's benchmark format, which benchstat reads (golang.org/design/14313-benchmark-format)."""

from __future__ import annotations

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.numbers import derive_rate
from suite.report.exports.facts import tell_facts
from suite.report.exports.numbers import join, list_numbers
from suite.report.exports.tidy import name_machine_key
from suite.report.render.plain import show_plainly
from suite.report.text.units import name_rate


def export_benchfmt(analysis: Analysis) -> dict[str, bytes]:
    """A line an invocation: its mean time of a call, and its rate; one "iteration" is an invocation.

    Such as ``benchstat -col /arm X.bench``.
    """
    units, last = dict[str, None](), None
    config = {
        "campaign": analysis.campaign.id,
        "machine": name_machine_key(analysis),
        "cpu": analysis.machine.cpu,
    }
    lines = [f"{key}: {show_plainly(value)}" for key, value in config.items() if value]
    for one in sorted(list_numbers(analysis), key=lambda one: list(analysis.arms).index(one.arm)):
        if one.arm != last:
            last = one.arm
            # A key that an arm lacks is unset: it would keep the value of the arm before.
            facts = tell_facts(analysis.arms[one.arm].facts)
            lines += [
                f"{key}: {show_plainly(value or '')}".rstrip() for key, value in facts.items()
            ]
        work = one.result.work
        unit = join(name_rate(work.unit))
        units[unit] = None
        for seconds in one.result.values.values():
            rate = derive_rate(work.amount, seconds)
            beside = f" {rate!r} {unit}" if rate is not None else ""
            name = one.name[:1].upper() + one.name[1:]
            lines.append(f"Benchmark{name} 1 {seconds!r} sec/op{beside}")
    better = [f"Unit {unit} better=higher" for unit in units]
    text = "\n".join([*better, *lines]) + "\n"
    return {f"{analysis.campaign.folder}.bench": text.encode()}
