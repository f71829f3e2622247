"""What the texts mean with which an engine, its runtime or NVIDIA's container toolkit refuse a GPU.

Pure: by what stands in the way, and each pattern by the stable part of what is printed, since paths,
versions and the wrapping around it differ.  `refusals` puts them in order.
"""

from __future__ import annotations

from suite.host.engine import Refusal
from suite.host.gpu.commands import (
    ALLOW_CDI,
    CONFIGURE,
    INSTALL_DRIVER,
    INSTALL_TOOLKIT,
    LEAVE_SNAP,
    NO_CGROUPS,
    NO_ROOT,
    TELL_HOOK,
    TRY_TOOLKIT,
    WRITE_SPEC,
)
from suite.host.gpu.texts.driver import AGAIN

_BY_CDI = f"CDI: {WRITE_SPEC} and {ALLOW_CDI}"
"""In place of NVIDIA's hook."""

_GONE = r"\W{0,8}(?:stat \S+\W{1,4})?(?:executable file not found|no such file|permission denied|not found)"
"""What follows the name of a program that is not there, or can't be run."""

_OF_NVIDIA = r"/[^\s`'\"\\]*(?:nvidia|cuda|nvoptix|/dri/|/gbm/|egl|vulkan|firmware)[^\s`'\"\\]*"
"""A path of the driver's, or of what comes with it."""

JETSON = (
    "this is a Jetson, whose GPU is part of the processor: TensorFlow's wheels for it (aarch64) have no "
    "CUDA"
)
USE_JETSON = (
    "ARMS=cpu measures its processor; CUDA_IMAGE= with an image of NVIDIA's TensorFlow for this JetPack "
    "release may measure the GPU, which was not tried"
)

ANOTHER_WAY: tuple[Refusal, ...] = (
    Refusal(
        # The mode has a line of its own; jit-cdi is any machine's, since 1.18.
        pattern=r"mode as 'csv'.{0,20}invoking the NVIDIA|host-files-for-container|/dev/nvhost-"
        r"|libnvidia-tegra",
        cause=JETSON,
        remedy=USE_JETSON,
    ),
    Refusal(
        pattern=r"invoking the NVIDIA Container Runtime Hook directly[^\n]*not supported",
        cause="the NVIDIA container toolkit runs in CDI mode",
        remedy=f"{WRITE_SPEC} and {ALLOW_CDI}; or the toolkit in its old mode: "
        "`sudo nvidia-ctk config --set nvidia-container-runtime.mode=legacy --in-place`",
        instead="cdi",
    ),
    Refusal(
        pattern=r"cgroup subsystem devices not found|device filters?[^\n]*load program: ",
        cause="NVIDIA's hook can't set device rules in this machine's cgroups: it is too old for the kernel, "
        "or they are not mounted as it expects",
        # Without rules of its own (no-cgroups) root's engine starts the container, and it has no GPU.
        remedy=f"a newer toolkit (1.8 or later for cgroup v2): {INSTALL_TOOLKIT}; where it is new already, "
        f"{_BY_CDI}",
        instead="cdi",
    ),
    Refusal(
        pattern=r"bpf_prog_\w+\(BPF_CGROUP_DEVICE\) failed|devices\.(?:allow"
        r"|deny)\W+(?:operation not permitted"
        r"|permission denied)|failed to add device rules",
        cause=f"NVIDIA's hook may not change device rules here: {NO_ROOT}",
        remedy=f"{NO_CGROUPS}; or {_BY_CDI}",
        instead="cdi",
    ),
    Refusal(
        pattern=r"nvidia-container-cli(?:\.real)?: mount error: [^\n]*(?:operation not permitted"
        r"|permission denied"
        r"|read-only file system)",
        cause=f"NVIDIA's hook may not mount the driver's files into the container: {NO_ROOT}; or the "
        "engine's data directory is where root has no rights (such as NFS)",
        remedy=f"{_BY_CDI}, so that the engine mounts them itself; in LXC `security.nesting=true` (LXD) or "
        "`features: nesting=1` (Proxmox), set on its host; the engine's data directory (`docker info`: "
        "Docker Root Dir) should be on a local disk",
        instead="cdi",
    ),
)
"""What NVIDIA's hook can't do and CDI may."""

