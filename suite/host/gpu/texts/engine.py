"""What the texts mean with which an engine, its runtime or NVIDIA's container toolkit refuse a GPU.

Pure: by what stands in the way, and each pattern by the stable part of what is printed, since paths,
versions and the wrapping around it differ.  `refusals` puts them in order.
"""

from __future__ import annotations

from suite.host.gpu.commands import (
    ALLOW_CDI,
    CONFIGURE,
    INSTALL_DRIVER,
    INSTALL_TOOLKIT,
    NO_CGROUPS,
    NO_ROOT,
    TELL_HOOK,
    TRY_TOOLKIT,
    WRITE_SPEC,
)
from suite.host.machine.refusal import Refusal

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
    "ARMS=cpu measures its processor; NVIDIA's own TensorFlow for such GPUs was not tried here"
)

ANOTHER_WAY: tuple[Refusal, ...] = (
    Refusal(
        pattern=r"mode as '(?:csv|jit-cdi)'.*not supported|host-files-for-container|/dev/nvhost-"
        r"|libnvidia-tegra",
        cause=JETSON,
        remedy=USE_JETSON,
    ),
    Refusal(
        pattern=r"invoking the NVIDIA Container Runtime Hook directly.*not supported",
        cause="the NVIDIA container toolkit runs in CDI mode",
        remedy=f"{WRITE_SPEC} and {ALLOW_CDI}; or the toolkit in its old mode: "
        "`sudo nvidia-ctk config --set nvidia-container-runtime.mode=legacy --in-place`",
        instead="cdi",
    ),
    Refusal(
        pattern=r"cgroup subsystem devices not found|device filters?.*load program: ",
        cause="NVIDIA's hook can't set device rules by this machine's control groups: it is too old for the "
        "kernel, or they are not mounted as it expects",
        remedy=f"a newer toolkit (1.8 or later for control groups of version 2): {INSTALL_TOOLKIT}; where it "
        f"is new already, {NO_CGROUPS}",
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
        pattern=r"nvidia-container-cli(?:\.real)?: mount error: .*(?:operation not permitted"
        r"|permission denied"
        r"|read-only file system)",
        cause=f"NVIDIA's hook may not mount the driver's files into the container: {NO_ROOT}; or the "
        "engine's "
        "folder lies where root has no rights",
        remedy=f"{_BY_CDI}, so that the engine mounts them itself; in LXC `security.nesting=true` (LXD) or "
        "`features: nesting=1` (Proxmox), set on its host; the engine's own folder (`docker info`: Docker "
        "Root Dir) should be on a local disk",
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
        f"{WRITE_SPEC} writes it anew",
        instead="hook",
    ),
    Refusal(
        pattern=r"(?:error executing hook|createContainer hook|createRuntime hook).*nvidia-(?:ctk|cdi-hook)",
        cause="the machine's CDI specification calls a program of NVIDIA's toolkit that fails or is no "
        "longer "
        "there",
        remedy=f"install the toolkit anew: {INSTALL_TOOLKIT}; then {WRITE_SPEC}",
        instead="hook",
    ),
    Refusal(
        # crun's words, runc's for mounts and for devices, podman's.
        pattern=r"failed to stat CDI host device|failed to inject (?:CDI )?devices"
        r"|CDI device injection failed"
        rf"|cannot (?:stat|open) [`'\"\\]*{_OF_NVIDIA}"
        rf"|error mounting [`'\"\\]*{_OF_NVIDIA}.*(?:no such file|not a directory)"
        rf"|(?:failed to fulfil mount request|error gathering device information).*{_OF_NVIDIA}.*no such file"
        rf"|(?:stat|lstat|statfs) {_OF_NVIDIA}: no such file",
        cause="the machine's CDI specification names what is no longer there, as after an upgrade of the "
        "driver",
        remedy=f"`nvidia-smi` must work there; then {WRITE_SPEC} writes the specification anew",
        instead="hook",
    ),
)
"""What CDI can't do as it is set up, and NVIDIA's hook may."""

