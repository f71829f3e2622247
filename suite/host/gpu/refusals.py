"""What the texts mean with which an engine, NVIDIA's container toolkit or TensorFlow refuse a GPU.

Pure: a table of patterns with their cause and what to do next; `remedies` makes errors of it.
"""

from __future__ import annotations

from suite.errors import LOCKED_BUILD, OTHER_BUILD, TOO_OLD
from suite.host.gpu.answers import ANSWERS
from suite.host.gpu.commands import (
    ALLOW_CDI,
    CONFIGURE,
    INSTALL_DRIVER,
    INSTALL_TOOLKIT,
    OLD_DRIVER,
    OLD_FOR_PTX,
    TRY_TOOLKIT,
    WRITE_SPEC,
)
from suite.host.gpu.drivers import REQUIREMENT, word_requirement
from suite.host.machine.refusal import Refusal, find_row

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        pattern=r"invoking the NVIDIA Container Runtime Hook directly.*not supported",
        cause="the NVIDIA container toolkit runs in CDI mode",
        remedy=f"{WRITE_SPEC} and {ALLOW_CDI}; or the toolkit in its old mode: "
        "`sudo nvidia-ctk config --set nvidia-container-runtime.mode=legacy --in-place`",
    ),
    Refusal(
        pattern=r"bpf_prog_query\(BPF_CGROUP_DEVICE\) failed",
        cause="a rootless engine with NVIDIA's legacy hook, which may not change device rules",
        remedy=f"{WRITE_SPEC} and, with an engine of 25 or newer, "
        '{"features":{"cdi":true}} in ~/.config/docker/daemon.json and '
        "`systemctl --user restart docker`; or "
        "`sudo nvidia-ctk config --set nvidia-container-cli.no-cgroups=true --in-place`",
    ),
    *ANSWERS,
    Refusal(
        pattern=r"WSL environment detected but no adapters were found",
        cause="WSL shows its GPU to no one: the driver of Windows is missing or too old",
        remedy="NVIDIA's driver for Windows, then `wsl --update` and `wsl --shutdown` in Windows; "
        "`nvidia-smi` must work in WSL",
    ),
    Refusal(
        pattern=r"libnvidia-ml\.so\.1: cannot open shared object file",
        cause="no NVIDIA driver on the engine's machine",
        remedy=f"install it: {INSTALL_DRIVER}; `nvidia-smi` must work there, outside any container",
    ),
    REQUIREMENT,
    Refusal(
        pattern=r"device error: .*unknown device",
        cause="the machine has no such GPU",
        remedy="`nvidia-smi -L` on the engine's machine lists them; name one with GPU=",
    ),
    Refusal(
        pattern=r"driver rpc error: timed out",
        cause="the driver takes too long to wake up",
        remedy="`sudo systemctl start nvidia-persistenced` keeps it awake; `nvidia-smi` must answer "
        "at once",
    ),
    Refusal(
        pattern=r"ldcache error",
        cause="the toolkit looks for ldconfig where this system does not have it",
        remedy="`sudo nvidia-ctk config --set nvidia-container-cli.ldconfig=@/sbin/ldconfig "
        "--in-place` (Ubuntu: @/sbin/ldconfig.real)",
    ),
    Refusal(
        pattern=r"nvidia-container-runtime-hook\"?: (no such file|executable file not found)",
        cause="the NVIDIA container toolkit was removed under the running engine",
        remedy=f"{INSTALL_TOOLKIT}, then {CONFIGURE}",
    ),
    Refusal(
        pattern=r"could not select device driver \"cdi\"",
        cause="the engine has CDI switched off, or is older than 25",
        remedy=ALLOW_CDI,
    ),
    Refusal(
        pattern=r"unresolvable CDI devices",
        cause="the machine's CDI specification is missing, can't be read or is stale, or has no "
        "such device",
        remedy=f"`nvidia-ctk cdi list` shows what there is; {WRITE_SPEC} writes it",
    ),
    Refusal(
        pattern=r"failed to (stat CDI host device|inject devices)|CDI device injection failed",
        cause="the machine's CDI specification names what is no longer there",
        remedy=f"`nvidia-smi` must work there; then {WRITE_SPEC} writes the specification anew",
    ),
    Refusal(
        pattern=r"unknown or invalid runtime name: nvidia|Unknown runtime specified nvidia",
        cause="NVIDIA's runtime is not configured in the engine",
        remedy=CONFIGURE,
    ),
    Refusal(
        pattern=r"could not select device driver \"\" with capabilities",
        cause="the NVIDIA container toolkit is missing, or newer than the running engine process, "
        "or this is another engine than you think",
        remedy=f"{INSTALL_TOOLKIT}, then {CONFIGURE}; "
        "`docker context ls` shows which engine is meant",
    ),
    Refusal(
        pattern=r"CUDA_ERROR_UNSUPPORTED_PTX_VERSION|provided PTX was compiled with an unsupported toolchain",
        cause="the driver is older than the CUDA whose intermediate code (PTX) TensorFlow brings, and the "
        "kernels that it refuses leave wrong results behind",
        remedy=OLD_FOR_PTX,
    ),
    Refusal(
        pattern=r"Sees no GPU here: libnvidia-ml\.so\.1, which the driver brings",
        cause="the driver's library for management (NVML) is not where TensorFlow runs, and without it "
        "TensorFlow lists no GPU",
        remedy="`nvidia-smi` must work where TensorFlow runs: in a container it comes with the toolkit's "
        f"capability utility ({TRY_TOOLKIT}); without one install the driver whole: {INSTALL_DRIVER}",
    ),
    Refusal(
        pattern=r"NVML does not start",
        cause="the driver's library for management (NVML) does not start, and without it TensorFlow "
        "lists no GPU: it is of another version than the loaded module, or the device was taken away",
        remedy="`nvidia-smi` must work there; after a driver upgrade `sudo reboot`",
    ),
    Refusal(
        pattern=r"TensorFlow has not loaded lib|Cannot dlopen some GPU libraries",
        cause="CUDA libraries are missing beside TensorFlow",
        remedy="`make images` builds the locked ones again; in an image or environment of your own "
        '`pip install "tensorflow[and-cuda]"`',
    ),
    Refusal(
        pattern=r"CUDA_ERROR_NO_DEVICE|no CUDA-capable device",
        cause="the GPU is hidden (CUDA_VISIBLE_DEVICES, or MIG without instances)",
        remedy="`unset CUDA_VISIBLE_DEVICES`; `nvidia-smi -L` lists MIG instances",
    ),
    Refusal(
        pattern=r"failed call to cuInit.*UNKNOWN ERROR \(303\)",
        cause="CUDA's driver library (libcuda.so.1) is not where TensorFlow runs: in a container, the GPU "
        "was not passed through",
        remedy=f"check the container toolkit: {TRY_TOOLKIT}",
    ),
    Refusal(
        pattern=r"CUDA_ERROR_INVALID_PTX|does not support target 'sm_1[0-9]{2}'",
        cause="this GPU is newer than this TensorFlow's CUDA can compile for",
        remedy=OTHER_BUILD,
    ),
    Refusal(
        pattern=r"kernel version \S+ does not match DSO version",
        cause="the driver's library is not of the loaded kernel module's version",
        remedy=f"`sudo reboot` after a driver upgrade; with CDI {WRITE_SPEC} again",
    ),
    Refusal(
        pattern=r"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH|CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
        cause="libcuda and the kernel module are of versions that do not go together",
        remedy="`sudo reboot` after a driver upgrade; `unset LD_LIBRARY_PATH` where it names CUDA's "
        "compat libraries",
    ),
    Refusal(
        pattern=r"failed call to cuInit.*CUDA_ERROR_UNKNOWN",
        cause="the driver does not answer CUDA: its module for memory is not loaded, or it hangs",
        remedy="`sudo modprobe nvidia_uvm`, and run again; a CDI specification must name /dev/nvidia-uvm; "
        "if that fails, `sudo reboot`",
    ),
    Refusal(
        pattern=r"Possibly insufficient driver version|CUDA_ERROR_INSUFFICIENT_DRIVER"
        r"|CUDA driver version is insufficient",
        cause="the driver is older than this TensorFlow's CUDA needs",
        remedy=OLD_DRIVER,
    ),
    Refusal(
        pattern=r"CUDA_ERROR_DEVICES?_UNAVAILABLE|all CUDA-capable devices are busy or unavailable",
        cause="another process has the GPU for itself, or it hangs",
        remedy="`nvidia-smi` shows who computes there; `sudo nvidia-smi -c 0` lets several",
    ),
    Refusal(
        pattern=r"CUDA_ERROR_ECC_UNCORRECTABLE|uncorrectable ECC error",
        cause="the GPU's memory is defective",
        remedy="`nvidia-smi -q -d ECC,PAGE_RETIREMENT` shows it; `sudo nvidia-smi --gpu-reset`, or "
        "rent another",
    ),
    Refusal(
        pattern=r"Loaded runtime CuDNN library: .* but source was compiled with"
        r"|Could not create cudnn handle",
        cause="cuDNN can't be used: another version than TensorFlow's own is loaded, or the GPU's "
        "memory is taken",
        remedy="no other cuDNN on LD_LIBRARY_PATH; `nvidia-smi` shows who uses the GPU's memory",
    ),
    Refusal(
        pattern=r"by allocator GPU_\d|Dst tensor is not initialized|Allocator \(GPU_\d\w*\) ran out of memory"
        r"|CUDA_ERROR_OUT_OF_MEMORY|cuMemAllocAsync failed to allocate|device:GPU:\d+ with 0 MB memory",
        cause="the GPU's memory does not hold it",
        remedy="`nvidia-smi` shows who else uses that memory; else a GPU with more of it, or leave "
        "the cell out with ONLY=",
    ),
    Refusal(
        pattern=r"CUDA_ERROR_(ILLEGAL_ADDRESS|LAUNCH_FAILED|ILLEGAL_INSTRUCTION|ASSERT|UNKNOWN)\b"
        r"|GPU has fallen off the bus",
        cause="the GPU, or a kernel on it, broke down",
        remedy="`sudo dmesg | grep -i xid` says how; `nvidia-smi` must still work there, else reset "
        "the GPU or reboot",
    ),
    Refusal(
        pattern=r"computes on another GPU than the one named",
        cause="the engine, or CUDA, counts the GPUs in another way",
        remedy="`nvidia-smi -L` on the engine's machine lists them; where its CDI specification is "
        f"stale, {WRITE_SPEC} writes it anew",
    ),
    Refusal(
        pattern=r"its build is for CPU only",
        cause="the TensorFlow in there was built without CUDA",
        remedy="`make images` builds the locked one; CUDA_IMAGE or LOCAL_PYTHON must name one "
        "with CUDA",
    ),
    Refusal(
        pattern=r"which is newer than this TensorFlow's CUDA can compile for",
        cause="this GPU is newer than that TensorFlow",
        remedy=OTHER_BUILD,
    ),
    Refusal(
        pattern=r"which is older than this TensorFlow was built for",
        cause="this GPU is older than that TensorFlow has code for",
        remedy=TOO_OLD,
    ),
    Refusal(
        pattern=r"which is not among those that this TensorFlow was built for",
        cause="that TensorFlow has no code for this GPU",
        remedy=LOCKED_BUILD,
    ),
    Refusal(
        pattern=r"CUDA_ERROR_INVALID_HANDLE",
        cause="a kernel could not be started: as a rule this TensorFlow has no code that this GPU's driver "
        "can load, as on Blackwell, where products work and every graph fails",
        remedy=OTHER_BUILD,
    ),
    Refusal(
        pattern=r"(Failed to initialize NVML|nvml error): Unknown Error",
        cause="the device was taken away, as from a container after a reload of systemd",
        remedy="begin anew: `make bench RESUME=results/X` goes on; CDI prevents it; a rented instance: stop "
        "it and start it; a machine of your own: `sudo reboot`",
    ),
    Refusal(
        pattern=r"nvidia-container-cli(\.real)?: |Auto-detected mode as 'legacy'",
        cause="NVIDIA's hook failed",
        remedy="`sudo nvidia-container-cli -k -d /dev/tty info` on the engine's machine says more",
    ),
)
"""Every refusal that is known, the most telling first: a wrapper's text stands after what it wraps."""

HOOK_ONLY = (REFUSALS[0], REFUSALS[1])
"""The refusals of NVIDIA's hook that do not touch CDI."""

CDI_ONLY = tuple(row for row in REFUSALS if "CDI" in row.pattern or "cdi" in row.pattern)
"""The refusals of CDI that do not touch NVIDIA's hook."""


def find_refusal(text: str) -> Refusal | None:
    """The row that fits a text, if there is one; of what an image demands, in the demand's own numbers."""
    row = find_row(text, REFUSALS)
    return word_requirement(text) or row if row is REQUIREMENT else row


def wants_cdi(text: str) -> bool:
    """Whether NVIDIA's hook can't do it and CDI may: it says so, or a rootless engine bars it."""
    return find_refusal(text) in HOOK_ONLY


def wants_hook(text: str) -> bool:
    """Whether CDI can't do it and NVIDIA's hook may."""
    return find_refusal(text) in CDI_ONLY
