"""Whatever comes from outside, each by the code that reads it, and what that may answer.

A door takes one made-wrong input; it comes back where the input was accepted, and raises a
`CrossoverError` where it was refused.  Anything else is a fault of the suite's.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import pytest

from suite.analysis.analyse import compare_folders
from suite.analysis.documents.read import load_campaign, load_document, read_summary
from suite.analysis.documents.tools import recognise
from suite.cli import entry, run_campaign
from suite.cli.keep_tools import read_named
from suite.cli.receipts.hiding import keep_output
from suite.cli.resume import settle
from suite.clock import Span
from suite.codec import dump_document, dump_record
from suite.errors import DocumentError, EngineError
from suite.fingerprint import SUITE
from suite.host.campaign.options import Options
from suite.host.docker.connection import docker_endpoint
from suite.host.gpu.visible_devices import read_probe
from suite.host.machine.identity import find_types, parse_cloud
from suite.host.machine.output import split_lines
from suite.host.provision.image_table import DOCKER, read_specs
from suite.host.telemetry.observer import read_lines
from suite.report.produce import build_comparison
from tests import golden_campaigns, synthetic
from tests.fakes import tools
from tests.fakes.engine import Life
from tests.fuzz.mutations import ODD, mutate, mutate_lines
from tests.host.campaign.flow import Flow
from tests.rendering import report_folder

SAMPLES = sorted((SUITE.parent / "results" / "samples").iterdir())


@dataclass(frozen=True, kw_only=True)
class Door:
    """``attempt`` takes an input drawn from a source of chance in a folder of its own; ``statuses`` are
    those that a refusal may have."""

    name: str
    attempt: Callable[[Path, Random], None]
    statuses: tuple[int, ...] = (5,)


def _copy(folder: Path, into: Path) -> Path:
    shutil.copytree(folder, into, ignore=shutil.ignore_patterns("plots", "logs", "*.html", "*.md"))
    return into


def _write_wrong(path: Path, content: bytes, draw: Random) -> Path:
    path.write_bytes(mutate(content, draw))
    return path


def _change_one(folder: Path, pattern: str, draw: Random) -> None:
    """Makes one of a folder's files wrong."""
    path = draw.choice(sorted(folder.glob(pattern)))
    _write_wrong(path, path.read_bytes(), draw)


def _golden(at: Path, draw: Random) -> Path:
    name = draw.choice(golden_campaigns.NAMES)
    kept = at.parent / f"golden-{name}"
    if not kept.exists():
        shutil.copytree(golden_campaigns.write_golden(name, kept.with_suffix(".made")), kept)
    return _copy(kept, at / name)


def _encode(files: Mapping[str, str | bytes]) -> None:
    """Every file of a report can be written."""
    for content in files.values():
        assert isinstance(content, bytes) or content.encode()


def try_document(at: Path, draw: Random) -> None:
    """A document of the committed sample."""
    real = draw.choice(list(SAMPLES[0].glob("cpu*.json")))
    load_document(_write_wrong(at / real.name, real.read_bytes(), draw))


def try_campaign(at: Path, draw: Random) -> None:
    """A document of a golden campaign, and the whole report where it is accepted."""
    folder = _golden(at, draw)
    _change_one(folder, "cpu*.json" if draw.random() < 0.5 else "c*-*.json", draw)
    _encode(report_folder(folder, pictures=False).files)


def try_plan(at: Path, draw: Random) -> None:
    """A golden campaign's plan, and the whole report where it is accepted; then going on with it."""
    folder = _golden(at, draw)
    _change_one(folder, "campaign.json", draw)
    _encode(report_folder(folder, pictures=False).files)
    settle(Options(), load_campaign(folder).campaign)


def try_summary(at: Path, draw: Random) -> None:
    """A campaign's summary."""
    content = mutate((SAMPLES[0] / "summary.json").read_bytes(), draw)
    try:
        read_summary(content)
    except ValueError as error:
        raise DocumentError(str(error), "") from error


def try_images(at: Path, draw: Random) -> None:
    """The table of images."""
    shutil.copytree(DOCKER, at / "docker")
    _change_one(at / "docker", "images.toml", draw)
    read_specs(at / "docker" / "images.toml")


