"""The Job by a schema's own validator, and by rules for what a schema lets pass."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from suite.fingerprint import SUITE
from tests.commands import run
from tests.fakes.scripted_python import script

FOLDER = SUITE.parent / "fleet" / "kubernetes"
JOB = FOLDER / "job.yaml"
BRINGS = "`nox -s fleet` installs kubernetes-validate"


@pytest.fixture
def read(find_tool: Callable[[str, str], str]) -> Callable[[str], Any]:
    """A file of the folder, read by the PyYAML that the validator brings."""
    python = Path(find_tool("kubernetes-validate", BRINGS)).parent / "python"
    words = "import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)"

    def read(name: str) -> Any:
        done = run(str(python), "-c", words, str(FOLDER / name))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return read


@pytest.fixture
def job(read: Callable[[str], Any]) -> Any:
    """The Job's file."""
    return read("job.yaml")


def test_the_schema_takes_it_and_refuses_a_wrong_one(
    find_tool: Callable[[str, str], str], tmp_path: Path
) -> None:
    program = find_tool("kubernetes-validate", BRINGS)
    # The validator, unlike the API, wants a name.
    job = JOB.read_text().replace("generateName: crossover-", "name: crossover")
    (tmp_path / "job.yaml").write_text(job)
    done = run(program, "--strict", str(tmp_path / "job.yaml"), str(FOLDER / "home.yaml"))
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "wrong.yaml").write_text(job.replace("completions: 2", "completion: 2"))
    assert run(program, "--strict", str(tmp_path / "wrong.yaml")).returncode == 1


def test_what_a_schema_lets_pass_is_right_too(job: Any) -> None:
    spec = job["spec"]
    pod = spec["template"]["spec"]
    (bench,) = pod["containers"]
    assert pod["restartPolicy"] == "Never"
    assert spec["completionMode"] == "Indexed"
    limits, requests = (bench["resources"][name] for name in ("limits", "requests"))
    assert limits == requests, "guaranteed QoS"
    assert limits["cpu"].isdigit(), "whole CPUs"
    assert limits["memory"].endswith("Gi")
    mounted = {entry["name"] for entry in bench["volumeMounts"]}
    assert mounted == {entry["name"] for entry in pod["volumes"]}
    (ends,) = [
        entry for entry in spec["podFailurePolicy"]["rules"] if entry["action"] == "FailIndex"
    ]
    assert ends["onExitCodes"]["values"] == [2, 3, 4, 5, 7], "what again would be the same"
    labels = spec["template"]["metadata"]["labels"]
    (alone,) = pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert alone["labelSelector"]["matchLabels"].items() <= labels.items()
    assert alone["topologyKey"] == "kubernetes.io/hostname"
    (digest,) = [
        entry["value"] for entry in bench["env"] if entry["name"] == "CROSSOVER_IMAGE_DIGEST"
    ]
    assert bench["image"].endswith(f"@{digest}")
    assert "optional: true" not in JOB.read_text(), "a secret that is not found would pass for none"
    assert bench["securityContext"]["readOnlyRootFilesystem"] is True


RESTRICTED_VOLUMES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
}
RESTRICTED_VOLUMES |= {"projected", "secret"}


@pytest.mark.parametrize("name", ["job.yaml", "home.yaml"])
def test_its_pods_pass_the_security_standard_restricted(
    name: str, read: Callable[[str], Any]
) -> None:
    """By the standard's own list: pod-security.kubernetes.io/enforce=restricted."""
    spec = read(name)["spec"]
    pod = spec["template"]["spec"] if "template" in spec else spec
    assert not pod.keys() & {"hostNetwork", "hostPID", "hostIPC"}
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    for container in pod["containers"]:
        own = container["securityContext"]
        assert own["allowPrivilegeEscalation"] is False
        assert own["capabilities"] == {"drop": ["ALL"]}
        assert not own.keys() & {"privileged", "seccompProfile", "runAsNonRoot", "runAsUser"}
        assert not any("hostPort" in port for port in container.get("ports", ()))
    for volume in pod["volumes"]:
        assert set(volume) - {"name"} <= RESTRICTED_VOLUMES


def test_each_job_has_folders_of_its_own_and_an_earlier_one_can_be_named(job: Any) -> None:
    """As the kubelet puts values into words: a variable's value can name those before it."""
    (bench,) = job["spec"]["template"]["spec"]["containers"]
    assert job["metadata"].keys() & {"name", "generateName"} == {"generateName"}
    names = [entry["name"] for entry in bench["env"]]
    assert names.index("JOB_UID") < names.index("FOLDERS_OF")
    (uid,) = [entry for entry in bench["env"] if entry["name"] == "JOB_UID"]
    assert uid["valueFrom"]["fieldRef"]["fieldPath"] == (
        "metadata.labels['batch.kubernetes.io/controller-uid']"
    )
    (of,) = [entry["value"] for entry in bench["env"] if entry["name"] == "FOLDERS_OF"]
    assert of == "$(JOB_UID)"
    # The Job controller gives JOB_COMPLETION_INDEX.
    assert bench["command"] == [
        *("sh", "fleet/bench", "--task", "/results/$(FOLDERS_OF)-$(JOB_COMPLETION_INDEX)"),
        "ENGINE=inside",
    ]
    assert bench["args"] == ["PROFILE=standard"]


def test_it_says_the_least_version_and_what_brings_the_folders_home(
    read: Callable[[str], Any], tmp_path: Path
) -> None:
    """The command of home.yaml, with a kubectl that runs here what it is to run in the pod."""
    assert "Kubernetes 1.29 or newer (backoffLimitPerIndex)" in JOB.read_text()
    home = read("home.yaml")
    text = (FOLDER / "home.yaml").read_text()
    (brings,) = [line[2:].strip() for line in text.splitlines() if "kubectl exec" in line]
    assert f"kubectl exec {home['metadata']['name']} -- tar -C /results " in brings
    volume = tmp_path / "volume"
    (volume / "uid-0" / "run").mkdir(parents=True)
    (volume / "uid-0" / "ended").write_text("status 0")
    (tmp_path / "bin").mkdir()
    script(tmp_path / "bin" / "kubectl", f'shift 3; exec "$1" "$2" {volume} "$4" "$5" "$6"')
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    done = run("sh", "-c", brings, folder=tmp_path, env={"PATH": path})
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "results" / "fleet" / "uid-0" / "ended").read_text() == "status 0"
