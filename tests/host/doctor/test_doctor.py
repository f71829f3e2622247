"""Every line of the doctor's on made-up machines: whole ones, broken ones, and ones that hang."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from suite import wire
from suite.content import SUITE
from suite.errors import EngineError, GpuError
from suite.host.doctor import examine as doctor
from suite.host.doctor.cards import FIELDS
from suite.host.doctor.examine import CHECKS, Diagnosis, examine
from suite.host.doctor.finding import Finding, Unknown, no, not_applicable, unknown, yes
from suite.host.doctor.machine import Machine, Question, Ran, free_bytes, run_command
from suite.host.doctor.noise import look_at_clock
from suite.host.doctor.page import draw_screen, write_lines
from suite.host.doctor.probe import Probe
from suite.host.engine import GpuRequest, GpuSupport
from suite.host.provision.volumes import compile_cache
from suite.model import SIMULATED, Image
from tests.fakes.clock import Clock
from tests.fakes.doctor_machine import (
    CDI,
    GB,
    GPU_FILES,
    HOOK,
    IDLE,
    RECORDED,
    SMI,
    TOOLKIT,
    VIEW,
    WELL,
    FakeExamined,
    diagnose,
    line,
    make_machine,
    marks,
    sees,
    smi,
)
from tests.fakes.engine import Life, record


def expect(found: Diagnosis, status: int, **different: str) -> None:
    """All well, but for these."""
    different = {name.replace("_", "-"): mark for name, mark in different.items()}
    assert marks(found) == {**dict.fromkeys(CHECKS, "+"), **different}
    assert found.status == status
    for one in found.checks:
        assert one.text
        assert one.remedy or one.state != "no", one
        assert "this check itself failed" not in one.text, one


NO_GPU = {
    "driver": "x",
    "toolkit": "-",
    "passthrough": "-",
    "capability": "-",
    "tensorflow": "-",
    "idle_gpu": "-",
    "cloud": "?",
}


def test_a_machine_without_engine_and_gpu_runs_without_containers(tmp_path: Path) -> None:
    engine = FakeExamined(isolation="none")
    found = diagnose(make_machine(tmp_path, engine))
    expect(found, 0, **{**NO_GPU, "engine": "x"})
    assert "NOT CONTAINERIZED" in line(found, "engine").text
    assert "apt-get install docker.io" in line(found, "engine").remedy
    assert found.verdict.startswith("`make bench` would run; to mind: engine, driver")
    asked = diagnose(make_machine(tmp_path, engine), engine="local")
    expect(asked, 0, **NO_GPU)


def test_an_engine_that_is_not_running(tmp_path: Path) -> None:
    error = EngineError("docker at x: connecting failed: no engine is running there", "start it")
    found = diagnose(make_machine(tmp_path, error))
    lost = {"rights": "?", "images": "?", "base": "?", "disk": "?"}
    gpu = {**NO_GPU, "toolkit": "?", "passthrough": "?", "tensorflow": "?"}
    expect(found, 3, **{**gpu, **lost, "engine": "x3"})
    assert line(found, "engine").remedy == "start it"
    assert "100 GB" in line(found, "disk").text
    assert "once an engine answers" in line(found, "duration").text
    assert "exit status 3: engine" in found.verdict


def test_a_user_who_may_not_ask_the_engine(tmp_path: Path) -> None:
    error = EngineError("connecting failed: [Errno 13] Permission denied", "usermod -aG docker")
    found = diagnose(make_machine(tmp_path, error))
    assert marks(found)["engine"] == marks(found)["rights"] == "x3"
    assert "usermod" in line(found, "rights").remedy


def test_results_that_can_not_be_written(tmp_path: Path) -> None:
    found = diagnose(make_machine(tmp_path, FakeExamined(), writable=False))
    expect(found, 2, **{**NO_GPU, "rights": "x2"})


def test_an_engine_without_a_gpu(tmp_path: Path) -> None:
    found = diagnose(make_machine(tmp_path, FakeExamined()))
    expect(found, 0, **NO_GPU)
    assert "docker 29.0.1, on this machine" in line(found, "engine").text
    assert "builds the image cpu" in line(found, "images").text
    assert "building takes 5 GB" in line(found, "disk").text
    assert "python:3.13 is in the engine" in line(found, "base").text
    assert "(cpu; a guess" in line(found, "duration").text
    assert "2 logical CPUs; cores 1, sockets 1, SMT on" in line(found, "cpu").text
    built = diagnose(make_machine(tmp_path, FakeExamined(built=["cpu"])))
    expect(built, 0, **{**NO_GPU, "base": "-"})
    assert "nothing large" in line(built, "disk").text


def test_a_gpu_that_was_named_and_is_not_there(tmp_path: Path) -> None:
    found = diagnose(make_machine(tmp_path, FakeExamined()), arms=("cpu", "cuda"))
    expect(found, 4, **{**NO_GPU, "driver": "x4", "passthrough": "x4", "tensorflow": "?"})
    alone = diagnose(make_machine(tmp_path, FakeExamined()), arms=("cpu",))
    expect(alone, 0, **NO_GPU)


def test_a_machine_on_which_everything_is_well(tmp_path: Path) -> None:
    engine = FakeExamined(gpu=HOOK, built=["cpu", "cuda"], view=VIEW)
    files = {**GPU_FILES, "sys/class/dmi/id/sys_vendor": "Made-Up Cloud"}
    found = diagnose(make_machine(tmp_path, engine, files=files, programs=WELL))
    expect(found, 0, base="-")
    assert "driver 550.90.07: NVIDIA A10G, 23028 MiB" in line(found, "driver").text
    assert "toolkit 1.17.4" in line(found, "toolkit").text
    assert "NVIDIA's hook" in line(found, "passthrough").text
    assert line(found, "tensorflow").text == (
        "TensorFlow 2.21.0 in the CUDA image sees NVIDIA A10G (compute capability 8.6) and computes on "
        "it"
    )
    assert "(cpu and cuda; a guess" in line(found, "duration").text
    assert found.verdict == "`make bench` would run"
    assert engine.closed()
    (job,) = engine.jobs
    assert job.arguments == ("describe", "--arm", "cuda")


def test_a_stub_in_the_hooks_place_gives_no_gpu(tmp_path: Path) -> None:
    refused = sees(
        refused="TensorFlow sees no GPU here", diary="failed call to cuInit: UNKNOWN ERROR (303)"
    )
    engine = FakeExamined(gpu=HOOK, built=["cpu", "cuda"], view=refused)
    files = {**GPU_FILES, "usr/bin/nvidia-container-runtime-hook": ""}
    found = diagnose(make_machine(tmp_path, engine, files=files))
    expect(
        found,
        4,
        base="-",
        cloud="?",
        driver="?",
        capability="?",
        idle_gpu="?",
        tensorflow="x4",
    )
    assert line(found, "tensorflow").text == (
        "TensorFlow sees no GPU here: CUDA's driver library (libcuda.so.1) is not where TensorFlow "
        "runs: in a container, the GPU was not passed through (failed call to cuInit: UNKNOWN ERROR "
        "(303))"
    )
    assert "docker run --rm --gpus all" in line(found, "tensorflow").remedy
    assert "nvidia-smi is not on PATH" in line(found, "driver").text


BROKEN = {
    "Failed to initialize NVML: Driver/library version mismatch": "reboot",
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.": "modprobe",
    "Unable to determine the device handle for GPU: Unknown Error": "install the driver again",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_driver_is_named_with_its_remedy(text: str, tmp_path: Path) -> None:
    refusal = GpuError("the engine refused the GPU: driver/library version mismatch", "reboot")
    engine = FakeExamined(gpu=refusal, built=["cpu"])
    programs = {"nvidia-smi": Ran(code=18, text=text), **TOOLKIT}
    found = diagnose(make_machine(tmp_path, engine, files=GPU_FILES, programs=programs))
    expect(
        found,
        4,
        cloud="?",
        driver="x4",
        passthrough="x4",
        capability="?",
        tensorflow="?",
        idle_gpu="?",
    )
    assert BROKEN[text] in line(found, "driver").remedy
    assert line(found, "passthrough").remedy == "reboot"


def test_a_gpu_without_a_driver(tmp_path: Path) -> None:
    device = "sys/bus/pci/devices/0000:01:00.0"
    files = {f"{device}/vendor": "0x10de", f"{device}/class": "0x030200"}
    refusal = GpuError("this machine has an NVIDIA GPU and no driver is loaded", "install it")
    found = diagnose(make_machine(tmp_path, FakeExamined(gpu=refusal), files=files))
    assert marks(found)["driver"] == "x4"
    assert "no driver is loaded" in line(found, "driver").text
    assert "modprobe nvidia" in line(found, "driver").remedy
    assert found.status == 4


def test_a_driver_that_is_too_old_and_a_gpu_that_is_not_listed(tmp_path: Path) -> None:
    old = {"nvidia-smi --query-gpu": Ran(code=0, text=smi(driver="470.57.02")), **IDLE}
    found = diagnose(make_machine(tmp_path, FakeExamined(gpu=HOOK), files=GPU_FILES, programs=old))
    assert "older than CUDA 12" in line(found, "driver").text
    assert marks(found)["driver"] == "x4"
    machine = make_machine(tmp_path, FakeExamined(gpu=HOOK), files=GPU_FILES, programs=WELL)
    found = diagnose(machine, gpu="3")
    assert "there is no GPU 3 on this machine: it has 0: NVIDIA A10G" in line(found, "driver").text


def test_an_old_nvidia_smi_is_asked_for_less(tmp_path: Path) -> None:
    full = f"nvidia-smi --query-gpu={','.join(FIELDS)}"
    programs = {
        full: Ran(code=2, text='Field "compute_cap" is not a valid field to query.'),
        "nvidia-smi --query-gpu": Ran(code=0, text=SMI.rpartition(",")[0]),
        **IDLE,
    }
    machine = make_machine(tmp_path, FakeExamined(gpu=HOOK), files=GPU_FILES, programs=programs)
    found = diagnose(machine)
    assert marks(found)["driver"] == "+"
    assert "does not say the compute capability" in line(found, "capability").text


def test_no_image_to_try_the_gpu_with(tmp_path: Path) -> None:
    engine = FakeExamined(gpu=HOOK, probe_image=False, base_here=False)
    found = diagnose(make_machine(tmp_path, engine, files=GPU_FILES, programs=WELL))
    expect(found, 0, cloud="?", passthrough="?", tensorflow="?")
    assert line(found, "passthrough").remedy == "`make images`"
    assert engine.gpus_asked == []
    assert "its registry answers" in line(found, "base").text
    without = {name: ran for name, ran in WELL.items() if not name.startswith("nvidia-ctk")}
    found = diagnose(make_machine(tmp_path, engine, files=GPU_FILES, programs=without))
    expect(found, 4, cloud="?", toolkit="x", passthrough="x4", tensorflow="?")
    assert "nvidia-container-toolkit" in line(found, "passthrough").remedy


def test_cdi_that_is_there_and_cdi_that_is_not(tmp_path: Path) -> None:
    listed = GpuSupport(devices=("nvidia.com/gpu=0",), cdi_folders=("/etc/cdi",), runtimes=())
    engine = FakeExamined(gpu=CDI, support=listed)
    machine = make_machine(tmp_path, engine, files=GPU_FILES, programs=WELL)
    found = diagnose(machine)
    assert "CDI: the engine lists nvidia.com/gpu=0" in line(found, "toolkit").text
    assert "through CDI" in line(found, "passthrough").text
    folders = replace(listed, devices=())
    refusal = GpuError("unresolvable CDI devices nvidia.com/gpu=0", "`nvidia-ctk cdi generate`")
    engine = FakeExamined(gpu=refusal, support=folders)
    without = {name: ran for name, ran in WELL.items() if not name.startswith("nvidia-ctk")}
    found = diagnose(make_machine(tmp_path, engine, files=GPU_FILES, programs=without))
    assert marks(found)["toolkit"] == "x"
    assert marks(found)["passthrough"] == "x4"
    assert "cdi generate" in line(found, "passthrough").remedy
    spec = {**GPU_FILES, "etc/cdi/nvidia.yaml": "cdiVersion: 0.5.0"}
    found = diagnose(make_machine(tmp_path, engine, files=spec, programs=without))
    assert "/etc/cdi/nvidia.yaml" in line(found, "toolkit").text


def test_a_trial_that_takes_too_long_is_no_refusal(tmp_path: Path) -> None:
    refusal = GpuError("a trivial container did not answer within 8 s", "`nvidia-smi` must work")
    refusal.__cause__ = TimeoutError()
    machine = make_machine(tmp_path, FakeExamined(gpu=refusal), files=GPU_FILES, programs=WELL)
    assert marks(diagnose(machine))["passthrough"] == "?"


def test_an_engine_elsewhere_tells_what_it_can(tmp_path: Path) -> None:
    found = diagnose(make_machine(tmp_path, FakeExamined(gpu=HOOK, here=False)))
    expect(
        found,
        0,
        driver="?",
        toolkit="?",
        capability="?",
        idle_gpu="?",
        tensorflow="?",
        disk="?",
        cloud="?",
    )
    assert "on another machine" in line(found, "engine").text
    assert "(cpu and cuda; a guess" in line(found, "duration").text


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    full = diagnose(make_machine(tmp_path, FakeExamined(), free=3 * GB))
    expect(full, 3, **{**NO_GPU, "disk": "x3"})
    assert "3 GB free in /var/lib/docker; building cpu takes 5 GB" in line(full, "disk").text
    engine = FakeExamined(gpu=HOOK)
    machine = make_machine(tmp_path, engine, files=GPU_FILES, programs=WELL, free=19 * GB)
    assert "building cpu and cuda takes 20 GB" in line(diagnose(machine), "disk").text
    hidden = diagnose(make_machine(tmp_path, FakeExamined(), free=None))
    assert marks(hidden)["disk"] == "?"


@pytest.mark.parametrize(
    ("registry", "mark"),
    [
        (EngineError("the base image can't be pulled: toomanyrequests", "docker login"), "x3"),
        (EngineError("asking the registry failed: Read timed out.", "the network"), "?"),
        (None, "?"),
        (True, "+"),
    ],
)
def test_a_base_that_has_to_be_fetched(registry: Any, mark: str, tmp_path: Path) -> None:
    engine = FakeExamined(base_here=False, registry=registry)
    found = diagnose(make_machine(tmp_path, engine))
    assert marks(found)["base"] == mark
    assert found.status == (3 if mark == "x3" else 0)


def test_an_engine_that_could_never_have_the_image(tmp_path: Path) -> None:
    engine = FakeExamined(isolation="none")
    engine.stock_trouble = EngineError("no Python that the lock has wheels for", "another Python")
    found = diagnose(make_machine(tmp_path, engine), engine="local")
    expect(found, 3, **{**NO_GPU, "images": "x3", "base": "?", "disk": "?"})


@pytest.mark.parametrize(
    ("capability", "driver", "mark", "said"),
    [
        ("5.2", "560.35", "x4", "older than"),
        ("6.1", "560.35", "+", "holds code"),
        ("8.9", "560.35", "+", "holds code"),
        # Machine code alone: its driver has nothing to compile.
        ("8.9", "550.90", "+", "holds code"),
        ("9.0", "560.35", "+", "compute capability 9.0: TensorFlow holds code for it"),
        ("9.0", "550.90", "x4", "which driver 550.90 is too old to compile"),
        ("10.0", "560.35", "x4", "Blackwell"),
        ("12.0", "560.35", "x4", "Blackwell"),
        ("[N/A]", "560.35", "?", "does not say"),
    ],
)
def test_which_gpus_the_wheel_has_code_for(
    capability: str, driver: str, mark: str, said: str, tmp_path: Path
) -> None:
    rows = {
        "nvidia-smi --query-gpu": Ran(code=0, text=smi(driver=driver, capability=capability)),
        **IDLE,
    }
    machine = make_machine(tmp_path, FakeExamined(gpu=HOOK), files=GPU_FILES, programs=rows)
    found = diagnose(machine)
    assert marks(found)["capability"] == mark
    assert found.status == (4 if mark == "x4" else 0)
    assert said in line(found, "capability").text


def reasoned(tried: Finding | None) -> doctor.Line:
    """A fault that was only reasoned, beside what its trial gave; None: the trial was not made."""

    def reason(_: Probe) -> Finding:
        return no("it can't work", "mend it", stops=4, unless="trial", way="cdi")

    def hang(_: Probe) -> Finding:
        release.wait(30)
        return yes("late")

    release = threading.Event()
    checks: dict[str, doctor.Check] = {"reason": reason, "other": lambda _: yes("it works")}
    checks["trial"] = hang if tried is None else lambda _: tried
    machine = Machine(open_engine=FakeExamined, root=Path("/nowhere"))
    asked = Question(results=Path("results"), cells=[])
    found = examine(machine, asked, limit_s=0.2 if tried is None else 5.0, checks=checks)
    release.set()
    one = line(found, "reason")
    assert found.status == one.stops
    assert one.facts == {"way": "cdi"}
    return one


def test_what_works_when_it_is_tried_is_no_fault() -> None:
    found = reasoned(yes("it computes"))
    assert (found.state, found.stops, found.remedy) == ("not-applicable", 0, "")
    assert found.text == "it can't work; but it works all the same (see trial)"


@pytest.mark.parametrize(
    "tried", [no("it does not", "x"), unknown("not built"), not_applicable("no GPU"), None]
)
def test_a_trial_that_says_nothing_good_lets_the_fault_stand(tried: Finding | None) -> None:
    found = reasoned(tried)
    assert (found.state, found.stops, found.remedy) == ("no", 4, "mend it")
    assert found.text == "it can't work"


def test_another_process_on_the_gpu_is_named_without_its_folder(tmp_path: Path) -> None:
    rows = "4711, /home/somebody/bin/python, 3210 MiB\n4712, [N/A], [N/A]"
    programs = {**WELL, "nvidia-smi --query-compute-apps": Ran(code=0, text=rows)}
    machine = make_machine(tmp_path, FakeExamined(gpu=HOOK), files=GPU_FILES, programs=programs)
    found = line(diagnose(machine), "idle-gpu")
    assert found.state == "no"
    assert "2 other processes" in found.text
    assert "4711 python (3210 MiB)" in found.text
    assert "somebody" not in found.text


def test_updates_under_way_and_planned(tmp_path: Path) -> None:
    timers = {"systemctl is-active": Ran(code=0, text="active\nactive\ninactive")}
    found = diagnose(make_machine(tmp_path / "a", FakeExamined(), programs=timers))
    assert "apt-daily.timer, apt-daily-upgrade.timer" in line(found, "updates").text
    assert "systemctl stop" in line(found, "updates").remedy
    files = {"proc/77/comm": "unattended-upgr"}
    found = diagnose(make_machine(tmp_path / "b", FakeExamined(), files=files))
    assert "right now: unattended-upgr" in line(found, "updates").text
    files = {
        "proc/78/comm": "apt-get",
        "proc/78/cgroup": "0::/system.slice/docker-c0ffee.scope",
        "proc/self/cgroup": "0::/user.slice",
    }
    found = diagnose(make_machine(tmp_path / "f", FakeExamined(), files=files))
    assert marks(found)["updates"] == "+"
    inside = {**files, "proc/self/cgroup": "0::/docker/beef/"}
    found = diagnose(make_machine(tmp_path / "g", FakeExamined(), files=inside))
    assert "right now: apt-get" in line(found, "updates").text
    files = {"proc/1/comm": "dockerd"}
    found = diagnose(make_machine(tmp_path / "c", FakeExamined(), files=files))
    assert marks(found)["updates"] == "+"
    for on, words in (("1", "a driver with them"), ("0", "unattended-upgrades is off")):
        files = {
            "etc/apt/apt.conf.d/10periodic": 'APT::Periodic::Unattended-Upgrade "1";',
            "etc/apt/apt.conf.d/20auto-upgrades": f'APT::Periodic::Unattended-Upgrade "{on}";',
        }
        machine = make_machine(tmp_path / f"e{on}", FakeExamined(), files=files, programs=timers)
        assert words in line(diagnose(machine), "updates").text
    broken = {"systemctl is-active": Ran(code=1, text="Failed to connect to bus")}
    found = diagnose(make_machine(tmp_path / "d", FakeExamined(), programs=broken))
    assert marks(found)["updates"] == "?"


def test_a_busy_machine_a_noisy_clock_and_a_coarse_one(tmp_path: Path) -> None:
    files = {"proc/loadavg": "3.10 2.00 1.00 4/180 4242"}
    found = diagnose(make_machine(tmp_path / "a", FakeExamined(), files=files))
    assert marks(found)["load"] == "x"
    noisy = make_machine(tmp_path / "b", FakeExamined(), clock=Clock(gap_ns=3_990_000))
    found = diagnose(noisy)
    assert marks(found)["clock"] == "x"
    assert "at most 4000 µs at once" in line(found, "clock").text
    name = "sys/devices/system/clocksource/clocksource0/current_clocksource"
    found = diagnose(make_machine(tmp_path / "c", FakeExamined(), files={name: "hpet"}))
    assert "(hpet)" in line(found, "clock").text
    assert marks(found)["clock"] == "x"


def test_the_look_at_the_clock_counts_gaps_alone() -> None:
    quiet = look_at_clock(Clock(step_ns=50), span_ns=1_000_000)
    assert (quiet.lost_ns, quiet.longest_ns, quiet.step_ns) == (0, 0, 50)
    noisy = look_at_clock(Clock(gap_ns=500_000, step_ns=50), span_ns=1_000_000)
    assert noisy.lost_ns == noisy.longest_ns == 500_050
    assert noisy.step_ns == pytest.approx(50, rel=0.01)


def test_a_quota_counts_where_nothing_lifts_it(tmp_path: Path) -> None:
    files = {"sys/fs/cgroup/cpu.max": "150000 100000"}
    local = FakeExamined(isolation="none")
    found = diagnose(make_machine(tmp_path, local, files=files), engine="local")
    assert "a quota of 1.5 CPUs" in line(found, "cpu").text
    assert marks(diagnose(make_machine(tmp_path, FakeExamined(), files=files)))["cpu"] == "+"


@pytest.mark.parametrize(
    ("architecture", "files", "mark", "status"),
    [
        ("aarch64", {}, "+", 0),
        ("aarch64", GPU_FILES, "x3", 3),
        ("riscv64", {}, "x3", 3),
        ("x86_64", {"proc/cpuinfo": "flags : fpu sse\n"}, "x1", 1),
    ],
)
def test_processors_that_the_locks_have_wheels_for(
    architecture: str, files: dict[str, str], mark: str, status: int, tmp_path: Path
) -> None:
    engine = FakeExamined(gpu=HOOK, architecture=architecture)
    found = diagnose(make_machine(tmp_path, engine, files=files, programs=WELL))
    assert marks(found)["architecture"] == mark
    assert found.status == status


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            {
                "run/cloud-init/instance-data.json": json.dumps(
                    {
                        "v1": {"cloud_name": "aws", "region": "eu-west-1"},
                        "ds": {"meta_data": {"ami-id": "ami-1", "instance-type": "g5.xlarge"}},
                    }
                )
            },
            "aws: g5.xlarge in eu-west-1",
        ),
        (
            {
                "run/cloud-init/instance-data.json": json.dumps(
                    {
                        "v1": {"cloud_name": "azure"},
                        "ds": {"meta_data": {"imds": {"compute": {"vmSize": "Standard_NC6s_v3"}}}},
                    }
                )
            },
            "azure: Standard_NC6s_v3",
        ),
        (
            {
                "run/cloud-init/instance-data.json": "{ cut short",
                "sys/class/dmi/id/sys_vendor": "Amazon EC2",
                "sys/class/dmi/id/product_name": "g5.xlarge",
            },
            "Amazon EC2: g5.xlarge (DMI; no cloud-init)",
        ),
    ],
)
def test_the_machine_says_what_it_is(files: dict[str, str], said: str, tmp_path: Path) -> None:
    found = diagnose(make_machine(tmp_path, FakeExamined(), files=files))
    assert line(found, "cloud").text == said


def test_a_check_that_breaks_is_a_line_of_its_own(tmp_path: Path) -> None:
    class Strange(FakeExamined):
        def describe(self) -> dict[str, Any]:
            raise ZeroDivisionError("nobody\nthought of this")

    found = diagnose(
        make_machine(tmp_path, Strange(), programs={"systemctl is-active": OSError("no")})
    )
    said = line(found, "engine")
    assert (said.state, said.stops) == ("unknown", 0)
    assert said.text == "this check itself failed: ZeroDivisionError: nobody thought of this"
    assert marks(found)["updates"] == "?"
    assert marks(found)["disk"] == "+"


def test_an_engine_that_is_no_error_of_ours_is_no_traceback(tmp_path: Path) -> None:
    found = diagnose(make_machine(tmp_path, RuntimeError("what is this")))
    assert marks(found)["engine"] == "?"
    assert {line.state for line in found.checks} <= {"yes", "no", "unknown", "not-applicable"}


def test_what_hangs_is_given_up_and_the_rest_is_told(tmp_path: Path) -> None:
    release = threading.Event()

    def hang(_: Probe) -> Finding:
        release.wait(30)
        return yes("late")

    began = time.monotonic()
    asked = Question(results=tmp_path, cells=[])
    machine = make_machine(tmp_path, FakeExamined())
    checks = {"python": CHECKS["python"], "driver": hang}
    found = examine(machine, asked, limit_s=0.2, checks=checks)
    release.set()
    assert time.monotonic() - began < 5
    assert marks(found) == {"python": "+", "driver": "?"}
    assert "no answer within" in line(found, "driver").text


def test_the_engine_is_opened_once(tmp_path: Path) -> None:
    opened = []
    machine = make_machine(tmp_path, FakeExamined())

    def count() -> Any:
        opened.append(1)
        time.sleep(0.05)
        return machine.open_engine()

    diagnose(replace(machine, open_engine=count))
    assert opened == [1]


def test_the_clock_is_looked_at_before_anything_else(tmp_path: Path) -> None:
    order: list[str] = []

    def note(name: str) -> doctor.Check:
        def check(_: Probe) -> Finding:
            order.append(name)
            return yes(name)

        return check

    checks = {name: note(name) for name in ("python", "load", "clock")}
    machine = make_machine(tmp_path, FakeExamined())
    examine(machine, Question(results=tmp_path, cells=[]), checks=checks)
    assert order[0] == "clock"


@pytest.fixture
def troubled(tmp_path: Path) -> Diagnosis:
    return diagnose(make_machine(tmp_path, FakeExamined(), free=GB))


def test_json_is_as_its_schema_says(troubled: Diagnosis) -> None:
    schema = json.loads((SUITE.parent / "docs" / "doctor-schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    printed = json.loads(json.dumps(wire.plain(troubled)))
    validator.validate(printed)
    assert [one["id"] for one in printed["checks"]] == list(CHECKS)
    assert set(printed) == {"schema", "suite", "status", "verdict", "took_s", "checks"}
    assert set(printed["checks"][0]) == {"id", "state", "text", "remedy", "stops", "facts"}
    assert not validator.is_valid({**printed, "status": "three"})


def test_plain_lines_have_a_mark_a_name_and_the_remedy_below(troubled: Diagnosis) -> None:
    lines = write_lines(troubled, "utf-8")
    place = next(i for i, text in enumerate(lines) if text.startswith("✗ disk "))
    assert lines[place + 1].strip().startswith("what to do: free some")
    assert lines[-1] == troubled.verdict
    assert not any("\x1b" in text for text in lines)
    plain = "\n".join(write_lines(troubled, "ascii"))
    assert plain.isascii()
    assert "\nX disk " in plain


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_screen_wraps_and_loses_nothing(troubled: Diagnosis, width: int) -> None:
    from rich.console import Console

    console = Console(width=width, force_terminal=True, no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(draw_screen(troubled, "utf-8"))
    shown = capture.get()
    assert all(len(text) <= width + 20 for text in shown.splitlines())  # codes of bold count, too
    for name in CHECKS:
        assert name in shown


@pytest.mark.processes
def test_programs_that_are_missing_fail_or_hang() -> None:
    assert run_command(["no-such-program-anywhere"], 1) is None
    assert run_command(["sh", "-c", "echo out; echo err >&2; exit 3"], 5) == Ran(
        code=3, text="out\nerr"
    )
    with pytest.raises(Unknown, match="did not answer within"):
        run_command(["sleep", "5"], 0.1)


def test_disks_and_folders_that_do_not_exist_yet(tmp_path: Path) -> None:
    # Others write meanwhile, so two readings of one disk are only near each other.
    there, here = free_bytes(tmp_path / "not" / "yet"), free_bytes(tmp_path)
    assert there is not None
    assert there == pytest.approx(here, rel=0.5)
    (tmp_path / "file").write_text("")
    machine = Machine(open_engine=FakeExamined, root=tmp_path)
    assert machine.read("/file") is None
    assert machine.find("/*") == ("/file",)


@pytest.mark.simulated
def test_tensorflow_of_our_own_is_no_process_of_somebody_elses(tmp_path: Path) -> None:
    """A driver that takes its time to answer, while everything else goes on."""
    engine = FakeExamined(gpu=HOOK, built=["cpu", "cuda"], view=VIEW)

    def list_gpus() -> Ran:
        time.sleep(0.3)
        return Ran(code=0, text=SMI)

    def list_processes() -> Ran:
        return Ran(code=0, text="4711, python3, 420 MiB" if engine.jobs else "")

    programs = {
        **WELL,
        "nvidia-smi --query-gpu": list_gpus,
        "nvidia-smi --query-compute-apps": list_processes,
    }
    machine = make_machine(tmp_path, engine, files=GPU_FILES, programs=programs)
    expect(diagnose(machine), 0, base="-", cloud="?")


@pytest.mark.simulated
def test_tensorflow_is_given_the_cache_that_a_campaign_made_and_no_new_one(tmp_path: Path) -> None:
    base, lock = RECORDED
    image = Image(id="", content=None, base=base, digests=[], lock=lock, origin="")
    mine = compile_cache(image, HOOK)
    other = replace(HOOK, kernel_driver="535.0")
    for made, given in (
        ((), ()),
        ((compile_cache(image, other).name,), ()),
        ((mine.name,), (mine.name,)),
    ):
        engine = FakeExamined(gpu=HOOK, built=["cpu", "cuda"], view=VIEW, caches=made)
        machine = make_machine(tmp_path, engine, files=GPU_FILES, programs=WELL)
        diagnose(machine)
        (job,) = engine.jobs
        assert tuple(volume.name for volume in job.volumes) == given
        assert ("CUDA_CACHE_DISABLE" in job.environment) is bool(given)


BLACKWELL = Ran(
    code=0,
    text=smi(name="NVIDIA B200", driver="570.86.10", memory="183359 MiB", capability="10.0"),
)
VENDOR = "vendor/tf:1"


def laid(tmp_path: Path, **changes: Any) -> Diagnosis:
    """The doctor's word on a Blackwell machine with CUDA_IMAGE."""
    given = {"gpu": HOOK, "built": ["cpu", "cuda"], "view": VIEW, **changes}
    engine = FakeExamined(**given)
    engine.laid_on = VENDOR
    programs = {**WELL, "nvidia-smi --query-gpu": BLACKWELL}
    machine = make_machine(tmp_path, engine, files=GPU_FILES, programs=programs)
    return diagnose(machine, cuda_image=VENDOR)


