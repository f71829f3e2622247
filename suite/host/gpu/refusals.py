"""What the texts mean with which an engine, NVIDIA's toolkit, its driver or TensorFlow refuse a GPU.

Pure: the tables of patterns in their order, each with its cause and what to do next; `remedies` makes
errors of them.
"""

from __future__ import annotations

from suite.host.gpu.commands import INSTALL_DRIVER, LEAVE_DESKTOP
from suite.host.gpu.texts import engine as engine_texts
from suite.host.gpu.texts.answers import ANSWERS
from suite.host.gpu.texts.drivers import REQUIREMENT, word_requirement
from suite.host.gpu.texts.tensorflow import TENSORFLOW_TEXTS
from suite.host.machine.refusal import Refusal, find_row

DRIVER: tuple[Refusal, ...] = (
    *ANSWERS,
    Refusal(
        pattern=r"WSL environment detected but no adapters were found",
        cause="WSL shows its GPU to no one: the driver of Windows is missing or too old",
        remedy="NVIDIA's driver for Windows, then `wsl --update` and `wsl --shutdown` in Windows; "
        "`nvidia-smi` must work in WSL",
    ),
    Refusal(
        pattern=r"load library failed: lib|libnvidia-ml\.so\.1: cannot open shared object file",
        cause="no NVIDIA driver that the engine can see",
        remedy=f"install it: {INSTALL_DRIVER}; `nvidia-smi` must work there, outside any container"
        f"{LEAVE_DESKTOP}",
    ),
    REQUIREMENT,
)
"""What the driver says to whoever asks: nvidia-smi, NVIDIA's hook, TensorFlow."""

REFUSALS: tuple[Refusal, ...] = (
    *engine_texts.ANOTHER_WAY,
    *DRIVER,
    *engine_texts.HOOK,
    *engine_texts.TOOLKIT,
    *engine_texts.SPECIFICATION,
    *engine_texts.SNAP,
    *TENSORFLOW_TEXTS,
    *engine_texts.WRAPPERS,
)
"""Every refusal that is known, the most telling first: a wrapper's text stands after what it wraps."""


def find_refusal(text: str) -> Refusal | None:
    """The row that fits a text, if there is one; of what an image demands, in the demand's own numbers."""
    row = find_row(text, REFUSALS)
    return word_requirement(text) or row if row is REQUIREMENT else row
