"""What refusals of a GPU mean, as tables: of engines, of NVIDIA's hook, of CDI, of TensorFlow.

The texts are those that machines printed in public threads, or that we saw; of each kind at least two, which
differ in what is not its own: paths, versions, numbers, and the wrapping.
"""

from __future__ import annotations

import re

import pytest

from suite.errors import OTHER_BUILD, TOO_OLD
from suite.host.engine import EngineKind, Refusal
from suite.host.gpu.commands import INSTALL_DRIVER, TRY_TOOLKIT, reword
from suite.host.gpu.remedies import DRIVER, REFUSALS, find_refusal
from suite.host.gpu.texts import engine as engine_texts
from suite.host.gpu.texts.driver import REQUIREMENT
from suite.host.gpu.texts.tensorflow import HARMLESS, TENSORFLOW_TEXTS, is_harmless, name_harmless

HOOK = (
    "failed to create task for container: OCI runtime create failed: runc create failed: error "
    "running prestart hook #0: exit status 1, stderr: Auto-detected mode as 'legacy'\n"
    "nvidia-container-cli: "
)
OLD_HOOK = (
    'OCI runtime create failed: container_linux.go:345: starting container process caused "process_linux.go'
    ':430: container init caused \\"running prestart hook 0 caused \\\\\\"error running hook: exit status 1, '
    'stdout: , stderr: nvidia-container-cli: {}\\\\n\\\\\\"\\"": unknown.'
)
NVML = "initialization error: nvml error: "
DIRECTLY = "invoking the NVIDIA Container Runtime Hook directly (e.g. …) is not supported"
NO_TOOLKIT = 'could not select device driver "" with capabilities: [[gpu]]'
NO_CDI = 'could not select device driver "cdi" with capabilities: []'
UNRESOLVED = "CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=7"
CGROUPS = HOOK + "mount error: bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted"
OF_SMI = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
NOBODY = "the moon is in the wrong house"
PROGRAM = "error during container init: {}: unknown"

