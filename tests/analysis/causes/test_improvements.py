"""What helps and what does not, by pairs of cells one change apart: found, judged, and never made up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from suite.analysis.ablation.speedups import find_effects
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.findings import Finding
from suite.analysis.result.numbers import FEWEST
from suite.cells.cell import Cell, Choice, Param, Work
from suite.cells.changes import WATERFALLS
from suite.cells.traits import ProfileName
from suite.host.campaign.plan import PROFILES
from suite.report.text.evidence import word_evidence
from suite.worker import scenarios
from tests import synthetic
from tests.fakes import machines
from tests.fakes.hosts import QUIET, SILENT, TYPICAL, Host
from tests.rendering import render_markdown, study

CELLS = scenarios.cells()
EXAMPLE = Work(amount=1.0, unit="example")


def measure(
    cells: Sequence[Cell],
    truth: Callable[[Cell, str], float],
    *,
    arms: Sequence[str] = ("cpu",),
    host: Host = QUIET,
    seed: int = 7,
    profile: ProfileName = "standard",
    **plan: Any,
) -> Analysis:
    campaign = synthetic.make_campaign(
        arms=arms, cells=list(cells), seed=seed, profile=profile, **plan
    )
    return study(
        campaign, synthetic.make_documents(campaign, truth=truth, host=host, calibration=False)
    )


def tell(analysis: Analysis, shows: str, arm: str = "cpu") -> dict[str, Finding]:
    """What is shown on an arm, by the words of the change."""
    own = analysis.find("change", arm=arm, verdict=shows)
    changes = {word_evidence(change.evidence[0]): change for change in own}
    assert len(changes) == len(own)
    return changes


def read(change: Finding) -> tuple[object, ...]:
    """The effect of a change, what it costs, in how many pairs it is faster and slower, and of how many."""
    _, _, effect, faster, slower = (evidence.values for evidence in change.evidence)
    shown = faster["pairs"], slower["pairs"], slower["of"]
    return effect["effect"], effect.get("costs"), *shown


def make_up(
    choices: Mapping[str, Choice], *points: Mapping[str, Param], **fields: Any
) -> list[Cell]:
    """The cells of a case that nobody has heard of."""
    usual: dict[str, Any] = {"choices": dict(choices), "role": "work", "work": EXAMPLE}
    return [
        synthetic.make_cell("made", "up", point, **{**usual, **fields})  # type: ignore[arg-type]
        for point in points
    ]


MODE = Choice(
    effect="script", costs="tracing", values={"eager": "an eager loop", "graph": "a tf.function"}
)
TOGETHER = Choice(effect="training", costs="memory", larger="more of them", usual=4)


def test_an_axis_that_a_new_case_declares_is_told_without_a_row_of_its_own() -> None:
    cells = make_up(
        {"mode": MODE, "count": TOGETHER},
        *({"mode": mode, "count": count} for mode in ("eager", "graph") for count in (1, 4, 8, 16)),
    )
    each = {"eager": 24e-3, "graph": 1e-3}
    analysis = measure(cells, lambda cell, _: each[str(cell.params["mode"])])
    assert list(tell(analysis, "faster")) == ["a tf.function instead of an eager loop"]
    change = tell(analysis, "faster")["a tf.function instead of an eager loop"]
    assert read(change) == ("script", "tracing", 4, 0, 4)
    assert change.number.value == pytest.approx(24, rel=0.03)
    # The work of a call is the same here, so that more of them a call gain nothing.
    assert set(tell(analysis, "")) == {"more of them"}
    per_call = [
        replace(cell, work=Work(amount=float(cell.params["count"]), unit="example"))
        for cell in cells
    ]
    analysis = measure(per_call, lambda cell, _: each[str(cell.params["mode"])])
    more = tell(analysis, "faster")["more of them"]
    # From the usual number, to the two larger ones of both modes.
    assert (read(more)[0], read(more)[-1]) == ("training", 4)
    assert (more.cell[-7:], more.at[-8:]) == ("count=4", "count=16")
    # What the script alone needs comes first, however much the other gains.
    assert [read(finding)[0] for finding in analysis.find("change")] == ["script", "training"]


def test_without_the_usual_size_the_smallest_is_where_one_begins() -> None:
    cells = make_up({"count": TOGETHER}, *({"count": count} for count in (1, 8)))
    cells = [
        replace(cell, work=Work(amount=float(cell.params["count"]), unit="example"))
        for cell in cells
    ]
    (change,) = tell(measure(cells, lambda *_: 1e-3), "faster").values()
    assert change.number.value == pytest.approx(8, rel=0.03)


@pytest.mark.parametrize(
    "fields",
    [{"role": "overhead"}, {"role": "control"}, {"role": "reference"}, {"one_shot": True}],
)
def test_a_price_a_control_and_what_happens_once_are_no_advice(fields: dict[str, Any]) -> None:
    cells = make_up({"mode": MODE}, {"mode": "eager"}, {"mode": "graph"}, **fields)
    truth = {"eager": 2e-3, "graph": 1e-3}
    assert not measure(cells, lambda cell, _: truth[str(cell.params["mode"])]).find("change")


def test_what_changes_only_what_is_timed_is_no_advice() -> None:
    timed = replace(MODE, effect="timing")
    cells = make_up({"mode": timed}, {"mode": "eager"}, {"mode": "graph"})
    truth = {"eager": 2e-3, "graph": 1e-3}
    assert not measure(cells, lambda cell, _: truth[str(cell.params["mode"])]).find("change")


TIMING = {
    stage["new"]
    for waterfall in WATERFALLS.values()
    for stage in waterfall["stages"]
    if stage.get("effect") == "timing"
}


def test_no_change_of_the_timing_is_ever_advice_and_one_of_the_training_says_so() -> None:
    """Where every stage and every larger size helps, and the GPU wins at the large ones alone."""

    def truth(cell: Cell, arm: str) -> float:
        stages = [stage.cell for stage in cell.way.stages] if cell.way else []
        place = stages.index(cell.id) if cell.id in stages else 10
        late = sum(bool(word) for word in ("off" in cell.id, "host" in cell.id, "eager" in cell.id))
        seconds = 1e-3 * cell.work.amount**0.3 * 2.0 ** (late - place)
        large = float(cell.params.get("batch", cell.params.get("n", 0))) >= 512
        return seconds if arm == "cpu" else seconds / 3 if large else seconds * 3

    measured = [cell for cell in CELLS if not cell.by_host and cell.role != "control"]
    analysis = measure(measured, truth, arms=("cpu", "cuda"))
    cells = {cell.id: cell for cell in measured}
    advice = [(change, read(change)[0]) for change in analysis.find("change", verdict="faster")]
    for cell in analysis.cells:
        for cause in cell.causes:
            advice += [(gain, "script") for gain in [cause.gain] if gain]
            advice += [(gain, "training") for gain in [cause.otherwise] if gain]
    assert {kind for _, kind in advice} == {"script", "training"}
    assert {finding.tag for finding, _ in advice} == {"change", "gain"}
    for finding, kind in advice:
        effects = find_effects(cells[finding.cell], cells[finding.at])
        assert "timing" not in effects, finding
        assert ("training" in effects) == (kind == "training"), finding
    report = render_markdown(analysis)
    parts = [report.partition(f"## {name}")[2].partition("\n## ")[0] for name in ("Why", "Recomm")]
    lines = [line for part in [report.partition("\n## ")[0], *parts] for line in part.splitlines()]
    told = [line for line in lines if "faster" in line]
    assert len(told) > 20
    for line in told:
        assert not [words for words in TIMING if words in line], line
        # Answers to more examples at once are the same answers.
        if ("at batch" in line and "mlp.infer" not in line) or "a larger batch" in line:
            assert "changes the training" in line, line
    assert any("at batch 4096 (changes the training); cuda wins at" in line for line in told)
    assert any("with execution=graph; 62" in line for line in told)


def choose(*ids: str) -> list[Cell]:
    return machines.choose(CELLS, *ids)


def map_seconds(cell: Cell, _: str) -> float:
    """Seconds of a batch of 512: NumPy under the interpreter's lock is slower in parallel."""
    if cell.case == "cache":
        return 0.5e-3
    params = cell.params
    if params["place"] == "batch":
        return {"native": 0.6e-3, "numpy_function": 1e-3}[str(params["function"])]
    alone = {"native": 4e-3, "numpy_function": 56e-3}[str(params["function"])]
    factor = {
        ("native", "autotune"): 0.5,
        ("native", "fixed"): 0.4,
        ("numpy_function", "autotune"): 1.3,
    }
    return alone * factor.get((str(params["function"]), str(params["calls"])), 1.0)


