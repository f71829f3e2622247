"""Docker 26.1 with CDI: a specification that is there, missing, broken, or of another device."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from suite.errors import GpuError
from suite.host.engine import GpuRequest
from tests.engines.nested import CUDA_FREE_BYTES, Bench, Machine, Nested, Reach
from tests.gpu_runtime.cdi import specify
from tests.gpu_runtime.machine import GpuMachine

SPEC = """cdiVersion: "0.5.0"
kind: nvidia.com/gpu
devices:
- name: "0"
  containerEdits:
    env: [NVIDIA_VISIBLE_DEVICES=void]
    deviceNodes:
    - {path: /dev/nvidia0, hostPath: /dev/null, type: c, major: 1, minor: 3}
"""

BROKEN = {
    "missing": None,
    "malformed": "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices: [ {name",
    "of a version to come": SPEC.replace("0.5.0", "99.0.0"),
    "of another device": SPEC.replace('"0"', '"1"'),
    "stale": SPEC.replace(
        "{path: /dev/nvidia0, hostPath: /dev/null, type: c, major: 1, minor: 3}",
        "{path: /dev/nvidia0, hostPath: /dev/nvidia99}",
    ),
}


def test_a_specified_device_is_asked_for_by_cdi_and_seen(docker26: Nested, reach: Reach) -> None:
    docker26.specify(SPEC)
    engine = reach(docker26.url)
    assert engine.gpu_support().cdi_folders
    assert engine.find_gpu("0") == GpuRequest(driver="cdi", devices=("nvidia.com/gpu=0",))


@pytest.mark.parametrize("spec", BROKEN)
def test_a_broken_specification_is_no_gpu(docker26: Nested, reach: Reach, spec: str) -> None:
    docker26.specify(BROKEN[spec])
    docker26.hook.accept()
    with pytest.raises(GpuError) as caught:
        reach(docker26.url).find_gpu("0")
    assert caught.value.exit_status == 4
    # Where no GPU is on the PCI bus either, the engine's refusal stands in the remedy.
    said = f"{caught.value.what} {caught.value.remedy}"
    assert "CDI device injection failed: " in said
    # Then NVIDIA's hook was asked, whose stand-in gives nothing.
    assert docker26.hook.was_asked
    assert "then asked through NVIDIA's hook: " in said
    assert "its container sees no device" in said
    assert docker26.url in said
    assert "`sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`" in said


@pytest.mark.parametrize("wanted", ["7", "GPU-00000000-0000-0000-0000-000000000000"])
def test_a_device_that_is_not_specified_is_no_gpu(
    docker26: Nested, reach: Reach, wanted: str
) -> None:
    docker26.specify(SPEC)
    with pytest.raises(GpuError) as caught:
        reach(docker26.url).find_gpu(wanted)
    assert f"unresolvable CDI devices nvidia.com/gpu={wanted}" in (
        caught.value.what + caught.value.remedy
    )


def need_room(machine: Machine) -> None:
    root = machine.engine.data_root
    assert root is not None
    free = shutil.disk_usage(root).free
    if free < CUDA_FREE_BYTES:
        pytest.skip(
            f"{free / 1e9:.0f} GB free, and two CUDA images want {CUDA_FREE_BYTES / 1e9:.0f}"
        )


def test_a_device_without_a_gpu_behind_it_gives_no_number(
    docker26: Nested, machine: Machine, bench: Bench, tmp_path: Path
) -> None:
    """The engine hands over a node that is no GPU; TensorFlow finds none, and nothing is measured."""
    need_room(machine)
    docker26.specify(SPEC)
    machine.carry("cuda", docker26.url)
    done = bench(docker26.url, "--arms", "cuda", "--only", "overhead.fence", gpu=True)
    assert done.returncode == 4, done.stderr
    # It came as far as TensorFlow in the container, which looked for itself.
    assert "the arm cuda is unavailable" in done.stderr
    assert "Traceback" not in done.stderr
    documents = [
        json.loads(path.read_text()) for path in (tmp_path / "results").rglob("cuda-*.json")
    ]
    cells = [cell for document in documents for cell in document["cells"]]
    assert [cell for cell in cells if cell["outcome"] == "measured"] == []
    assert [cell for cell in cells if cell.get("samples_s")] == []


def test_the_whole_main_job_with_a_gpu_that_comes_by_cdi(
    docker26: Nested, machine: Machine, healthy: GpuMachine, tmp_path: Path
) -> None:
    """The stand-ins' GPU through the engine's own CDI: from the doctor to the report."""
    need_room(machine)
    # Where the engine sees it under the same path.
    rented = healthy.copy(docker26.root / "stand-ins")
    docker26.specify(specify(rented.folder, wheels=True))
    docker26.hook.refuse("the hook was asked, although the engine has CDI")
    for name in ("cpu", "cuda"):
        machine.carry(name, docker26.url)
    how: Any = {"wheels": False, "DOCKER_HOST": docker26.url, "BASE_IMAGE": machine.base}
    told = rented.suite("doctor", "--json", **how)
    assert told.returncode == 0, told.stdout
    (passed,) = [one for one in json.loads(told.stdout)["checks"] if one["id"] == "passthrough"]
    assert (passed["state"], passed["facts"]["way"]) == ("yes", "cdi")
    only = "overhead.eager_op matmul.square/n=10/* mlp.train/net=A/batch=32/*"
    done = rented.suite(
        *("bench", "--results", tmp_path, "--profile", "smoke", "--blocks", "1"),
        *("--arms", "cpu cuda", "--only", only),
        **how,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (path,) = tmp_path.glob("*/cuda-01.json")
    document = json.loads(path.read_text())
    assert {cell["outcome"] for cell in document["cells"]} == {"measured"}
    assert document["facts"]["tensorflow.devices"] == "CPU:0, GPU:0"
    assert document["facts"]["gpu.simulated"] is True
    assert "SIMULATED" in (path.parent / "report.md").read_text().splitlines()[0]
