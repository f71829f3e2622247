"""Every example of docs/recipes.md is run, and what it says is what the campaigns' own analyses say."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from statistics import geometric_mean, median, stdev
from typing import Any

import duckdb
import pytest

from suite.analysis.analyse import analyse
from suite.analysis.observations import COLUMNS, name_machine
from suite.analysis.result.campaign import Analysis
from suite.fingerprint import SUITE
from suite.report.exports.cells import render_csv
from suite.report.exports.summary import render_json
from tests import synthetic
from tests.changes import in_cell, invoke, plant, tell
from tests.commands import run_python
from tests.gpus import make_gpus
from tests.rendering import load, study

PAGE = (SUITE.parent / "docs" / "recipes.md").read_text(encoding="utf-8")
EXAMPLES = {
    title: (language, text)
    for title, language, text in re.findall(
        r"^##+ ([^\n]+)\n(?:(?!^#).)*?^```(sql|python)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE
    )
}

PRODUCT, STEP = synthetic.make_product(1000), synthetic.make_step(512)
IMPOSSIBLE = synthetic.make_product(100)
"""A cell of which no number is to be believed: its GPU was shared."""

DAYS, SLOWER_FROM, STEP_UP = 8, 5, 1.08
"""The first machine is measured every day, and takes so many times as long from the fifth day on."""


@dataclass(frozen=True, kw_only=True)
class Made:
    """A campaign: of which machine, on which day, and how many times as long a call takes."""

    machine: str
    type: str
    day: int = 1
    times: float = 1.0
    price: float | None = None


CAMPAIGNS = (
    *(
        Made(
            machine="1",
            type="small",
            day=day,
            times=STEP_UP if day >= SLOWER_FROM else 1.0,
            price=0.4,
        )
        for day in range(1, DAYS + 1)
    ),
    Made(machine="2", type="small", times=1.02, price=0.5),
    Made(machine="3", type="small", times=1.5, price=0.4),
    Made(machine="4", type="small"),
    Made(machine="5", type="large", times=0.5, price=1.0),
)


def make(made: Made) -> tuple[Analysis, list[Any]]:
    name = f"machine-{made.machine}-day-{made.day}"
    plan = synthetic.make_campaign(cells=[PRODUCT, STEP, IMPOSSIBLE], blocks=3, seed=len(name))
    plan = replace(
        plan,
        id=name,
        label=made.machine,
        created=plan.created + timedelta(days=made.day),
        price=made.price,
        seed=10 * int(made.machine) + made.day,
    )
    engine = {"name": "docker", "machine.id": made.machine, "machine.type": made.type}
    measured = synthetic.make_documents(
        plan, truth=synthetic.slow_down(made.times), samples=3, host=synthetic.QUIET
    )
    documents = plant(measured, invoke(engine=engine))
    slow = made.times == STEP_UP
    facts = {
        "os.kernel": "6.12" if slow else "6.1",
        "tensorflow.version": "2.22" if slow else "2.21",
    }
    documents = plant(documents, tell(facts))
    documents = plant(documents, in_cell(IMPOSSIBLE.id, labels=["gpu-shared"]), "cuda")
    return study(plan, [document for document in documents if document.invocation.block]), documents


@dataclass(frozen=True, kw_only=True)
class Campaigns:
    """A folder with results, a database with their table, and what the campaigns say themselves."""

    place: Path
    database: Any
    analyses: dict[Made, Analysis]

    def ask(self, title: str) -> list[dict[str, Any]]:
        """What an example of SQL answers, by the columns' names."""
        answer = self.database.execute(EXAMPLES[title][1])
        names = [column[0] for column in answer.description]
        return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]

    def run(self, title: str) -> str:
        """What an example of Python prints of the first campaign."""
        folder = f"results/{next(iter(self.analyses.values())).campaign.id}"
        done = run_python("-c", EXAMPLES[title][1], folder, folder=self.place)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def values(self, cell: str, arm: str = "cpu") -> dict[Made, float]:
        """The report's value of a cell by campaign."""
        found = {}
        for made, analysis in self.analyses.items():
            (result,) = (each.arms[arm] for each in analysis.cells if each.id == cell)
            assert result.value is not None
            found[made] = result.value
        return found

    def name(self, machine: str) -> str:
        """The machine's name in the table."""
        return next(name_machine(a) for made, a in self.analyses.items() if made.machine == machine)


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaigns]:
    place = tmp_path_factory.mktemp("recipes")
    analyses = {}
    for made in CAMPAIGNS:
        analysis, documents = make(made)
        folder = place / "results" / analysis.campaign.id
        synthetic.write_campaign(folder, synthetic.make_campaign(cells=[]), documents)
        (folder / "cells.csv").write_text(render_csv(analysis), encoding="utf-8")
        (folder / "summary.json").write_text(render_json(analysis), encoding="utf-8")
        analyses[made] = analysis
    with duckdb.connect() as database:
        database.execute(f"SET file_search_path = '{place}'")
        database.execute(EXAMPLES["The table"][1])
        yield Campaigns(place=place, database=database, analyses=analyses)