OF_ENGINES: dict[str, str] = {
    NO_TOOLKIT: "toolkit is missing",
    'could not select device driver \\"\\" with capabilities: [[gpu compute utility]]': "toolkit is missing",
    'could not select device driver "nvidia" with capabilities: [[gpu]]': "toolkit is missing",
    NO_CDI: "CDI switched off",
    UNRESOLVED: "stale",
    "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all": "stale",
    "failed to discover GPU vendor from CDI: no known GPU vendor found": "CDI specification is missing",
    HOOK
    + "initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object "
    "file: no such file or directory: unknown": "no NVIDIA driver",
    OLD_HOOK.format("initialization error: load library failed: libcuda.so.1"): "no NVIDIA driver",
    # What wraps stands after what it wraps.
    HOOK + NVML + "driver/library version mismatch: unknown": "upgraded",
    HOOK + NVML + "driver not loaded: unknown": "not loaded",
    HOOK + "device error: 7: unknown device: unknown": "no such GPU",
    HOOK + UNRESOLVED + ": unknown": "no such device",
    HOOK + "requirement error: unsatisfied condition: cuda>=12.5, please update": "older",
    HOOK + DIRECTLY: "CDI mode",
    "unknown or invalid runtime name: nvidia": "not configured",
    "Unknown runtime specified nvidia": "not configured",
    # The toolkit's default since 1.18, on machines of every kind.
    "stderr: Auto-detected mode as 'jit-cdi'\n" + DIRECTLY: "CDI mode",
    HOOK + "something that nobody has seen": "not listed here",
    "could not apply required modification to OCI specification: error modifying OCI spec: odd": (
        "NVIDIA's runtime failed"
    ),
    OF_SMI: "another kernel",
    # Device rules that the engine may not set.
    CGROUPS: "unprivileged container (LXC)",
    OLD_HOOK.format(
        "mount error: write error: /sys/fs/cgroup/devices/docker/7f73/devices.allow: operation not permitted"
    ): "unprivileged container (LXC)",
    HOOK
    + "mount error: failed to add device rules: unable to find any existing device filters attached to "
    "the cgroup: bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted: unknown": "device rules",
    HOOK
    + "mount error: failed to add device rules: open /sys/fs/cgroup/devices/slurm/uid_9/job_85/step_0/"
    "task_0/devices.allow: permission denied": "may not change device rules",
    # Device rules that the hook is too old for.
    HOOK
    + "container error: cgroup subsystem devices not found: unknown.": "too old for the kernel",
    "stderr: nvidia-container-cli.real: container error: cgroup subsystem devices not found": "too old",
    HOOK
    + "mount error: failed to add device rules: unable to generate new device filter program from "
    "existing programs: unable to create new device filters program: load program: invalid argument: 0: (69) "
    "r2 = *(u16 *)(r1 +0)": "too old",
    # Mounts.
    HOOK
    + "mount error: mount operation failed: /tmp/enroot/x/usr/lib/firmware/nvidia/470.57.02: operation "
    "not permitted": "may not mount",
    HOOK
    + "mount error: mount operation failed: /home/x/docker/vfs/dir/4136/proc/driver/nvidia: permission "
    "denied: unknown.": "may not mount",
    HOOK
    + "mount error: stat failed: /dev/nvidia-modeset: no such file or directory": "is not there",
    HOOK
    + "mount error: mount operation failed: /x/merged/proc/driver/nvidia/params/registry: no such file "
    "or directory": "is not there",
    # The driver, as the hook sees it.
    OLD_HOOK.format("initialization error: driver error: failed to process request"): "wake up",
    HOOK + "initialization error: driver rpc error: failed to process request: unknown.": "wake up",
    HOOK + "initialization error: driver rpc error: timed out: unknown": "wake up",
    OLD_HOOK.format("initialization error: cuda error: unknown error"): "CUDA does not start on",
    HOOK
    + "initialization error: cuda error: os call failed or operation not supported on this os: unknown.": (
        "CUDA does not start on"
    ),
    HOOK + NVML + "gpu access blocked by the operating system: unknown": "to WSL",
    HOOK + NVML + "insufficient permissions: unknown": "device nodes",
    "Failed to initialize NVML: Insufficient Permissions": "device nodes",
    "open /dev/nvidiactl: permission denied": "device nodes",
    HOOK
    + "detection error: open failed: /usr/lib/x86_64-linux-gnu/libnvidia-tls.so.418.39: no such file or "
    "directory": "is incomplete",
    HOOK
    + "detection error: path error: ///usr/local/nvidia/lib64/libvdpau_nvidia.so: permission denied": (
        "is incomplete"
    ),
    HOOK + NVML + "unknown error: unknown": "hangs on the engine's machine",
    # An image that holds what the hook mounts.
    HOOK
    + "mount error: file creation failed: /var/lib/docker/overlay2/5f/merged/usr/lib/x86_64-linux-gnu/"
    "libnvidia-ml.so.1: file exists: unknown.": "image holds the driver's own",
    OLD_HOOK.format(
        "mount error: file creation failed: /x/merged/usr/lib/libcuda.so.1: file exists"
    ): "image holds the driver's own",
    HOOK
    + "mount error: file creation failed: /x/merged/usr/bin/nvidia-smi: file exists": "holds the driver's",
    HOOK + "mount error: file creation failed: /x/usr/bin/odd: file exists": "not listed here",
    # What has a row of its own keeps it, whoever says it.
    HOOK
    + "initialization error: cuda error: no cuda-capable device is detected": "no GPU that it may use",
    HOOK + "initialization error: cuda error: system not yet initialized": "fabric manager",
    HOOK + "detection error: nvml error: something new": "not listed here",
    # The toolkit's programs.
    "OCI runtime create failed: unable to retrieve OCI runtime error (open /x/log.json: no such file or "
    'directory): exec: "nvidia-container-runtime": executable file not found in $PATH: : unknown': "not",
    'exec: \\"nvidia-container-runtime-hook\\": executable file not found in $PATH: unknown.': "not there",
    PROGRAM.format(
        "fork/exec /usr/bin/nvidia-container-runtime: no such file or directory"
    ): "not there",
    PROGRAM.format("stat /usr/bin/nvidia-ctk: no such file or directory"): "not there",
    HOOK + "ldcache error: open failed: /sbin/ldconfig.real: no such file or directory": "ldconfig",
    HOOK + "ldcache error: process /usr/sbin/ldconfig failed with error code: 1": "ldconfig",
    "unable to load config: /etc/nvidia-container-runtime/config.toml: (3, 1): expected": "own settings",
    "NVIDIA Container Runtime: error loading config: toml: line 4": "own settings",
    # Specifications of CDI.
    "Error: crun: cannot stat `/lib64/libEGL_nvidia.so.550.54.14`: No such file or directory: OCI runtime "
    "attempted to invoke a command that was not found": "no longer there",
    "crun: cannot stat `/usr/lib/libnvidia-egl-wayland.so.1.1.13`: No such file or directory": "no longer",
    'error during container init: error mounting "/usr/lib/x86_64-linux-gnu/libcuda.so.535.161.07" to rootfs '
    'at "/usr/lib/x86_64-linux-gnu/libcuda.so.535.161.07": mount src=/usr/lib: no such file or directory': (
        "no longer there"
    ),
    "failed to fulfil mount request: open /usr/lib/libnvidia-ml.so.550.54.15: no such file or directory": (
        "no longer there"
    ),
    'setting up CDI devices: failed to inject devices: failed to stat CDI host device "/dev/dri/renderD129": '
    "no such file or directory": "no longer there",
    'OCI runtime error: crun: {"msg":"error executing hook `/usr/bin/nvidia-ctk` (exit code: 1)"}': "calls a",
    "runc create failed: error running createContainer hook #1: exit status 1, stderr: nvidia-cdi-hook: "
    "unknown command": "calls a program",
    "runc create failed: error running createContainer hook #0: fork/exec /usr/bin/nvidia-ctk: no such file "
    "or directory: unknown": "CDI specification calls a program",
    'conflicting device "nvidia.com/gpu=0" in specs /etc/cdi/a.yaml, /etc/cdi/b.yaml': "two in one folder",
    "failed to parse CDI Spec /etc/cdi/nvidia.yaml: yaml: line 3": "are broken",
    # Jetson, and a snap's docker.
    "stderr: Auto-detected mode as 'csv'\ninvoking the NVIDIA Container Runtime Hook directly (e.g. "
    "specifying the docker --gpus flag) is not supported. Please use the NVIDIA": "a Jetson",
    'error gathering device information while adding custom device "/dev/nvhost-gpu": no such file': "Jetson",
    "exec /sbin/docker-init: operation not permitted": "as a snap",
    'standard_init_linux.go:211: exec user process caused "operation not permitted"': "as a snap",
}
"""What engines, runtimes, NVIDIA's hook and nvidia-smi print, and a part of its cause."""

