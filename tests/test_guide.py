"""docs/guide.md has every command, variable, profile, exit status and option that the code has."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from suite import errors
from suite.analysis.ablation.soundness import LASTING
from suite.analysis.campaign.validity import OF_CELLS
from suite.cli.entry import commands
from suite.cli.options import EXITS
from suite.fingerprint import SUITE
from suite.flags import KINDS
from suite.host.campaign.plan import PROFILES
from suite.host.doctor.examine import CHECKS
from suite.host.doctor.gpu import OLDEST_DRIVER, PTX_DRIVER
from suite.host.doctor.page import MARKS
from suite.report.exports.formats import EXPORTS
from suite.worker import scenarios
from tests.golden_campaigns import analyse_golden

ROOT = SUITE.parent
GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
(BENCH, WHY, KNOWN, DEVELOPERS) = (
    re.findall(rf"^{name} := (.*)$", MAKEFILE, re.MULTILINE)[0].split()
    for name in ("BENCH", "WHY", "KNOWN", "DEVELOPERS")
)
KNOWN = list(dict.fromkeys([*BENCH, *WHY, *(name for name in KNOWN if "$" not in name)]))

ENVIRONMENT = {
    "CROSSOVER_IMAGE_DIGEST": "suite/host/local/engine.py",
    "FLEET_TOOLS": "tests/fleet/conftest.py",
    "CROSSOVER_SALT": "suite/host/machine/identity.py",
    "CROSSOVER_SCRATCH": "suite/worker/scenario/scratch.py",
    "DAY": ".ci/run",
    "CUDA_CACHE_PATH": "suite/host/provision/resources.py",
    "DOCKER_CONTEXT": "suite/host/docker/connection.py",
    "DOCKER_HOST": "suite/host/docker/connection.py",
    "REQUIRE_GPU_RUNTIME": "tests/gpu_runtime/conftest.py",
    "UPDATE_GOLDEN": "tests/report/test_golden.py",
}
"""What the pages name that is no variable of make, and the file that reads or sets it."""


UNTOLD = {"inside"}
"""A value that users don't need: it is found out."""


def rows(title: str) -> Iterator[list[str]]:
    """The rows of the first table of a section, without its head."""
    section = GUIDE.partition(f"\n## {title}\n")[2]
    table = re.split(r"\n(?!\|)", section[section.index("\n|") + 1 :])[0]
    for line in table.splitlines()[2:]:
        yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]


def names(text: str) -> list[str]:
    return re.findall(r"`([A-Z_]+)\b[^`]*`", text)


def told(title: str) -> dict[str, str]:
    """The variables of a table and the value that each is shown with."""
    pairs = [row[0].strip("`").partition("=") for row in rows(title)]
    return {name: value for name, _, value in pairs}


def recipes() -> dict[str, set[str]]:
    """The targets of the Makefile and the variables that each takes."""
    found: dict[str, set[str]] = {}
    for target, recipe in re.findall(r"^([a-z-]+):.*## .*\n((?:\t.*\n)*)", MAKEFILE, re.MULTILINE):
        run = "".join(line for line in recipe.splitlines() if "@echo" not in line)
        run = run.replace("$(BENCH)", " ".join(BENCH)).replace("$(WHY)", " ".join(WHY))
        words = set(re.findall(r"\b[A-Z_]+\b", run))
        found[target] = words & {*KNOWN, *DEVELOPERS}
    return found


def test_every_command_of_make_is_there_with_what_it_takes() -> None:
    found = {row[0].strip("`").removeprefix("make "): row[2] for row in rows("Commands")}
    made = recipes()
    assert list(found) == [name for name in found if name in made]
    assert set(found) == set(made)
    for name, takes in found.items():
        if name in {"bench", "why"}:
            assert made[name] - set(DEVELOPERS) == set(BENCH if name == "bench" else WHY)
            assert f"#variables-of-make-{name}" in takes
        else:
            assert set(names(takes)) == made[name] - {"SEED"}, name


def test_every_variable_is_there_and_no_other() -> None:
    assert sorted(told("Variables of `make bench`")) == sorted(BENCH)
    why = [name for row in rows("Variables of `make why`") for name in names(row[0])]
    assert sorted(why) == sorted(WHY)
    others = set(KNOWN) - set(BENCH) - set(WHY)
    assert sorted(told("Variables of other commands")) == sorted(others)
    assert all(f"`{name}=" in CONTRIBUTING for name in DEVELOPERS)


@pytest.mark.parametrize("name", commands.commands)
def test_every_option_is_a_variable_of_its_command_or_is_named(name: str) -> None:
    made = recipes()
    options = [option for option in commands.commands[name].params if option.name != "help"]
    for option in options:
        spelled = option.opts[0].removeprefix("--").replace("-", "_").upper()
        forwarded = spelled in made.get(name, set())
        assert forwarded or f"suite {name} {option.opts[0]}`" in GUIDE, option.opts


def test_the_values_of_a_choice_are_those_that_the_command_takes() -> None:
    for option in commands.commands["bench"].params:
        if isinstance(option.type, click.Choice) and (option.name or "").upper() in BENCH:
            values = told("Variables of `make bench`")[(option.name or "").upper()]
            assert values.split("\\|") == [v for v in option.type.choices if v not in UNTOLD]


def test_the_forms_for_other_programs_are_those_that_there_are() -> None:
    listed = [
        name for row in rows("For other programs") for name in re.findall(r"`([^`]+)`", row[0])
    ]
    analysis = analyse_golden("one-arm")
    files = [name for write in EXPORTS for name in write(analysis)]
    assert listed == [name.replace(analysis.campaign.folder, "X") for name in files]


