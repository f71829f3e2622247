"""The outputs of others' tools: run or named, kept without what names anybody, checked and bundled."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from pathlib import Path

import pytest

from suite import codec
from suite.analysis.documents.read import load_campaign
from suite.analysis.documents.tools import read_tool, recognise
from suite.cli.receipts import hiding
from suite.errors import DocumentError
from suite.host.engine import GpuRequest
from suite.host.gpu import tools as commands
from suite.manifest import MANIFEST, read_lines
from tests.cli.shell import Heard, Shell, complaint, fail, well
from tests.fakes import tools
from tests.fakes.engine import FakeEngine

pytestmark = pytest.mark.processes

ALL = {"nvidia-smi": tools.smi(), "dcgmi": tools.diag(), "nvbandwidth": tools.bandwidth()}
ONLY = ("--only", "overhead.fence")


def with_gpu(**how: object) -> FakeEngine:
    return FakeEngine(gpu=GpuRequest(driver="cdi", devices=("0",)), **how)  # type: ignore[arg-type]


def bench(shell: Shell, *words: str, profile: str = "standard", **how: object) -> Heard:
    words = ("--arms", "cpu cuda", "--profile", profile, "--blocks", "1", *ONLY, *words)
    return shell.bench(*words, engine=with_gpu(**how))


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is first on PATH, with every tool in it."""
    folder = tools.install(tmp_path / "bin", ALL)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return folder


def kept(folder: Path) -> dict[str, str]:
    there = folder / "evidence"
    return {p.name: p.read_text() for p in there.iterdir()} if there.exists() else {}


def calls(path: Path) -> list[str]:
    noted = path / "calls"
    return noted.read_text().splitlines() if noted.exists() else []


SECRETS = (tools.UUID, tools.UUID[4:], tools.SERIAL, *tools.NAMING.values())


def test_what_is_on_the_path_is_run_before_anything_is_measured(shell: Shell, path: Path) -> None:
    heard = well(bench(shell, "--gpu", "1"))
    said = heard.err
    assert said.index("`dcgmi diag -r 1 -j -i 1` runs first") < said.index("block 1 of")
    tests = "host_to_device_memcpy_ce device_to_host_memcpy_ce"
    assert calls(path) == [
        "nvidia-smi -q -x 1",
        "dcgmi diag -r 1 -j -i 1 1",
        f"nvbandwidth -j -t {tests} 1",
    ]
    folder = shell.folder()
    files = kept(folder)
    assert set(files) == {"nvidia-smi.xml", "dcgmi.json", "nvbandwidth.json"}
    everything = "".join(
        p.read_text() for p in folder.rglob("*") if p.suffix != ".png" and p.is_file()
    )
    assert [secret for secret in SECRETS if secret in everything] == []
    assert {f"evidence/{name}" for name in files} <= set(
        read_lines((folder / MANIFEST).read_bytes())
    )
    report = (folder / "report.md").read_text()
    assert "dcgmi diag 4.2.1" in report
    assert "95.02.66.00.02" in files["nvidia-smi.xml"]
    heard = well(shell.run("check", str(folder)))
    assert "✗" not in heard.out
    # Who goes on has them, and runs none again.
    well(shell.resume(engine=with_gpu()))
    assert (len(calls(path)), kept(folder)) == (3, files)
    well(shell.run("report", str(folder)))
    assert (folder / "report.md").read_text() == report


@pytest.mark.parametrize(
    ("words", "how", "ran"),
    [
        (("--profile", "smoke"), {}, ["nvidia-smi"]),
        (("--profile", "standard", "--arms", "cpu"), {}, []),
        (("--profile", "standard"), {"here": False}, []),
        (("--profile", "standard"), {"here": None}, []),
    ],
)
def test_where_it_would_take_too_long_or_look_at_another_machine_none_is_run(
    words: tuple[str, ...], how: dict[str, object], ran: list[str], shell: Shell, path: Path
) -> None:
    usual = () if "--arms" in words else ("--arms", "cpu cuda")
    well(shell.bench(*usual, *words, "--blocks", "1", *ONLY, engine=with_gpu(**how)))
    assert [call.partition(" ")[0] for call in calls(path)] == ran
    assert ("Others' tools" in (shell.folder() / "report.md").read_text()) == bool(ran)


