"""A bundle follows from its own documents, is the same bytes each time, and names nobody."""

from __future__ import annotations

import json
import shutil
import socket
import stat
import struct
import subprocess
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import pytest

from suite.cli.receipts import archive, hiding
from suite.cli.receipts.bundle import make_bundle
from suite.cli.run_campaign import write_reports
from suite.host.campaign.store import Store
from suite.manifest import MANIFEST, hash_content, read_lines
from suite.report import produce
from suite.safe_folder import MOST_BYTES
from tests.cli.shell import Heard, Shell, complaint, fail, well

Check = Callable[..., Heard]

PLANTED = {
    "a host": "quartz-17",
    "its whole name": "quartz-17.lab.internal",
    "a user": "mallory",
    "a home": "/home/mallory/work",
    "a mount": "/mnt/team-red/data.bin",
    "an address": "10.11.12.13",
    "a key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJx mallory@quartz-17",
    "a serial": "SN-0042-XYZ",
    "an e-mail": "mallory@example.org",
    "a server": "pypi.example.net",
}
"""What stands in the folder and must not leave it."""


def bundle(shell: Shell, folder: Path, *words: str) -> Path:
    heard = well(shell.run("bundle", str(folder), *words))
    digest, path = heard.out.split()
    assert hash_content(Path(path).read_bytes()) == digest
    return Path(path)


def read(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def pack(path: Path, files: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items():
            file.writestr(name, content)
    return path


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory, finished: Path) -> Path:
    """All of it in a document, a log and the plan, as a campaign could have written it."""
    folder = shutil.copytree(finished, tmp_path_factory.mktemp("planted") / finished.name)
    everything = ", ".join(PLANTED.values())
    path = folder / "cpu-02.json"
    document = json.loads(path.read_text())
    document["facts"] |= {
        "os.hostname": PLANTED["a host"],
        "board.serial": PLANTED["a serial"],
        "environment.LD_PRELOAD": f"{PLANTED['a home']}/lib.so",
        "cuda.cudnn": "9.10.2.21",
    }
    document["absent"]["telemetry"] = f"nobody watched on {everything}"
    path.write_text(json.dumps(document, indent=1))
    plan = json.loads((folder / "campaign.json").read_text())
    plan["not_run"] = {"cuda-hidden": f"looked at {everything}, and at /dev/nvidia0"}
    (folder / "campaign.json").write_text(json.dumps(plan, indent=1))
    log = folder / "logs" / "cpu-02.log"
    log.write_text(
        f"--- a container\n{everything}\nserial number: {PLANTED['a serial']}\n"
        f"in {PLANTED['a home']}/x.py\n"
        f"from https://{PLANTED['a server']}/simple; see https://www.tensorflow.org/install\n"
        "/opt/crossover/venv/lib/keras.py: cuDNN version 9.10.2.21\n"
    )
    (folder / MANIFEST).unlink()
    write_reports(Store(folder), pictures=False)
    return folder


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory, finished: Path) -> Path:
    """A bundle of an honest folder; made once."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(produce, "can_draw", lambda: False)
        name, content = make_bundle(finished, identify=False, key=None)
    path = tmp_path_factory.mktemp("bundled") / name
    path.write_bytes(content)
    return path


@pytest.fixture
def packed(tmp_path: Path, bundled: Path) -> Path:
    """A copy of it, to be spoiled."""
    return Path(shutil.copy(bundled, tmp_path))


def test_a_bundle_is_the_folder_and_the_same_bytes_each_time(
    honest: Path, bundled: Path, tmp_path: Path, shell: Shell, check: Check
) -> None:
    first = bundle(shell, honest, "--out", str(tmp_path / "a"))
    assert first.read_bytes() == bundled.read_bytes()
    files = read(first)
    there = {p.relative_to(honest).as_posix(): p for p in honest.rglob("*") if p.is_file()}
    # What names nobody is as it was, but for the folder's name, which is its campaign's.
    assert {name.partition("/")[2] for name in files} == set(there)
    assert files["made-up/cpu-01.json"] == there["cpu-01.json"].read_bytes()
    pinned = read_lines(files[f"made-up/{MANIFEST}"])
    assert {f"made-up/{name}" for name in pinned} == set(files) - {f"made-up/{MANIFEST}"}
    with zipfile.ZipFile(first) as file:
        assert {entry.date_time for entry in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {entry.external_attr >> 16 for entry in file.infolist()} == {stat.S_IFREG | 0o644}
    heard = well(check(first))
    assert heard.out.count("✓ ") == len(heard.out.splitlines())


def test_what_is_planted_does_not_leave(
    planted: Path, shell: Shell, check: Check, tmp_path: Path
) -> None:
    """As the documents' own facts tell it, and whose home it is."""
    path = bundle(shell, planted, "--out", str(tmp_path))
    content = path.read_bytes() + b"".join(read(path).values())
    for what, secret in PLANTED.items():
        assert secret.encode().lower() not in content.lower(), what
    assert b"mallory" not in content
    assert check(path).status == 0
    # What tells of the image, the driver and the system stays.
    for kept in (b"/dev/nvidia0", b"/opt/crossover/venv/lib/keras.py", b"www.tensorflow.org"):
        assert kept in content
    assert content.count(b"9.10.2.21") >= 2
    assert b"hidden-address" in content