def test_an_image_that_brings_its_own_tensorflow_is_not_held_against_the_lock(
    tmp_path: Path,
) -> None:
    found = laid(tmp_path)
    expect(found, 0, base="-", cloud="?")
    assert f"whether {VENDOR} (CUDA_IMAGE) has code for it" in line(found, "capability").text
    assert f"(the suite laid on {VENDOR}, not from the lock) is built" in line(found, "images").text


@pytest.mark.simulated
def test_an_interpreter_with_its_own_tensorflow_is_not_held_against_the_lock(
    tmp_path: Path,
) -> None:
    engine = FakeExamined(
        gpu=GpuRequest(driver="none", devices=("0",)), isolation="none", view=VIEW
    )
    engine.local_python = "CPython 3.12.3"
    programs = {**WELL, "nvidia-smi --query-gpu": BLACKWELL}
    machine = make_machine(tmp_path, engine, files=GPU_FILES, programs=programs)
    found = diagnose(machine, engine="local")
    expect(found, 0, toolkit="-", passthrough="-", cloud="?")
    assert "whether CPython 3.12.3 (LOCAL_PYTHON) has code" in line(found, "capability").text
    assert line(found, "tensorflow").text == (
        "TensorFlow 2.21.0 in LOCAL_PYTHON sees NVIDIA A10G (compute capability 8.6) and computes on it"
    )
    assert "(CPython 3.12.3 as LOCAL_PYTHON names it, not from" in line(found, "images").text
    assert line(found, "base").text.endswith("(LOCAL_PYTHON) stands in for the environments")
    engine.stock_trouble = EngineError("LOCAL_PYTHON=x has no TensorFlow", "name another one")
    found = diagnose(machine, engine="local")
    assert found.status == 3
    assert marks(found)["capability"] == "?"
    assert "see images" in line(found, "capability").text