SPECIFICATION: tuple[Refusal, ...] = (
    Refusal(
        pattern=r"could not select device driver \"cdi\"|CDI (?:support )?is (?:not enabled|disabled)",
        cause="the engine has CDI switched off, or is older than 25",
        remedy=ALLOW_CDI,
        instead="hook",
    ),
    Refusal(
        pattern=r"unresolvable CDI devices|no known GPU vendor found",
        cause="the machine's CDI specification is missing, can't be read or is stale, or has no "
        "such device",
        remedy=f"`nvidia-ctk cdi list` shows what there is; {WRITE_SPEC} writes it",
        instead="hook",
    ),
    Refusal(
        pattern=r"conflicting (?:CDI )?devices?|(?:failed to (?:parse|load|read)|invalid) CDI spec"
        r"|CDI (?:registry|cache) has errors",
        cause="the machine's CDI specifications are broken, or two in one folder name the same device",
        remedy="`ls -l /etc/cdi /var/run/cdi` shows them: keep one that names nvidia.com/gpu; "
        f"{WRITE_SPEC} rewrites it",
        instead="hook",
    ),
    Refusal(
        # crun's words, runc's for mounts and for devices, podman's.
        pattern=r"failed to stat CDI host device|failed to inject (?:CDI )?devices"
        r"|CDI device injection failed"
        rf"|cannot (?:stat|open) [`'\"\\]*{_OF_NVIDIA}"
        rf"|error mounting [`'\"\\]*{_OF_NVIDIA}[^\n]*(?:no such file|not a directory)"
        rf"|(?:failed to fulfil mount request|error gathering device information)[^\n]*{_OF_NVIDIA}"
        r"[^\n]*no such file"
        rf"|(?:stat|lstat|statfs) {_OF_NVIDIA}: no such file",
        cause="the machine's CDI specification names what is no longer there, as after an upgrade of the "
        "driver",
        remedy=f"`nvidia-smi` must work there; then {WRITE_SPEC} rewrites the specification",
        instead="hook",
    ),
)
"""What CDI can't do as it is set up, and NVIDIA's hook may."""

TOOLKIT: tuple[Refusal, ...] = (
    Refusal(
        # Before the programs that the engine itself starts: a specification calls it, and it may say much.
        pattern=r"(?:error executing hook|createContainer hook|createRuntime hook)"
        r".{0,200}nvidia-(?:ctk|cdi-hook)",
        cause="the machine's CDI specification calls a program of NVIDIA's toolkit that fails or is no "
        "longer there",
        remedy=f"reinstall the toolkit: {INSTALL_TOOLKIT}; then {WRITE_SPEC}",
        instead="hook",
    ),
    Refusal(
        pattern=rf"nvidia-(?:container-(?:runtime|toolkit|cli)(?:-hook|\.real|\.cdi|\.legacy)?|ctk"
        rf"|cdi-hook){_GONE}",
        cause="a program of the NVIDIA container toolkit, which the engine is set to start, is not there: "
        "the "
        "toolkit was removed, or never installed",
        remedy=f"{INSTALL_TOOLKIT}, then {CONFIGURE}",
    ),
    Refusal(
        pattern=r"unknown or invalid runtime name: nvidia|unknown runtime specified nvidia"
        r"|runtime \W*nvidia\W* (?:not found|is not)|invalid runtime name[^\n]*nvidia",
        cause="NVIDIA's runtime is not configured in the engine",
        remedy=CONFIGURE,
    ),
    Refusal(
        pattern=r"could not select device driver \W*(?:nvidia|gpu)?\W* with capabilities",
        cause="the NVIDIA container toolkit is missing, or was installed after the engine was started, or "
        "this is not the engine you think it is",
        remedy=f"{INSTALL_TOOLKIT}, then {CONFIGURE}; "
        "`docker context ls` shows which engine is meant",
    ),
    Refusal(
        pattern=r"nvidia-container-runtime/config\.toml\W[^\n]*(?:error|invalid|failed|unmarshal|expected)"
        r"|(?:error|failed|unable) (?:to load|loading) (?:container toolkit )?config\b",
        cause="NVIDIA's toolkit can't read its own settings, /etc/nvidia-container-runtime/config.toml",
        # Without "default" it begins by reading the broken file.
        remedy="`sudo nvidia-ctk config default --output=/etc/nvidia-container-runtime/config.toml` rewrites "
        "them",
    ),
    Refusal(
        pattern=r"ldcache error",
        cause="the toolkit looks for ldconfig in the wrong place for this system, or ldconfig fails",
        remedy="`sudo nvidia-ctk config --set nvidia-container-cli.ldconfig=@/sbin/ldconfig "
        "--in-place` (Ubuntu: @/sbin/ldconfig.real)",
    ),
)
"""What is missing of NVIDIA's toolkit, or set up wrong."""