def test_a_tool_that_fails_is_a_recorded_reason_and_no_more(
    shell: Shell, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hiding.socket, "gethostname", lambda: "quartz-17")
    tools.install(path, {"dcgmi": f"no daemon on quartz-17, {tools.UUID}\n"}, code=3)
    (path / "nvbandwidth").write_text("#!/bin/sh\nsleep 60 & echo $! > %s; wait" % (path / "child"))
    (path / "nvidia-smi").write_text("#!/bin/sh\necho nothing to see")
    usual = commands.list_commands
    monkeypatch.setattr(
        commands,
        "list_commands",
        lambda gpu: [command._replace(limit_s=2.0) for command in usual(gpu)],
    )
    heard = well(bench(shell))
    files = kept(shell.folder())
    assert set(files) == {"nvidia-smi.txt", "dcgmi.txt", "nvbandwidth.txt"}
    assert files["dcgmi.txt"].startswith("exit code 3: no daemon on hidden-host")
    assert tools.UUID not in files["dcgmi.txt"]
    assert files["nvbandwidth.txt"] == "did not end within 2 s\n"
    assert files["nvidia-smi.txt"].startswith("what it printed is not the output of")
    assert "dcgmi gave nothing: exit code 3" in heard.err
    assert "nothing: did not end within 2 s" in (shell.folder() / "report.md").read_text()
    # And what it had started has ended, too.
    state = Path(f"/proc/{(path / 'child').read_text().strip()}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


def test_what_dcgm_says_with_an_exit_status_counts(shell: Shell, path: Path) -> None:
    tools.install(path, {"dcgmi": tools.diag(Memory="bad pages")}, code=226)
    heard = well(bench(shell))
    assert "DCGM's diagnostics failed: Memory: bad pages" in heard.out
    assert "DCGM's diagnostics failed" in (shell.folder() / "brief.md").read_text()


def test_named_files_are_kept_and_their_tools_not_run(
    shell: Shell, path: Path, tmp_path: Path
) -> None:
    own, odd = tmp_path / "my files.txt", tmp_path / "b"
    own.write_text(f"starting\n{tools.diag(3)}")
    odd.write_bytes(b"\xff\xfe" + tools.bandwidth().encode("utf-16-le"))
    well(bench(shell, "--evidence", f"'{own}' {odd}"))
    assert [call.partition(" ")[0] for call in calls(path)] == ["nvidia-smi"]
    folder = shell.folder()
    names = {"nvidia-smi.xml", "given-dcgmi.json", "given-nvbandwidth.json"}
    assert set(kept(folder)) == names
    assert "EVIDENCE" not in shell.plan().command
    # A campaign that is over can be given another; the same one is not kept twice.
    other = tmp_path / "c"
    other.write_text(tools.diag(4, PCIe="slow"))
    well(shell.resume("--evidence", f"{other} {odd}", engine=with_gpu()))
    assert set(kept(folder)) == {*names, "given-dcgmi-2.json"}
    assert "PCIe: slow" in (folder / "brief.md").read_text()
    well(shell.run("check", str(folder)))


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (None, "No such file"),
        (b"", "is empty"),
        (b"hello", "is not the output of"),
        (tools.smi()[:400].encode(), "is cut short"),
        (tools.diag()[:99].encode(), "cut short"),
        (bytes(17 * 2**20), "is larger than 16 MiB"),
    ],
)
def test_a_named_file_that_holds_none_is_refused_before_anything_is_measured(
    content: bytes | None, named: str, shell: Shell, tmp_path: Path
) -> None:
    file = tmp_path / "smi.xml"
    if content is not None:
        file.write_bytes(content)
    engine = with_gpu()
    heard = shell.bench(*ONLY, "--evidence", str(file), engine=engine)
    assert named in complaint(heard, 2)
    assert engine.jobs == []
    assert shell.opened == []