ENDS = {
    "refused for the driver": sees(
        refused="TensorFlow sees no GPU here",
        diary="failed call to cuInit: INTERNAL: CUDA error: UNKNOWN ERROR (303)\n",
    ),
    "refused for NVML": sees(
        refused="TensorFlow sees no GPU here: libnvidia-ml.so.1, which the driver brings, can't be opened"
    ),
    "refused for a dead NVML": sees(
        refused="TensorFlow sees no GPU here: NVML does not start (nvmlInit gives 18)"
    ),
    "refused for CUDA's libraries": sees(
        refused="TensorFlow sees no GPU here: TensorFlow has not loaded libcudnn.so"
    ),
    "refused for what nobody knows": sees(refused="the moon is in the wrong house"),
    "died of what is known": Life(
        words=[], code=1, diary="failed call to cuInit: INTERNAL: CUDA error: UNKNOWN ERROR (303)\n"
    ),
    "died of what nobody knows": Life(words=[], code=139),
}
"""How the start-up of TensorFlow in LOCAL_PYTHON can end badly."""


@pytest.mark.simulated
@pytest.mark.parametrize("name", ENDS)
def test_local_python_is_never_told_of_a_container(name: str, tmp_path: Path) -> None:
    engine = FakeExamined(
        gpu=GpuRequest(driver="none", devices=("0",)), isolation="none", view=ENDS[name]
    )
    engine.local_python = "CPython 3.12.3"
    machine = make_machine(tmp_path, engine, files=GPU_FILES, programs=WELL)
    found = diagnose(machine, engine="local")
    assert found.status == 4
    one = line(found, "tensorflow")
    assert one.state == "no"
    assert one.remedy
    for words in ("container", "docker"):
        assert words not in f"{one.text} {one.remedy}"


