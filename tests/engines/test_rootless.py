"""Docker without root: NVIDIA's hook may not change device rules, and limits may not hold."""

from __future__ import annotations

import pytest

from suite.errors import EngineError, GpuError
from tests.engines.nested import Bench, Machine, Nested, Reach, probe

BPF = (
    "Auto-detected mode as 'legacy'\nnvidia-container-cli: mount error: failed to add device rules: "
    "unable to find any existing device filters attached to the cgroup: "
    "bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted"
)


def test_the_legacy_hook_fails_and_cdi_is_tried(rootless: Nested, reach: Reach) -> None:
    rootless.hook.refuse(BPF)
    engine = reach(rootless.url)
    assert engine.describe()["rootless"] is True
    with pytest.raises(GpuError) as caught:
        engine.find_gpu("0")
    assert rootless.hook.was_asked
    for said in (
        "a user's (rootless)",
        BPF.splitlines()[1],
        "then asked through CDI",
        rootless.url,
    ):
        assert said in caught.value.what
    assert "no-cgroups=true --in-place`" in caught.value.remedy
    assert '{"features":{"cdi":true}}' in caught.value.remedy


def test_cpus_are_not_taken_where_they_would_not_hold(rootless: Nested, reach: Reach) -> None:
    engine = reach(rootless.url)
    if engine.describe()["binds.cpus"]:
        pytest.skip("this machine gives users a cpuset control group")
    if len(engine.cpus()) < 2:
        pytest.skip("one CPU can't be told from all")
    job = probe(engine, "pass", cpus=engine.cpus()[:1])
    with pytest.raises(EngineError, match="CPUS= would not hold") as caught:
        engine.start(job, entrypoint=("python3",))
    assert "Delegate=" in caught.value.remedy


def test_a_campaign_of_the_cpu_runs_without_root(
    rootless: Nested, machine: Machine, bench: Bench
) -> None:
    machine.carry("cpu", rootless.url)
    done = bench(rootless.url, "--arms", "cpu", "--only", "overhead.fence")
    assert done.returncode == 0, done.stderr
    assert "measured" in done.stdout
