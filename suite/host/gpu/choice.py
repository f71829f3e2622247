"""Which GPU of a machine, or which MIG instance of one, is meant by ``GPU=``.  Pure.

Four notations: an index (``1``, as nvidia-smi counts), a UUID or its beginning (``GPU-5d5b``), an
instance's UUID (``MIG-c6d4``), and an instance by numbers (``0:1``, as CDI and docker write it).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from suite.errors import GpuError, NoGpuError
from suite.host.engine import Card, Slice

NOTATION = re.compile(r"\d+(:\d+)?|(GPU|MIG)-[0-9A-Za-z/-]+")
"""Older drivers name an instance ``MIG-GPU-<UUID>/<numbers>``."""

ALL_GPUS = "all"
"""The value of GPU that asks for an arm on each GPU of the machine."""

FIRST = "0"
"""The GPU that is meant where nothing names one."""

VISIBLE = "CUDA_VISIBLE_DEVICES"
"""The variable by which a person, or Slurm, says which GPUs CUDA may see."""

SHOWN = 12
"""Letters of a UUID that tell GPUs apart, and name one: CUDA and we take a beginning."""


_WHOLE = re.compile(r"(GPU|MIG)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What was found: the GPU and, for an instance, which of its.  None: nothing here tells, so that
    the engine is left to judge what was ``wanted``."""

    wanted: str
    card: Card | None = None
    slice: Slice | None = None

    @property
    def uuid(self) -> str | None:
        """The whole UUID of what was chosen, where it is known."""
        if self.slice is not None:
            return self.slice.uuid
        return self.card.uuid if self.card else None

    @property
    def numbers(self) -> str | None:
        """The index, or that of GPU and instance, where it is known."""
        if self.card is None:
            return None if "-" in self.wanted else self.wanted
        return f"{self.card.index}:{self.slice.index}" if self.slice else str(self.card.index)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name of it for an engine, the kind that was wanted first."""
        found = (self.uuid, self.numbers) if "-" in self.wanted else (self.numbers, self.uuid)
        return tuple(name for name in found if name) or (self.wanted,)

    def fits(self, digits: str) -> bool:
        """Whether a GPU with this UUID, written without a prefix, can be the one."""
        known = self.uuid or (self.wanted if "-" in self.wanted else "")
        return digits.lower().startswith(known.partition("-")[2].lower())


def find_whole(choice: Choice, name: str) -> str | None:
    """The whole UUID of what was asked for by one, by what is known of it or the engine's ``name``
    for it; None: it was asked for by number, or only the UUID's beginning is known."""
    if "-" not in choice.wanted:
        return None
    known = (choice.uuid, name, choice.wanted)
    return next((uuid for uuid in known if uuid and _WHOLE.fullmatch(uuid)), None)


def find_choice(cards: Sequence[Card], wanted: str) -> Choice:
    """What ``wanted`` means among these GPUs; no GPUs: nothing is known of them.

    Raises:
        GpuError: there is no such one, several begin like this, or it is cut into MIG instances of
            which none was named.
    """
    if not cards:
        return Choice(wanted=wanted)
    if wanted.startswith("MIG-"):
        return _find_slice(cards, wanted)
    number, _, part = wanted.partition(":")
    found = [
        card
        for card in cards
        if (str(card.index) == number if number.isdigit() else _begins(card.uuid, wanted))
    ]
    if not found and not number.isdigit() and any(card.uuid is None for card in cards):
        return Choice(wanted=wanted)
    if len(found) != 1:
        raise GpuError(
            f"{'several GPUs begin with' if found else 'there is no GPU'} {wanted} on this machine: "
            f"it has {describe_cards(found or cards)}",
            "name one of these with GPU=, by its number or UUID; `nvidia-smi -L` lists them",
        )
    card = found[0]
    if not part:
        if card.mig:
            raise _demand_slice(card)
        return Choice(wanted=wanted, card=card)
    if card.mig is None and not card.slices:
        return Choice(wanted=wanted)
    chosen = next((instance for instance in card.slices if str(instance.index) == part), None)
    if chosen is None:
        raise _no_slice([card], wanted)
    return Choice(wanted=wanted, card=card, slice=chosen)


def _find_slice(cards: Sequence[Card], wanted: str) -> Choice:
    found = [
        (card, instance)
        for card in cards
        for instance in card.slices
        if _begins(instance.uuid, wanted)
    ]
    if len(found) == 1:
        return Choice(wanted=wanted, card=found[0][0], slice=found[0][1])
    if not found and any(card.mig is None for card in cards):
        return Choice(wanted=wanted)  # the driver's list knows of no instances
    raise _no_slice(cards, wanted)


def _begins(uuid: str | None, wanted: str) -> bool:
    return uuid is not None and uuid.lower().startswith(wanted.lower())


def _no_slice(cards: Sequence[Card], wanted: str) -> GpuError:
    named = [describe_slice(card, instance) for card in cards for instance in card.slices]
    has = f"there are {', '.join(named)}" if named else "there is none"
    return GpuError(
        f"{wanted} names no single MIG instance of this machine: {has}",
        "name one with GPU=; `nvidia-smi -L` lists them"
        if named
        else "GPU=0 is a whole GPU; `nvidia-smi -L` lists what there is",
    )


