"""A bundle follows from its own documents, is the same bytes each time, and names nobody."""

from __future__ import annotations

import json
import socket
import stat
import struct
import subprocess
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from suite.cli.receipts import archive, hiding
from suite.manifest import MANIFEST, hash_content, read_lines
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
    "a long address": "2001:db8:85a3::8a2e:370:7334",
    "a MAC": "52:54:00:ab:cd:ef",
    "a MAC as switches write it": "5254.00ab.cdef",
    "an instance": "i-0abc1234def567890",
    "a machine id": "4c4c4544004b3010805ab4c04f4a5331",
    "a key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJx mallory@quartz-17",
    "a serial": "SN-0042-XYZ",
    "a UUID": "01234567-89ab-cdef-0123-456789abcdef",
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


def plant(folder: Path, shell: Shell) -> None:
    """Puts all of it into a document, a log and the plan, as a campaign could have written it."""
    told = ", ".join(PLANTED.values())
    path = folder / "cpu-02.json"
    document = json.loads(path.read_text())
    document["facts"] |= {
        "os.hostname": PLANTED["a host"],
        "board.serial": PLANTED["a serial"],
        "environment.LD_PRELOAD": f"{PLANTED['a home']}/lib.so",
        "cuda.cudnn": "9.10.2.21",
    }
    document["absent"]["telemetry"] = f"nobody watched on {told}"
    path.write_text(json.dumps(document, indent=1))
    plan = json.loads((folder / "campaign.json").read_text())
    plan["not_run"] = {"cuda-hidden": f"looked at {told}, and at /dev/nvidia0"}
    (folder / "campaign.json").write_text(json.dumps(plan, indent=1))
    log = folder / "logs" / "cpu-02.log"
    log.write_text(
        f"--- a container\n{told}\nserial number: {PLANTED['a serial']}\nin {PLANTED['a home']}/x.py\n"
        f"from https://{PLANTED['a server']}/simple; see https://www.tensorflow.org/install\n"
        "/opt/crossover/venv/lib/keras.py: cuDNN version 9.10.2.21\n"
    )
    (folder / MANIFEST).unlink()
    assert shell.run("report", str(folder)).status == 0