TOOLKIT: tuple[Refusal, ...] = (
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
        r"|runtime \W*nvidia\W* (?:not found|is not)|invalid runtime name.*nvidia",
        cause="NVIDIA's runtime is not configured in the engine",
        remedy=CONFIGURE,
    ),
    Refusal(
        pattern=r"could not select device driver \W*(?:nvidia|gpu)?\W* with capabilities",
        cause="the NVIDIA container toolkit is missing, or newer than the running engine process, "
        "or this is another engine than you think",
        remedy=f"{INSTALL_TOOLKIT}, then {CONFIGURE}; "
        "`docker context ls` shows which engine is meant",
    ),
    Refusal(
        pattern=r"nvidia-container-runtime/config\.toml\W.*(?:error|invalid|failed|unmarshal|expected)"
        r"|(?:error|failed|unable) (?:to load|loading) (?:container toolkit )?config\b",
        cause="NVIDIA's toolkit can't read its own settings, /etc/nvidia-container-runtime/config.toml",
        remedy="`sudo nvidia-ctk config --output=/etc/nvidia-container-runtime/config.toml` writes them anew",
    ),
    Refusal(
        pattern=r"ldcache error",
        cause="the toolkit looks for ldconfig where this system does not have it, or that fails",
        remedy="`sudo nvidia-ctk config --set nvidia-container-cli.ldconfig=@/sbin/ldconfig "
        "--in-place` (Ubuntu: @/sbin/ldconfig.real)",
    ),
)
"""What is missing of NVIDIA's toolkit, or set up wrong."""

SNAP: tuple[Refusal, ...] = (
    Refusal(
        pattern=r"exec \S+: operation not permitted|exec user process caused:? \W*operation not permitted",
        cause="the engine may not start what is in its containers: a docker that was installed as a snap is "
        "itself confined, and forbids containers that may gain no rights",
        remedy="`sudo snap refresh docker`; or, in its place, `sudo snap remove docker` and "
        "`sudo apt-get install docker.io`",
    ),
)
"""What the confinement of a snap's docker does to every container "
"(https://bugs.launchpad.net/snapd/+bug/1908448)."""

HOOK: tuple[Refusal, ...] = (
    Refusal(
        pattern=r"device error: .*unknown device",
        cause="the machine has no such GPU",
        remedy="`nvidia-smi -L` on the engine's machine lists them; name one with GPU=",
    ),
    Refusal(
        pattern=r"driver (?:rpc )?error: (?:timed out|failed to process request)",
        cause="the driver does not wake up in time for NVIDIA's hook, or one of its libraries is missing",
        remedy="`sudo nvidia-smi -pm 1`, or `sudo systemctl start nvidia-persistenced`, keeps it awake; "
        "where "
        f"`nvidia-smi` answers at once all the same, {TELL_HOOK} names the library; else `sudo reboot`",
    ),
    Refusal(
        pattern=r"nvidia-container-cli(?:\.real)?: (?:\w+ error: )?cuda error: (?!no cuda-capable)",
        cause="CUDA does not start on the engine's machine, outside any container either: its module for "
        "memory "
        "is not loaded, or the driver hangs (`nvidia-smi` alone may still work)",
        remedy="`sudo nvidia-modprobe -u -c=0` loads it; if that fails, `sudo reboot`, and then the driver "
        "again: "
        f"{INSTALL_DRIVER}",
    ),
    Refusal(
        pattern=r"(?:nvml error|NVML): no permission"
        r"|/dev/nvidia[\w-]*\W+(?:permission denied|operation not permitted)",
        cause="the device nodes of the GPU are closed to whoever starts the container",
        remedy="`ls -l /dev/nvidia*` shows whose they are: `sudo usermod -aG video,render $USER` and log in "
        "again, or `sudo chmod a+rw /dev/nvidia*`; with SELinux `sudo setsebool -P "
        "container_use_devices=true`",
    ),
    Refusal(
        pattern=r"nvidia-container-cli(?:\.real)?: mount error: .*no such file",
        cause="a device, file or socket of the driver's that NVIDIA's hook mounts is not there",
        remedy="`sudo nvidia-modprobe -u -c=0` and `sudo nvidia-modprobe -m` make the devices, `sudo "
        "systemctl "
        "start nvidia-persistenced` the socket; after a change of the driver `sudo reboot`",
    ),
    Refusal(
        pattern=r"nvidia-container-cli(?:\.real)?: detection error: (?:open|path|stat)",
        cause="the driver is half there: its list of libraries names some that were removed, or that root "
        "may "
        "not read",
        remedy=f"`sudo ldconfig`; if that does not help, install the driver again: {INSTALL_DRIVER}",
    ),
)
"""What NVIDIA's hook says of the machine and its driver."""

WRAPPERS: tuple[Refusal, ...] = (
    Refusal(
        pattern=r"nvidia-container-cli(\.real)?: |Auto-detected mode as 'legacy'",
        cause="NVIDIA's hook failed, with words that are not known here",
        remedy=f"{TELL_HOOK} on the engine's machine says more, and {TRY_TOOLKIT} whether any container gets "
        "the GPU",
    ),
    Refusal(
        pattern=r"error modifying OCI spec|NVIDIA Container Runtime",
        cause="NVIDIA's runtime failed, with words that are not known here",
        remedy="`sudo nvidia-ctk cdi generate > /dev/null` on the engine's machine says what it finds, and "
        f"{TRY_TOOLKIT} whether any container gets the GPU",
    ),
)
"""What stands around all the others, and alone where none of them is known."""