def test_this_machines_names_are_hidden_unless_they_are_words_of_ours(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"host": PLANTED["its whole name"], "user": "mallory"}
    monkeypatch.setattr(socket, "gethostname", lambda: names["host"])
    monkeypatch.setattr(hiding.getpass, "getuser", lambda: names["user"])
    hidden = {"log": "hidden-user on hidden-host"}
    assert hiding.hide({"log": "mallory on quartz-17"}) == hidden
    texts = {path.name: path.read_text() for path in finished.glob("c*.json")}
    for name in ("cpu", "container", "root", "x"):
        names |= {"host": name, "user": name}
        assert hiding.hide(texts) == texts


def test_the_names_of_the_plans_arms_stay() -> None:
    plan = {"arms": ["cpu", "cpu@nightly"], "command": "make bench ARMS='cpu cpu@nightly'"}
    texts = {"campaign.json": json.dumps(plan), "log": "cpu@nightly-twin as cpu@basalt"}
    hidden = hiding.hide(texts)
    assert hidden["campaign.json"] == texts["campaign.json"]
    assert hidden["log"] == "cpu@nightly-twin as hidden-address"


def test_an_arms_name_is_its_own_where_it_has_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "build-7.acme.de")
    arm = "amd-cpu@build-7.acme.de"
    texts = {"campaign.json": json.dumps({"arms": ["cpu", arm]}), "log": f"{arm} on build-7"}
    hidden = hiding.hide(texts)
    assert hidden == {**texts, "log": f"{arm} on hidden-host"}


def test_a_host_with_the_form_of_an_arms_file_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "cpu-01")
    number = "cpu-4512345678901234567"
    texts = {"campaign.json": json.dumps({"arms": ["cpu"]}), "log": f"cpu on cpu-01, {number}"}
    assert hiding.hide(texts)["log"] == "cpu on hidden-host, cpu-hidden-id"


def test_with_identify_everything_stays_as_it_is(
    planted: Path, shell: Shell, check: Check, tmp_path: Path
) -> None:
    path = bundle(shell, planted, "--identify", "--out", str(tmp_path))
    assert {name.partition("/")[2]: content for name, content in read(path).items()} == {
        p.relative_to(planted).as_posix(): p.read_bytes() for p in planted.rglob("*") if p.is_file()
    }
    assert check(path).status == 0


def test_what_identifies_is_told_from_what_looks_like_it() -> None:
    table = msgspec.toml.decode(Path(__file__).with_name("identifying.toml").read_bytes())
    expected = {**{text: text for text in table["kept"]}, **table["hidden"]}
    hidden = hiding.hide({f"{n}.log": text for n, text in enumerate(expected)})
    assert dict(zip(expected, hidden.values(), strict=True)) == expected


def test_what_does_not_follow_is_not_packed(honest: Path, shell: Shell) -> None:
    (honest / "cpu-01.json").write_bytes((honest / "cpu-01.json").read_bytes() + b"\n")
    heard = shell.run("bundle", str(honest))
    assert "cpu-01.json: is not the file that manifest.sha256 names" in complaint(heard, 1)
    assert list(honest.parent.glob("*.zip")) == []


@pytest.mark.parametrize("file", ["cpu-01.json", "logs/cpu-01.log"])
def test_a_bundle_that_was_tampered_with_is_found(file: str, packed: Path, check: Check) -> None:
    files = read(packed)
    files[f"made-up/{file}"] = files[f"made-up/{file}"].replace(b"a", b"b", 1)
    assert f"    {file}: is not the file that manifest.sha256 names" in fail(
        check(pack(packed, files))
    )


