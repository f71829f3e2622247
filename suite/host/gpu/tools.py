"""Others' tools, run on this machine by the rights that the user has: what each prints, or why it printed
nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Collection, Iterator
from typing import NamedTuple

from suite.host.engine import Say
from suite.host.gpu.smi import WSL_SMI
from suite.safe_folder import MOST_BYTES

END_S = 10.0
"""A tool that is told to end gets so long to do it: DCGM's then ends the tests that its service runs."""

_SHOWN = 300
"""Characters of what a tool says where it fails."""


LONG = ("dcgmi", "nvbandwidth")
"""Those that take up to a minute."""


class Command(NamedTuple):
    """A tool by the name of its file, its words, and how long it may take."""

    stem: str
    words: tuple[str, ...]
    limit_s: float


class Ran(NamedTuple):
    """What a tool wrote to standard output, and what went wrong with it, if anything did."""

    stem: str
    content: bytes
    trouble: str


def list_commands(gpu: str | None) -> tuple[Command, ...]:
    """The commands; ``gpu`` is the GPU's number or UUID, None: all of the machine's."""
    # DCGM counts as nvidia-smi does; it knows no UUIDs.
    only = ("-i", gpu) if gpu is not None and gpu.isdigit() else ()
    tests = ("host_to_device_memcpy_ce", "device_to_host_memcpy_ce")
    return (
        Command("nvidia-smi", ("nvidia-smi", "-q", "-x"), 60.0),
        Command("dcgmi", ("dcgmi", "diag", "-r", "1", "-j", *only), 300.0),
        Command("nvbandwidth", ("nvbandwidth", "-j", "-t", *tests), 300.0),
    )


def run_tools(gpu: str | None, without: Collection[str], say: Say) -> Iterator[Ran]:
    """Runs one after the other what is on PATH, ``without`` some."""
    environment = {**os.environ, "LC_ALL": "C", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    if gpu is not None:
        environment["CUDA_VISIBLE_DEVICES"] = gpu
    for command in list_commands(gpu):
        program = shutil.which(command.words[0])
        if program is None and command.stem == "nvidia-smi":
            program = shutil.which(WSL_SMI)
        if program is None or command.stem in without:
            continue
        if command.stem in LONG:
            limit = f"{command.limit_s / 60:.0f} min at most"
            say(f"`{' '.join(command.words)}` runs first ({limit}); nothing is measured meanwhile")
        content, trouble = _run([program, *command.words[1:]], command.limit_s, environment)
        yield Ran(command.stem, content, trouble)


def _run(words: list[str], limit_s: float, environment: dict[str, str]) -> tuple[bytes, str]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as diary:
        try:
            child = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=diary,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            return b"", f"can't be started: {error.strerror}"
        trouble = ""
        try:
            child.wait(limit_s)
        except subprocess.TimeoutExpired:
            trouble = f"did not end within {limit_s:.0f} s"
        finally:
            _end(child)
        out.seek(0)
        content = out.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            return b"", f"printed over {MOST_BYTES >> 20} MiB"
        diary.seek(0)
        said = " ".join((diary.read(_SHOWN) or content[-_SHOWN:]).decode(errors="replace").split())
        if child.returncode and not trouble:
            trouble = f"exit code {child.returncode}{said and f': {said}'}"
        return content, trouble


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends a tool and all that it started, if it has not ended."""
    if child.poll() is not None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(END_S)
