"""Runs a command on a "GPU machine": this one, with stand-ins for a driver, its devices and NVIDIA's
libraries laid over it in a mount namespace of the command's own; nothing of it stays.

    python enter.py STAND_INS SITE COMMAND…

STAND_INS is the folder that `build.py` made; SITE the site-packages of an environment that has the CUDA
wheels, or ``-`` where the command itself needs none.  Needs root, or a kernel that lets users make
namespaces.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

NEW_NAMESPACE, NEW_USER = 0x00020000, 0x10000000
BIND, RECURSIVE, PRIVATE = 0x1000, 0x4000, 1 << 18

LIBC = ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: object) -> None:
    """A system call of the C library's by its name.

    Raises:
        OSError: it failed.
    """
    words = [a.encode() if isinstance(a, str) else a for a in arguments]
    if getattr(LIBC, name)(*words):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}{arguments}: {os.strerror(number)}")


def mount(source: str, target: Path, kind: str | None, flags: int, data: str | None = None) -> None:
    """mount(2)."""
    call("mount", source, str(target), kind, ctypes.c_ulong(flags), data)


def bind(source: Path, target: Path) -> None:
    """Shows what is at ``source`` at ``target`` as well."""
    mount(str(source), target, None, BIND | RECURSIVE)


def unshare() -> None:
    """A mount namespace of our own, by a user namespace where we are not root."""
    user, group = os.getuid(), os.getgid()
    call("unshare", NEW_NAMESPACE | (NEW_USER if user else 0))
    if user:
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1", encoding="ascii")
    mount("none", Path("/"), None, RECURSIVE | PRIVATE)


def show_devices(scratch: Path, names: list[str]) -> None:
    """The device nodes, as empty files: who looks for a GPU looks whether they are there."""
    scratch.mkdir()
    for entry in sorted(Path("/dev").iterdir()):
        here = scratch / entry.name
        mode = entry.lstat().st_mode
        if stat.S_ISLNK(mode):
            here.symlink_to(entry.readlink())
            continue
        here.mkdir() if stat.S_ISDIR(mode) else here.touch()
        bind(entry, here)
    for name in names:
        (scratch / name).touch()
    bind(scratch, Path("/dev"))


def find_libraries(scratch: Path, folder: Path) -> None:
    """Makes the loader find the driver's libraries by name, as after the driver's installation."""
    configuration, cache = scratch / "ld.so.conf", scratch / "ld.so.cache"
    usual = Path("/etc/ld.so.conf")
    lines = [str(folder), f"include {usual}"] if usual.is_file() else [str(folder)]
    configuration.write_text("\n".join(lines) + "\n", encoding="utf-8")
    ldconfig = shutil.which("ldconfig", path="/sbin:/usr/sbin:/bin:/usr/bin")
    if ldconfig is None:
        raise FileNotFoundError("ldconfig is not here")
    subprocess.run([ldconfig, "-X", "-f", configuration, "-C", cache], check=True)
    bind(cache, Path("/etc/ld.so.cache"))


def lay_over(site: Path, stand_ins: Path, scratch: Path) -> None:
    """Shows the stand-ins in place of the wheels' own libraries, and takes away what is to be missing."""
    over, work = scratch / "over", scratch / "work"
    work.mkdir()
    shutil.copytree(stand_ins / "site", over)
    mount("overlay", site, "overlay", 0, f"lowerdir={site},upperdir={over},workdir={work}")
    for name in (stand_ins / "missing").read_text(encoding="utf-8").split():
        (site / name).unlink()


def main(stand_ins: Path, site: Path | None, command: list[str]) -> None:
    """Never returns."""
    unshare()
    # A folder made for it would stay behind: nobody is left outside to take it away.
    scratch = stand_ins / "scratch"
    scratch.mkdir(exist_ok=True)
    mount("tmpfs", scratch, "tmpfs", 0)
    if site is not None:
        lay_over(site, stand_ins, scratch)
    find_libraries(scratch, stand_ins / "driver")
    show_devices(scratch / "dev", (stand_ins / "devices").read_text(encoding="utf-8").split())
    mount("tmpfs", Path("/proc/driver"), "tmpfs", 0)
    shutil.copytree(stand_ins / "proc", "/proc/driver/nvidia")
    os.environ["PATH"] = f"{stand_ins / 'bin'}:{os.environ.get('PATH', os.defpath)}"
    os.execvp(command[0], command)  # noqa: S606  the command takes our place


if __name__ == "__main__":
    folder = None if sys.argv[2] == "-" else Path(sys.argv[2]).resolve()
    main(Path(sys.argv[1]).resolve(), folder, sys.argv[3:])
