"""Signatures of a manifest, made and verified by ``ssh-keygen -Y``: no key and no cipher is handled here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from suite.errors import CrossoverError, UsageError
from suite.manifest import MANIFEST

SIGNATURE = f"{MANIFEST}.sig"
"""The file that holds it, as ssh-keygen calls it."""

NAMESPACE = "crossover"
"""What the signature is for, so that none made for another purpose fits."""


def sign(folder: Path, key: Path) -> None:
    """Signs the folder's manifest; asks for the key's passphrase on the terminal where it has one.

    Raises:
        UsageError: ssh-keygen can't sign with this key.
    """
    done = _run("-Y", "sign", "-n", NAMESPACE, "-f", str(key), str(folder / MANIFEST))
    if done.returncode:
        raise UsageError(
            f"KEY={key}: ssh-keygen can't sign with it: {_last(done.stderr)}",
            "name a private SSH key, such as ~/.ssh/id_ed25519",
        )


def judge_signature(folder: Path, signers: Path | None) -> tuple[str, tuple[str, ...]]:
    """What is known of who signed the folder's manifest, and what is wrong with it.

    Raises:
        UsageError: ``signers`` can't be read, or is a private key.
    """
    if signers is not None:
        remedy = (
            "name a file of allowed signers, a line each: name ssh-ed25519 AAAA… (a public key)"
        )
        if not signers.is_file() or not os.access(signers, os.R_OK):
            raise UsageError(f"KEY={signers}: no such file, or it can't be read", remedy)
        if b"PRIVATE KEY" in signers.read_bytes().partition(b"\n")[0]:
            raise UsageError(
                f"KEY={signers} is a private key, and `make check` wants public ones", remedy
            )
    path = folder / SIGNATURE
    if not path.is_file() or path.is_symlink():
        return "", (f"{SIGNATURE}: is missing: nobody signed {MANIFEST}",)
    content = (folder / MANIFEST).read_bytes() if (folder / MANIFEST).is_file() else b""
    of = ("-n", NAMESPACE, "-s", str(path))
    sound = _run("-Y", "check-novalidate", *of, content=content)
    if sound.returncode:
        return "", (f"{SIGNATURE}: does not fit {MANIFEST}: {_last(sound.stderr)}",)
    key = _last(sound.stdout).rpartition(" ")[2]
    if signers is None:
        return f"fits, by the key {key}; KEY=file shows whose it is", ()
    principals = _run("-Y", "find-principals", "-s", str(path), "-f", str(signers))
    who = principals.stdout.decode(errors="replace").split("\n")[0].strip()
    good = who and not principals.returncode
    if (
        not good
        or _run(*("-Y", "verify", "-f", str(signers), "-I", who, *of), content=content).returncode
    ):
        return "", (f"{SIGNATURE}: is by the key {key}, which {signers} does not allow",)
    return f"by {who}, with the key {key}", ()


def _run(*words: str, content: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["ssh-keygen", *words], input=content, capture_output=True, check=False
        )
    except FileNotFoundError as error:
        raise CrossoverError(
            "ssh-keygen, used to sign and verify, is missing",
            "sudo apt-get install openssh-client",
        ) from error


def _last(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it does not say why"