def link(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


def trick(path: Path, what: str) -> None:
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as file:
        if what == "twice":
            file.writestr("made-up/report.md", b"another")
        elif what == "a link":
            file.writestr(link("made-up/logs/a.log"), b"/etc/passwd")
        elif what == "a bomb":
            file.writestr("made-up/big.json", bytes(MOST_BYTES + 1))
        elif what == "many":
            for number in range(5_001):
                file.writestr(f"made-up/{number}", b"")
        else:
            file.writestr(what, b"x")


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    "what",
    [
        *("twice", "a link", "a bomb", "many"),
        *("../out.txt", "made-up/../../out.txt", "/opt/out.txt", "made-up\\out.txt", "C:/out.txt"),
        *("other/out.txt", "out.txt", "made-up/", "made-up//a", "made-up/a\nb", "made-up/./a"),
    ],
)
def test_tricks_of_archives_are_exit_5(
    what: str, packed: Path, check: Check, tmp_path: Path
) -> None:
    trick(packed, what)
    complaint(check(packed), 5)
    assert list(tmp_path.rglob("out.txt")) == []


@pytest.mark.parametrize("what", ["no zip", "cut short", "changed", "encrypted", "lies"])
def test_what_is_no_bundle_is_exit_5(what: str, packed: Path, check: Check) -> None:
    content = bytearray(packed.read_bytes())
    at = content.index(b"PK\x01\x02")
    if what == "no zip":
        content = bytearray(b"not one")
    elif what == "cut short":
        content = content[: len(content) // 2]
    elif what == "changed":
        content[200] ^= 0xFF
    elif what == "encrypted":
        content[at + 8] |= 1
    else:
        content[at + 24 : at + 28] = struct.pack("<I", 5)
    packed.write_bytes(content)
    complaint(check(packed), 5)


def test_an_archive_that_is_too_large_is_not_opened(tmp_path: Path, check: Check) -> None:
    with (tmp_path / "x.zip").open("wb") as file:
        file.truncate(archive.MOST_IN_ALL + 1)
    assert "x.zip: is larger than 512 MiB" in complaint(check(tmp_path / "x.zip"), 5)


def test_an_empty_archive_is_exit_5(tmp_path: Path, check: Check) -> None:
    zipfile.ZipFile(tmp_path / "x.zip", "w").close()
    assert "holds 0 files" in complaint(check(tmp_path / "x.zip"), 5)


def make_key(place: Path, name: str) -> Path:
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(place / name)]
    subprocess.run(words, check=True)
    (place / f"{name}.signers").write_text(
        f"{name}@example.org {(place / f'{name}.pub').read_text()}"
    )
    return place / name


@pytest.mark.processes
def test_a_signature_says_whose_it_is_and_does_not_fit_another_manifest(
    honest: Path, packed: Path, shell: Shell, check: Check, tmp_path: Path
) -> None:
    hers, his = (make_key(tmp_path, name) for name in ("hers", "his"))
    path = bundle(shell, honest, "--key", str(hers))
    assert path.read_bytes() == bundle(shell, honest, "--key", str(hers)).read_bytes()
    allowed = f"{hers}.signers"
    assert "✓ signature     fits, by the key SHA256:" in check(path).out
    assert "✓ signature     by hers@example.org, with the key" in check(path, "--key", allowed).out
    for run, words, text in (
        (path, f"{his}.signers", "which "),
        (packed, allowed, "manifest.sha256.sig: is missing: nobody signed manifest.sha256"),
    ):
        assert text in fail(check(run, "--key", words))
    assert "no such file" in complaint(check(path, "--key", str(tmp_path / "nobody")), 2)
    assert "hers is a private key" in complaint(check(path, "--key", str(hers)), 2)
    files = read(path)
    files[f"made-up/{MANIFEST}"] = files[f"made-up/{MANIFEST}"].replace(b"report.md", b"report.nd")
    assert "manifest.sha256.sig: does not fit manifest.sha256" in fail(check(pack(path, files)))


@pytest.mark.processes
def test_what_is_no_key_is_a_usage_error(honest: Path, shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("none")
    heard = shell.run("bundle", str(honest), "--key", str(tmp_path / "key"))
    assert "ssh-keygen can't sign with it" in complaint(heard, 2)