def test_what_is_no_file_or_too_many_is_refused(shell: Shell, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for word, named in (
        (str(tmp_path / "fifo"), "is a FIFO"),
        (str(tmp_path), "is a folder"),
        ("'a", 'EVIDENCE="\'a"'),
        ("a " * 11, "EVIDENCE names 11 files; 10 are the most"),
    ):
        assert named in complaint(shell.bench(*ONLY, "--evidence", word), 2)


@pytest.fixture
def folder(shell: Shell, path: Path) -> Path:
    """A campaign with every output."""
    well(bench(shell))
    return shell.folder()


def test_the_table_has_to_follow_from_what_is_kept(shell: Shell, folder: Path) -> None:
    file = folder / "evidence" / "nvbandwidth.json"
    text = file.read_text()
    file.write_text(text.replace("25.0", "99.0"))
    told = fail(shell.run("check", str(folder)))
    assert "evidence/nvbandwidth.json: is not the file that manifest.sha256 names" in told
    assert "✗ report.md" in told
    file.write_text(text)
    well(shell.run("check", str(folder)))
    file.unlink()
    assert "evidence/nvbandwidth.json: is missing" in fail(shell.run("check", str(folder)))


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("nvbandwidth.json", b"{}", "is not the output of"),
        ("dcgmi.json", tools.bandwidth().encode(), "is the output of nvbandwidth, not of dcgmi"),
        ("nvidia-smi.xml", b"<nvidia_smi_log>", "is cut short"),
    ],
)
def test_a_folder_of_anybodys_with_another_file_is_refused(
    name: str, content: bytes, named: str, shell: Shell, folder: Path
) -> None:
    (folder / "evidence" / name).write_bytes(content)
    with pytest.raises(DocumentError) as refused:
        load_campaign(folder)
    assert f"evidence/{name}: {named}" in refused.value.what
    assert shell.run("report", str(folder)).status == 5


def test_more_outputs_than_a_campaign_has_are_not_read(folder: Path) -> None:
    for number in range(10, 40):
        shutil.copy(
            folder / "evidence" / "dcgmi.json", folder / "evidence" / f"dcgmi-{number}.json"
        )
    with pytest.raises(DocumentError, match="holds 33 outputs of tools; 20 are the most"):
        load_campaign(folder)


def test_a_gpu_is_the_same_in_its_document_and_in_an_output_once_both_are_hidden() -> None:
    fact = codec.hash_uuid(tools.UUID)
    document = json.dumps({"facts": {"gpu.0.uuid": fact}})
    kept = hiding.keep_output(recognise(tools.smi().encode()))
    assert f"<uuid>GPU-{fact}</uuid>" in kept
    hidden = hiding.hide({"cuda-01.json": document, "evidence/nvidia-smi.xml": kept})
    (identity,) = json.loads(hidden["cuda-01.json"])["facts"].values()
    assert identity.startswith("#")
    output = read_tool("nvidia-smi.xml", hidden["evidence/nvidia-smi.xml"].encode())
    assert [gpu.identity for gpu in output.gpus] == [identity]
    assert hiding.hide(hidden) == hidden


def test_a_bundle_has_them_and_names_nobody(
    shell: Shell, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where somebody put in what was taken out."""
    told = json.loads((folder / "evidence" / "dcgmi.json").read_text())
    result = told["DCGM Diagnostic"]["test_categories"][0]["tests"][0]["results"][0]
    result |= {"serial_num": 1329876543210, "hostname": "quartz-17", "facts": 3}
    result["warnings"] = [{"warning": "on 10.11.12.13 in /home/mallory/x"}]
    for name, text in {
        "dcgmi.json": json.dumps(told),
        "nvidia-smi.xml": tools.smi(product_name="quartz-17"),
        "nvbandwidth.txt": "refused by quartz-17 at 10.11.12.13",
    }.items():
        (folder / "evidence" / name).write_text(text)
    (folder / "evidence" / "nvbandwidth.json").unlink()
    (folder / MANIFEST).unlink()
    well(shell.run("report", str(folder)))
    monkeypatch.setattr(hiding.socket, "gethostname", lambda: "quartz-17")
    heard = well(shell.run("bundle", str(folder), "--out", str(tmp_path)))
    packed = Path(heard.out.split()[1])
    with zipfile.ZipFile(packed) as archive:
        files = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
    content = b"".join(files.values())
    secrets = [*SECRETS, "quartz-17", "10.11.12.13", "mallory"]
    assert [secret for secret in secrets if secret.encode() in content] == []
    assert {"evidence/dcgmi.json", "evidence/nvidia-smi.xml", "evidence/nvbandwidth.txt"} <= set(
        files
    )
    assert b"00000000:65:00.0" in files["evidence/nvidia-smi.xml"]
    assert b"95.02.66.00.02" in files["evidence/nvidia-smi.xml"]
    well(shell.run("check", str(packed)))
    assert "Others' tools" in files["report.md"].decode()