BY_BATCH = "a map of a batch at a time instead of an element at a time"
NATIVE = "TensorFlow's operations in the map instead of NumPy in the map"
AUTOTUNE = "parallel map calls (AUTOTUNE) instead of one map call at a time"


def test_a_maps_largest_gain_and_what_makes_it_slower_are_told() -> None:
    analysis = measure(choose("tfdata.map", "tfdata.cache"), map_seconds)
    helping, slowing = tell(analysis, "faster"), tell(analysis, "slower")
    assert helping[BY_BATCH].number.value == pytest.approx(56, rel=0.03)
    assert read(helping[BY_BATCH])[2:] == (2, 0, 2)
    assert NATIVE in helping
    assert "from a cache" in helping
    assert "memory" in str(read(helping["from a cache"])[1])
    # The same change helps one map and harms the other.
    assert helping[AUTOTUNE].number.value == pytest.approx(2, rel=0.03)
    assert "numpy_function" in slowing[AUTOTUNE].cell
    assert slowing[AUTOTUNE].number.value == pytest.approx(1 / 1.3, rel=0.03)
    assert read(slowing[AUTOTUNE])[2:4] == (1, 1)
    assert set(tell(analysis, "")) == {"prefetch instead of none"}
    report = render_markdown(analysis)
    section = report.partition("## Recommendations")[2].partition("\n## ")[0]
    helped, _, harmed = section.partition("what does not help on cpu: these changes make it slower")
    assert BY_BATCH in helped
    assert BY_BATCH not in harmed.partition("Neither shown")[0]
    assert "1.3" in harmed
    assert "slower" in harmed
    assert "Neither shown to help nor to harm on cpu: prefetch instead of none." in section