def exactly(value: float) -> Any:
    """The same but for rounding: the report keeps ten digits."""
    return pytest.approx(value, rel=1e-8)


def by_machine(values: dict[Made, float]) -> Iterator[tuple[str, list[float]]]:
    for machine in dict.fromkeys(made.machine for made in values):
        yield machine, [value for made, value in values.items() if made.machine == machine]


def test_the_page_names_the_columns() -> None:
    table = PAGE.partition("| column | holds |")[2].partition("\n\n")[0]
    named = [re.findall(r"`(\w+)`", line.split("|")[1]) for line in table.splitlines()[2:]]
    assert tuple(name for names in named for name in names) == COLUMNS


def test_a_cell_over_time_is_what_the_reports_say(campaigns: Campaigns) -> None:
    rows = campaigns.ask("A cell over time")
    for arm in ("cpu", "cuda"):
        found = {row["campaign"]: row["seconds"] for row in rows if row["arm"] == arm}
        values = campaigns.values(PRODUCT.id, arm)
        assert found == {f"machine-{o.machine}-day-{o.day}": exactly(v) for o, v in values.items()}
    first = [row["created"].day for row in rows if "-1-" in row["campaign"] and row["arm"] == "cpu"]
    assert first == sorted(first)
    assert {row["blocks"] for row in rows} == {3}


def test_a_change_is_found_where_it_is_and_nowhere_else(campaigns: Campaigns) -> None:
    rows = campaigns.ask("Since when it is slower, or faster")
    assert {(row["arm"], row["cell"]) for row in rows} >= {
        (arm, cell.id) for arm in ("cpu", "cuda") for cell in (PRODUCT, STEP)
    }
    for row in rows:
        assert row["since"] == f"machine-1-day-{SLOWER_FROM}"
        assert row["machine"] == campaigns.name("1")
        if row["cell"] != IMPOSSIBLE.id:
            values = [*campaigns.values(row["cell"], row["arm"]).values()][:DAYS]
            at = SLOWER_FROM - 1
            assert row["times"] == exactly(
                median(values[at : at + 3]) / median(values[at - 3 : at])
            )


def test_what_changed_beside_it_is_told(campaigns: Campaigns) -> None:
    rows = campaigns.ask("What else changed then")
    first = [row for row in rows if row["machine"] == campaigns.name("1") and row["arm"] == "cpu"]
    assert [(row["tensorflow"], row["campaigns"]) for row in first] == [("2.21", 4), ("2.22", 4)]
    start = synthetic.CREATED.replace(tzinfo=None)
    assert first[1]["since"] == start + timedelta(days=SLOWER_FROM)


def test_a_number_that_is_invalid_is_in_no_answer(campaigns: Campaigns) -> None:
    sound = "SELECT DISTINCT arm FROM points WHERE cell = $1"
    assert campaigns.database.execute(sound, [IMPOSSIBLE.id]).fetchall() == [("cpu",)]
    codes = {row["flag"] for row in campaigns.ask("Which flags there are")}
    assert {"gpu-shared", "few-samples"} <= codes


