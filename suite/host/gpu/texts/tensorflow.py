"""What the texts mean with which TensorFlow, XLA and CUDA's libraries fail, and which only look like trouble.

Pure: by what stands in the way.  Names of CUDA's errors are those of its header cuda.h and of the runtime's
(``cudaError…``), each beside the sentence that is printed for it.  `remedies` puts them in order.
"""

from __future__ import annotations

import re

from suite.errors import LOCKED_BUILD, OTHER_BUILD, TOO_OLD
from suite.host.engine import Refusal
from suite.host.gpu.commands import (
    INSTALL_DRIVER,
    OLD_DRIVER,
    OLD_FOR_PTX,
    TRY_TOOLKIT,
    UNHIDDEN,
    WRITE_SPEC,
)

HARMLESS: tuple[tuple[str, str], ...] = (
    (
        r"NUMA node read from SysFS had negative|file to read NUMA node|built without NUMA support",
        "its line on a NUMA node of -1 (a virtual machine tells none of its GPU; TensorFlow takes node 0)",
    ),
    (
        r"Unable to register cu\w+ factory|computation placer already registered",
        "its lines on factories that are registered already (two parts of it bring the same one)",
    ),
    (
        r"TF-TRT Warning|libnvinfer|Cannot dlopen some TensorRT libraries",
        "its lines on TensorRT, which nothing here uses",
    ),
    (
        r"this is not a failure",
        "its line on memory that it only tried to get",
    ),
    (
        r"Falling back to the (?:CUDA )?driver|Relying on driver to perform ptx compilation",
        "its line on ptxas, in whose place the driver compiles (slower at the first call alone)",
    ),
    (
        r"does not indicate an error and you can ignore|OUT_OF_RANGE: End of sequence",
        "its line on the end of a data set",
    ),
    (
        r"Delay kernel timed out|gpu_timer\.cc",
        "its line on a timer of XLA's, which it uses while it chooses between algorithms",
    ),
    (
        r"oneDNN custom operations|optimized (?:with|to use)|before absl::InitializeLog|MLIR crash",
        "",
    ),
)
"""Lines that look like trouble and are none: a pattern, and what it is about; nothing where every start has
it."""

_HARMLESS = re.compile("|".join(pattern for pattern, _ in HARMLESS), re.IGNORECASE)


def is_harmless(line: str) -> bool:
    """Whether a line of TensorFlow's is known to mean nothing."""
    return _HARMLESS.search(line) is not None


def name_harmless(diary: str) -> list[str]:
    """What the lines of a diary that only look like trouble are about."""
    return [why for pattern, why in HARMLESS if why and re.search(pattern, diary, re.IGNORECASE)]


_LOCKED = (
    "`make images` builds the locked ones again; in an image or environment of your own "
    '`pip install "tensorflow[and-cuda]"`'
)
_OTHERS_LIBRARIES = "LD_LIBRARY_PATH must not name another CUDA or cuDNN"
_WHO = "`nvidia-smi` shows who uses the GPU's memory"

