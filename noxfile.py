"""Sessions between make and `python -m suite`: most only forward.

They run in the environment that make made (.venv), so nothing is installed twice.
"""

from __future__ import annotations

import logging
import os
import sys
from collections import Counter
from pathlib import Path

import nox

nox.options.default_venv_backend = "none"
# What it runs is this environment's, also where nobody has activated it.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
# Nothing here makes an environment, so whether uv is there is for nobody.
logging.getLogger("nox").addFilter(lambda record: "uv binary" not in record.getMessage())

nox.options.sessions = ["lint", "tests"]


def forward(session: nox.Session, *words: str, **environment: str) -> None:
    """Runs `python` with these words and the session's own arguments.

    What Ctrl-C begins (containers are stopped, a report is written) takes longer than nox's half
    second; and progress stays on standard error.
    """
    session.run(
        *("python", *words, *session.posargs),
        env=environment,
        stderr=None,
        interrupt_timeout=180.0,
        terminate_timeout=60.0,
    )


@nox.session
def build(session: nox.Session) -> None:
    """Build or reuse the images."""
    forward(session, "-m", "suite", "images")


@nox.session
def bench(session: nox.Session) -> None:
    """Run a campaign; arguments are those of `python -m suite bench`."""
    forward(session, "-m", "suite", "bench")


@nox.session
def why(session: nox.Session) -> None:
    """Ask why a script is slow; arguments are those of `python -m suite why`."""
    forward(session, "-m", "suite", "why")


@nox.session
def collate(session: nox.Session) -> None:
    """Rebuild the report of a campaign folder from its documents."""
    forward(session, "-m", "suite", "report")


@nox.session
def doctor(session: nox.Session) -> None:
    """Say what this machine can run and why not; arguments are those of `python -m suite doctor`."""
    forward(session, "-m", "suite", "doctor")


PARALLEL = ("-n", "auto", "--maxprocesses", "8", "--dist", "loadgroup")
"""pytest on each core, a file's tests on one."""


@nox.session
def tests(session: nox.Session) -> None:
    """Run every test that this machine can run, on each of its cores."""
    forward(session, "-m", "pytest", *PARALLEL)


@nox.session
def engines(session: nox.Session) -> None:
    """Try the suite on other engines: Docker 26.1 with CDI, rootless Docker, Podman 5.

    One that does not start is a failure: this session is there for nothing else.
    """
    words = ("-m", "pytest", "-m", "engines", "tests/engines")
    forward(session, *words, REQUIRE_ENGINE="1", REQUIRE_GPU_RUNTIME="1")


@nox.session(name="gpu-runtime")
def gpu_runtime(session: nox.Session) -> None:
    """Try every cell on TensorFlow's real GPU runtime, on stand-ins for a GPU and its driver.

    Takes 12 GB of disk for the CUDA wheels, gcc and a mount namespace; what is missing is a skip that
    says so, or a failure with REQUIRE_GPU_RUNTIME=1.
    """
    forward(session, "-m", "pytest", "-m", "gpu_runtime", "tests/gpu_runtime")


@nox.session(name="gpu-containers")
def gpu_containers(session: nox.Session) -> None:
    """Try the main job through containers, and what goes wrong on rented machines, with a stand-in's GPU.

    Needs root, an engine and a base image (BASE_IMAGE), and 30 GB of disk beside the CUDA wheels; what
    is missing is a skip that says so, or a failure with REQUIRE_GPU_RUNTIME=1.
    """
    forward(session, "-m", "pytest", "-m", "gpu_containers", "tests/gpu_runtime")


FLEET = ".nox/fleet"
"""An environment of its own: what it holds is in no lock, and nothing else needs it."""


@nox.session
def fleet(session: nox.Session) -> None:
    """Try the job files on real engines: Ansible, Slurm, and SkyPilot on that; Kubernetes by its loader.

    Installs their Python packages (600 MB) beside the checkout's own; sshd, slurmctld, slurmd, munge, systemd
    and docker are the system's, and where they are missing their tests are skipped and say so.
    """
    session.run("uv", "venv", "--quiet", "--allow-existing", FLEET)
    session.run("uv", "pip", "install", "--quiet", "--python", FLEET, "--group", "fleet")
    words = ("-m", "pytest", "-m", "fleet", "tests/fleet")
    forward(session, *words, FLEET_TOOLS=str(Path(FLEET, "bin").resolve()))


@nox.session
def method(session: nox.Session) -> None:
    """Hold the method to its rates and coverage by simulation, and try the analysis on more of the same."""
    folders = ("tests/bench", "tests/analysis", "tests/report", "tests/worker/scenarios")
    forward(session, "-m", "pytest", *PARALLEL, "-m", "method", *folders)


