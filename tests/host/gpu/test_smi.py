"""What nvidia-smi's answers hold: rows, errors, GPUs that can't be reached, notes, and slices (vGPU)."""

from __future__ import annotations

import pytest

from suite.host.engine import find_row
from suite.host.gpu.refusals import INFOROM, REFUSALS, find_code
from suite.host.gpu.smi import (
    FIELDS,
    describe_vgpu,
    find_licence,
    find_pending,
    read_answer,
)
from tests.fakes.doctor_machine import smi

HANDLE = "Unable to determine the device handle for GPU"


@pytest.mark.parametrize(
    ("line", "number", "name"),
    [
        (f"{HANDLE}0000:01:00.0: Unknown Error", 0, "GPU 0 (0000:01:00.0)"),
        (f"{HANDLE} 0000:01:00.0: Not Found", 0, "GPU 0 (0000:01:00.0)"),
        (f"{HANDLE} 000:BA:80.0: Unknown Error", 0, "GPU 0 (000:BA:80.0)"),
        (f"{HANDLE}3: 0000:04:00.0: Unknown Error", 3, "GPU 3 (0000:04:00.0)"),
        (f"{HANDLE}2: Unknown Error", 2, "GPU 2"),
        (
            f"{HANDLE} 0000:01:00.0: GPU is lost.  Reboot the system to recover this GPU",
            0,
            "GPU 0 (0000:01:00.0)",
        ),
        (
            "Unable to detect the device handle for GPU0000:B1:00.0: Unknown Error",
            0,
            "GPU 0 (0000:B1:00.0)",
        ),
        ("Unable to determine the PCI bus id for GPU 1: Unknown Error", 1, "GPU 1"),
    ],
)
def test_a_gpu_that_can_not_be_reached_is_named_beside_the_others(
    line: str, number: int, name: str
) -> None:
    others = [smi().replace("0", str(index), 1) for index in (0, 1, 2) if index != number][:2]
    for text in ("\n".join([line, *others]), "\n".join([*others, line])):
        answer = read_answer(text, 0)
        assert len(answer.rows) == 2
        assert [(one.number, one.name, one.said) for one in answer.lost] == [(number, name, line)]
        assert answer.rest == ""


def test_several_have_the_numbers_that_the_others_leave_out() -> None:
    lines = [f"{HANDLE}0000:{bus}:00.0: Unknown Error" for bus in ("81", "01")]
    answer = read_answer("\n".join([*lines, smi(1)]), 255)
    assert [(one.number, one.name) for one in answer.lost] == [
        (0, "GPU 0 (0000:01:00.0)"),
        (2, "GPU 2 (0000:81:00.0)"),
    ]


def test_what_is_said_twice_of_one_is_one() -> None:
    lines = [
        f"Unable to determine the {what} for GPU0000:01:00.0: Unknown Error"
        for what in ("handle", "fan")
    ]
    (lost,) = read_answer("\n".join([*lines, smi(1)]), 255).lost
    assert (lost.number, lost.said) == (0, lines[0])


def test_where_none_answers_nothing_says_which_it_is() -> None:
    (lost,) = read_answer(f"{HANDLE}0000:81:00.0: Unknown Error", 255).lost
    assert (lost.number, lost.name) == (None, "a GPU (0000:81:00.0)")


def row(**words: str) -> str:
    """A sound GPU's row with these words in the place of an answer."""
    told = dict(zip(FIELDS, smi().split(", "), strict=True))
    return ", ".join(
        {**told, **{name.replace("_", "."): word for name, word in words.items()}}.values()
    )


LOST = "[GPU is lost]"


@pytest.mark.parametrize(
    ("text", "dead"),
    [
        (smi(), False),
        # As older ones and slices answer.
        (smi().rpartition(", 1 MiB")[0], False),
        (row(memory_total="[N/A]", memory_used="[N/A]", pstate="[N/A]"), False),
        (row(memory_total="[Not Supported]", temperature_gpu="N/A"), False),
        (
            row(temperature_gpu="[Insufficient Permissions]", pstate="[Insufficient Permissions]"),
            False,
        ),
        # One alone is a sensor's.
        (row(temperature_gpu="[Unknown Error]"), False),
        (row(temperature_gpu="ERR!"), False),
        (row(temperature_gpu="ERR!", pstate="ERR!"), True),
        (row(temperature_gpu="[Unknown Error]", pstate="[Unknown Error]"), True),
        (row(memory_total="[Unknown Error]"), True),
        (row(pstate=LOST), True),
        (row(pstate="[GPU requires reset]"), True),
        (", ".join(["0", *[LOST] * 10]), True),
        (", ".join(["[Unknown Error]"] * 11), True),
        (", ".join(["ERR!"] * 11), True),
        (row(name="[N/A]", uuid="[N/A]"), True),
    ],
)
def test_errors_in_the_place_of_answers(text: str, dead: bool) -> None:
    (found,) = read_answer(text, 0).rows
    assert found.dead is dead
    assert bool(found.errors) is (
        "ERR!" in text or "Unknown Error" in text or "lost" in text or "reset" in text
    )
    assert found.card.name is None or "[" not in found.card.name