def test_machines_stand_by_their_medians(campaigns: Campaigns) -> None:
    rows = [row for row in campaigns.ask("A cell by machine") if row["arm"] == "cpu"]
    expected = {campaigns.name(m): median(v) for m, v in by_machine(campaigns.values(PRODUCT.id))}
    assert {row["machine"]: row["seconds"] for row in rows} == {
        name: exactly(value) for name, value in expected.items()
    }
    assert [row["machine"] for row in rows] == sorted(expected, key=lambda name: expected[name])
    assert {row["machine_type"] for row in rows} == {"small", "large"}


def test_a_type_is_of_its_machines(campaigns: Campaigns) -> None:
    rows = {
        row["machine_type"]: row
        for row in campaigns.ask("A cell by type of machine")
        if row["arm"] == "cpu"
    }
    values = campaigns.values(PRODUCT.id)
    small = {made: value for made, value in values.items() if made.type == "small"}
    machines = [geometric_mean(found) for _, found in by_machine(small)]
    assert rows["small"]["machines"] == len(machines) == 4
    assert rows["small"]["seconds"] == exactly(geometric_mean(machines))
    assert rows["small"]["spread"] == exactly(math.exp(stdev(map(math.log, machines))) - 1)
    assert (rows["large"]["machines"], rows["large"]["spread"]) == (1, None)


def test_the_cheapest_machine_is_first(campaigns: Campaigns) -> None:
    rows = [row for row in campaigns.ask("The cheapest machine for a cell") if row["arm"] == "cpu"]
    costs = {
        made: 1e6 * made.price / 3600 * value / STEP.work.amount
        for made, value in campaigns.values(STEP.id).items()
        if made.price is not None
    }
    expected = {campaigns.name(machine): median(found) for machine, found in by_machine(costs)}
    assert {row["machine"]: row["for_a_million"] for row in rows} == {
        name: exactly(value) for name, value in expected.items()
    }
    assert rows[0]["machine"] == min(expected, key=lambda name: expected[name])
    assert {(row["currency"], row["unit"]) for row in rows} == {("USD", "example")}


def test_the_odd_machine_is_named_alone(campaigns: Campaigns) -> None:
    rows = campaigns.ask("Which machine is the odd one")
    assert [(row["machine"], row["arm"]) for row in rows] == [
        (campaigns.name("3"), arm) for arm in ("cpu", "cuda")
    ]
    for row in rows:
        cells = [PRODUCT, STEP, *([IMPOSSIBLE] if row["arm"] == "cpu" else [])]
        ratios = []
        for cell in cells:
            values = by_machine(campaigns.values(cell.id, row["arm"]))
            means = {machine: geometric_mean(found) for machine, found in values if machine != "5"}
            ratios.append(math.log(means["3"] / median(means.values())))
        assert row["cells"] == len(cells)
        assert row["times"] == exactly(math.exp(median(ratios)))


def test_the_odd_gpu_of_a_machine_is_named_alone(tmp_path: Path) -> None:
    analysis = analyse(load(*make_gpus({"0": 1.0, "1": 1.0, "2": 1.08})))
    folder = tmp_path / "results" / analysis.campaign.id
    folder.mkdir(parents=True)
    (folder / "cells.csv").write_text(render_csv(analysis), encoding="utf-8")
    with duckdb.connect() as database:
        database.execute(f"SET file_search_path = '{tmp_path}'")
        database.execute(EXAMPLES["The table"][1])
        rows = database.execute(EXAMPLES["Which GPU of a machine is the odd one"][1]).fetchall()
    ((_, campaign, arm, times, cells),) = rows
    assert (campaign, arm) == (analysis.campaign.id, "cuda:2")
    assert times == pytest.approx(1.08, rel=0.01)
    gpus = [arm for arm in analysis.arms if arm.startswith("cuda:")]
    measured = [c for c in analysis.cells if all(c.arms[arm].value is not None for arm in gpus)]
    assert cells == len(measured) > 1


