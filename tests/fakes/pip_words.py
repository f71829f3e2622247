"""What pip prints while it makes an arm's environment, and what is said of it."""

PIP_SAYS = [
    "Collecting absl-py==2.5.1 (from -r /opt/crossover/lock.txt (line 3))",
    "Downloading absl_py-2.5.1-py3-none-any.whl (135 kB)",
    "Collecting tensorflow-cpu==2.21.0 (from -r /opt/crossover/lock.txt (line 9))",
    "Downloading https://files.example/ab/tensorflow_cpu-2.21.0-cp313-cp313-linux_x86_64.whl (252.3 MB)",
    "Downloading nvidia_cudnn_cu12-9.10.2.21-py3-none-linux_x86_64.whl (1.2 GB)",
    "Downloading h5py-3.15.1-cp313-cp313-linux_x86_64.whl (4.9 MB)",
    "WARNING: Running pip as the 'root' user can result in broken permissions",
    "Installing collected packages: absl-py, h5py, tensorflow-cpu",
    "Successfully installed absl-py-2.5.1 h5py-3.15.1 tensorflow-cpu-2.21.0",
    "[notice] A new release of pip is available: 25.2 -> 25.3",
]
PIP_MEANS = [
    "fetching tensorflow_cpu 2.21.0 (252 MB)",
    "fetching nvidia_cudnn_cu12 9.10.2.21 (1200 MB)",
    "installing 3 packages",
]
