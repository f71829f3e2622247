"""Engines in containers of the machine's own: a Debian with Docker 26.1, Podman 5.4, and rootless."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import docker.types
from docker.api.client import APIClient
from docker.errors import APIError

from suite.host.docker.engine import DockerEngine
from suite.host.docker.leftovers import find_image
from suite.host.engine import LABEL, Job
from suite.host.machine.machine import own_token
from tests.engine.conftest import bare
from tests.fakes.daemons import Hook, build_image, carry_image, wait_for

PACKAGES = (
    "docker.io iptables podman crun runc catatonit uidmap rootlesskit slirp4netns fuse-overlayfs "
    "netavark iproute2"
)
DOCKERFILE = f"""ARG BASE
FROM $BASE
RUN apt-get update -q && apt-get install -y -q --no-install-recommends {PACKAGES} && apt-get clean
"""
USER = 1500

DEBIAN_FREE_BYTES = 4e9
"""Room for that image, and in each engine for the base and the CPU image."""

CUDA_FREE_BYTES = 25e9
"""Room for a second copy of the CUDA image and what carrying it takes."""

Bench = Callable[..., "subprocess.CompletedProcess[str]"]
"""Runs the whole command on the engine at an address."""

Reach = Callable[[str], DockerEngine]
"""The suite's engine at an address."""


def probe(engine: DockerEngine, code: str, **how: Any) -> Job:
    """A line of Python in whatever image an engine looks for a GPU with."""
    given = {"cpus": (), **how}
    return Job(image=bare(engine._probe_image()), arguments=("-c", code), **given)


PODMAN = """[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "/usr/sbin/runc"
cgroup_manager = "cgroupfs"
"""
"""Where the machine itself may not raise limits, or has both kinds of control groups."""


def build(api: APIClient, base: str) -> str:
    """The image of all these engines; its id.

    Raises:
        RuntimeError: it can't be built here, as where no mirror of Debian is reached.
    """
    # Not as an image of the suite's, in which a GPU might be looked for.
    how = {"buildargs": {"BASE": base}, "labels": {LABEL: "other-engines"}}
    try:
        return build_image(api, {"Dockerfile": DOCKERFILE.encode()}, **how)
    except (APIError, RuntimeError) as error:
        raise RuntimeError(f"no image with other engines: {error}") from error


class Machine:
    """The machine's own engine, and the images that it has."""

    def __init__(self, engine: DockerEngine, api: APIClient, base: str) -> None:
        self.engine = engine
        self.api = api
        self.base = base
        found = find_image(engine._daemon, base)
        assert found is not None
        self.base_id = found

    def carry(self, name: str, url: str) -> None:
        """Brings the base and the image of that name, built or reused here, into another engine."""
        image = self.engine.provide(name, lambda _line: None)
        tags = self.api.inspect_image(image.id)["RepoTags"]
        carry_image(self.api, self.base, url)
        carry_image(self.api, tags[0] if tags else image.id, url)


