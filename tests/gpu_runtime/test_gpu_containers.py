"""The main job through containers, as on a rented GPU machine: an engine of the tests' own, with a stand-in
for NVIDIA's hook on its PATH that lays the stand-ins' GPU into every container which asks for one.
"""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError

from suite.host.engine import LABEL
from tests.fakes.daemons import build_image
from tests.gpu_runtime.machine import check_ended_well
from tests.gpu_runtime.rented import (
    EAGER,
    ONE_CELL,
    Rented,
    find_folder,
    load,
    wait_until,
    watch_containers,
)

SCRIPTS = Path(__file__).parents[1] / "why" / "scripts"
PRODUCT = "matmul.square/n=10/*"


@pytest.fixture(scope="module")
def watched(rented: Rented) -> tuple[Path, list[dict[str, Any]]]:
    """The folder of a short campaign of all three arms, one block; and every container of it."""
    with watch_containers(rented) as containers:
        results = rented.machine.folder.parent / "campaign"
        done = rented.make(
            "bench", PROFILE="smoke", ARMS="cpu cuda cuda-hidden", BLOCKS="1", RESULTS=str(results)
        )
    folder = find_folder(results)
    check_ended_well(done, folder)
    # "It ends with the folder's name."
    assert done.stdout.strip().splitlines()[-1].endswith(folder.name)
    return folder, containers


@pytest.fixture(scope="module")
def campaign(watched: tuple[Path, list[dict[str, Any]]]) -> Path:
    return watched[0]


def test_the_doctor_finds_nothing_that_stops_the_bench(rented: Rented) -> None:
    assert rented.make("doctor").returncode == 0
    found = rented.doctor()
    states = {line["id"]: line["state"] for line in found["checks"]}
    assert found["status"] == 0, found
    for name in ("driver", "passthrough", "capability", "images", "tensorflow"):
        assert states[name] == "yes", [line for line in found["checks"] if line["id"] == name]
    # What works is not a fault: the hook is on the engine's PATH, and not on this shell's.
    assert states["toolkit"] == "not-applicable", found
    wrong = {name for name, state in states.items() if state == "no"}
    assert wrong <= {"load", "clock", "updates"}


def test_every_cell_of_all_three_arms_is_measured_and_proven(campaign: Path) -> None:
    for arm in ("cpu", "cuda", "cuda-hidden"):
        document = load(campaign, f"{arm}-01.json")
        bad = {
            cell["id"]: cell["reason"]
            for cell in document["cells"]
            if cell["outcome"] != "measured"
        }
        assert bad == {}, arm
        assert document["invocation"]["isolation"] == "container"
    cuda, hidden = (load(campaign, f"{arm}-01.json")["facts"] for arm in ("cuda", "cuda-hidden"))
    assert cuda["tensorflow.devices"] == "CPU:0, GPU:0"
    assert cuda["gpu.simulated"] is True
    assert hidden["tensorflow.devices"] == "CPU:0"
    assert "gpu.0.name" not in hidden


def test_every_container_is_confined(watched: tuple[Path, list[dict[str, Any]]]) -> None:
    campaign, containers = watched
    ours = [
        one["id"]
        for path in campaign.glob("c*-0*.json")
        for one in load(campaign, path.name)["invocation"]["containers"]
    ]
    assert len(ours) >= 3
    assert set(ours) <= {one["Id"] for one in containers}
    with_gpu = {
        one["id"]
        for path in campaign.glob("cuda-0*.json")
        for one in load(campaign, path.name)["invocation"]["containers"]
    }
    for one in containers:
        limits = one["HostConfig"]
        if one["Id"] in ours:
            assert bool(limits["DeviceRequests"]) == (one["Id"] in with_gpu)
        assert limits["ReadonlyRootfs"] is True
        assert limits["CapDrop"] == ["ALL"]
        assert limits["NetworkMode"] == "none"
        assert not limits["Privileged"]
        assert one["Config"]["User"] == "10001:10001"


def test_the_report_is_simulated_and_has_no_number_of_the_gpu(campaign: Path) -> None:
    report = (campaign / "report.md").read_text()
    assert "SIMULATED" in report.splitlines()[0]
    for cell in load(campaign, "summary.json")["cells"]:
        assert set(cell["arms"]) == {"cpu", "cuda", "cuda-hidden"}
        for arm, one in cell["arms"].items():
            meant = not (arm != "cuda" and "on=cpu" in cell["id"])
            assert (one.get("value") is None) == (arm == "cuda" or not meant), (arm, cell["id"])


def test_why_says_which_times_are_none(rented: Rented, tmp_path: Path) -> None:
    script = SCRIPTS / "fit_each_batch.py"  # no kernel that aborts where nothing computes
    done = rented.make(
        "why", SCRIPT=str(script), ARMS="cpu cuda", BUDGET="2m", RESULTS=str(tmp_path)
    )
    assert done.returncode == 0, done.stderr[-2000:]
    folder = find_folder(tmp_path)
    answer = load(folder, "why.json")
    assert {arm: speed["gpu"] for arm, speed in answer["arms"].items()} == {
        "cpu": False,
        "cuda": True,
    }
    assert answer["arms"]["cuda"]["standing"] == "simulated"
    assert {tried["arm"] for tried in answer["tried"]} == {"cpu", "cuda"}
    assert {cause["arm"] for cause in answer["causes"]} <= {"cpu"}
    assert "ratios" not in answer
    page = (folder / "why.md").read_text()
    assert "SIMULATED" in page.splitlines()[0]
    assert rented.left() == []