TENSORFLOW_TEXTS: tuple[Refusal, ...] = (
    Refusal(
        pattern=r"CUDA_ERROR_UNSUPPORTED_PTX_VERSION|provided PTX was compiled with an unsupported toolchain"
        r"|cudaErrorUnsupportedPtxVersion",
        cause="the driver is older than the CUDA whose intermediate code (PTX) TensorFlow brings, and the "
        "kernels that it can't compile give wrong results",
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
        pattern=r"TensorFlow has not loaded lib|Cannot dlopen some GPU libraries"
        r"|Could not load dynamic library 'lib(?:cu(?!da\.so)|nccl)",
        cause="CUDA libraries are missing beside TensorFlow",
        remedy=_LOCKED,
    ),
    Refusal(
        pattern=r"failed call to cuInit[^\n]*(?:UNKNOWN ERROR \((?:303|-1)\)|CUresult\(-1\))"
        r"|Could not load dynamic library 'libcuda\.so"
        r"|Could not find cuda drivers on your machine",
        cause="CUDA's driver library (libcuda.so.1) is not where TensorFlow runs: in a container, the GPU "
        "was not passed through",
        remedy=f"check the container toolkit: {TRY_TOOLKIT}",
    ),
    Refusal(
        pattern=r"CUDA_ERROR_NO_DEVICE|no CUDA-capable device|cudaErrorNoDevice",
        cause="CUDA finds no GPU that it may use: it is in MIG mode without an instance that was named, in "
        "compute mode Prohibited, closed to this job, or has dropped off the bus",
        remedy="`nvidia-smi -L` lists GPUs and MIG instances (GPU=0:1 names one); `nvidia-smi -q -d COMPUTE` "
        f"shows the mode; {UNHIDDEN}",
    ),
    Refusal(
        pattern=r"CUDA_ERROR_INVALID_DEVICE\b|invalid device ordinal|cudaErrorInvalidDevice\b",
        cause="CUDA has no GPU of that number",
        remedy="`nvidia-smi -L` lists them; name one with GPU=, by number or UUID",
    ),
    Refusal(
        pattern=r"CUDA_ERROR_NO_BINARY_FOR_GPU|no kernel image is available|NoKernelImageForDevice"
        r"|CUDA_ERROR_INVALID_IMAGE|device kernel image is invalid|InvalidKernelImage"
        r"|\w+_STATUS_ARCH_MISMATCH",
        cause="this TensorFlow, or a library of CUDA's that it uses, has no machine code for this GPU: the "
        "GPU is "
        "newer, or older, than what it was built for",
        remedy="`nvidia-smi --query-gpu=name,compute_cap --format=csv` shows its compute capability; "
        f"{OTHER_BUILD}; older than 6.0: {TOO_OLD}",
    ),
    Refusal(
        pattern=r"CUDA_ERROR_INVALID_PTX|does not support target 'sm_1\d\d\w?'|a PTX JIT compilation failed"
        r"|cudaErrorInvalidPtx|Value 'sm_1\d\d\w?' is not defined for option 'gpu-name'",
        cause="this GPU is newer than this TensorFlow's CUDA can compile for",
        remedy=OTHER_BUILD,
    ),
    Refusal(
        pattern=r"(?:PTX JIT compiler|JitCompiler|JIT_COMPILER).?(?:library )?(?:not |_NOT_|Not)found",
        cause="the driver's compiler (libnvidia-ptxjitcompiler.so) is not where TensorFlow runs",
        remedy=f"install the driver whole: {INSTALL_DRIVER}; where a specification of CDI was written for "
        f"another driver, {WRITE_SPEC} again",
    ),
    Refusal(
        pattern=r"libdevice(?:\S*)? (?:is required by this HLO module but was )?not found|ptxas\S* not found"
        r"|Failed to launch ptxas|Couldn't (?:find|invoke|get) ptxas|(?:un|not )able to find ptxas"
        r"|(?:nvlink|fatbinary)\S* not found|No PTX compilation provider|Can't find libdevice directory"
        r"|ptxas (?:\S+ )?(?:is )?too old|ptxas exited with non-zero|JIT compilation failed",
        cause="XLA can't compile for the GPU: the parts of CUDA that it compiles with (libdevice, ptxas) are "
        "missing, or too old for this GPU",
        remedy=f"{_LOCKED}, which brings both (the package nvidia-cuda-nvcc-cu12)",
    ),
    Refusal(
        pattern=r"Unknown flags? in XLA_FLAGS",
        cause="XLA_FLAGS has a flag that this TensorFlow does not know",
        remedy="your shell's XLA_FLAGS does not reach it: remove it from the image that CUDA_IMAGE= names, "
        "or from whatever starts the container in a fleet",
    ),
    Refusal(
        pattern=r"kernel version \S+ does not match DSO version",
        cause="the driver's library is not of the loaded kernel module's version",
        remedy=f"`sudo reboot` after a driver upgrade; with CDI {WRITE_SPEC} again",
    ),
    Refusal(
        pattern=r"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH|CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"
        r"|forward compatibility was attempted|system has unsupported display driver"
        r"|CUDA_ERROR_STUB_LIBRARY|CUDA driver is a stub library|cuInit[^\n]*UNKNOWN ERROR \(34\)",
        cause="libcuda and the kernel module are of versions that do not go together, or libcuda is not the "
        "driver's own (CUDA's compat libraries, or a stub)",
        remedy="`sudo reboot` after a driver upgrade; `unset LD_LIBRARY_PATH` where it names CUDA's "
        "compat libraries or stubs",
    ),
    Refusal(
        pattern=r"CUDA_ERROR_DEVICE_NOT_LICENSED|device (?:is )?not licensed",
        cause="this slice of a GPU (vGPU) has no licence, without which it may not compute",
        remedy="`nvidia-smi -q | grep -i licen` shows it: the provider has to license it; ask, or rent "
        "another",
    ),
    Refusal(
        pattern=r"CUDA_ERROR_MPS_\w+|MPS (?:client|server|daemon)",
        cause="NVIDIA's service for sharing a GPU (MPS) is in the way",
        remedy="`echo quit | sudo nvidia-cuda-mps-control` ends it, and nobody else should compute there",
    ),
    Refusal(
        pattern=r"failed call to cuInit[^\n]*(?:CUDA_ERROR_UNKNOWN|CUDA_ERROR_OPERATING_SYSTEM"
        r"|CUDA_ERROR_NOT_INITIALIZED"
        r"|CUDA_ERROR_NOT_PERMITTED|unknown error)|OS call failed or operation not supported on this OS",
        cause="the driver does not answer CUDA: the module nvidia_uvm is not loaded, its devices are "
        "closed to this process, or it hangs",
        remedy="`sudo modprobe nvidia_uvm`, and run again; a CDI specification must name /dev/nvidia-uvm; "
        "if that fails, `sudo reboot`",
    ),
    Refusal(
        pattern=r"Possibly insufficient driver version|CUDA_ERROR_INSUFFICIENT_DRIVER"
        r"|CUDA driver version is insufficient|cudaErrorInsufficientDriver",
        cause="the driver is older than this TensorFlow's CUDA needs",
        remedy=OLD_DRIVER,
    ),
    Refusal(
        pattern=r"CUDA_ERROR_DEVICES?_UNAVAILABLE|all CUDA-capable devices are busy or unavailable"
        r"|cudaErrorDevicesUnavailable",
        cause="another process holds the GPU exclusively, or the GPU hangs",
        remedy="`nvidia-smi` shows who computes there; `sudo nvidia-smi -c 0` allows several processes",
    ),
    Refusal(
        pattern=r"CUDA_ERROR_ECC_UNCORRECTABLE|uncorrectable (?:ECC|NVLink) error"
        r"|CUDA_ERROR_NVLINK_UNCORRECTABLE"
        r"|CUDA_ERROR_CONTAINED",
        cause="the GPU's memory, or a link of it, is defective",
        remedy="`nvidia-smi -q -d ECC,ROW_REMAPPER` shows it (before Ampere: PAGE_RETIREMENT); "
        "`sudo nvidia-smi --gpu-reset`, or rent another",
    ),
    Refusal(
        pattern=r"Loaded runtime CuDNN library: [^\n]* but source was compiled with"
        r"|CUDNN_STATUS_\w*VERSION_MISMATCH",
        cause="cuDNN can't be used: another version than TensorFlow's own is loaded",
        remedy=f"{_OTHERS_LIBRARIES}; {_LOCKED}",
    ),
    Refusal(
        pattern=r"(?:fail\w*|could not|can't) (?:to )?alloc\w* [^\n]{0,60}(?:on host|pinned host memory)",
        cause="the machine has too little memory for what is to be copied to the GPU",
        remedy="`free -h` shows how much there is; end what else uses it, or leave the cell out with ONLY=",
    ),
    Refusal(
        pattern=r"by allocator GPU_\d|Dst tensor is not initialized|Allocator \(GPU_\d\w*\) ran out of memory"
        r"|CUDA_ERROR_OUT_OF_MEMORY|cuMemAllocAsync failed to allocate|device:GPU:\d+ with 0 MB memory"
        r"|cudaErrorMemoryAllocation|Out of memory while trying to allocate|\w+_STATUS_ALLOC_FAILED",
        cause="not enough GPU memory",
        remedy="`nvidia-smi` shows who else uses that memory; else a GPU with more of it, or leave "
        "the cell out with ONLY=",
    ),
    Refusal(
        pattern=r"GPU has fallen off the bus|\bXid\b"
        r"|CUDA_ERROR_(?:ILLEGAL_ADDRESS|LAUNCH_FAILED|LAUNCH_TIMEOUT|ILLEGAL_INSTRUCTION|MISALIGNED_ADDRESS"
        r"|INVALID_ADDRESS_SPACE|INVALID_PC|HARDWARE_STACK_ERROR|EXTERNAL_DEVICE|ASSERT|UNKNOWN)\b"
        r"|an illegal (?:memory access|instruction) was encountered|unspecified launch failure"
        r"|the launch timed out|misaligned address",
        cause="the GPU, or a kernel on it, broke down",
        remedy="`sudo dmesg | grep -i xid` says how; `nvidia-smi` must still work there, else reset "
        "the GPU or reboot",
    ),
    Refusal(
        pattern=r"No algorithm worked|DNN library (?:is not found|initialization failed)"
        r"|No DNN in stream executor"
        r"|(?:could not|failed to) create cudnn handle|CUDNN_STATUS_\w+|cuDNN (?:launch failure"
        r"|failed to init)"
        r"|Failed to get convolution algorithm",
        cause="cuDNN does not start or finds no way to compute: the GPU's memory is taken, another cuDNN "
        "than "
        "TensorFlow's is loaded, or it has no code for this GPU",
        remedy=f"{_WHO}; {_OTHERS_LIBRARIES}; on a GPU newer than the build, {OTHER_BUILD}",
    ),
    Refusal(
        pattern=r"CUBLAS_STATUS_\w+|(?:create|initialize) cublas|without BLAS support|CUSOLVER_STATUS_\w+"
        r"|CUSPARSE_STATUS_\w+|CUFFT_\w+|cusolver handle",
        cause="a library of CUDA's (cuBLAS and its kin) does not start or fails: the GPU's memory is taken, "
        "another CUDA's library is loaded, or it has no code for this GPU",
        remedy=f"{_WHO}; {_OTHERS_LIBRARIES}; on a GPU newer than the build, {OTHER_BUILD}",
    ),
    Refusal(
        pattern=r"computes on another GPU than the one named",
        cause="the engine, or CUDA, counts the GPUs in another way",
        remedy="`nvidia-smi -L` on the engine's machine lists them; where its CDI specification is "
        f"stale, {WRITE_SPEC} rewrites it",
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
        pattern=r"Failed to initialize NVML: Unknown Error",
        cause="the device was taken away, as from a container after a reload of systemd",
        remedy="continue in a new container: `make bench RESUME=results/X`; CDI prevents it; on a rented "
        "instance, stop and start it (copy the results first); on a machine of your own `sudo reboot`",
    ),
    Refusal(
        pattern=r"CUDA_ERROR_\w+|cudaError[A-Z]\w+|CUDA error: ",
        cause="CUDA failed with an error not listed here",
        remedy="`sudo dmesg | grep -i -e nvrm -e xid` may say why; `make bench` keeps TensorFlow's own "
        "words in "
        "logs/; ARMS=cpu measures without a GPU",
    ),
)
"""Every text of TensorFlow's that is known, the most telling first."""
