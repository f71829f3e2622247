"""A campaign decided as values: cells, order, arguments, deadlines, durations; no engine anywhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suite.cells.cell import Cell
from suite.errors import UsageError
from suite.host.campaign import plan
from suite.host.campaign.arms import known_arms
from suite.model import FIRST_CALL, Campaign, Excluded
from suite.worker import scenarios
from tests.host.campaign.flow import end, find_k, make_campaign, make_cells

CELLS = scenarios.cells()
IDS = [cell.id for cell in CELLS]
CPU = [known_arms()["cpu"]]
BOTH = [*CPU, known_arms()["cuda"]]
MADE = make_campaign()


def test_a_profile_holds_its_own_cells_only() -> None:
    chosen = plan.choose_cells(CELLS, "smoke", BOTH, ())
    assert chosen == [cell for cell in CELLS if "smoke" in cell.profiles]
    usual = [cell for cell in plan.choose_cells(CELLS, "smoke", CPU, ()) if cell.process is None]
    assert 10 <= len(usual) <= 16
    everything = plan.choose_cells(CELLS, "full", BOTH, (), cpus=999)
    assert [cell.id for cell in everything] == [cell.id for cell in CELLS]


def test_globs_choose_and_may_overlap() -> None:
    chosen = plan.choose_cells(CELLS, "full", CPU, ["matmul.*n=10/*", "*square/n=10/*", "*.fence"])
    assert [cell.id for cell in chosen] == [
        "matmul.square/n=10/precision=fp32/operands=device/xla=off",
        "overhead.fence",
    ]


@pytest.mark.parametrize("globs", [["nothing.*"], ["*.fence", "MATMUL.*"], ["*n=2000/*"]])
def test_a_glob_that_matches_nothing_is_a_usage_error(globs: list[str]) -> None:
    with pytest.raises(UsageError, match="matches no cell of the profile smoke"):
        plan.choose_cells(CELLS, "smoke", CPU, globs)


def test_there_are_a_dozen_controls_and_the_standard_profile_has_them_all() -> None:
    found = plan.choose_controls(plan.choose_cells(CELLS, "standard", CPU, ()), "standard")
    assert len(found) == 12
    assert {identity.partition(".")[0] for identity in found} >= {"matmul", "mlp", "overhead"}
    everything = plan.choose_controls(plan.choose_cells(CELLS, "full", CPU, ()), "full")
    assert found == everything
    assert plan.choose_controls(CELLS, "verdict") == []


@pytest.mark.parametrize(("seed", "block"), [(0, 1), (2**31 - 1, 20)])
def test_the_order_of_a_block_follows_from_the_seed_alone(seed: int, block: int) -> None:
    made = replace(MADE, seed=seed)
    order = plan.order_cells(made, "cpu", block)
    assert order == plan.order_cells(replace(made, label="other"), "cpu", block)
    assert sorted(cell.id for cell in order) == sorted(cell.id for cell in made.cells)
    assert sorted(plan.order_arms(made, block)) == ["cpu", "cuda"]
    assert made.arms == ["cpu", "cuda"]


def test_orders_differ_between_seeds_blocks_arms_and_repeats() -> None:
    made = make_campaign(seed=1)
    orders = [
        tuple(cell.id for cell in plan.order_cells(*asked))
        for asked in [
            (made, "cpu", 1),
            (made, "cpu", 2),
            (made, "cuda", 1),
            (made, "cpu", 1, 1),
            (make_campaign(seed=2), "cpu", 1),
        ]
    ]
    assert len(set(orders)) == len(orders)
    assert {tuple(plan.order_arms(made, block)) for block in range(1, 20)} == {
        ("cpu", "cuda"),
        ("cuda", "cpu"),
    }


def test_arguments_carry_the_frozen_k_and_the_profiles_times() -> None:
    one, two = make_cells("one", "two")
    made = make_campaign(
        calls={"cpu": {"made.one": 7}}, warmup_s=0.3, measure_s=0.7, budget_s=15.0, cells=[one, two]
    )
    assert plan.arguments(made, "cpu", [two, one]) == (
        "measure",
        *("--warmup", "0.3"),
        *("--measure", "0.7"),
        *("--budget", "15"),
        "made.two",
        "made.one@7",
    )
    # How long a slow cell's call takes; and whether all of them have been checked before.
    slow = replace(made, slow={"cpu": {"made.one": 9.00166, "made.other": 1.0}})
    assert plan.arguments(slow, "cpu", [one])[-1] == "made.one@7:9.002"
    told = [
        plan.arguments(made, "cpu", [one, two], checked=ids) for ids in ({one.id}, {one.id, two.id})
    ]
    assert ["--brief" in words for words in told] == [False, True]
    on_gpu = plan.arguments(made, "cuda", [one])
    assert (on_gpu[1], on_gpu[-1]) == ("--gpu", "made.one")


def test_the_worker_understands_the_arguments() -> None:
    from suite.worker.__main__ import arguments

    known = {"calls": dict.fromkeys(IDS, 9), "slow": dict.fromkeys(IDS, 0.75)}
    made = replace(
        make_campaign(), cells=CELLS, **{name: {"cpu": of} for name, of in known.items()}
    )
    for brief in (False, True):
        words = plan.arguments(made, "cpu", CELLS, checked=IDS if brief else ())
        parsed = arguments().parse_args(words)
        assert (parsed.gpu, parsed.brief) == (False, brief)
        assert parsed.budget == made.budget_s
        assert [word.partition("@")[0] for word in parsed.cells] == IDS


def test_freezing_takes_k_of_what_was_measured_and_reasons_of_what_was_not() -> None:
    a, b, c, d, e = make_cells(*"abcde")
    document = find_k(
        make_campaign(),
        [
            end(a),
            end(b, outcome="skipped", reason="too slow", calls_per_sample=3),
            end(c, outcome="failed", reason="ValueError: no"),
            end(d, outcome="failed", reason=None),
            end(e, outcome="pending"),
        ],
    )
    calls, excluded = plan.freeze(document)
    assert calls == {a.id: 5}
    assert excluded == {
        b.id: Excluded(outcome="skipped", reason="too slow"),
        c.id: Excluded(outcome="failed", reason="ValueError: no"),
        d.id: Excluded(outcome="failed", reason="no reason was given"),
    }


def test_k_is_frozen_by_the_fastest_calls_of_the_first_block() -> None:
    slow, cold, quick, stalled = make_cells("slow", "cold", "quick", "stalled")
    results = [
        # Found while something else was at work: two calls of 5 ms, which take 2 ms in peace.
        end(slow, calls_per_sample=2, warmup_s=[0.005], samples_s=[0.005, 0.002, 0.005]),
        end(cold, calls_per_sample=1, warmup_status="cold", samples_s=[0.0001]),
        end(quick, calls_per_sample=9, warmup_s=[0.002], samples_s=[0.002]),
        # Held up so long in the climb that its first call was taken for its warm-up.
        end(stalled, calls_per_sample=1, warmup_status=FIRST_CALL, samples_s=[0.3, 0.0004, 0.0004]),
    ]
    document = find_k(make_campaign(), results)
    document = replace(document, facts={**document.facts, "sample_floor_s": 0.010})
    calls, _ = plan.freeze(document)
    assert calls == {slow.id: 6, cold.id: 1, quick.id: 9, stalled.id: 30}


FEED = [cell for cell in CELLS if cell.cpus is not None]


@pytest.mark.parametrize(
    ("cpus", "counts"),
    [
        (0, {}),
        (1, {"1": 1}),
        (2, {"1": 1, "2": 2}),
        (6, {"1": 1, "2": 2, "4": 4, "all": 6}),
        (16, {"1": 1, "2": 2, "4": 4, "8": 8, "16": 16}),
        (384, {**{str(2**n): 2**n for n in range(8)}, "all": 384}),
    ],
)
def test_a_machine_has_the_cells_that_its_cpus_are_enough_for(
    cpus: int, counts: dict[str, int]
) -> None:
    chosen = plan.choose_cells(CELLS, "full", CPU, (), cpus=cpus)
    assert [cell for cell in chosen if cell.cpus is None] == [
        cell for cell in CELLS if cell.cpus is None and not cell.needs_gpu
    ]
    bound = [cell for cell in chosen if cell.cpus is not None]
    assert {str(cell.params["cpus"]): cell.cpus for cell in bound} == counts
    assert len(bound) == 3 * len(counts)


def test_any_profile_has_a_cell_that_is_asked_for_by_the_name_of_its_case() -> None:
    (name,) = {cell.name for cell in FEED}
    for glob in (f"{name}*", f"{name}/cpus=2/*"):
        chosen = plan.choose_cells(CELLS, "smoke", CPU, [glob], cpus=4)
        assert {cell.name for cell in chosen} == {name}
    family = plan.choose_cells(CELLS, "smoke", CPU, [f"{name.partition('.')[0]}.*"], cpus=4)
    assert all("smoke" in cell.profiles for cell in family)
    assert not any(plan.is_in(cell, "standard", ()) for cell in FEED)
    with pytest.raises(UsageError, match="matches no cell") as caught:
        plan.choose_cells(CELLS, "smoke", CPU, [f"{name}/cpus=8/*"], cpus=4)
    assert "4 CPUs are enough" in str(caught.value.remedy)
    with pytest.raises(UsageError, match="matches no cell") as caught:
        plan.choose_cells(CELLS, "full", CPU, [f"{name}*"], cpus=0)
    assert "binds a process to some of the CPUs" in str(caught.value.remedy)


def test_cells_of_a_number_of_cpus_share_a_process_in_their_own_order() -> None:
    usual = make_cells("usual")
    made = make_campaign(cells=[*plan.fit_cells(FEED, 2), *usual])
    remaining, groups = plan.order_cells(made, "cpu", 1), []
    while remaining:
        groups.append(plan.next_process(made, remaining))
        assert plan.arguments(made, "cpu", groups[-1])[0] == "measure"
        assert groups[-1] == [cell for cell in remaining if cell in groups[-1]]
        remaining = [cell for cell in remaining if cell not in groups[-1]]
    assert groups[0] == usual
    assert sorted({cell.cpus for cell in group} for group in groups[1:]) == [{1}, {2}]


def test_a_first_block_that_finds_k_has_a_random_order_in_which_each_sweep_climbs() -> None:
    cells = [cell for cell in CELLS if cell.sweep is not None and not cell.scripted][:30]
    campaign = replace(MADE, cells=cells)
    first = replace(campaign, calibrated_by=campaign.id)

    def order(drawn: Campaign, block: int) -> list[Cell]:
        return plan.order_cells(drawn, "cpu", block)

    climbed = order(first, 1)
    assert sorted(cell.id for cell in climbed) == sorted(cell.id for cell in cells)
    for key in {cell.sweep_key for cell in cells}:
        sizes = [cell.work.amount for cell in climbed if cell.sweep_key == key]
        assert sizes == sorted(sizes)
    # Else it is that of any block, in which a sweep goes up and down.
    keys = [[cell.sweep_key for cell in order(drawn, 1)] for drawn in (first, campaign)]
    assert keys[0] == keys[1]
    assert order(first, 2) == order(campaign, 2) != climbed
    assert [cell.work.amount for cell in order(campaign, 1)] != [c.work.amount for c in climbed]
