"""Some cells of a campaign measured again, on an engine that lives by scripts."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from suite.analysis.analyse import analyse
from suite.analysis.documents.read import load_campaign
from suite.analysis.several.recheck import draw_cells, hash_samples
from suite.host.engine import Job
from tests import synthetic
from tests.cli.shell import Heard, Shell, complaint
from tests.fakes.engine import FakeEngine, Life, Worker, asked_cells, is_on_gpu

ON_CPU = ("--arms", "cpu", "--only", "matmul.* overhead.[!c]*")
NOISE = 0.01
"""The standard deviation of an invocation's logarithm."""


def machine(factor: float = 1.0, seed: int = 1) -> FakeEngine:
    """An engine whose containers take so many times as long, each with its own noise."""
    draw = random.Random(seed)
    worker = Worker()

    def life(job: Job) -> Life:
        call_s = worker.call_s * factor * draw.lognormvariate(0.0, NOISE)
        return replace(worker, call_s=call_s)(job)

    return FakeEngine(otherwise=life)


@pytest.fixture
def before(shell: Shell) -> Path:
    """A campaign of three blocks on the CPU, without the cell that the host's own clock times."""
    return shell.bench_once(*ON_CPU, "--blocks", "3", engine=machine())


Recheck = Callable[..., tuple[Heard, Path]]


@pytest.fixture
def recheck(shell: Shell) -> Recheck:
    """Measures a campaign's cells again; the campaign that it leaves."""

    def run(folder: Path, *words: str, engine: FakeEngine) -> tuple[Heard, Path]:
        shell.engine = engine
        shell.results.mkdir(exist_ok=True)
        there = set(shell.results.iterdir())
        # Names have seconds in them.
        label = f"again{len(there)}"
        heard = shell.run(
            *("bench", "--recheck", str(folder)),
            *("--results", str(shell.results), "--label", label),
            *words,
        )
        new = [one for one in shell.results.iterdir() if one not in there and one.is_dir()]
        return heard, new[0] if new else Path()

    return run


def draw(folder: Path) -> list[str]:
    loaded = load_campaign(folder)
    return draw_cells(analyse(loaded), ("cpu",), hash_samples(loaded))


def ids(folder: Path) -> list[str]:
    return [cell.id for cell in load_campaign(folder).campaign.cells]


def test_what_is_as_it_was_reproduces(before: Path, recheck: Recheck) -> None:
    engine = machine(seed=2)
    heard, now = recheck(before, engine=engine)
    assert heard.status == 0
    assert "Reproduced: 5 of 5 cells within what noise explains." in heard.out
    assert "Not interleaved" in heard.out
    assert heard.out.count("| yes") == 5
    assert heard.out.splitlines()[-1].endswith(now.name)
    plan, old = load_campaign(now).campaign, load_campaign(before).campaign
    assert (plan.rechecks, plan.calibrated_by, plan.profile) == (old.id, old.id, old.profile)
    assert (plan.blocks, plan.controls) == (5, [cell.id for cell in plan.cells])
    # With the K of then, and no calibration; each arm's twin beside it.
    assert plan.calls["cpu"].items() <= old.calls["cpu"].items()
    assert {calls for job in engine.jobs for _, calls in asked_cells(job)} <= {1, 6}
    assert len(engine.jobs) == 10
    assert not any(map(is_on_gpu, engine.jobs))
    assert f"It measured these cells of {old.id} again." in (now / "report.md").read_text()
    assert "BLOCKS=5" in plan.command
    noise = json.loads((now / "summary.json").read_text())["noise_floor"]
    assert 0 < noise < 0.1


def test_what_is_slower_does_not_and_is_named(before: Path, recheck: Recheck) -> None:
    heard, now = recheck(before, engine=machine(1.3, seed=2))
    assert heard.status == 1
    assert "NOT REPRODUCED: 0 of 5 cells" in heard.out
    assert all(name in heard.out for name in ids(now))
    assert heard.out.count("| NO") == 5
    assert re.search(r"2:cpu 1\.[23]\d*×.slower", heard.out)


def test_a_cell_that_has_no_number_now_does_not_reproduce(before: Path, recheck: Recheck) -> None:
    name = draw(before)[0]
    broken = Worker(outcomes={name: {"outcome": "failed", "reason": "wrong result: it is off"}})
    heard, _ = recheck(before, engine=FakeEngine(otherwise=broken))
    assert heard.status == 1
    assert f"and not {name}" in heard.out


def test_the_samples_choose_the_cells_and_nothing_else_does(
    before: Path, shell: Shell, recheck: Recheck
) -> None:
    loaded = load_campaign(before)
    # Its bundle, where what names a machine is hidden, has the same.
    assert shell.run("bundle", str(before)).status == 0
    bundle = before.parent / f"{before.name}.zip"
    assert sorted(ids(recheck(bundle, engine=machine(seed=4))[1])) == sorted(draw(before))
    # Another sample is another draw.
    document = loaded.documents[1]
    cell = next(cell for cell in document.cells if cell.samples_s)
    samples = [1.01 * sample for sample in cell.samples_s]
    changed = synthetic.change_cell(document, cell.id, samples_s=samples)
    other = replace(loaded, documents=[loaded.documents[0], changed, *loaded.documents[2:]])
    assert hash_samples(other) != hash_samples(loaded)
    plan = replace(loaded.campaign, seed=9, label="other")
    assert hash_samples(replace(loaded, campaign=plan)) == hash_samples(loaded)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--arms", "cuda"), "cuda is not among the arms that "),
        (("--versions", "2.20 2.21"), "VERSIONS can't be combined with it"),
        (("--gpu", "all"), "GPU=all can't be combined with it"),
        (("--arms", "cpu cpu"), "names an arm twice"),
        (("--price", "1", "--seed", "1"), "SEED, PRICE can't be combined with it"),
    ],
)
def test_what_would_change_it_is_refused(
    words: tuple[str, ...], said: str, before: Path, recheck: Recheck
) -> None:
    heard, _ = recheck(before, *words, engine=machine())
    assert said in complaint(heard, 2)


def test_another_suite_and_no_campaign_are_refused(campaign: Path, recheck: Recheck) -> None:
    heard, _ = recheck(campaign, "--arms", "cpu", engine=machine())
    assert "was started by another suite" in complaint(heard, 2)
    heard, _ = recheck(campaign / "nowhere", engine=machine())
    assert "RECHECK=" in complaint(heard, 2)
    assert "nowhere: no such folder" in heard.err


def test_an_interrupt_leaves_a_folder_that_goes_on(
    before: Path, shell: Shell, recheck: Recheck
) -> None:
    def stop(_: Job) -> Life:
        raise KeyboardInterrupt

    engine = FakeEngine(Worker(), Worker(), Worker(), stop, otherwise=Worker())
    heard, now = recheck(before, engine=engine)
    assert heard.status == 130
    shell.engine = FakeEngine()
    assert shell.run("bench", "--resume", str(now)).status == 0
    assert load_campaign(now).campaign.rechecks == load_campaign(before).campaign.id
