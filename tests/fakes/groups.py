"""Control groups as files: what /proc says of a process's groups and their mounts, and the groups."""

from __future__ import annotations

from collections.abc import Mapping

GROUPS = "sys/fs/cgroup"


def unified(
    path: str,
    files: Mapping[str, str],
    *,
    mount: str = "/",
    top: str = f"/{GROUPS}",
) -> dict[str, str]:
    """Version 2: a process in the group ``path``; ``mount`` is what of the hierarchy lies at ``top``, and
    below that are the ``files``."""
    return {
        "proc/self/cgroup": f"0::{path}",
        "proc/self/mountinfo": "\n".join(
            (
                "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw",
                f"30 23 0:26 {mount} {top} rw,nosuid,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate",
            )
        ),
        **{f"{top.lstrip('/')}/{name}": text for name, text in files.items()},
    }


def first(
    path: str, files: Mapping[str, str], *, mount: str = "/", controllers: str = "cpu,cpuacct"
) -> dict[str, str]:
    """Version 1, with the unified hierarchy beside it, which has no controller, as systemd mounts both: a
    process in the group ``path`` of each; the ``files`` are below the mounts, by its folder there."""
    lines = {controllers: 4, "memory": 5, "cpuset": 6}
    return {
        "proc/self/cgroup": "\n".join(
            (
                *(f"{number}:{names}:{path}" for names, number in lines.items()),
                "1:name=systemd:/init.scope",
                "0::/init.scope",
            )
        ),
        "proc/self/mountinfo": "\n".join(
            (
                f"31 23 0:27 / /{GROUPS} ro,nosuid shared:9 - tmpfs tmpfs ro,mode=755",
                f"32 31 0:28 / /{GROUPS}/unified rw shared:10 - cgroup2 cgroup2 rw,nsdelegate",
                f"33 31 0:29 / /{GROUPS}/systemd rw shared:11 - cgroup cgroup rw,xattr,name=systemd",
                *(
                    f"{number}4 31 0:3{number} {mount} /{GROUPS}/{names} rw shared:{number} - cgroup cgroup "
                    f"rw,{names}"
                    for names, number in lines.items()
                ),
            )
        ),
        **{f"{GROUPS}/{name}": text for name, text in files.items()},
    }
