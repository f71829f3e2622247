"""What goes wrong on rented GPU machines, one by one, through the engine: who is named, and what helps."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.agreement import compare
from tests.gpu_runtime.machine import check_ended_well
from tests.gpu_runtime.rented import EAGER, ONE_CELL, Rented, find_folder, load, wait_until

TRAIN = "mlp.train/net=A/batch=32/data=device/precision=fp32/execution=graph"

FAILURES: dict[str, tuple[dict[str, object], str, str]] = {
    # What fails inside of TensorFlow alone is tried without containers, in `test_gpu_states.py`.
    "an old driver that refuses PTX": ({"refuse_ptx": 1, "driver": 12020}, "", "555 or later"),
    "another process has the GPU": ({"hold": 1}, "", "another process holds the GPU"),
    "MIG on, and no instance": ({"mig": 1}, "", "MIG"),
    "the driver is newer than its module": (
        {},
        "refuse nvidia-container-cli: initialization error: nvml error: driver/library version mismatch",
        "sudo reboot",
    ),
    "no device for memory": ({}, "no-uvm", "modprobe nvidia_uvm"),
    "devices, and no library": ({}, "no-libraries", "the GPU was not passed through"),
    "a hook that does nothing": ({}, "nothing", "sees no"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_of_such_a_machine_ends_with_its_remedy(
    name: str, fresh: Rented, tmp_path: Path
) -> None:
    planted, told, remedy = FAILURES[name]
    fresh.machine.plant(**planted)
    fresh.say(told)
    doctor = fresh.suite("doctor", "--json", "--arms", "cpu cuda")
    done, folder = fresh.bench(tmp_path / "failure", *ONE_CELL)
    fresh.say()
    assert compare(doctor, done) == [], doctor.stdout
    assert done.returncode == 4, done.stderr[-2000:]
    assert remedy in done.stderr
    # The engine refused before the campaign began, or the worker refused to be the arm.
    begun = (folder / "campaign.json").exists()
    assert ("the arm cuda is unavailable" in done.stderr) == begun
    assert "Traceback" not in done.stderr
    if begun:
        # The report's first sentence names the arm, and the other one is measured to its end.
        opening = (folder / "report.md").read_text(encoding="utf-8").split("\n\n")[2]
        assert opening.startswith("cuda WAS NOT MEASURED: the arm cuda is unavailable")
        assert (folder / "cpu-01.json").exists()
    for path in folder.glob("*-0*.json"):
        document = load(folder, path.name)
        measured = [cell["outcome"] == "measured" for cell in document["cells"]]
        if path.name.startswith("cuda"):
            assert not any(measured)
        else:
            assert document["invocation"]["status"] == "complete"
            assert all(measured)
    assert fresh.left() == []


def test_a_hook_that_hangs_is_a_gpu_that_is_not_to_be_had(fresh: Rented, tmp_path: Path) -> None:
    fresh.say("hang")
    lines = {one["id"]: one for one in fresh.doctor()["checks"]}
    # It can't wait for as long as bench does.
    assert lines["passthrough"]["state"] == "unknown"
    assert "`nvidia-smi` on the engine's machine must answer" in lines["passthrough"]["remedy"]
    done, _ = fresh.bench(tmp_path / "hang", *ONE_CELL)
    assert done.returncode == 4, done.stderr[-2000:]
    assert "did not start a container with the GPU within 60 s" in done.stderr
    assert "`nvidia-smi` on the engine's machine must answer" in done.stderr
    assert "Traceback" not in done.stderr
    # Where it answers again, the next campaign runs, and sweeps what the engine could not remove.
    fresh.say()
    check_ended_well(*fresh.bench(tmp_path / "again", *ONE_CELL))
    assert fresh.left() == []


def test_a_gpu_lost_in_a_cell_costs_no_other_arm(fresh: Rented, tmp_path: Path) -> None:
    fresh.machine.plant(lose_at=600)
    done, folder = fresh.bench(tmp_path / "lost", *ONE_CELL[:-1], f"{TRAIN} {EAGER}")
    assert done.returncode in {1, 4}, done.stderr[-2000:]
    assert {cell["outcome"] for cell in load(folder, "cpu-01.json")["cells"]} == {"measured"}
    for cell in load(folder, "cuda-01.json")["cells"]:
        assert cell["outcome"] == "failed"
        # The worker's own word, or TensorFlow's own end: it aborts where a lost GPU fails one of its checks.
        assert "the GPU is lost" in cell["reason"] or "SIGABRT" in cell["reason"]


def test_a_gpu_lost_between_two_blocks_costs_no_other_arm(fresh: Rented, tmp_path: Path) -> None:
    results, ended = tmp_path / "blocks", threading.Event()

    def lose() -> None:
        def is_over() -> bool:
            # Once both arms have had their turns, those that a disturbance had repeated, too.
            plan = find_folder(results) / "campaign.json"
            return plan.exists() and bool(
                load(plan.parent, plan.name).get("prediction", {}).get("corrected_s")
            )

        wait_until(is_over, "the end of block 1", lambda: not ended.is_set())
        fresh.say("refuse nvidia-container-cli: device error: unknown device id: 0")

    losing = threading.Thread(target=lose)
    losing.start()
    # Of three blocks, so that one begins after the loss, however soon the second did.
    done, folder = fresh.bench(results, *ONE_CELL[:2], "--blocks", "3", *ONE_CELL[4:])
    ended.set()
    losing.join()
    assert done.returncode == 4, done.stderr[-2000:]
    assert "nvidia-smi" in done.stderr
    for name in ("cpu-01", "cuda-01"):
        document = load(folder, f"{name}.json")
        assert {cell["outcome"] for cell in document["cells"]} == {"measured"}
    assert (folder / "report.md").exists()
    fresh.say()
    mended = fresh.suite("bench", "--resume", str(folder))
    check_ended_well(mended, folder)
    for name in ("cuda-02", "cuda-03"):
        assert load(folder, f"{name}.json")["invocation"]["status"] == "complete"