def test_no_warning_stands_where_nothing_is_slower() -> None:
    analysis = measure(
        choose("tfdata.map"), lambda cell, _: 1e-3 if cell.params["place"] == "batch" else 2e-3
    )
    assert tell(analysis, "faster").keys() == {BY_BATCH}
    assert "what does not help" not in render_markdown(analysis)


def test_a_direct_call_more_steps_a_call_and_a_graph_are_told() -> None:
    def truth(cell: Cell, _: str) -> float:
        params = cell.params
        if cell.case == "infer":
            return 66e-3 if params["call"] == "predict" else 3e-3
        if cell.case in {"loop", "loop_short"}:
            return 1.0 if params.get("steps_per_execution", 1) == 1 else 1 / 3.1
        return {"eager": 24e-3, "graph": 1e-3, "xla": 0.9e-3}[str(params["execution"])]

    changes = tell(measure(choose("mlp.infer", "mlp.loop", "mlp.train"), truth), "faster")
    direct = changes["a tf.function around the model instead of Model.predict"]
    steps = changes["more steps an execution"]
    graph = changes["one graph (tf.function) instead of eager execution"]
    assert direct.number.value == pytest.approx(22, rel=0.03)
    assert steps.number.value == pytest.approx(3.1, rel=0.03)
    assert graph.number.value == pytest.approx(24, rel=0.03)
    assert {read(change)[0] for change in (direct, steps, graph)} == {"script"}
    # Larger batches train otherwise; answers to more examples at once are the same answers.
    assert read(changes["a larger batch"])[0] == "training"
    assert read(changes["more examples a call"])[0] == "script"


def test_stages_of_a_script_are_advice_where_they_are_more_than_timing() -> None:
    pace = {"traced": 2.0, "placed": 2.0, "float32": 1.0, "no-fetch": 0.5}

    def truth(cell: Cell, _: str) -> float:
        return pace.get(str(cell.params["stage"]), 0.5 if "data" in cell.id else 20.0)

    changes = tell(measure(choose("asked.slices"), truth), "faster")
    assert "float32 inputs instead of float64" in changes
    assert "the loss no longer fetched every step" in changes
    assert not any("traced" in change or "process" in change for change in changes)
    assert read(changes["float32 inputs instead of float64"])[0] == "script"
    assert all("on=cpu" not in change.cell for change in changes.values())