@nox.session
def faults(session: nox.Session) -> None:
    """Plant faults in campaigns of both engines; `-- COUNT SEED`, with `--write` for docs/faults.md.

    A row that must not be is a failure.
    """
    forward(session, "-m", "tests.faults")


@nox.session(name="bench-method")
def bench_method(session: nox.Session) -> None:
    """Print the method's rates and coverage, other tools' rules beside ours, for docs/method-in-detail.md."""
    forward(session, "-m", "tests.bench.method")


@nox.session
def references(session: nox.Session) -> None:
    """Compute by NumPy what the seeded training runs have to come to: the references of the checks."""
    forward(session, "-m", "tests.bench.references")


@nox.session
def fuzz(session: nox.Session) -> None:
    """Make whatever comes from outside wrong, 14,000 times, and count what the suite answers."""
    forward(session, "-m", "tests.fuzz.bench")


@nox.session
def lint(session: nox.Session) -> None:
    """Check the style, the types and the rooms."""
    session.run("python", "-m", "ruff", "check", ".")
    session.run("python", "-m", "ruff", "format", "--check", ".")
    session.run("python", "-m", "mypy")
    session.run("python", "-c", "from importlinter.cli import lint_imports_command as lint; lint()")
    for warning in warn_of_size(Path("suite")):
        session.warn(warning)


LONG_LINES, FULL_MODULES = 300, 12
"""A longer file, or a folder with more modules, is worth a question; no wall is to be drawn for its sake."""


def warn_of_size(root: Path) -> list[str]:
    """The files and folders below that are large, each with the question that it raises."""
    files = sorted(root.rglob("*.py"))
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    folders = Counter(path.parent for path in files if path.name != "__init__.py")
    return [
        *(
            f"{path} has {lines} lines: is it one story?"
            for path, lines in lengths.items()
            if lines > LONG_LINES
        ),
        *(
            f"{folder} has {modules} modules: is it one room?"
            for folder, modules in folders.items()
            if modules > FULL_MODULES
        ),
    ]


AUDIT = ("uv", "tool", "run", "--exclude-newer", "2026-11-01", "pip-audit==2.10.1")
"""The auditor: of one version, and what it needs as of one day; it stands in no environment of ours."""


@nox.session
def audit(session: nox.Session) -> None:
    """Ask PyPI's advisories about every pin of every lock but those of other versions, which are old on
    purpose; needs the network, and fails without it.

    `--strict`: a pin that PyPI tells nothing about is not taken for a sound one.
    """
    failed = []
    images = (lock for lock in Path("docker").glob("*.txt") if "-" not in lock.stem)
    locks = (*images, *Path("requirements").glob("*.txt"))
    for lock in sorted(map(str, locks)):
        words = ("--requirement", lock, "--disable-pip", "--require-hashes", "--strict")
        try:
            session.run(*AUDIT, *words, "--progress-spinner", "off", external=True)
        except nox.command.CommandFailed:
            failed.append(lock)
    if failed:
        session.error(
            f"{', '.join(failed)}: a pin has a known vulnerability, or PyPI could not be asked (the lines "
            "above say which; this session needs the network, pypi.org above all)"
        )


@nox.session
def generate(session: nox.Session) -> None:
    """Regenerate the files made from the code: docs/cells.md, the schemas, the README's sample."""
    forward(session, "-m", "suite", "generate")


@nox.session
def lock(session: nox.Session) -> None:
    """Resolve every hash lock anew: docker/*.txt for the images, requirements/*.txt for here.

    `-- --tensorflow 2.18` makes those of the images of that version alone, and their rows.
    """
    forward(session, "-m", "suite", "lock")
    if session.posargs:
        return
    compile_ = (
        *("uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--upgrade"),
        *("--no-emit-index-url", "--no-emit-find-links", "--custom-compile-command", "nox -s lock"),
    )
    host = (*compile_, "--python-version", "3.10", "pyproject.toml")
    session.run(*host, "--output-file", "requirements/host.txt")
    session.run(
        *(*host, "--group", "tools", "--constraint", "requirements/host.txt"),
        *("--output-file", "requirements/dev.txt"),
    )
    # As the tests have it, which come into the same environment.
    for group in ("parquet", "paper"):
        session.run(
            *(*compile_, "--python-version", "3.10", "--group", group),
            *("--constraint", "requirements/dev.txt"),
            *("--output-file", f"requirements/{group}.txt"),
        )