CUINIT = "failed call to cuInit: INTERNAL: CUDA error: "
NO_DRIVER = CUINIT + "UNKNOWN ERROR (303)"
LACKS = "TensorFlow sees no GPU here: "
NO_NVML = LACKS + "libnvidia-ml.so.1, which the driver brings, can't be opened"

OF_TENSORFLOW: dict[str, str] = {
    NO_DRIVER: "not passed",
    "Could not load dynamic library 'libcuda.so.1'; dlerror: libcuda.so.1: cannot open shared": "not passed",
    "Could not find cuda drivers on your machine, GPU will not be used.": "not passed",
    CUINIT + "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected": "no GPU that it may use",
    CUINIT + "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: system has unsupported display driver": "together",
    CUINIT
    + "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: forward compatibility": "do not go together",
    CUINIT + "UNKNOWN ERROR (34)": "a stub",
    CUINIT + "CUDA_ERROR_SYSTEM_NOT_READY: system not yet initialized": "fabric",
    CUINIT
    + "CUDA_ERROR_DEVICE_UNAVAILABLE: device(s) is/are busy or unavailable": "GPU exclusively",
    CUINIT + "CUDA_ERROR_UNKNOWN: unknown error": "does not answer CUDA",
    CUINIT + "CUDA_ERROR_OPERATING_SYSTEM: OS call failed": "does not answer CUDA",
    CUINIT + "CUDA_ERROR_INVALID_DEVICE: invalid device ordinal": "of that number",
    CUINIT + "CUDA_ERROR_DEVICE_NOT_LICENSED": "no licence",
    CUINIT + "CUDA_ERROR_MPS_CONNECTION_FAILED: MPS client failed to connect": "(MPS)",
    "Cannot dlopen some GPU libraries. Please make sure": "missing beside TensorFlow",
    "Could not load dynamic library 'libcudnn.so.8'; dlerror: libcudnn.so.8": "missing beside TensorFlow",
    LACKS + "TensorFlow has not loaded libcusolver.so, libcudnn.so": "missing beside TensorFlow",
    NO_NVML: "management (NVML) is not where TensorFlow runs",
    LACKS + "NVML does not start (nvmlInit gives 18)": "(NVML) does not start",
    "gpu_kernel_to_blob_pass: CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the provided": "wrong results",
    "the provided PTX was compiled with an unsupported toolchain": "wrong results",
    "kernel version 550.90.7 does not match DSO version 550.54.15 -- cannot find working devices in "
    "this configuration": "not of the loaded kernel module's version",
    "Possibly insufficient driver version: 470.57.2": "older than this TensorFlow's CUDA",
    "CUDA driver version is insufficient for CUDA runtime version": "older than this TensorFlow's CUDA",
    "INTERNAL: CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error": "defective",
    # As the worker says it.
    "the GPU is lost: CUDA_ERROR_ECC_UNCORRECTABLE": "defective",
    "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered": "broke down",
    "CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure": "broke down",
    "CUDA_ERROR_INVALID_PTX: a PTX JIT compilation failed": "newer than",
    "LLVM ERROR: does not support target 'sm_120'": "newer than",
    "LLVM ERROR: does not support target 'sm_100a'": "newer than",
    "INTERNAL: ptxas exited with non-zero error code 65280, output: ptxas fatal   : Value 'sm_120' is not "
    "defined for option 'gpu-name'": "newer than this TensorFlow's CUDA can compile for",
    "ptxas fatal   : Value 'sm_103a' is not defined for option 'gpu-name'": "newer than",
    "ptxas fatal   : Value 'sm_90a' is not defined for option 'gpu-name'\nptxas exited with non-zero error "
    "code": "or too old for this GPU",
    "Non-OK-status: GpuLaunchKernel(FillPhiloxRandom) status: Internal: no kernel image is available for "
    "execution on the device": "no machine code for this GPU",
    "CUDA runtime implicit initialization on GPU:0 failed. Status: device kernel image is invalid": (
        "no machine code for this GPU"
    ),
    "CUDA_ERROR_NO_BINARY_FOR_GPU: no kernel image": "no machine code for this GPU",
    "INTERNAL: libdevice not found at ./libdevice.10.bc": "XLA can't compile",
    "libdevice is required by this HLO module but was not found at ./libdevice.10.bc": "XLA can't compile",
    "NotFoundError: 2 root error(s) found. (0) Not found: ./bin/ptxas not found": "XLA can't compile",
    "UNAVAILABLE: No PTX compilation provider is available. Neither ptxas/nvlink nor nvjtlink is available": (
        "XLA can't compile"
    ),
    "PTX JIT compiler library not found": "the driver's compiler",
    "F0000 Unknown flags in XLA_FLAGS: --xla_gpu_no_such": "XLA_FLAGS has a flag",
    "Loaded runtime CuDNN library: 8.9.7 but source was compiled with: 9.3.0.  CuDNN library needs to "
    "have matching major version": "another version than TensorFlow's own",
    "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH": "another version than TensorFlow's own",
    "Could not create cudnn handle: CUDNN_STATUS_NOT_INITIALIZED": "cuDNN does not start",
    "FAILED_PRECONDITION: DNN library is not found.": "cuDNN does not start",
    "DNN library initialization failed. Look at the errors above for more details.": "cuDNN does not start",
    "NOT_FOUND: No algorithm worked!  Error messages:\n  Profiling failure on CUDNN engine eng11{}: UNKNOWN: "
    "CUDNN_STATUS_EXECUTION_FAILED": "finds no way to compute",
    "failed to create cublas handle: CUBLAS_STATUS_NOT_INITIALIZED": "(cuBLAS and its kin)",
    "Attempting to perform BLAS operation using StreamExecutor without BLAS support": "(cuBLAS",
    "CUDA_ERROR_OUT_OF_MEMORY: out of memory": "not enough GPU memory",
    "failed to allocate 2.00G (2147483648 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY": "not enough GPU",
    "Profiling failure on CUDNN engine eng0{}: UNKNOWN: CUDNN_STATUS_ALLOC_FAILED": "not enough GPU memory",
    "failed to alloc 8589934592 bytes on host: CUDA_ERROR_OUT_OF_MEMORY": "the machine has too little memory",
    "could not allocate pinned host memory of size: 8589934592": "the machine has too little memory",
    "gpu_device.cc:2043] Created device /job:localhost/replica:0/task:0/device:GPU:0 with 0 MB memory:  "
    "-> device: 0, name: NVIDIA A10G": "not enough GPU memory",
    "InternalError: Failed copying input tensor from CPU:0 to GPU:0: Dst tensor is not initialized.": (
        "not enough GPU memory"
    ),
    "TensorFlow computes on another GPU than the one named": "in another way",
    "TensorFlow lists a GPU (its build is for CPU only)": "built without CUDA",
    LACKS + "(its build is for CPU only)": "built without CUDA",
    "the GPU has compute capability 12.0, which is newer than this TensorFlow's CUDA can compile for "
    "(built for sm_89)": "newer than that TensorFlow",
    "the GPU has compute capability 5.0, which is older than this TensorFlow was built for (sm_60)": (
        "older than that TensorFlow"
    ),
    "the GPU has compute capability 6.1, which is not among those that this TensorFlow was built for "
    "(built for sm_75, compute_90)": "no code for this GPU",
    "tensorflow/core/framework/op_kernel.cc:1844] INTERNAL: 'cuLaunchKernel(function, gridX, gridY, gridZ, "
    "blockX, blockY, blockZ, 0, reinterpret_cast<CUstream>(stream), params, nullptr)' failed with "
    "'CUDA_ERROR_INVALID_HANDLE'": "every graph fails",
    "Failed to initialize NVML: Unknown Error": "was taken away",
    "CUDA_ERROR_NO_SUCH_NAME_YET: something new": "not listed here",
    "INTERNAL: CUDA error: invalid argument": "not listed here",
}
"""What TensorFlow and the worker print, and a part of its cause."""