def test_the_raw_samples_are_those_of_the_documents(campaigns: Campaigns) -> None:
    rows = campaigns.ask("Every sample of a cell")
    found: dict[tuple[str, str, int], list[float]] = {}
    for row in rows:
        found.setdefault((row["campaign"], row["arm"], row["block"]), []).append(row["seconds"])
    expected = {}
    for path in campaigns.place.glob("results/*/c*-*.json"):
        document = json.loads(path.read_text(encoding="utf-8"))
        of = document["invocation"]
        (samples,) = (cell["samples_s"] for cell in document["cells"] if cell["id"] == PRODUCT.id)
        if of["block"]:
            expected[document["campaign"]["id"], of["arm"], of["block"]] = samples
    assert {key: sorted(samples) for key, samples in found.items()} == {
        key: sorted(samples) for key, samples in expected.items()
    }


def test_a_new_kernel_is_dated(campaigns: Campaigns) -> None:
    rows = campaigns.ask("When a machine got another kernel or driver")
    assert [row["kernel"] for row in rows] == ["6.1", "6.12"]
    start = synthetic.CREATED.replace(tzinfo=None)
    assert rows[1]["since"] - timedelta(days=SLOWER_FROM) - start < timedelta(hours=1)


@pytest.fixture(scope="module")
def believed(campaigns: Campaigns) -> dict[str, Any]:
    """The results of the first campaign that are to be believed, by the name that programs get."""
    first = next(iter(campaigns.analyses.values()))
    return {
        f"{cell.id}/arm={arm}": result
        for cell in first.cells
        for arm, result in cell.arms.items()
        if not result.invalid
    }


@pytest.mark.processes
def test_benchstat_gets_a_line_an_invocation(
    campaigns: Campaigns, believed: dict[str, Any]
) -> None:
    found: dict[str, list[float]] = {}
    for line in campaigns.run("benchstat").splitlines():
        name, iterations, seconds, unit = line.split()
        assert name.startswith(("BenchmarkM", "BenchmarkO"))
        assert (iterations, unit) == ("1", "sec/op")
        found.setdefault(name.removeprefix("Benchmark").lower(), []).append(float(seconds))
    assert found == {name.lower(): [*result.values.values()] for name, result in believed.items()}


@pytest.mark.processes
def test_bencher_gets_nanoseconds(campaigns: Campaigns, believed: dict[str, Any]) -> None:
    found = {
        name: measure["latency"] for name, measure in json.loads(campaigns.run("Bencher")).items()
    }
    assert found == {
        name: {
            key: exactly(1e9 * getattr(result, field))
            for key, field in (("value", "value"), ("lower_value", "low"), ("upper_value", "high"))
        }
        for name, result in believed.items()
    }


@pytest.mark.processes
def test_github_gets_seconds(campaigns: Campaigns, believed: dict[str, Any]) -> None:
    assert json.loads(campaigns.run("github-action-benchmark")) == [
        {"name": name, "unit": "s", "value": result.value} for name, result in believed.items()
    ]


@pytest.mark.processes
def test_prometheus_gets_the_time_of_the_plan(
    campaigns: Campaigns, believed: dict[str, Any]
) -> None:
    head, unit, *lines, end = campaigns.run("Prometheus").splitlines()
    assert (head[:6], unit[:6], end) == ("# TYPE", "# UNIT", "# EOF")
    line = re.compile(r'crossover_call_seconds\{cell="(.+?)",arm="(.+?)"\} (\S+) (\S+)')
    found = [parts.groups() for parts in map(line.fullmatch, lines) if parts]
    first = next(iter(campaigns.analyses.values())).campaign
    assert len(found) == len(lines)
    assert {f"{cell}/arm={arm}": float(value) for cell, arm, value, _ in found} == {
        name: result.value for name, result in believed.items()
    }
    assert {float(at) for *_, at in found} == {first.created.timestamp()}


def test_every_example_is_tried_here() -> None:
    assert PAGE.count("\n```sql\n") + PAGE.count("\n```python\n") == len(EXAMPLES)
    source = Path(__file__).read_text(encoding="utf-8")
    assert [title for title in EXAMPLES if f'"{title}"' not in source] == []