class Nested:
    """An engine in a container: its socket, its CDI specifications and its hook lie in a folder here."""

    def __init__(self, api: APIClient, image: str) -> None:
        self.api = api
        self.image = image
        # Not pytest's folder: a socket's path has at most 107 characters.
        self.root = Path(tempfile.mkdtemp(prefix="crossover-"))
        self.root.chmod(0o777)
        for folder in ("cdi", "hook", "run"):
            (self.root / folder).mkdir()
            (self.root / folder).chmod(0o777)
        self.hook = Hook(self.root / "hook")
        self.url = f"unix://{self.root}/run/engine.sock"
        self._volume = f"crossover-engines-{uuid.uuid4().hex[:12]}"
        self._container: str | None = None

    def start(self, script: str, data: str, devices: Sequence[str] = ()) -> None:
        """Runs a shell script that ends in the engine, with a volume at its data's folder.

        The machine's folder has the same path inside, so that the hook finds what it is told.

        Raises:
            RuntimeError: it does not answer.
        """
        owner = {f"{LABEL}.owner": own_token()}
        self.api.create_volume(self._volume, labels={LABEL: "volume", **owner})
        config = self.api.create_host_config(
            # All but one: not every machine may give that one away, or be asked for `privileged`.
            cap_add=["ALL"],
            cap_drop=["SYS_RESOURCE"],
            security_opt=["seccomp=unconfined"],
            network_mode="none",
            devices=list(devices),
            mounts=[
                docker.types.Mount(data, self._volume),
                docker.types.Mount("/sys/fs/cgroup", "/sys/fs/cgroup", type="bind"),
                docker.types.Mount("/etc/cdi", f"{self.root}/cdi", type="bind"),
                docker.types.Mount(str(self.root), str(self.root), type="bind"),
            ],
        )
        # Else no process file system can be mounted where there is no root (`systempaths=unconfined`).
        config.update(MaskedPaths=[], ReadonlyPaths=[])
        created = self.api.create_container(
            self.image,
            command=["sh", "-c", script],
            environment={
                "PATH": f"{self.root}/hook:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "SOCKET": self.url,
                "CONTAINERS_CONF": f"{self.root}/containers.conf",
            },
            host_config=config,
            # As a worker's, so that what a killed session leaves is swept.
            labels={LABEL: "run", **owner},
        )
        self._container = str(created["Id"])
        self.api.start(self._container)
        wait_for(self.url, self._lives, self.log)

    def _lives(self) -> bool:
        return bool(self.api.inspect_container(self._container)["State"]["Running"])

    def log(self) -> str:
        return bytes(self.api.logs(self._container, tail=20)).decode(errors="replace")

    def specify(self, text: str | None) -> None:
        """Its only CDI specification; None: there is none."""
        path = self.root / "cdi" / "nvidia.yaml"
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.write_text(text)

    def remove(self) -> None:
        if self._container is not None:
            self.api.stop(self._container, timeout=20)
            self.api.remove_container(self._container, force=True, v=True)
        # There is one even where the container could not be made.
        if self.api.volumes(filters={"name": self._volume})["Volumes"]:
            self.api.remove_volume(self._volume)
        shutil.rmtree(self.root)


def start_docker(nested: Nested) -> None:
    """Docker with CDI switched on, as 25.0 to 28.1 need it."""
    (nested.root / "daemon.json").write_text('{"features":{"cdi":true}}')
    nested.start(
        f'exec dockerd -H "$SOCKET" --config-file {nested.root}/daemon.json --bridge none '
        "--iptables=false --ip6tables=false --ip-forward=false",
        "/var/lib/docker",
    )


def start_podman(nested: Nested) -> None:
    """Podman's service."""
    (nested.root / "containers.conf").write_text(PODMAN)
    nested.start('exec podman system service --time=0 "$SOCKET"', "/var/lib/containers")


def start_rootless(nested: Nested) -> None:
    """Docker of a user who is not root."""
    (nested.root / "rootless.sh").write_text(
        "export XDG_RUNTIME_DIR=/run/user/1500 HOME=/home/worker; cd\n"
        "exec rootlesskit --net=slirp4netns --disable-host-loopback --port-driver=none "
        "--copy-up=/etc --copy-up=/run --propagation=rslave "
        'dockerd --rootless -H "$SOCKET" --bridge none --iptables=false --ip6tables=false '
        "--ip-forward=false --exec-opt native.cgroupdriver=cgroupfs\n"
    )
    nested.start(
        f"useradd -m -u {USER} worker; echo worker:100000:65536 | tee /etc/subuid >/etc/subgid; "
        f"install -d -o {USER} /run/user/{USER} /home/worker; chmod 666 /dev/net/tun; "
        f"exec setpriv --reuid {USER} --regid {USER} --clear-groups sh {nested.root}/rootless.sh",
        "/home",
        ["/dev/net/tun"],
    )