def test_a_bundle_is_the_folder_and_the_same_bytes_each_time(
    honest: Path, tmp_path: Path, shell: Shell, check: Check
) -> None:
    first = bundle(shell, honest, "--out", str(tmp_path / "a"))
    assert first.read_bytes() == bundle(shell, honest, "--out", str(tmp_path / "b")).read_bytes()
    files = read(first)
    there = {p.relative_to(honest).as_posix(): p for p in honest.rglob("*") if p.is_file()}
    # What names nobody is as it was, but for the folder's name, which is its campaign's.
    assert {name.partition("/")[2] for name in files} == set(there)
    assert files["made-up/cpu-01.json"] == there["cpu-01.json"].read_bytes()
    pinned = read_lines(files[f"made-up/{MANIFEST}"])
    assert {f"made-up/{name}" for name in pinned} == set(files) - {f"made-up/{MANIFEST}"}
    with zipfile.ZipFile(first) as file:
        assert {one.date_time for one in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {one.external_attr >> 16 for one in file.infolist()} == {stat.S_IFREG | 0o644}
    heard = well(check(first))
    assert heard.out.count("✓ ") == len(heard.out.splitlines())


def test_what_is_planted_does_not_leave(
    honest: Path, shell: Shell, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(honest, shell)
    monkeypatch.setattr(socket, "gethostname", lambda: PLANTED["its whole name"])
    monkeypatch.setattr(hiding.getpass, "getuser", lambda: PLANTED["a user"])
    path = bundle(shell, honest)
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


def test_a_secret_is_found_by_the_documents_own_facts_and_by_whose_home_it_is(
    honest: Path, shell: Shell
) -> None:
    plant(honest, shell)
    path = bundle(shell, honest)
    content = b"".join(read(path).values())
    assert b"quartz-17" not in content
    assert b"mallory" not in content


def test_with_identify_everything_stays_as_it_is(honest: Path, shell: Shell, check: Check) -> None:
    plant(honest, shell)
    path = bundle(shell, honest, "--identify")
    assert {name.partition("/")[2]: content for name, content in read(path).items()} == {
        p.relative_to(honest).as_posix(): p.read_bytes() for p in honest.rglob("*") if p.is_file()
    }
    assert check(path).status == 0


@pytest.mark.parametrize("name", ["cpu", "container", "root", "x"])
def test_a_machine_that_is_called_after_a_word_of_ours_breaks_nothing(
    name: str, honest: Path, shell: Shell, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: name)
    path = bundle(shell, honest)
    assert read(path)["made-up/cpu-01.json"] == (honest / "cpu-01.json").read_bytes()


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("at 21:29:58.288 on 2026-11-21T21:29:58+00:00", None),
        ("std::string and sha256:14d9e9c3, a::b", None),
        ("127.0.0.1, ::1, 0.0.0.0 and 1.2.3.4.5", None),
        ("driver 570.86.10, examples/s, 1/2, CPU/GPU, n=1/precision=fp32", None),
        ("python@sha256:abc, crossover/base:stand-in", None),
        ("fe80::1ff:fe23:4567:890a up", "hidden-address up"),
        ("at 192.168.0.1:5000", "at hidden-address:5000"),
        ("unix:///run/user/1000/docker.sock fails", "hidden-address fails"),
        ("in /srv/x y", "in hidden-path y"),
        ("Serial: A1B2", "hidden-serial"),
        ("registry.example.com/team/tf:1", "hidden-host/team/tf:1"),
        ("nvcr.io/nvidia/tensorflow:25.02-tf2-py3, docs.nvidia.com/cuda", None),
        # Hashes, versions, numbers and names of the trade.
        ("commit 49cb700" + "a" * 33 + f", sha256:{'0a' * 32}, receipt 0cdaab", None),
        (f"image {'c3' * 32} of python@sha256:{'d4' * 32}", None),
        ("tf.io.read_file, numpy 2.4.1, 570.86.10, 2026.11.21, 1.5.0.dev0, cudnn 91002", None),
        ("memory.max 9223372036854771712, 1699.25 s, 0x7ffd5e3c, 3.14159265358979323846", None),
        ("0000:00:1e.0 and 00000000:65:00.0, 21:29:58, GPU-0, i-th, r-squared, vol-up", None),
        ("ghcr.io/nvidia/k8s, https://github.com/tensorflow/tensorflow/issues/1", None),
        ("see tf.function@decorated: a = b, sg-1, subnet-a, project name is free", None),
        ("libdevice at /usr/lib/x.so, /dev/nvidia0, /proc/self/cgroup, C:, a\\b", None),
        ("localhost:5000/x and ratio 3:1000", None),
        ("pkg:pypi/absl-py@2.5.1, pkg:pypi/nvidia-cudnn-cu12@9.10.2.21, numpy@2.4.1", None),
        ("http://cyclonedx.org/schema/bom-1.6.schema.json", None),
        ("urn:uuid:4f5a28e3-5078-5b0c-8e10-96c4b8379e41 of a bill of materials", None),
        ("me@example.org, me@10.1.2.3 said", "hidden-address, hidden-address said"),
        # Cards of networks, in the forms of Cisco, Windows and InfiniBand.
        ("0011.2233.4455 up", "hidden-address up"),
        ("00-11-22-33-44-55 up", "hidden-address up"),
        ("a0:00:02:20:fe:80:00:00:00:00:00:00:24:8a:07:03:00:f6:ad:40 up", "hidden-address up"),
        ("MAC address: 0242ac110002", "hidden-address"),
        ("fe80::1%eth0 and ::ffff:a00:1", "hidden-address%eth0 and hidden-address"),
        # What clouds call their machines.
        ("i-0abc1234def567890 in vpc-1a2b3c4d", "hidden-id in hidden-id"),
        ("i-bp67acfmxazb4ph7vkzp of Alibaba's", "hidden-id of Alibaba's"),
        ("arn:aws:ec2:us-east-1:123456789012:instance/x ok", "hidden-id ok"),
        ("account id: 123456789012", "hidden-id"),
        ("instance 4520031799277581759 of Google's", "instance hidden-id of Google's"),
        ("projects/team-red/zones/us-central1-a/instances/vm-1 ok", "hidden-id ok"),
        ("ocid1.instance.oc1.iad.anuwcljt5z ok", "hidden-id ok"),
        ("0717_01234567-89ab-cdef-0123-456789abcdef", "0717_hidden-uuid"),
        ("vm_id=12345678 ok", "hidden-id ok"),
        ("machine 4c4c4544004b3010805ab4c04f4a5331 ok", "machine hidden-uuid ok"),
        ("GPU-8f6f4d0b and MIG-01234567-89ab", "hidden-uuid and hidden-uuid"),
        ("ip-10-0-0-1.ec2.internal, ip-172-31-0-9", "hidden-host, hidden-host"),
        ("box.tail1234.ts.net, ns1.ip-1-2-3.eu", "hidden-host, hidden-host"),
        # Serial numbers, as nvidia-smi, dmidecode and lspci have them.
        ("Serial Number                         : 1320221016873", "hidden-serial"),
        ('"serial": "S5H9NS0N", Asset Tag: A-7', '"hidden-serial", hidden-serial'),
        ("Device Serial 48-b0-2d-ff-ff-01-02-03", "Device Serial hidden-address"),
        ("/dev/disk/by-id/nvme-SSD_S5H9 full", "hidden-path full"),
        # Persons, keys and secrets.
        ("mallory@quartz: no", "mallory@quartz: no"),
        ("by mallory@quartz again", "by hidden-address again"),
        ("git@github.com:mallory/secret.git ok", "hidden-address ok"),
        ("https://user:pass@github.com/x ok", "hidden-address ok"),
        ("https://github.com/mallory/x ok", "hidden-address ok"),
        ("ghcr.io/mallory/tf:1", "hidden-host/tf:1"),
        ("myregistry:5000/team/tf", "hidden-host/team/tf"),
        ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA me@box", "hidden-key"),
        (f"fits SHA256:{'Ab3+' * 10}abc ok", "fits hidden-key ok"),
        (f"ghp_{'a1' * 18} ok", "hidden-secret ok"),
        ("password=hunter2, NODE_NAME=gpu-07", "hidden-secret, hidden-host"),
        (r"C:\Users\mallory\x.txt gone", "hidden-path gone"),
        ("in ~mallory/work now", "in hidden-path now"),
        # Labels that are the end of a variable's name.
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG ok", "AWS_SECRET_hidden-secret ok"),
        ("WANDB_API_KEY=0123abcd, DB_PASSWORD=x", "WANDB_hidden-secret, DB_hidden-secret"),
        ("AWS_SESSION_TOKEN=abc HF_TOKEN=x", "AWS_hidden-secret hidden-secret"),
        ("RUNPOD_POD_ID=ab12, GCP_PROJECT_ID=acme-prod", "RUNPOD_hidden-id, GCP_hidden-id"),
        ("cloud_instance_id: 1234567", "cloud_hidden-id"),
        ("SLURMD_NODENAME=gpu-17 MY_HOSTNAME=box", "SLURMD_hidden-host MY_hidden-host"),
        (
            "SLURM_JOB_NODELIST=gpu-[17-18] SLURM_JOB_USER=eve",
            "SLURM_JOB_hidden-host SLURM_hidden-user",
        ),
        ("board_serial=X7 eth0_mac=0242ac110002", "board_hidden-serial eth0_hidden-address"),
        ("monkey=1, tokens=2, n_tokens: 3, rows/n: 4, turnkey_id=5", None),
        # Cards of networks, in the forms of Huawei and HP, and as Linux and InfiniBand name them.
        ("0011-2233-4455 up.", "hidden-address up."),
        ("001122-334455, at 00163e-0a1b2c.", "hidden-address, at hidden-address."),
        ("enx00163e0a1b2c, wlx00163e0a1b2c: up", "hidden-address, hidden-address: up"),
        ("506b:4b03:00c2:e3a0 and 0x506b4b0300c2e3a0", "hidden-address and hidden-address"),
        ("261121-093000 on enp5s0, 10de:2330:10de:16c1, ab12-cd34", None),
        ("0x00007ffd5e3c1234, 0xffffffff81000000, 0xffffffffffffffff, 0x7ffd5e3c1234", None),
        ("20261125T072147Z-sample-standard, 2026-11-25, 1-2-3, sm_90-sm_100", None),
        # Tencent's machines, and disks.
        (
            "ins-r8hr2upy with disk-0ab1cd2e in vpc-9x8y7z6w",
            "hidden-id with hidden-id in hidden-id",
        ),
        ("ins-tructed, disk-bandwidth, subnet-internal", None),
        ("nvme-eui.0025385b11b0c2d1, wwn-0x5002538e40a1b2c3", "hidden-serial, hidden-serial"),
        ("naa.5000c500a1b2c3d4 and scsi-3600508b1001c1234", "hidden-serial and hidden-serial"),
    ],
)
def test_what_identifies_is_told_from_what_looks_like_it(text: str, hidden: str | None) -> None:
    assert hiding.hide({"log": text}) == {"log": hidden or text}