def _demand_slice(card: Card) -> GpuError:
    title = f"GPU {card.index} ({card.name or 'name unknown'})"
    if not card.slices:
        return GpuError(
            f"{title} is in MIG mode and has no instances, so that nothing can compute on it",
            f"`sudo nvidia-smi -i {card.index} -mig 0` ends that mode; "
            f"`sudo nvidia-smi mig -i {card.index} -cgi 0 -C` makes an instance "
            "(`nvidia-smi mig -lgip` lists profiles)",
        )
    return GpuError(
        f"{title} is cut into MIG instances, and a program can have only one of them: it has "
        + ", ".join(describe_slice(card, instance) for instance in card.slices),
        f"name one, such as GPU={card.index}:{card.slices[0].index}, or GPU=MIG-…; "
        "`nvidia-smi -L` lists them",
    )


def describe_cards(cards: Sequence[Card]) -> str:
    """The GPUs for people: number, name, and the beginning of the UUID."""
    return ", ".join(
        f"{card.index}: {card.name or 'name unknown'}"
        + (f" ({card.uuid[:SHOWN]}…)" if card.uuid else "")
        for card in cards
    )


def describe_slice(card: Card, instance: Slice) -> str:
    """A MIG instance for people."""
    kind = (instance.name or "").rpartition("MIG ")[2] or "size unknown"
    return f"{card.index}:{instance.index} ({kind}, {instance.uuid[:SHOWN]}…)"


def name_gpus(cards: Sequence[Card]) -> dict[str, str | None]:
    """The UUIDs of all GPUs (None: not known) by the names that requests take: ``0``, or ``0:1`` for the
    second MIG instance of one that is cut into instances."""
    uuids: dict[str, str | None] = {}
    for card in cards:
        if card.slices:
            uuids |= {f"{card.index}:{instance.index}": instance.uuid for instance in card.slices}
        else:
            uuids[str(card.index)] = card.uuid
    return uuids


def read_visible(environment: Mapping[str, str]) -> tuple[str, ...] | None:
    """The GPUs that CUDA_VISIBLE_DEVICES names, in its order; empty: it hides all of them (so do ``-1`` and
    Slurm's ``NoDevFiles``).  None: it is not set, and CUDA sees every one.

    As CUDA reads it: what stands after the first word that names no GPU is hidden, too.
    """
    text = environment.get(VISIBLE)
    if text is None:
        return None
    names: list[str] = []
    for word in map(str.strip, text.split(",")):
        if ":" in word or not NOTATION.fullmatch(word):
            break
        names.append(word)
    return tuple(names)


def describe_visible(environment: Mapping[str, str]) -> str:
    """The variable as it was set, with no more of a UUID than tells GPUs apart."""
    words = environment.get(VISIBLE, "").split(",")
    return f"{VISIBLE}={','.join(map(shorten_name, words)) or chr(39) * 2}"


def shorten_name(name: str) -> str:
    """A GPU's name with no more of a UUID than tells GPUs apart, which still names it."""
    return name[:SHOWN] if "-" in name[1:] else name


def hide_all(environment: Mapping[str, str]) -> NoGpuError:
    """The error where the variable leaves no GPU to be seen."""
    return NoGpuError(
        f"{describe_visible(environment)} hides every GPU of this machine from this shell",
        f"`unset {VISIBLE}`, or name one with GPU=, which takes precedence; in a job of Slurm's ask for one "
        "(`--gres=gpu:1`)",
    )


def explain_visible(
    gpu: str | None, environment: Mapping[str, str], *, contained: bool
) -> str | None:
    """What becomes of CUDA_VISIBLE_DEVICES in a campaign of that GPU (None: none was named), in words; None
    where it changes nothing.

    ``contained``: the worker runs in a container of the suite's, which the variable never reaches.
    """
    visible = read_visible(environment)
    if visible is None or gpu in visible:
        return None
    words, shell = None, f"{describe_visible(environment)} of this shell"
    if gpu == ALL_GPUS and contained:
        words = f"{shell} does not reach containers: GPU=all measures every GPU"
    elif gpu == ALL_GPUS:
        words = f"GPU=all means those of {shell}"
    elif gpu is not None:
        words = f"GPU={gpu} takes precedence over {shell}"
    elif contained and visible[:1] != (FIRST,):
        other = (
            f"GPU={shorten_name(visible[0])} measures that one"
            if visible
            else "ARMS=cpu measures without one"
        )
        words = f"{shell} does not reach containers, and GPU was not given: GPU {FIRST} is measured; {other}"
    elif visible and not contained:
        words = (
            f"GPU {shorten_name(visible[0])} is measured, the first of {describe_visible(environment)}, "
            "counted as nvidia-smi does; GPU= names another"
        )
    return words


def keep_visible(cards: Sequence[Card], names: Sequence[str] | None) -> tuple[Card, ...]:
    """Those of these GPUs that are named, with the MIG instances that are; all of them for None.

    Raises:
        GpuError: there is no such one.
    """
    if names is None or not cards:
        return tuple(cards)
    found: dict[int, Card] = {}
    for name in names:
        # One that is cut into instances stands for all of them.
        whole = next((card for card in cards if name == str(card.index)), None)
        choice = Choice(wanted=name, card=whole) if whole else find_choice(cards, name)
        card = choice.card
        if card is None:
            raise GpuError(
                f"nothing here tells which GPU {name[:SHOWN]} is, which {VISIBLE} names",
                "name one with GPU=; `nvidia-smi -L` lists them",
            )
        kept = found.get(card.index, replace(card, slices=()))
        if choice.slice is not None:
            card = replace(card, slices=(*kept.slices, choice.slice))
        found[card.index] = card
    return tuple(card for _, card in sorted(found.items()))
