"""What refusals of a GPU mean, row by row: of engines, of NVIDIA's hook, of CDI, of TensorFlow."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from suite.errors import OTHER_BUILD, TOO_OLD
from suite.host.engine import EngineKind, Refusal
from suite.host.gpu import refusals
from suite.host.gpu.refusals import (
    GROUPS,
    HARMLESS,
    REFUSALS,
    TRY_TOOLKIT,
    WORDS,
    is_harmless,
    name_harmless,
    reword,
)
from suite.host.gpu.remedies import find_refusal

REFUSED: dict[str, Any] = msgspec.toml.decode(Path(__file__).with_name("refused.toml").read_bytes())
"""By parts of causes the texts that lead to them."""


def unwrap(text: str) -> str:
    """``hook > text`` as NVIDIA's hook prints that text."""
    name, wrapped, inner = text.rpartition(" > ")
    return REFUSED["wraps"][name].replace("{}", inner) if wrapped else text


TEXTS: list[str] = [unwrap(text) for texts in REFUSED["causes"].values() for text in texts]

HOOK, CUINIT, LACKS = (
    REFUSED["wraps"][name].removesuffix("{}") for name in ("hook", "cuInit", "worker")
)
DIRECTLY = "invoking the NVIDIA Container Runtime Hook directly (e.g. …) is not supported"
NO_TOOLKIT = 'could not select device driver "" with capabilities: [[gpu]]'
NO_CDI = 'could not select device driver "cdi" with capabilities: []'
UNRESOLVED = "CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=7"
CGROUPS = HOOK + "mount error: bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted"
NO_DRIVER = CUINIT + "UNKNOWN ERROR (303)"
NO_NVML = LACKS + "libnvidia-ml.so.1, which the driver brings, can't be opened"


def find(text: str) -> Refusal:
    row = find_refusal(text)
    assert row is not None, text
    return row


def test_each_known_text_has_its_row_and_each_row_a_text() -> None:
    reached = set()
    for part, texts in REFUSED["causes"].items():
        (cause,) = [row.cause for row in REFUSALS if part in row.cause]
        assert {find(unwrap(text)).cause for text in texts} == {cause}
        reached.add(cause)
    assert reached == {row.cause for row in REFUSALS}
    assert find_refusal("the moon is in the wrong house") is None


def test_every_name_of_the_file_is_used_and_every_pattern_is_one() -> None:
    """That every name in braces is there, loading the file shows."""
    text = refusals.FILE.read_text(encoding="utf-8")
    tables = msgspec.toml.decode(text)
    names = {*tables["words"], *tables["patterns"]}
    in_code = " ".join(
        path.read_text(encoding="utf-8") for path in refusals.FILE.parents[1].rglob("*.py")
    )
    assert [n for n in names if f"{{{n}}}" not in text and f'"{n}"' not in in_code] == []
    for row in REFUSALS:
        re.compile(row.pattern)
        # A dot takes the end of a line, too: one that may take any number of them would join lines of a
        # diary that have nothing in common.
        assert not re.search(r"(?<!\\)\.[*+]", row.pattern)


def test_every_remedy_names_a_command_or_a_setting_and_where_packages_are() -> None:
    for row in REFUSALS:
        assert row.cause
        assert re.search(r"`[a-z].+?`|\b[A-Z_]{3,}=|\{\"features\"", row.remedy)
        if "nvidia-container-toolkit`" in row.remedy:
            assert "container-toolkit/latest/install-guide.html" in row.remedy
        if " nvidia-driver`" in row.remedy:
            assert "non-free" in row.remedy
        if "older than" in row.cause and "driver" in row.cause:
            # Debian's own package leads back to the same refusal.
            assert " nvidia-driver`" not in row.remedy
            assert "cuda-installation-guide-linux" in row.remedy


def test_who_rented_the_machine_is_never_sent_to_install_a_driver_first() -> None:
    steps = ("reboot", "rent another", "install the driver")
    for row in GROUPS["driver"]:
        if steps[-1] in row.remedy:
            assert sorted(steps, key=row.remedy.index) == list(steps)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "NVSwitch topology was read\nx.cc:1] not initialized: CUDNN_STATUS_INTERNAL_ERROR",
            "cuDNN does not start",
        ),
        (
            "fabric manager is running\nx.cc:1] cuDNN is not initialized: CUDNN_STATUS_INTERNAL_ERROR",
            "cuDNN does not start",
        ),
        (
            f"{CUINIT}CUDA_ERROR_OUT_OF_MEMORY: out of memory\nx.cc:1] NVTX: unknown error",
            "not enough GPU memory",
        ),
        (
            # XLA's own words come after CUDA's.
            f"{CUINIT}CUDA_ERROR_OUT_OF_MEMORY: out\nno supported devices found for platform CUDA",
            "not enough GPU memory",
        ),
        (
            HOOK + "mount error: something new\nx: permission denied",
            "NVIDIA's hook failed with a message not listed here",
        ),
    ],
)
def test_of_several_lines_the_one_that_says_why_counts(text: str, cause: str) -> None:
    assert cause in find(text).cause


def test_code_that_is_missing_may_be_for_an_older_gpu() -> None:
    remedy = find("no kernel image is available for execution on the device").remedy
    assert remedy.endswith(f"{OTHER_BUILD}; older than 6.0: {TOO_OLD}")


