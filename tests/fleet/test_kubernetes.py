"""The Job by a schema's own validator, and by rules for what a schema lets pass."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from suite.content import SUITE
from tests.commands import run

JOB = SUITE.parent / "fleet" / "kubernetes" / "job.yaml"
BRINGS = "`nox -s fleet` installs kubernetes-validate"


@pytest.fixture
def job(find_tool: Callable[[str, str], str]) -> Any:
    """The Job's file, read by the PyYAML that the validator brings."""
    python = Path(find_tool("kubernetes-validate", BRINGS)).parent / "python"
    words = "import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)"
    done = run(str(python), "-c", words, str(JOB))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_schema_takes_it_and_refuses_a_wrong_one(
    find_tool: Callable[[str, str], str], tmp_path: Path
) -> None:
    program = find_tool("kubernetes-validate", BRINGS)
    done = run(program, "--strict", str(JOB))
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "wrong.yaml").write_text(JOB.read_text().replace("completions: 2", "completion: 2"))
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
    mounted = {one["name"] for one in bench["volumeMounts"]}
    assert mounted == {one["name"] for one in pod["volumes"]}
    (ends,) = [one for one in spec["podFailurePolicy"]["rules"] if one["action"] == "FailIndex"]
    assert ends["onExitCodes"]["values"] == [2, 3, 4, 5, 7], "what again would be the same"
    labels = spec["template"]["metadata"]["labels"]
    (alone,) = pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert alone["labelSelector"]["matchLabels"].items() <= labels.items()
    assert alone["topologyKey"] == "kubernetes.io/hostname"
    (digest,) = [one["value"] for one in bench["env"] if one["name"] == "CROSSOVER_IMAGE_DIGEST"]
    assert bench["image"].endswith(f"@{digest}")
    assert "optional: true" not in JOB.read_text(), "a secret that is not found would pass for none"
    assert bench["securityContext"]["readOnlyRootFilesystem"] is True


def test_its_command_makes_a_whole_campaign_of_which_a_cell_failed_a_success(
    job: Any, tmp_path: Path
) -> None:
    (bench,) = job["spec"]["template"]["spec"]["containers"]
    (tmp_path / "fleet").mkdir()
    for status, wanted in {0: 0, 1: 0, 3: 3, 7: 7, 130: 130}.items():
        (tmp_path / "fleet" / "bench").write_text(f'echo "$@"\nexit {status}\n')
        words = (*bench["command"], *bench["args"])
        done = run(*words, folder=tmp_path, env={"JOB_COMPLETION_INDEX": "7"})
        assert done.returncode == wanted
        assert done.stdout.split()[:2] == ["/results/7", "ENGINE=inside"]
