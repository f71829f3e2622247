"""The command accept: what it prints, writes and ends with, and the sheets that the documentation has."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from suite.analysis.acceptance.facts import KNOWN
from suite.analysis.result.acceptance import What
from suite.cli.receipts.archive import pack
from suite.fingerprint import SUITE
from suite.report import produce
from tests import synthetic
from tests.bench.versions import (
    BASE,
    NOISES,
    OTHER,
    PLANTS,
    Version,
    make_documents,
    make_plan,
)
from tests.cli.shell import Shell, complaint, well
from tests.golden_campaigns import write_golden

ROOT = SUITE.parent
PAGE = (ROOT / "docs" / "accept.md").read_text(encoding="utf-8")
SHEETS = ROOT / "docs" / "sheets"
SAMPLES = {
    "cpu": next((ROOT / "results" / "samples").glob("*-sample-standard")),
    "gpu": next((ROOT / "results" / "samples").glob("*-gpu-standard")),
}
PRODUCT = synthetic.make_product(1000).id
MET = f'[[require]]\ncell = "{PRODUCT}"\narm = "cuda"\ntime = "at most 1 s"\n'
MISSED = '[[require]]\nfact = "CPUs"\nis = "at least 64"\n'
OPEN = '[[require]]\nfact = "ECC"\nis = "on"\n'


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """A campaign without controls that could fail."""
    cells = [cell for cell in synthetic.make_cells() if cell.scenario in {"matmul", "mlp"}]
    plan = synthetic.make_campaign(blocks=3, cells=cells)
    documents = synthetic.make_documents(plan, host=synthetic.QUIET)
    return synthetic.write_campaign(tmp_path / "made-up", plan, documents)


def write(folder: Path, text: str, name: str = "contract.toml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        (MET, (0, "PASS")),
        (MET + MISSED, (1, "FAIL")),
        (MET + OPEN, (8, "UNDECIDED")),
        (MET + OPEN + MISSED, (1, "FAIL")),
    ],
)
def test_it_ends_as_the_sheet_does(
    campaign: Path, tmp_path: Path, shell: Shell, text: str, ends: tuple[int, str]
) -> None:
    status, answer = ends
    heard = shell.run("accept", str(campaign), "--require", write(tmp_path, text))
    assert heard.status == status
    assert f"**{answer}.** Of {text.count('[[')} line" in heard.out
    assert ("undecided: 2" in heard.err) == (status == 8)


def test_what_is_kept_going_can_be_judged_by_no_campaign(
    campaign: Path, tmp_path: Path, shell: Shell
) -> None:
    sheet = write(tmp_path, '[[require]]\nevery = "sustain.*"\nrate = "at least 1 GB/s"\n')
    heard = shell.run("accept", str(campaign), "--require", sheet)
    assert "no campaign has a cell 'sustain.*' to judge" in complaint(heard, 2)
    assert "is one run and can't be judged" in heard.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title = 3\n" + MET, "contract.toml, line 1: title: 3 is not a text"),
        (
            MET + "[[require]]\nslower_than = { base = 'nowhere', by = '5 %' }",
            "contract.toml, line 6: base=nowhere",
        ),
        (
            f"{MET}[[require]]\nslower_than = {{ by = '5 %', base = '{{run}}' }}",
            "contract.toml, line 6: base: made-up was named twice",
        ),
    ],
)
def test_a_line_that_is_refused_is_status_2(
    campaign: Path, tmp_path: Path, shell: Shell, text: str, said: str
) -> None:
    sheet = write(tmp_path, text.replace("{run}", str(campaign)))
    assert said in complaint(shell.run("accept", str(campaign), "--require", sheet), 2)


def test_what_is_missing_is_told(campaign: Path, tmp_path: Path, shell: Shell) -> None:
    assert "REQUIRE is missing" in complaint(shell.run("accept", str(campaign)), 2)
    nowhere = str(tmp_path / "nowhere.toml")
    assert "nowhere.toml" in complaint(shell.run("accept", str(campaign), "--require", nowhere), 2)
    (campaign / "cpu-01.json").write_text("{", encoding="utf-8")
    assert shell.run("accept", str(campaign), "--require", write(tmp_path, MET)).status == 5


@pytest.mark.processes
def test_the_files_are_the_same_of_the_same(campaign: Path, tmp_path: Path, shell: Shell) -> None:
    sheet, files = write(tmp_path, 'signed_by = ["A", "B"]\n' + MET), []
    for name in ("one", "two"):
        out = tmp_path / name
        well(shell.run("accept", str(campaign), "--require", sheet, "--out", str(out)))
        files.append({path.name: path.read_bytes() for path in out.iterdir()})
    first, second = files
    plain = {"accept.md", "accept.json", "accept.html"}
    assert plain <= set(first)
    assert {name: first[name] for name in plain} == {name: second[name] for name in plain}
    printed = shell.run("accept", str(campaign), "--require", sheet).out
    assert first["accept.md"].decode() == printed
    schema = json.loads((ROOT / "docs" / "accept-schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(json.loads(first["accept.json"]))
    if "accept.pdf" in first:
        assert first["accept.pdf"].startswith(b"%PDF")
    if "accept.docx" in first:
        with zipfile.ZipFile(BytesIO(first["accept.docx"])) as archive:
            words = archive.read("word/document.xml").decode()
        assert "Signatures" in words


def test_a_bundle_gives_the_same_page(campaign: Path, tmp_path: Path, shell: Shell) -> None:
    sheet = write(tmp_path, MET)
    page = well(shell.run("accept", str(campaign), "--require", sheet)).out
    bundle = tmp_path / "bundle.zip"
    bundle.write_bytes(
        pack("made-up", {path.name: path.read_bytes() for path in campaign.glob("*.json")})
    )
    assert well(shell.run("accept", str(bundle), "--require", sheet)).out == page


def test_without_paper_the_other_files_are_written(
    campaign: Path, tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    from suite.errors import NotInstalledError

    def lack(*_: object) -> bytes:
        raise NotInstalledError("WeasyPrint, which makes the PDF,", "paper")

    monkeypatch.setattr(produce, "render_pdf", lack)
    out = tmp_path / "out"
    words = ("--require", write(tmp_path, MET), "--out", str(out))
    heard = shell.run("accept", str(campaign), *words)
    assert heard.status == 0
    assert "left out: WeasyPrint" in heard.err
    assert {path.suffix for path in out.iterdir()} == {".md", ".html", ".json"}


def make_baseline(place: Path, campaign: Path, times: float) -> None:
    """Another campaign, with the samples of this one so many times as long, here and there by a little."""
    place.mkdir(parents=True)
    identity = "20261101T000000Z-baseline-standard"
    for path in campaign.glob("*.json"):
        if path.name == "summary.json":
            continue
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if path.name == "campaign.json":
            content["id"] = identity
        else:
            content["campaign"]["id"] = identity
            block = content["invocation"]["block"]
            for cell in content["cells"]:
                off = times * (1 + 0.0005 * block)
                for name in ("samples_s", "warmup_s"):
                    cell[name] = [off * sample for sample in cell[name]]
        (place / path.name).write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize(
    ("sheet", "judged"),
    [
        ("buyer", ("gpu", None, 8)),
        ("cloud", ("gpu", None, 1)),
        ("nightly", ("cpu", 1.0, 8)),
        ("nightly", ("cpu", 0.5, 1)),
    ],
)
def test_the_example_sheets_judge_the_samples(
    tmp_path: Path,
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
    sheet: str,
    judged: tuple[str, float | None, int],
) -> None:
    """By which sample, how many times as slow the baseline is, and the exit status."""
    sample, baseline, status = judged
    monkeypatch.chdir(tmp_path)
    if baseline is not None:
        make_baseline(tmp_path / "results" / "baseline", SAMPLES[sample], baseline)
    path = SHEETS / f"{sheet}.toml"
    heard = shell.run("accept", str(SAMPLES[sample]), "--require", str(path))
    assert heard.status == status
    lines = path.read_text(encoding="utf-8").count("\n[[require]]")
    assert f"Of {lines} lines, " in heard.out
    if status == 8:
        assert "## What would decide it" in heard.out


def test_the_page_has_every_key_fact_and_sheet() -> None:
    table = PAGE.partition("| key | such as |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(get_args(What))
    facts = PAGE.partition("| fact | such as |")[2].partition("\n\n")[0]
    named = [n for row in facts.splitlines()[2:] for n in re.findall("`(.+?)`", row.split("|")[1])]
    assert sorted(named) == sorted(KNOWN)
    assert {f"{path.name}" for path in SHEETS.iterdir()} == set(
        re.findall(r"sheets/(\w+\.toml)\)", PAGE)
    )


def test_the_sheets_of_the_page_are_some(campaign: Path, tmp_path: Path, shell: Shell) -> None:
    text, versions = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    heard = shell.run("accept", str(SAMPLES["gpu"]), "--require", write(tmp_path, text))
    assert heard.status == 8
    assert "| 1 (2.1) | rate: at least 40 TFLOP/s |" in heard.out
    # Of one part of a version, and of all its work.
    folder = write_golden("versions", tmp_path)
    heard = shell.run("accept", str(folder), "--require", write(tmp_path, versions))
    assert heard.status == 1
    assert "| slower than cpu\\@2.20: at most 10 % | Keras fit's own loop (fit), cpu |" in heard.out


@pytest.mark.parametrize(("part", "status"), [("", 0), ("kernels", 1), ("fit", 1)])
def test_a_version_that_became_slower_ends_with_a_status(
    tmp_path: Path, shell: Shell, part: str, status: int
) -> None:
    arms = {BASE: PLANTS.get(part, Version()), OTHER: Version()}
    plan = make_plan(arms, blocks=10, seed=2)
    folder = synthetic.write_campaign(
        tmp_path / "run", plan, make_documents(plan, arms, NOISES["typical"])
    )
    gate = 'slower_than = { arm = "cpu@2.20", by = "10 %" }'
    sheet = f'[[require]]\npart = "fit"\n{gate}\n[[require]]\npart = "kernels"\n{gate}\n'
    heard = shell.run("accept", str(folder), "--require", write(tmp_path, sheet))
    assert heard.status == status, heard.out
    for name in ("fit", "kernels"):
        row = next(line for line in heard.out.splitlines() if name in line and ", cpu |" in line)
        assert "slower than cpu@2.20: at most 10 %" in row.replace("\\", "")
        assert ("| FAIL |" in re.sub(" +", " ", row)) == (name == part)
    assert "were not interleaved" not in heard.out


@pytest.mark.parametrize("name", ["nowhere.toml", "."])
def test_what_is_no_sheet_is_said_so(
    campaign: Path, tmp_path: Path, shell: Shell, name: str
) -> None:
    heard = shell.run("accept", str(campaign), "--require", str(tmp_path / name))
    assert heard.status == 2
    assert "what to do: name a sheet, such as docs/sheets/buyer.toml" in heard.err


def test_a_sheet_that_is_a_link_is_read(campaign: Path, tmp_path: Path, shell: Shell) -> None:
    write(tmp_path, MET, "there.toml")
    shutil.copy(tmp_path / "there.toml", tmp_path / "copy.toml")
    (tmp_path / "link.toml").symlink_to(tmp_path / "there.toml")
    assert shell.run("accept", str(campaign), "--require", str(tmp_path / "link.toml")).status == 0