def test_the_profiles_are_those_of_the_plan() -> None:
    cells = scenarios.cells()
    for row, (name, profile) in zip(rows("Profiles"), PROFILES.items(), strict=True):
        blocks = [str(count) for count in (profile.blocks, profile.most_blocks) if count]
        assert row[0] == f"`{name}`"
        assert row[1] == " to ".join(dict.fromkeys(blocks))
        assert row[2] == f"{profile.warmup_s:g} s, {profile.measure_s:g} s"
        assert row[3] == f"{profile.budget_s:g} s"
        of_cpu = [cell for cell in cells if name in cell.profiles and not cell.arms]
        for count in re.findall(r"(\d+) cells", row[4]):
            assert int(count) == sum(not cell.scripted for cell in of_cpu)
        for count in re.findall(r"(\d+) scripts", row[4]):
            assert int(count) == len({cell.process for cell in of_cpu if cell.scripted})


def test_every_file_of_the_sample_is_in_the_table_and_the_other_way_about() -> None:
    folder = next((ROOT / "results" / "samples").glob("*-standard"))
    found = {f"{path.name}/" if path.is_dir() else path.name for path in folder.iterdir()}
    listed = {
        name for row in rows("Files of a campaign") for name in re.findall(r"`([^`]+)`", row[0])
    }
    documents = {name for name in found if re.fullmatch(r"c\S+-\d\d(-r\d)?\.json", name)}
    assert listed - found <= {"evidence/", "sbom/"}  # the sample was measured before there were any
    assert found - listed <= documents
    assert {"cpu-00.json", "cpu-01.json", "cpu-twin-01.json"} <= documents


def test_all_that_makes_a_machine_unsound_is_there_and_nothing_else() -> None:
    listed = [
        code for row in rows("The first five minutes") for code in re.findall("`(.+?)`", row[0])
    ]
    found = {code for code, kind in KINDS.items() if kind.scope == "machine"} - {"disturbed"}
    assert set(listed) == {*found, *OF_CELLS, *LASTING}
    assert len(set(listed)) == len(listed)


def test_all_that_is_told_of_a_gpu_is_there() -> None:
    told = {
        *(code for row in rows("What a rented GPU is") for code in re.findall("`(.+?)`", row[0])),
        *LASTING,
    } - {"cpus-idle", "cpus-withheld"}
    files = (SUITE / f"analysis/ablation/{name}.py" for name in ("hardware", "expected"))
    source = "".join(path.read_text(encoding="utf-8") for path in files)
    assert told == {*re.findall(r'raise_flag\(\s*"(.+?)"', source), "far-below-published"}


def test_every_exit_status_is_there_and_no_other() -> None:
    raised = {
        error.exit_status
        for error in vars(errors).values()
        if isinstance(error, type) and issubclass(error, errors.CrossoverError)
    }
    statuses = [int(row[0]) for row in rows("Exit statuses")]
    assert statuses == sorted({0, *raised})
    assert {int(number) for number in re.findall(r"\b(\d+) (?=[a-z])", EXITS)} == set(statuses)


def test_no_page_names_a_command_or_a_variable_that_is_not_there() -> None:
    made = recipes()
    for page in (README, GUIDE, CONTRIBUTING):
        said = re.findall(r"(?:^    |`)make ([a-z-]+)", page, re.MULTILINE)
        assert said
        assert set(said) <= set(made)
        named = set(re.findall(r"\b([A-Z][A-Z_]+)=", page)) - set(ENVIRONMENT) - set(DEVELOPERS)
        assert named <= set(KNOWN), named - set(KNOWN)
    for name, path in ENVIRONMENT.items():
        assert name in (ROOT / path).read_text(encoding="utf-8"), name


def test_the_readme_has_what_a_beginner_needs() -> None:
    said = set(re.findall(r"(?:^    |`)make ([a-z-]+)", README, re.MULTILINE))
    assert {"bench", "doctor", "list", "help", "report", "compare", "test"} <= said
    assert len(README.splitlines()) <= 130
    assert "make bench PROFILE=smoke" in README


def test_what_a_gpu_machine_needs_is_what_the_doctor_asks_for() -> None:
    section = README.split("## On a GPU machine")[1].split("\n## ")[0]
    assert f"a driver of {OLDEST_DRIVER} or later ({PTX_DRIVER} or later on an H100" in section
    (room,) = re.findall(r"both images together need (\d+ GB)", errors.MORE_DISK)
    assert f"{room} of free disk for both images" in section
    assert f"exit status {errors.GpuError.exit_status}" in section
    assert len(section.strip().splitlines()) <= 16


def test_the_diagnosis_is_what_the_doctor_prints() -> None:
    excerpt = GUIDE.split("<!-- doctor:begin -->")[1].split("<!-- doctor:end -->")[0]
    lines = [line.removeprefix("    ") for line in excerpt.strip("\n").splitlines()]
    marked = [line for line in lines if line[:1] in MARKS.values()]
    assert [line.split()[1] for line in marked] == list(CHECKS)
    width = max(map(len, CHECKS))
    assert all(line[2 + width] == " " and line[3 + width] != " " for line in marked)
    rest = [line.strip() for line in lines if line and line not in marked]
    assert all(line.startswith("what to do: ") for line in rest[:-1])
    assert rest[-1].startswith("`make bench` would run")