def test_what_does_not_follow_is_not_packed(honest: Path, shell: Shell) -> None:
    (honest / "cpu-01.json").write_bytes((honest / "cpu-01.json").read_bytes() + b"\n")
    heard = shell.run("bundle", str(honest))
    assert "cpu-01.json: is not the file that manifest.sha256 names" in complaint(heard, 1)
    assert list(honest.parent.glob("*.zip")) == []


@pytest.mark.parametrize("file", ["cpu-01.json", "report.md", "summary.json", "logs/cpu-01.log"])
def test_a_bundle_that_was_tampered_with_is_found(
    file: str, honest: Path, shell: Shell, check: Check
) -> None:
    path = bundle(shell, honest)
    files = read(path)
    files[f"made-up/{file}"] = files[f"made-up/{file}"].replace(b"a", b"b", 1)
    assert f"    {file}: is not the file that manifest.sha256 names" in fail(
        check(pack(path, files))
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
    what: str, honest: Path, shell: Shell, check: Check, tmp_path: Path
) -> None:
    path = bundle(shell, honest)
    trick(path, what)
    complaint(check(path), 5)
    assert list(tmp_path.rglob("out.txt")) == []


@pytest.mark.parametrize("what", ["no zip", "cut short", "changed", "encrypted", "lies"])
def test_what_is_no_bundle_is_exit_5(what: str, honest: Path, shell: Shell, check: Check) -> None:
    path = bundle(shell, honest)
    content = bytearray(path.read_bytes())
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
    path.write_bytes(content)
    complaint(check(path), 5)


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
    honest: Path, shell: Shell, check: Check, tmp_path: Path
) -> None:
    hers, his = (make_key(tmp_path, name) for name in ("hers", "his"))
    unsigned = bundle(shell, honest, "--out", str(tmp_path / "unsigned"))
    path = bundle(shell, honest, "--key", str(hers))
    assert path.read_bytes() == bundle(shell, honest, "--key", str(hers)).read_bytes()
    allowed = f"{hers}.signers"
    assert "✓ signature     fits, by the key SHA256:" in check(path).out
    assert "✓ signature     by hers@example.org, with the key" in check(path, "--key", allowed).out
    for run, words, told in (
        (path, f"{his}.signers", "which "),
        (unsigned, allowed, "manifest.sha256.sig: is missing: nobody signed manifest.sha256"),
    ):
        assert told in fail(check(run, "--key", words))
    assert "no such file" in complaint(check(path, "--key", str(tmp_path / "nobody")), 2)
    files = read(path)
    files[f"made-up/{MANIFEST}"] = files[f"made-up/{MANIFEST}"].replace(b"report.md", b"report.nd")
    assert "manifest.sha256.sig: does not fit manifest.sha256" in fail(check(pack(path, files)))


@pytest.mark.processes
def test_what_is_no_key_is_a_usage_error(honest: Path, shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("none")
    heard = shell.run("bundle", str(honest), "--key", str(tmp_path / "key"))
    assert "ssh-keygen can't sign with it" in complaint(heard, 2)