def test_an_engine_of_roots_is_not_told_to_leave_out_device_rules() -> None:
    """Its containers would start, and have no GPU."""
    row = find("nvidia-container-cli: container error: cgroup subsystem devices not found")
    assert "no-cgroups" not in row.remedy
    assert "nvidia-ctk cdi generate" in row.remedy


NOT_OF: dict[EngineKind, str] = {
    "rootless": "sudo systemctl restart docker|/etc/docker/",
    "podman": "sudo systemctl restart docker|/etc/docker/|`docker (info|inspect|context|run)|Docker Desktop",
    "snap": "sudo systemctl restart docker|/etc/docker/|apt-get install nvidia-container-toolkit"
    "|nvidia-ctk runtime configure",
    "desktop": "sudo systemctl restart docker|/etc/docker/",
}


@pytest.mark.parametrize("kind", NOT_OF)
def test_no_remedy_sets_up_another_engine(kind: EngineKind) -> None:
    for row in REFUSALS:
        assert not re.search(NOT_OF[kind], reword(row.remedy, kind))


def test_an_engine_of_roots_is_not_called_rootless_and_a_users_is() -> None:
    row = find(CGROUPS)
    causes = {kind: reword(row.cause, kind) for kind in ("docker", "rootless", "podman")}
    assert "rootless" not in causes["docker"]
    assert causes["docker"].endswith("(LXC), whose root has not all of root's rights")
    assert causes["rootless"].endswith("the engine is a user's (rootless)")
    assert "rootless" in causes["podman"]
    assert "/etc/docker/daemon.json" in reword(row.remedy, "docker")
    assert "~/.config" not in reword(row.remedy, "docker")
    assert "~/.config/docker/daemon.json" in reword(row.remedy, "rootless")
    for kind in ("docker", "rootless"):
        assert "no-cgroups=true" in reword(row.remedy, kind)


def test_a_snaps_docker_is_set_up_in_its_own_places() -> None:
    remedies = " ".join(reword(row.remedy, "snap") for row in REFUSALS)
    assert "/var/snap/docker/current/config/daemon.json" in remedies
    assert "`sudo snap restart docker.dockerd`" in remedies
    assert "`sudo snap restart docker.nvidia-container-toolkit`" in remedies


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        (DIRECTLY, "cdi"),
        (CGROUPS, "cdi"),
        (HOOK + "container error: cgroup subsystem devices not found", "cdi"),
        (UNRESOLVED, "hook"),
        (NO_CDI, "hook"),
        ("failed to stat CDI host device /dev/nvidia0", "hook"),
        (NO_TOOLKIT, None),
        ("Auto-detected mode as 'csv'\n" + DIRECTLY, None),
    ],
)
def test_only_what_the_other_way_may_cure_leads_to_it(text: str, instead: str | None) -> None:
    assert find(text).instead == instead


def test_without_a_container_nothing_speaks_of_one() -> None:
    """The local engine's worker prints the same texts, where there is no container, and no docker."""
    for row in (*GROUPS["tensorflow"], *GROUPS["driver"]):
        for text in (row.cause, row.remedy):
            words = reword(text, "local")
            assert not re.search("container|docker|podman", words, re.IGNORECASE)
            # What is left still says something, and ends where a sentence may.
            assert len(words) > 10
            assert not re.search(r"[:;,(] *$|^[ :;,)]|\(\)|``|  |; *;", words)


def test_what_takes_the_machines_root_is_for_whoever_runs_it() -> None:
    remedy = find(CUINIT + "CUDA_ERROR_UNKNOWN: unknown error").remedy
    assert reword(remedy, "inside").endswith("is for whoever runs it: ask, or rent another")
    assert "whoever runs it" not in reword(remedy, "local")
    assert "whoever runs it" not in reword("`nvidia-smi -L` lists them", "inside")


@pytest.mark.parametrize("text", [NO_DRIVER, NO_NVML])
def test_the_local_wording_keeps_what_mends_it(text: str) -> None:
    row = find(text)
    assert reword(row.remedy, "local").endswith(
        f"install the driver whole: {WORDS['INSTALL_DRIVER']}"
    )
    assert "is not where TensorFlow runs" in reword(row.cause, "local")
    # In a container it still leads to the toolkit.
    assert TRY_TOOLKIT in reword(row.remedy, "docker")


def test_a_gpu_that_cuda_does_not_find_is_not_blamed_on_a_variable_that_never_gets_there() -> None:
    row = find(CUINIT + "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected")
    for kind in ("docker", "local"):
        assert "unset CUDA_VISIBLE_DEVICES" not in reword(row.remedy, kind)
        assert "nvidia-smi -L" in reword(row.remedy, kind)


def test_what_only_looks_like_trouble_is_known_and_named() -> None:
    lines = REFUSED["harmless"]["lines"]
    assert all(map(is_harmless, lines))
    assert {*filter(None, HARMLESS)} == {*name_harmless("\n".join(lines))}
    assert "NUMA node of -1" in name_harmless(lines[0])[0]
    assert name_harmless(lines[-1]) == []
    assert not any(map(is_harmless, TEXTS))