@pytest.mark.parametrize(("text", "cause"), {**OF_ENGINES, **OF_TENSORFLOW}.items())
def test_each_known_text_has_its_row(text: str, cause: str) -> None:
    row = find_refusal(text)
    assert row is not None
    assert cause in row.cause


def test_every_row_of_tensorflows_is_tried() -> None:
    found = {row.cause for text in OF_TENSORFLOW if (row := find_refusal(text))}
    assert {row.cause for row in TENSORFLOW_TEXTS} <= found
    assert find_refusal(NOBODY) is None


def test_every_row_of_engines_is_tried() -> None:
    found = {row.cause for text in OF_ENGINES if (row := find_refusal(text))}
    tables = ("ANOTHER_WAY", "HOOK", "TOOLKIT", "SPECIFICATION", "SNAP", "WRAPPERS")
    assert {row.cause for table in tables for row in getattr(engine_texts, table)} <= found


@pytest.mark.parametrize("row", REFUSALS, ids=lambda row: row.cause[:40])
def test_every_remedy_names_a_command_or_a_setting_and_where_packages_are(row: Refusal) -> None:
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


@pytest.mark.parametrize("row", REFUSALS, ids=lambda row: row.cause[:40])
def test_no_pattern_joins_lines_of_a_diary_that_have_nothing_in_common(row: Refusal) -> None:
    """A dot takes the end of a line, too: one that may take any number of them would."""
    assert not re.search(r"(?<!\\)\.[*+]", row.pattern)


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
    row = find_refusal(text)
    assert row is not None
    assert cause in row.cause


