"""The readers of claims, and the campaigns that they are tried on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.bench.truth import devices
from tests.bench.truth.campaigns import OTHER, SKEWED, Planted, make_documents, make_plan, write
from tests.bench.truth.claims import CONTROLS, DENIED, PATTERNS, Kind, listen, split
from tests.bench.truth.devices import CPU, GPU
from tests.bench.truth.reasons import PLANTS, clear
from tests.bench.truth.tally import tell, work_cells
from tests.rendering import report_folder

CLAIMED: dict[Kind, str] = {
    "winner": "Train on cuda at every batch measured; at batch 512 cuda is 7.9× as fast (7.1–8.8).",
    "crossover": "Multiply n × n matrices on cuda from n = 256 on, on cpu at every smaller n measured.",
    "row": "| n × n products, n = 100 | 1 ms | 2 ms | cuda 2× slower | p<0.001 n=5 | cpu wins  |",
    "count": "| matmul | 12 of 12 | cuda 8.11× faster (8.09–8.14) | 9, 3, 0, 0 |",
    "cause": "overhead: largest in 29 of 32 cells, confirmed in 21; such as matmul.square/n=1.",
    "wrong winner": "Timed as posted, 1 script names the wrong winner, cuda or cpu: slices of 10.",
}
NOTHING = (
    "Nothing is decided: no verdict names a winner at any size of training steps and n × n products.",
    "| n × n products, by n | none | none | 1 to 10000 (undecided) |",
    "| n × n products, n = 100 | 1 ms | 2 ms | cuda 1.01× slower | p=1.000 n=5 | undecided |",
    "| matmul | 12 of 12 | cuda 1.001× faster (0.99–1.01) | 0, 0, 4, 8 |",
    "The median 95 % CI of the 133 measured times is ±1.4 %.",
)
FAILING = {
    "twins": "A CONTROL FAILED: cuda run twice differs in 3 of 12 cells, by up to 10.0 %.",
    "extra work": "A CONTROL FAILED: known extra work on cuda measured as 1.137 times the time.",
    "hidden": "A CONTROL FAILED: cuda-hidden has no GPU and differs from cpu in 4 of 12 cells.",
    "input only": "A CONTROL FAILED: 2 input-only cells differ on cuda, such as pipeline.step.",
    "changed": "A CONTROL FAILED: the image of cuda changed during the campaign.",
    "slow invocation": "cuda in block 3 took 30 % longer than its other blocks.",
}


@pytest.mark.parametrize("kind", PATTERNS)
def test_a_claim_is_heard(kind: Kind) -> None:
    assert PATTERNS[kind].search(CLAIMED[kind])
    assert not DENIED.search(CLAIMED[kind])


@pytest.mark.parametrize("sentence", NOTHING)
@pytest.mark.parametrize("kind", PATTERNS)
def test_what_claims_nothing_is_not_heard(kind: Kind, sentence: str) -> None:
    assert DENIED.search(sentence) or not PATTERNS[kind].search(sentence)


@pytest.mark.parametrize("control", CONTROLS)
def test_a_failed_control_is_heard_by_its_own_name(control: str) -> None:
    assert [name for name in CONTROLS if CONTROLS[name].search(FAILING[control])] == [control]


def test_a_paragraph_is_cut_into_its_sentences() -> None:
    text = "It took 1.5 s. In matmul.square cuda wins. Why cuda loses 2 cells: first of all input in 2."
    assert len(list(split([text]))) == 3


def test_the_opening_of_a_clear_campaign_is_heard() -> None:
    """Else a report that is worded anew would claim nothing, and pass every test."""
    report = tell(devices.plant(CPU, replace(GPU, eager=60e-6, graph=400e-6)), seed=1)
    kinds: tuple[Kind, ...] = ("winner", "crossover", "row", "count", "cause")
    assert [kind for kind in kinds if not report.claims(kind)] == []
    assert report.crossovers
    assert report.causes
    assert set(report.judged.values()) == {"FASTER", "SLOWER"}


def test_files_say_what_was_told_without_them(tmp_path: Path) -> None:
    planted = Planted(seconds=clear)
    read = listen(
        report_folder(write(tmp_path / "made-up", make_plan(seed=9), planted), pictures=False)
    )
    assert read == tell(planted, seed=9)


def test_every_cell_of_the_plan_has_its_number_on_both_arms() -> None:
    report = tell(Planted(seconds=clear), seed=2)
    for cell in work_cells():
        arms = report.cells[cell.id]["arms"]
        for arm in ("cpu", "cuda"):
            assert arms[arm]["low"] < clear(cell, arm) * 1.02
            assert arms[arm]["high"] > clear(cell, arm) / 1.02
    controls = report.summary["controls"]
    compared = [*controls["twins"], controls["cuda_hidden"]]
    assert [len(each["ratios"]) for each in compared] == [12, 12, 12]


@pytest.mark.parametrize("calls", [1, 10, 100, 1000])
def test_skewed_calls_keep_their_mean_whatever_their_number(calls: int) -> None:
    drawn = SKEWED.draw(np.random.default_rng(3), (200_000,), calls)
    assert float(drawn.mean()) == pytest.approx(1.0, abs=0.005)
    # What the committed sample's cells of a few calls show.
    if calls == 1:
        assert 1.03 < 1 / float(np.median(drawn)) < 1.08


@pytest.mark.parametrize("name", PLANTS)
def test_a_plant_is_to_blame_for_a_loss_or_an_idle_device(name: str) -> None:
    cpu, gpu = PLANTS[name]
    rule = name.partition(":")[0]
    blamed = [
        shares.get(rule, 0.0)  # type: ignore[call-overload]
        for cell in work_cells()
        if (shares := devices.blame(cell, cpu, gpu))
    ]
    assert name in {"input: both wait", "fallback"} or max(blamed) > 0.9


def test_campaigns_of_one_seed_are_the_same() -> None:
    first, second = (make_documents(make_plan(seed=5), Planted(seconds=clear)) for _ in range(2))
    assert first == second
    other = make_documents(make_plan(seed=6), Planted(seconds=clear))
    assert first[0].cells[0].samples_s != other[0].cells[0].samples_s
    assert {document.invocation.arm for document in first} == {
        "cpu",
        OTHER,
        "cpu-twin",
        "cuda-twin",
        "cuda-hidden",
    }