def try_machines(at: Path, draw: Random) -> None:
    """A list of prices, or a document of a campaign that machines are chosen by."""
    folder, prices = _golden(at, draw), at / "prices.toml"
    base = _copy(folder, at / "base")
    for path in base.glob("*.json"):
        # Another campaign.
        path.write_text(path.read_text().replace('"id": "made-up"', '"id": "base"'))
    prices.write_bytes((SUITE.parent / "docs" / "prices.toml").read_bytes())
    if draw.random() < 0.5:
        prices.write_bytes(mutate(prices.read_bytes(), draw))
    else:
        _change_one(folder, "c*.json", draw)
    asked, workload = date(2026, 11, 23), draw.choice([None, "batch=8"])
    compared = compare_folders([base, folder], prices=prices, asked=asked, workload=workload)
    _encode(build_comparison(*compared))
    _encode(build_comparison(*compare_folders([base, folder], bound=0.05, asked=asked)))


def try_records(at: Path, draw: Random) -> None:
    """A worker's records, cut anywhere: whatever it says, what is written is a document."""
    flow = Flow(at / "results", arm=draw.choice(["cpu", "cuda"]))

    def speak(job: Any) -> Life:
        lines = [line.encode() for line in flow.worker.words(job)]
        stream = b"".join(line + b"\n" for line in mutate_lines(lines, draw))
        if draw.random() < 0.2:
            stream = mutate(stream, draw)
        return Life(words=list(split_lines(_pieces(stream, draw))))

    try:
        flow.run(*[speak] * 3)
    except DocumentError as error:
        raise AssertionError(f"what was written is refused: {error.what}") from error


def _pieces(stream: bytes, draw: Random) -> Iterator[bytes]:
    at = 0
    while at < len(stream):
        size = draw.choice([1, 7, 100, 4096])
        yield stream[at : at + size]
        at += size


SAMPLER = (
    {"began_s": 71.5, "facts": {"gpu": "a", "n": 1}, "absent": {"heat": "not told"}},
    {"at_s": 0.5, "values": {"clock": 1000.0, "power": None}},
    {"at_s": 1.5, "values": {"clock": 1100.0, "power": 3.5}},
)


def try_telemetry(at: Path, draw: Random) -> None:
    """What the sampler wrote, in a document that is then read back."""
    lines = mutate_lines([dump_record(dict(record)).encode() for record in SAMPLER], draw)
    telemetry = read_lines([line.decode(errors="replace") for line in lines], Span())
    if telemetry is None:
        return
    document = synthetic.make_document(synthetic.make_campaign(), "cpu", 1)
    path = at / "cpu-01.json"
    path.write_text(dump_document(replace(document, telemetry=telemetry)), encoding="utf-8")
    load_document(path)


def try_probe(at: Path, draw: Random) -> None:
    """What a container's Python printed of the driver's list."""
    rows = [["0000:01:00.0", "Model: \t A\nGPU UUID: \t GPU-" + "0" * 36, "0-3"], ["x", "", ""]]
    lines = mutate_lines([json.dumps(row).encode() for row in rows], draw)
    read_probe([line.decode(errors="replace") for line in lines])


def try_docker_config(at: Path, draw: Random) -> None:
    """Docker's own configuration."""
    content = b'{"currentContext": "other", "auths": {"a": {"auth": "x"}}}'
    _write_wrong(at / "config.json", content, draw)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("DOCKER_HOST", "DOCKER_CONTEXT"):
            patch.delenv(name, raising=False)
        patch.setenv("DOCKER_CONFIG", str(at))
        docker_endpoint()


def try_cloud(at: Path, draw: Random) -> None:
    """What cloud-init says of the machine."""
    text = mutate(b'{"v1": {"cloud_name": "a", "region": "b"}, "ds": {"type": "c"}}', draw)
    list(find_types(parse_cloud(text.decode(errors="replace"))))


OUTPUTS = {
    "nvidia-smi.xml": tools.smi(gpus=2, hw_slowdown="Active"),
    "dcgmi.json": tools.diag(3, Memory="bad pages"),
    "given-dcgmi.json": tools.diag(4, PCIe="slow"),
    "nvbandwidth.json": tools.bandwidth(["12.5", "N/A"]),
}


def try_output(at: Path, draw: Random) -> None:
    """An output of another tool's: named, kept, and in a folder as it is, with its report."""
    name = draw.choice(list(OUTPUTS))
    wrong = _write_wrong(at / "named", OUTPUTS[name].encode(), draw)
    if draw.random() < 0.5:
        for text in map(keep_output, read_named([str(wrong)])):
            assert keep_output(recognise(text.encode())) == text
        return
    folder = _golden(at, draw)
    (folder / "evidence").mkdir()
    shutil.copy(wrong, folder / "evidence" / name)
    _encode(report_folder(folder, pictures=False).files)