def test_code_that_is_missing_may_be_for_an_older_gpu() -> None:
    row = find_refusal("no kernel image is available for execution on the device")
    assert row is not None
    assert row.remedy.endswith(f"{OTHER_BUILD}; older than 6.0: {TOO_OLD}")


def test_an_engine_of_roots_is_not_told_to_leave_out_device_rules() -> None:
    """Its containers would start, and have no GPU."""
    row = find_refusal("nvidia-container-cli: container error: cgroup subsystem devices not found")
    assert row is not None
    assert "no-cgroups" not in row.remedy
    assert "nvidia-ctk cdi generate" in row.remedy


@pytest.mark.parametrize("row", REFUSALS, ids=lambda row: row.cause[:40])
def test_podmans_remedies_ask_no_docker(row: Refusal) -> None:
    assert not re.search(
        "`docker (info|inspect|context|run)|Docker Desktop", reword(row.remedy, "podman")
    )


OTHERS: tuple[EngineKind, ...] = ("rootless", "podman", "snap", "desktop")


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("row", REFUSALS, ids=lambda row: row.cause[:40])
def test_no_remedy_sets_up_another_engine(row: Refusal, kind: EngineKind) -> None:
    words = reword(row.remedy, kind)
    assert "sudo systemctl restart docker" not in words
    assert "/etc/docker/" not in words
    if kind == "snap":
        assert "apt-get install nvidia-container-toolkit" not in words