@pytest.mark.parametrize(
    ("value", "said"), [(True, ", a stand-in: no GPU is there"), (False, ""), (None, "")]
)
@pytest.mark.simulated
def test_a_stand_in_is_told_for_one(tmp_path: Path, *, value: bool | None, said: str) -> None:
    shown = {"gpu.0.name": "NVIDIA A10G", "gpu.0.capability": "8.6", SIMULATED: value}
    engine = FakeExamined(gpu=HOOK, built=["cpu", "cuda"], view=sees(**shown))
    machine = make_machine(tmp_path, engine, files=GPU_FILES, programs=WELL)
    one = line(diagnose(machine), "tensorflow")
    assert one.text.endswith(f"(compute capability 8.6) and computes on it{said}")


def test_both_bases_are_looked_for_where_they_differ(tmp_path: Path) -> None:
    found = laid(tmp_path, built=[])
    expect(found, 0, cloud="?", tensorflow="?")
    assert "python:3.13 is in the engine" in line(found, "base").text
    assert f"{VENDOR} is not here; its registry answers" in line(found, "base").text
    refused = EngineError(f"the image {VENDOR} (CUDA_IMAGE) can't be pulled", "docker login")
    found = laid(tmp_path, built=["cpu"], registry=refused)
    expect(found, 3, cloud="?", tensorflow="?", base="x3")
    assert "CUDA_IMAGE" in line(found, "base").text
    unasked = laid(tmp_path, built=[], registry=None)
    expect(unasked, 0, cloud="?", tensorflow="?", base="?")


def test_a_tensorflow_that_lacks_something_is_told_by_what(tmp_path: Path) -> None:
    words = [record("unfit", reason="its TensorFlow lacks tf.thing")]
    found = laid(tmp_path, view=Life(words=words, code=3))
    expect(found, 3, base="-", cloud="?", tensorflow="x3")
    assert "lacks tf.thing" in line(found, "tensorflow").text
    assert "CUDA_IMAGE=" in line(found, "tensorflow").remedy