BILL = json.dumps(
    {
        "bomFormat": "CycloneDX",
        "components": [
            {"name": "h5py", "version": "3.15.1"},
            {"name": "tomli", "version": "2.3.0", "properties": [{"name": "a", "value": "b"}]},
        ],
    }
)


def try_bill(at: Path, draw: Random) -> None:
    """The bill of an image's materials, in a folder with its report."""
    folder = golden_campaigns.write_golden("versions", at)
    (folder / "sbom").mkdir()
    _write_wrong(folder / "sbom" / "cpu.cdx.json", BILL.encode(), draw)
    shutil.copy(folder / "sbom" / "cpu.cdx.json", folder / "sbom" / "cpu-2.20.cdx.json")
    _encode(report_folder(folder, pictures=False).files)


OPTIONS = {
    "--profile": ("smoke", "verdict", "full"),
    "--blocks": ("1", "99", "100", "1e3"),
    "--budget": ("90s", "20m", "1h30m", "1e9h", "-1s", "٣s"),
    "--arms": ("auto", "cpu cuda", "cuda-hidden,cpu", "cpu cpu"),
    "--only": ("matmul.*", "[", "[!", "**", "a" * 5000),
    "--cpus": ("0-3", "0-8191", "0-99999999999", "3-1", "0,0", "٣"),
    "--gpu": ("0", "0:1", "all", "GPU-0", "MIG-x", "-1"),
    "--telemetry": ("on", "off", "first"),
    "--seed": ("0", "2147483648", "-1", "1" * 5000),
    "--label": ("x", "..", "a/b", "a" * 300, "\n"),
    "--evidence": ("x", "a b", "'", "/", "/dev/zero"),
    "--price": ("0", "0.5", "nan", "inf", "1e300", "1 EUR", "1 eur", "1 €"),
    "--engine": ("docker", "auto"),
    "--cuda-image": ("a@sha256:0", "-v", "a b"),
    "--base-image": ("a", ""),
    "--resume": ("x", ".", "a" * 5000),
    "--pairs": ("2:cuda/1:cpu", "1:cpu", "9:x/9:y"),
}
COMMANDS = ("bench", "list", "report", "compare", "images", "nothing")


def try_options(at: Path, draw: Random) -> None:
    """A command's words; no engine is there, and results go into the folder at hand.

    Raises:
        EngineError: stands for whatever status the command ended with.
    """
    command = draw.choice(COMMANDS)
    words = [command, *(["--results", str(at / "results")] if command == "bench" else [])]
    for name in draw.sample(sorted(OPTIONS), draw.randrange(4)):
        value = draw.choice(OPTIONS[name]) if draw.random() < 0.6 else draw.choice(ODD)
        words += [
            name,
            mutate(value.encode(), draw).decode(errors="surrogateescape").replace("\0", ""),
        ]
    if command in {"report", "compare"}:
        words += [draw.choice(["x", "a" * 5000, "\udcff", str(SAMPLES[0])])]

    def refuse(*_: object) -> Any:
        raise EngineError("no engine is here", "start one")

    with pytest.MonkeyPatch.context() as patched, contextlib.ExitStack() as streams:
        for module in (run_campaign, entry):
            patched.setattr(module, "open_engine", refuse)
        patched.setattr(entry, "conclude", lambda _: 0)  # it would write beside the sample
        patched.chdir(at)
        streams.enter_context(contextlib.redirect_stdout(io.StringIO()))
        streams.enter_context(contextlib.redirect_stderr(io.StringIO()))
        status = entry.main(words)
    if status not in {0, 1, 2, 3, 5}:
        raise AssertionError(f"{words} ended with {status}")
    if status:
        raise EngineError(f"status {status}")


DOORS = (
    Door(name="document", attempt=try_document),
    Door(name="campaign, with its report", attempt=try_campaign),
    Door(name="plan, with its report", attempt=try_plan),
    Door(name="summary.json", attempt=try_summary),
    Door(name="images.toml", attempt=try_images, statuses=(3,)),
    Door(name="prices, with machines", attempt=try_machines, statuses=(2, 5)),
    Door(name="the worker's records", attempt=try_records, statuses=(3, 4)),
    Door(name="the sampler's lines", attempt=try_telemetry),
    Door(name="the driver's list", attempt=try_probe),
    Door(name="docker's configuration", attempt=try_docker_config, statuses=(3,)),
    Door(name="others' tools", attempt=try_output, statuses=(2, 5)),
    Door(name="bills of materials", attempt=try_bill),
    Door(name="cloud-init", attempt=try_cloud),
    Door(name="options", attempt=try_options, statuses=(3,)),
)
"""Every door, in the order of the bench's table."""