def test_what_else_is_said_is_kept() -> None:
    text = "WARNING: infoROM is corrupted at gpu 0000:B3:00.0"
    answer = read_answer(f"{smi()}\n{text}", 14)
    assert (len(answer.rows), answer.rest, answer.code) == (1, text, 14)


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        (4, "may not open"),
        (6, "could not initialise any GPU"),
        (8, "lacks power"),
        (9, "not loaded"),
        (10, "interrupts"),
        (11, "interrupts"),
        (12, "is incomplete"),
        (13, "different versions"),
        (15, "no longer answers"),
        (16, "has to be reset"),
        (17, "WSL"),
        (18, "upgraded while"),
    ],
)
def test_each_exit_code_means_what_its_text_does(code: int, cause: str) -> None:
    row = find_code(code)
    assert row is not None
    assert cause in row.cause


def test_a_corrupted_inforom_is_no_refusal() -> None:
    assert find_code(14) is INFOROM
    assert find_row("infoROM is corrupted", REFUSALS) is None
    for code in (None, 0, 2, 3, 255):
        assert find_code(code) is None


QUERY = """
    GPU Recovery Action                   : {action}
    ECC Mode
        Current                           : Enabled
        Pending                           : Enabled
    Retired Pages
        Pending Page Blacklist            : {pages}
    Remapped Rows
        Correctable Error                 : 0
        Uncorrectable Error               : 1
        Pending                           : {rows}
        Remapping Failure Occurred        : {failed}
"""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({}, []),
        ({"action": "N/A", "pages": "N/A"}, []),
        ({"action": "[Unknown Error]"}, []),
        ({"action": "Drain and Reset"}, ["recovery action: Drain and Reset"]),
        ({"rows": "Yes"}, ["waiting for a reset"]),
        ({"pages": "Yes"}, ["waiting for a reset"]),
        ({"action": "Reset", "rows": "Yes"}, ["recovery action: Reset", "waiting for a reset"]),
        ({"failed": "Yes"}, ["can't be replaced"]),
    ],
)
def test_what_waits_for_a_reset_is_told(words: dict[str, str], said: list[str]) -> None:
    usual = {"action": "None", "pages": "No", "rows": "No", "failed": "No"}
    found = find_pending(QUERY.format(**{**usual, **words}))
    assert len(found) == len(said)
    for text, part in zip(found, said, strict=True):
        assert part in text


pytestmark = pytest.mark.simulated


def details(mode: str | None = "VGPU", licence: str | None = None) -> str:
    """What ``nvidia-smi -q`` prints around the two lines."""
    lines = ["==============NVSMI LOG==============", "    Product Name     : Made-Up"]
    if mode is not None:
        lines += [
            "    GPU Virtualization Mode",
            f"        Virtualization Mode               : {mode}",
        ]
        lines += ["        Host VGPU Mode                    : N/A"]
    if licence is not None:
        lines += [
            "    vGPU Software Licensed Product",
            "        Product Name          : Made-Up vWS",
        ]
        lines += [f"        License Status                    : {licence}"]
    return "\n".join([*lines, "    IBMNPU", "        Relaxed Ordering Mode             : N/A"])


@pytest.mark.parametrize(
    ("name", "mode", "what"),
    [
        ("GRID T4-8Q", "VGPU", "a slice of T4 (vGPU): other virtual machines take turns"),
        (
            "NVIDIA A100-1-5C",
            "VGPU",
            "a slice of A100 (vGPU): has parts of its processor to itself",
        ),
        ("A name unlike any", "VGPU", "a slice of a GPU (vGPU)"),
        (None, "VGPU", "a slice of a GPU (vGPU)"),
        ("NVIDIA A10-4Q", None, "a slice of A10 (vGPU)"),
        ("NVIDIA A10-4Q", "N/A", "a slice of A10 (vGPU)"),
        ("NVIDIA A10-4Q", "Pass-Through", None),
        ("NVIDIA A10", "Pass-Through", None),
        ("NVIDIA A10", "None", None),
        ("NVIDIA A10", "Host VGPU", None),
        ("NVIDIA A10", None, None),
    ],
)
def test_a_slice_is_known_by_its_mode_and_else_by_its_name(
    name: str | None, mode: str | None, what: str | None
) -> None:
    slice_ = describe_vgpu(name, details(mode))
    assert (slice_ is None) == (what is None)
    assert slice_ is None or what is None or slice_.startswith(what)


@pytest.mark.parametrize("licence", ["Licensed (Expiry: N/A)", "Unlicensed (Restricted)", None])
def test_its_licence_in_the_drivers_words(licence: str | None) -> None:
    assert find_licence(details("VGPU", licence)) == licence