def test_nothing_of_the_campaign_is_left_in_the_engine(campaign: Path, rented: Rented) -> None:
    assert rented.left() == []
    with closing(rented.client) as client:
        kept = client.volumes()["Volumes"] or []
    # The compile cache stays for the next campaign.
    labels = [(one["Labels"] or {}).get(LABEL) for one in kept]
    assert set(labels) <= {"lasting-volume"}


def test_a_campaign_whose_container_died_with_it_goes_on(
    campaign: Path, rented: Rented, tmp_path: Path
) -> None:
    results = tmp_path / "resumed"
    words = (*ONE_CELL[:2], "--blocks", "2", *ONE_CELL[4:-1], f"{EAGER} {PRODUCT}")
    running = rented.begin(results, *words)
    client = rented.client
    try:
        # In the middle: its document is there, and its container runs.
        wait_until(
            lambda: (find_folder(results) / "cuda-02.json").exists() and client.containers() != [],
            "the GPU's container of block 2",
            lambda: running.poll() is None,
        )
    finally:
        running.kill()
        running.wait()
        for one in client.containers():
            # It may have come to its end by itself.
            with suppress(APIError):
                client.kill(one["Id"])
    folder = find_folder(results)
    assert load(folder, "cuda-02.json")["invocation"]["status"] != "complete"
    before = (folder / "cpu-01.json").read_bytes()

    done = rented.suite("bench", "--resume", str(folder))
    check_ended_well(done, folder)
    document = load(folder, "cuda-02.json")
    assert document["invocation"]["status"] == "complete"
    assert {cell["outcome"] for cell in document["cells"]} == {"measured"}
    assert (folder / "cpu-01.json").read_bytes() == before
    assert rented.left() == []
    client.close()

    # Two campaigns of this machine side by side; no number of what is no GPU.
    out = tmp_path / "compared"
    done = rented.suite("compare", str(campaign), str(folder), "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "SIMULATED" in (out / "compare.md").read_text()
    told = load(out, "compare.json")
    of_gpu = [one for one in told["pairs"] if "cuda" in {one["other"]["arm"], one["base"]["arm"]}]
    assert of_gpu
    for one in of_gpu:
        assert one["cells"]
        for identity, cell in one["cells"].items():
            assert cell["ratio"] is None or cell.get("invalid"), identity


def test_an_image_that_brings_its_own_tensorflow_gets_the_gpu(
    rented: Rented, tmp_path: Path
) -> None:
    dockerfile = (
        f"FROM {rented.images['cuda']}\nUSER 0:0\nWORKDIR /opt/vendor\n"
        'ENTRYPOINT ["/bin/sh", "-c", "echo a banner; exec sh", "--"]'
    )
    files = {"Dockerfile": dockerfile.encode()}
    with closing(rented.client) as client:
        # What stands on an image of ours is not ours.
        build_image(client, files, tag="vendor/tensorflow:1", labels={LABEL: ""})
    done, folder = rented.bench(tmp_path / "laid", *ONE_CELL, "--cuda-image", "vendor/tensorflow:1")
    check_ended_well(done, folder)
    document = load(folder, "cuda-01.json")
    assert {cell["outcome"] for cell in document["cells"]} == {"measured"}
    assert document["facts"]["gpu.simulated"] is True
    assert "not from the lock" in (folder / "report.md").read_text()


def test_a_gpu_is_given_by_its_uuid(two_gpus: Rented, tmp_path: Path) -> None:
    done, folder = two_gpus.bench(tmp_path / "uuid", *ONE_CELL, "--gpu", "GPU-22222222")
    check_ended_well(done, folder)
    assert load(folder, "cuda-01.json")["facts"]["gpu.0.pci"] == "0000:c1:00.0"
    assert "22222222-2222" not in "".join(path.read_text() for path in folder.glob("*.json"))


def test_each_of_several_gpus_is_an_arm(two_gpus: Rented, tmp_path: Path) -> None:
    done = two_gpus.suite(
        *("bench", "--results", str(tmp_path), *ONE_CELL[:4]),
        *("--arms", "cuda", "--only", EAGER, "--gpu", "all"),
    )
    assert done.returncode == 0, done.stderr[-2000:]
    folder = find_folder(tmp_path)
    assert load(folder, "campaign.json")["arms"] == ["cuda:0", "cuda:1"]
    addresses = []
    for name in ("cuda-0-01.json", "cuda-1-01.json"):
        document = load(folder, name)
        assert {cell["outcome"] for cell in document["cells"]} == {"measured"}
        addresses.append(document["facts"]["gpu.0.pci"])
    assert addresses == ["0000:81:00.0", "0000:c1:00.0"]
    assert "SIMULATED" in (folder / "report.md").read_text()
