"""The outputs of others' tools into a campaign's folder: of files that somebody named, and of what is run
here before anything is measured."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from suite.analysis.documents.tools import (
    FILES,
    FOLDER,
    GIVEN,
    MOST_OUTPUTS,
    Output,
    recognise,
)
from suite.cells.traits import WITH_CONTROLS
from suite.cli.receipts.hiding import keep_output, keep_words
from suite.codec import Malformed
from suite.errors import CrossoverError, UsageError
from suite.host.campaign.store import Store
from suite.host.engine import Engine, Say
from suite.host.gpu.choice import ALL_GPUS, FIRST
from suite.host.gpu.tools import LONG, run_tools
from suite.model import Campaign
from suite.safe_folder import Folder


def read_named(words: Sequence[str]) -> list[Output]:
    """The outputs that these files hold.

    Raises:
        UsageError: one can't be read, or holds none.
    """
    if len(words) > MOST_OUTPUTS // 2:
        raise UsageError(
            f"EVIDENCE names {len(words)} files; {MOST_OUTPUTS // 2} are the most", "name fewer"
        )
    outputs = []
    for word in words:
        path = Path(word).resolve()
        try:
            with Folder.open(path.parent) as folder:
                outputs.append(recognise(folder.read(path.name)))
        except CrossoverError as error:
            raise UsageError(f"EVIDENCE: {error.what}", "name a file that is there") from error
        except Malformed as error:
            what = ": ".join(filter(None, [error.where, error.complaint]))
            raise UsageError(
                f"EVIDENCE: {word}: {what}",
                "name the output of `nvidia-smi -q -x`, `dcgmi diag -j` or `nvbandwidth -j`, whole and as it "
                "was printed",
            ) from error
    return outputs


def keep_named(store: Store, words: Sequence[str]) -> set[str]:
    """Keeps the outputs of these files, beside those that are there.

    Returns:
        what the files of their tools are called.

    Raises:
        UsageError: as `read_named`, or the folder holds as many as it can.
    """
    outputs = read_named(words)
    for output in outputs:
        text, (stem, ending) = keep_output(output), FILES[output.tool]
        kept = dict(_list_kept(store.folder))
        if text.encode() in kept.values():
            continue
        numbers = ("", *(f"-{number}" for number in range(2, MOST_OUTPUTS)))
        names = (f"{GIVEN}{stem}{number}.{ending}" for number in numbers)
        name = next((name for name in names if name not in kept), None)
        if name is None or len(kept) >= MOST_OUTPUTS:
            raise UsageError(
                f"{store.folder / FOLDER} holds {len(kept)} outputs of tools; no more are kept",
                "leave EVIDENCE out",
            )
        store.write_reports({f"{FOLDER}/{name}": text})
    return {FILES[output.tool][0] for output in outputs}


def _list_kept(folder: Path) -> Iterator[tuple[str, bytes]]:
    with (
        Folder.open(folder) as door,
        contextlib.suppress(FileNotFoundError),
        door.inside(FOLDER) as inner,
    ):
        yield from [(name, inner.read(name)) for name in inner.names()]


def keep_here(
    store: Store,
    engine: Engine,
    drawn: Campaign,
    asked: str | None,
    *,
    named: Collection[str],
    say: Say,
) -> None:
    """Runs what of the tools is here, and keeps what they print, or why they print nothing.

    Only where an arm has a GPU, and that is proven to be this machine's; those that take a minute only where
    the profile has time for controls, and nobody ``named`` a file of theirs.  ``asked`` is the value of GPU.
    """
    if engine.is_here is not True or not any(drawn.arm(name).gpu for name in drawn.arms):
        return
    # An instance (MIG) has no number of its own.
    gpu = None if asked == ALL_GPUS else (asked or FIRST).partition(":")[0]
    endings = dict(FILES.values())
    without = {*named} & {*LONG} if drawn.profile in WITH_CONTROLS else LONG
    for stem, content, trouble in run_tools(gpu, without, say):
        try:
            files = {f"{stem}.{endings[stem]}": keep_output(recognise(content))}
        except Malformed as error:
            why = trouble or ": ".join(
                filter(None, [error.where, f"what it printed {error.complaint}"])
            )
            say(f"{stem} gave nothing: {why}")
            files = {f"{stem}.txt": keep_words(f"{why}\n")}
        store.write_reports({f"{FOLDER}/{name}": text for name, text in files.items()})