def test_an_engine_of_roots_is_not_called_rootless_and_a_users_is() -> None:
    row = find_refusal(CGROUPS)
    assert row is not None
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
    assert "nvidia-ctk runtime configure" not in remedies


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        (DIRECTLY, "cdi"),
        (CGROUPS, "cdi"),
        (HOOK + "container error: cgroup subsystem devices not found", "cdi"),
        (UNRESOLVED, "hook"),
        (NO_CDI, "hook"),
        ("failed to stat CDI host device /dev/nvidia0", "hook"),
        (
            "crun: cannot stat `/lib64/libEGL_nvidia.so.550.54.14`: No such file or directory",
            "hook",
        ),
        (NO_TOOLKIT, None),
        ("Auto-detected mode as 'csv'\n" + DIRECTLY, None),
    ],
)
def test_only_what_the_other_way_may_cure_leads_to_it(text: str, instead: str | None) -> None:
    row = find_refusal(text)
    assert row is not None
    assert row.instead == instead


LOCAL_ROWS = [
    *TENSORFLOW_TEXTS,
    *(row for row in DRIVER if row is not REQUIREMENT),
]
"""What TensorFlow and the driver's own libraries say to a plain process, too."""


@pytest.mark.parametrize("row", LOCAL_ROWS, ids=lambda row: row.cause[:60])
def test_without_a_container_nothing_speaks_of_one(row: Refusal) -> None:
    """The local engine's worker prints the same texts, where there is no container, and no docker."""
    if "the image needs" in row.cause:
        return  # what an image says of itself, to NVIDIA's hook alone
    for text in (row.cause, row.remedy):
        told = reword(text, "local")
        for words in ("container", "docker", "podman"):
            assert words not in told.lower()
        # What is left still says something, and ends where a sentence may.
        assert len(told) > 10
        assert not re.search(r"[:;,(] *$|^[ :;,)]|\(\)|``|  |; *;", told)


def test_what_takes_the_machines_root_is_for_whoever_runs_it() -> None:
    row = find_refusal(CUINIT + "CUDA_ERROR_UNKNOWN: unknown error")
    assert row is not None
    assert reword(row.remedy, "inside").endswith("is for whoever runs it: ask, or rent another")
    assert "whoever runs it" not in reword(row.remedy, "local")
    assert "whoever runs it" not in reword("`nvidia-smi -L` lists them", "inside")


@pytest.mark.parametrize("text", [NO_DRIVER, NO_NVML])
def test_the_local_wording_keeps_what_mends_it(text: str) -> None:
    row = find_refusal(text)
    assert row is not None
    assert reword(row.remedy, "local").endswith(f"install the driver whole: {INSTALL_DRIVER}")
    assert "is not where TensorFlow runs" in reword(row.cause, "local")
    # In a container it still leads to the toolkit.
    assert TRY_TOOLKIT in reword(row.remedy, "docker")


@pytest.mark.parametrize("kind", ["docker", "local"])
def test_a_gpu_that_cuda_does_not_find_is_not_blamed_on_a_variable_that_never_gets_there(
    kind: EngineKind,
) -> None:
    row = find_refusal(CUINIT + "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected")
    assert row is not None
    assert "unset CUDA_VISIBLE_DEVICES" not in reword(row.remedy, kind)
    assert "nvidia-smi -L" in reword(row.remedy, kind)


HARMLESS_LINES = (
    "successful NUMA node read from SysFS had negative value (-1), but there must be at least one NUMA node",
    "could not open file to read NUMA node: /sys/bus/pci/devices/0000:01:00.0/numa_node",
    "Your kernel may have been built without NUMA support.",
    "Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN",
    "TF-TRT Warning: Could not find TensorRT",
    "Could not load dynamic library 'libnvinfer.so.7'; dlerror: libnvinfer.so.7: cannot open shared object",
    "ptxas ptxas too old. Falling back to the driver to compile.",
    "(DEBUG INFO) Executor start aborting (this does not indicate an error and you can ignore this message)",
    "Local rendezvous is aborting with status: OUT_OF_RANGE: End of sequence",
    "Allocator (GPU_0_bfc) ran out of memory. The caller indicates that this is not a failure",
    "Delay kernel timed out: measured time has sub-optimal accuracy.",
    "oneDNN custom operations are on. You may see slightly different numerical results",
)


def test_what_only_looks_like_trouble_is_known_and_named() -> None:
    assert all(is_harmless(line) for line in HARMLESS_LINES)
    assert {why for _, why in HARMLESS if why} == set(name_harmless("\n".join(HARMLESS_LINES)))
    assert "NUMA node of -1" in name_harmless(HARMLESS_LINES[0])[0]
    assert name_harmless(HARMLESS_LINES[-1]) == []
    for text in {**OF_ENGINES, **OF_TENSORFLOW}:
        assert not is_harmless(text)