SNAP: tuple[Refusal, ...] = (
    Refusal(
        pattern=r"exec \S+: operation not permitted|exec user process caused:? \W*operation not permitted",
        cause="the engine can't start programs in its containers: Docker installed as a snap is itself "
        "confined, and blocks containers run with no-new-privileges",
        remedy=f"`sudo snap refresh docker`; or, in its place, {LEAVE_SNAP}",
    ),
)
"""What the confinement of a snap's docker does to every container "
"(https://bugs.launchpad.net/snapd/+bug/1908448)."""

HOOK: tuple[Refusal, ...] = (
    Refusal(
        pattern=r"device error: [^\n]*unknown device",
        cause="the machine has no such GPU",
        remedy="`nvidia-smi -L` on the engine's machine lists them; name one with GPU=",
    ),
    Refusal(
        pattern=r"driver (?:rpc )?error: (?:timed out|failed to process request)",
        cause="the driver does not wake up in time for NVIDIA's hook, or one of its libraries is missing",
        remedy="`sudo nvidia-smi -pm 1`, or `sudo systemctl start nvidia-persistenced`, keeps it loaded; if "
        f"`nvidia-smi` already answers at once, {TELL_HOOK} names the library; else `sudo reboot`",
    ),
    Refusal(
        pattern=r"nvml error: unknown error",
        cause="the driver hangs on the engine's machine, outside any container either",
        remedy=f"{AGAIN}; `nvidia-smi` there must work before the next try, and "
        "`sudo dmesg | grep -iE 'xid|nvrm'` says what happened",
    ),
    Refusal(
        # Of an image that was made from a running container, or that installed the driver.
        pattern=r"mount error: [^\n]*/(?:lib)?(?:nvidia|cuda)[\w+.-]*: file exists",
        cause="the image holds the driver's own libraries or programs, which have to be the machine's",
        remedy="take another image (CUDA_IMAGE=, BASE_IMAGE=), or remove libnvidia-*, libcuda.so* and "
        "nvidia-smi from it, such as `RUN rm -f /usr/lib/x86_64-linux-gnu/libnvidia-*` in its Dockerfile",
    ),
    Refusal(
        pattern=r"nvidia-container-cli(?:\.real)?: (?:\w+ error: )?cuda error: (?!no cuda-capable)",
        cause="CUDA does not start on the engine's machine, outside any container either: the module "
        "nvidia_uvm is not loaded, or the driver hangs (`nvidia-smi` alone may still work)",
        remedy="`sudo nvidia-modprobe -u -c=0` loads it; if that fails, `sudo reboot`, and then the driver "
        "again: "
        f"{INSTALL_DRIVER}",
    ),
    Refusal(
        pattern=r"(?:nvml error|NVML): no permission"
        r"|/dev/nvidia[\w-]*\W+(?:permission denied|operation not permitted)",
        cause="the device nodes of the GPU are closed to whoever starts the container",
        remedy="`ls -l /dev/nvidia*` shows who may open them; if that is a group, `sudo usermod -aG GROUP "
        "$USER` and log in again; else `sudo chmod a+rw /dev/nvidia*`; with SELinux `sudo setsebool -P "
        "container_use_devices=true`",
    ),
    Refusal(
        pattern=r"nvidia-container-cli(?:\.real)?: mount error: [^\n]*no such file",
        cause="a device, file or socket of the driver's that NVIDIA's hook mounts is not there",
        remedy="`sudo nvidia-modprobe -u -c=0` and `sudo nvidia-modprobe -m` make the devices, `sudo "
        "systemctl "
        "start nvidia-persistenced` the socket; after a change of the driver `sudo reboot`",
    ),
    Refusal(
        pattern=r"nvidia-container-cli(?:\.real)?: detection error: (?:open|path|stat)",
        cause="the driver is incomplete: the linker cache lists libraries that were removed or that root "
        "can't read",
        remedy=f"`sudo ldconfig`; if that does not help, install the driver again: {INSTALL_DRIVER}",
    ),
)
"""What NVIDIA's hook says of the machine and its driver."""

WRAPPERS: tuple[Refusal, ...] = (
    Refusal(
        pattern=r"nvidia-container-cli(\.real)?: |Auto-detected mode as 'legacy'",
        cause="NVIDIA's hook failed with a message not listed here",
        remedy=f"{TELL_HOOK} on the engine's machine gives details; {TRY_TOOLKIT} shows whether any "
        "container gets the GPU",
    ),
    Refusal(
        pattern=r"error modifying OCI spec|NVIDIA Container Runtime",
        cause="NVIDIA's runtime failed with a message not listed here",
        remedy="`sudo nvidia-ctk cdi generate > /dev/null` on the engine's machine says what it finds; "
        f"{TRY_TOOLKIT} shows whether any container gets the GPU",
    ),
)
"""What stands around all the others, and alone where none of them is known."""