def test_what_the_cpu_does_on_every_arm_is_told_of_the_cpu_alone() -> None:
    analysis = measure(
        choose("tfdata.map", "mlp.fallback"),
        lambda cell, arm: (
            map_seconds(cell, arm)
            if cell.case == "map"
            else 1e-3
            if cell.params["python"] == "none"
            else 5e-3
        ),
        arms=("cpu", "cuda"),
    )
    assert BY_BATCH in tell(analysis, "faster")
    assert list(tell(analysis, "faster", "cuda")) == [
        "TensorFlow's operations in the step instead of NumPy in the step"
    ]
    assert analysis.find("change")[0].arm == "cuda"


@pytest.mark.parametrize(("gain", "shows"), [(1.015, ""), (1.03, "faster"), (1 / 1.03, "slower")])
def test_a_gain_has_to_be_beyond_the_margin_and_not_only_beyond_1(gain: float, shows: str) -> None:
    cells = make_up({"mode": MODE}, {"mode": "eager"}, {"mode": "graph"})
    host = Host(between=1e-4, within=1e-4)
    analysis = measure(
        cells, lambda cell, _: 1e-3 * (gain if cell.params["mode"] == "eager" else 1), host=host
    )
    (change,) = analysis.find("change")
    assert change.verdict == shows
    assert change.number.p is not None
    assert change.number.p < 0.01


def test_a_profile_without_verdicts_says_so() -> None:
    cells = choose("mlp.fallback")
    truth = {"none": 1e-3, "numpy_function": 5e-3}
    profiles: Sequence[ProfileName] = ("smoke", "standard")
    for profile in profiles:
        analysis = measure(
            cells,
            lambda cell, _: truth[str(cell.params["python"])],
            profile=profile,
            blocks=max(FEWEST, PROFILES[profile].blocks),
        )
        assert {finding.verdict for finding in analysis.find("change")} == {"faster"}
        assert all(
            finding.provisional == (profile == "smoke") for finding in analysis.find("change")
        )
        assert (
            "provisional" in render_markdown(analysis).partition("## Recommendations")[2][:600]
        ) == (profile == "smoke")


def test_where_no_number_has_a_spread_nothing_is_shown() -> None:
    truth = {"none": 1e-3, "numpy_function": 5e-3}
    analysis = measure(
        choose("mlp.fallback"), lambda cell, _: truth[str(cell.params["python"])], host=SILENT
    )
    assert {finding.verdict for finding in analysis.find("change")} == {""}


WORK = [cell for cell in CELLS if cell.choices and not cell.one_shot]


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.method) for n in range(1, 60))]
)
@pytest.mark.parametrize("between", [0.005, 0.03])
@pytest.mark.parametrize("profile", ["smoke", "standard"])
def test_where_nothing_helps_nothing_is_told_to(
    seed: int, between: float, profile: ProfileName
) -> None:
    """Every cell does its work at the same rate: 190 pairs, and none may be shown."""
    host = replace(TYPICAL, between=between)
    analysis = measure(
        WORK,
        lambda cell, _: 1e-6 * cell.work.amount,
        arms=("cpu", "cuda"),
        host=host,
        seed=seed,
        profile=profile,
        blocks=PROFILES[profile].blocks,
    )
    assert sum(int(str(read(finding)[-1])) for finding in analysis.find("change")) > 150
    assert [finding for finding in analysis.find("change") if finding.verdict] == []


def test_a_crossover_of_eager_calls_of_many_operations_is_about_dispatch() -> None:
    """One of single operations is not, and neither is one of graphs."""

    def truth(cell: Cell, arm: str) -> float:
        rate, overhead = (1e-6, 1e-4) if arm == "cpu" else (1e-7, 2e-4)
        return overhead + rate * float(cell.params.get("batch", cell.params.get("n", 1)))

    cells = choose("mlp.infer", "matmul.square", "mlp.train/net=A")
    analysis = measure(cells, truth, arms=("cpu", "cuda"))
    table = render_markdown(analysis).partition("### Other crossovers")[2].partition("\n#")[0]
    about = [line for line in table.splitlines() if "about dispatch" in line]
    assert len(about) == 2
    assert "call=direct" in about[1]
    assert "execution=eager" in about[0]
    assert sum("| mlp.infer" in line for line in table.splitlines()) == 5
    assert "matmul.square" in table
    # Neither stands on the first screen, whose sweeps are of graphs and single operations.
    assert "about dispatch" not in render_markdown(analysis).partition("## ")[0]
