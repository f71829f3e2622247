"""Documents in, values out; whatever is wrong ends in one error that names file and field."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from suite.analysis.documents.read import load_campaign, load_document, load_plan, schema
from suite.codec import dump_document
from suite.errors import DocumentError
from tests import synthetic
from tests.rendering import report_folder

Change = Callable[[dict[str, Any]], None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small campaign of two arms and two blocks, on disk."""
    cells = [cell for cell in synthetic.make_cells() if cell.id.endswith(("xla=off", "fence"))]
    campaign = synthetic.make_campaign(blocks=2, cells=cells[-2:])
    documents = synthetic.make_documents(campaign, samples=2)
    return synthetic.write_campaign(tmp_path / "campaign", campaign, documents)


def rewrite(path: Path, change: Change) -> None:
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(DocumentError) as caught:
        action()
    assert caught.value.remedy
    assert caught.value.exit_status == 5
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_loads_what_the_wire_wrote_in_the_order_of_the_plan(folder: Path) -> None:
    """Controls are apart; what is derived or unfinished is no document."""
    document = load_document(folder / "cpu-02.json")
    for invocation in (
        replace(document.invocation, repeat=1),
        *(
            replace(document.invocation, arm=arm, block=block)
            for arm, block in (("cuda-twin", 2), ("cuda-twin", 1), ("cuda-hidden", 1))
        ),
    ):
        other = replace(document, invocation=invocation)
        (folder / other.name).write_text(dump_document(other))
    for name in (".cpu-03.json", "cpu-03.json.tmp", "summary.json"):
        (folder / name).write_text("{")
    loaded = load_campaign(folder)
    assert loaded.folder == "campaign"
    assert [document.name for document in loaded.every_document] == [
        *("cpu-00.json", "cpu-01.json", "cpu-02.json", "cpu-02-r1.json"),
        *("cuda-00.json", "cuda-01.json", "cuda-02.json"),
        *("cuda-hidden-01.json", "cuda-twin-01.json", "cuda-twin-02.json"),
    ]
    assert len(loaded.controls) == 3
    for document in loaded.every_document:
        assert dump_document(document) == (folder / document.name).read_text()
    assert dump_document(load_plan(folder)) == (folder / "campaign.json").read_text()


def set_at(*keys: Any, value: Any) -> Change:
    def change(document: Any) -> None:
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = value

    return change


def drop(*keys: Any) -> Change:
    def change(document: Any) -> None:
        for key in keys[:-1]:
            document = document[key]
        del document[keys[-1]]

    return change


def in_cell(key: str, *, value: Any) -> Change:
    """Another field of the first cell."""
    return set_at("cells", 0, key, value=value)


def become(outcome: str, **fields: Any) -> Change:
    return lambda document: document["cells"][0].update(outcome=outcome, **fields)


def in_arm(place: int, key: str, *, value: Any) -> Change:
    """Another field of an arm of the plan."""
    return set_at("every_arm", place, key, value=value)


def watched(**series: Any) -> Change:
    """Telemetry."""
    return set_at("telemetry", value={"started": "2026-11-21T09:30:00+00:00", **series})


def repeat(name: str) -> Change:
    """The first of a list once more at its end."""
    return lambda document: document[name].append(document[name][0])


EMPTIED = {"samples_s": [], "warmup_s": [], "first_call_s": None}
NAIVE, EARLY = "2026-01-01T00:00:00", "2026-01-01T00:00:00Z"

REFUSED: list[tuple[Change, str]] = [
    (set_at("schema", value=1), "$.schema: is 1; this version reads 2"),
    (set_at("schema", value=True), "$.schema: is True; this version reads 2"),
    (drop("schema"), "$.schema: is missing; this version reads 2"),
    (drop("facts"), "$: Object missing required field `facts`"),
    (set_at("surprise", value=1), "$.surprise: is not a field that this version knows"),
    (in_cell("sample_s", value=[]), "$.cells[0].sample_s: is not a field"),
    # A type, and a bound of a field, of an optional one, of a list's and an object's values.
    (in_cell("samples_s", value="1"), "$.cells[0].samples_s: Expected `array`"),
    (in_cell("calls_per_sample", value=True), "$.cells[0].calls_per_sample: Expected"),
    (set_at("invocation", "started", value=5), "$.invocation.started: Expected `datetime`"),
    (set_at("facts", "x", value=[1]), "$.facts[...]: Expected"),
    (set_at("invocation", "block", value=-1), "$.invocation.block: -1 is negative"),
    (set_at("invocation", "block", value=100), "$.invocation.block: 100 is more than 99"),
    (in_cell("enqueue_fraction", value=1.1), "$.cells[0].enqueue_fraction: 1.1 is more than 1"),
    (in_cell("peak_memory_bytes", value=2**61), "$.cells[0].peak_memory_bytes: 23"),
    (in_cell("warmup_s", value=[1, -1]), "$.cells[0].warmup_s[1]: -1.0 is negative"),
    (in_cell("samples_s", value=[1, 1, 0]), "$.cells[0].samples_s[2]: 0.0 is less than 1e-12"),
    (in_cell("samples_s", value=[1e10]), "$.cells[0].samples_s[0]: 10000000000.0 is more than"),
    (set_at("cells", 0, "check", "tolerance", value=-1), "$.cells[0].check.tolerance: -1.0 is"),
    (set_at("spent_s", "import", value=-1), "$.spent_s.import: -1.0 is negative"),
    (set_at("cells", 0, "work", "unit", value=" "), "$.cells[0].work.unit: is empty"),
    (set_at("facts", " ", value=1), "$.facts: holds a value without a name"),
    (set_at("facts", "x", value=10**30), "$.facts.x: "),
    (set_at("facts", "x", value="\ud800"), "$.facts.x: holds half a character"),
    # What must hold between fields.
    (in_cell("container", value="x"), "$.cells[0].container: 'x' is not a container"),
    (in_cell("case", value="other"), "$.cells[0].id: "),
    (in_cell("started", value=NAIVE), "$.cells[0].started: 2026-01-01T00:00:00 has no UTC"),
    (in_cell("ended", value=EARLY), "$.cells[0].ended: 2026-01-01T00:00:00+00:00 is before"),
    (set_at("invocation", "ended", value=EARLY), "$.invocation.ended: 2026-"),
    (set_at("invocation", "ended", value=None), "$.invocation.ended: is null although"),
    (repeat("cells"), "$.cells[2].id: 'matmul"),
    (become("measured", reason="x"), "$.cells[0].reason: is given although"),
    (become("measured", samples_s=[]), "$.cells[0].samples_s: is empty although"),
    (become("measured", work=None), "$.cells[0].work: is empty although"),
    (become("skipped", reason="x"), "$.cells[0].samples_s: is given although"),
    (become("failed", reason=" ", **EMPTIED), "$.cells[0].reason: is missing although"),
    (become("pending"), "$.cells[0].samples_s: is given although the cell is pending"),
    (watched(at_s=[0, 1], series={"a": [1]}), "$.telemetry.series.a: has 1 values for 2 instants"),
    (watched(at_s=[1, 0.5]), "$.telemetry.at_s[1]: 0.5 is before the previous instant"),
    # What must hold between a document and its plan.
    (set_at("invocation", "arm", value="tpu"), "$.invocation.arm: 'tpu' is not an arm of campaign"),
    (set_at("invocation", "arm", value="cuda"), "$.invocation: its arm, block and repeat belong"),
    (set_at("campaign", "seed", value=8), "$.campaign.seed: 8, but campaign.json says 7"),
    (
        become("measured", id="a.b", scenario="a", case="b", params={}),
        "$.cells[0].id: a.b is not in the plan",
    ),
    # What is larger than in any campaign.
    (in_cell("samples_s", value=[1.0] * 10_001), "$.cells[0].samples_s: holds 10001 values; 10000"),
    (set_at("invocation", "containers", value=[{}] * 2001), "$.invocation.containers: holds 2001"),
    (watched(series={"a": [1.0] * 200_001}), "$.telemetry.series.a: holds 200001 values"),
    (set_at("facts", value={str(i): 1 for i in range(5001)}), "$.facts: holds 5001 values"),
    (set_at("facts", "x", value="x" * 100_001), "$.facts.x: has 100001 characters; 100000 is the"),
    (set_at("facts", "x" * 1001, value=1), "$.facts: has a key that has 1001 characters"),
    (set_at("facts", "x", value=[0] * 1_000_001), "$: holds over 1000000 values"),
]


@pytest.mark.parametrize(("change", "expected"), REFUSED, ids=[text for _, text in REFUSED])
def test_refuses_with_file_and_field(folder: Path, change: Change, expected: str) -> None:
    rewrite(folder / "cpu-01.json", change)
    message = refusal(lambda: load_campaign(folder))
    assert message.startswith(f"cpu-01.json: {expected}")


def test_a_path_is_only_spelled_where_there_is_something_to_say(folder: Path) -> None:
    """Long keys over many values, and many levels over many values, once took minutes and all memory."""
    wide: Any = {"k" * 1000: [["x"] for _ in range(1900)]}
    for _ in range(300):
        wide = {"k" * 1000: wide}
    rewrite(folder / "cpu-01.json", set_at("facts", "x", value=wide))
    assert refusal(lambda: load_campaign(folder)).startswith("cpu-01.json: $.facts")


FAILED = {"outcome": "failed", "reason": ""}

REFUSED_PLANS: list[tuple[Change, str]] = [
    (set_at("schema", value=1), "$.schema: is 1; this version reads 2"),
    (set_at("created", value=NAIVE), "$.created: 2026-01-01T00:00:00 has no UTC"),
    (set_at("seed", value=2**31), "$.seed: 2147483648 is more than 2147483647"),
    (set_at("id", value="../elsewhere"), "$.id: '../elsewhere' is not a valid name of a folder"),
    (set_at("label", value="x" * 61), "$.label: has 61 characters; 60 is the most"),
    (set_at("cells", value=[{}] * 501), "$.cells: holds 501 values; 500 are the most"),
    (set_at("calls", "cpu", "overhead.fence", value=0), "$.calls.cpu.overhead.fence: 0 is less"),
    (set_at("excluded", value={"cpu": {"overhead.fence": FAILED}}), "$.excluded.cpu.overhead.f"),
    (set_at("arms", value=[]), "$.arms: names no arm"),
    (set_at("arms", value=["cpu", "cpu"]), "$.arms[1]: 'cpu' is there twice"),
    (set_at("arms", value=["cpu", "CUDA"]), "$.arms[1]: 'CUDA' is not an arm of $.every_arm (cpu,"),
    (drop("every_arm"), "$.arms[0]: 'cpu' is not an arm of $.every_arm ()"),
    (in_arm(1, "name", value="cpu"), "$.arms[1]: 'cuda' is not an arm of $.every_arm (cpu, cpu, "),
    (in_arm(2, "name", value="../x"), "$.every_arm[2].name: '../x' is not a valid name of an arm"),
    (in_arm(1, "gpu", value=False), "$.every_arm[1].gpu: 'cuda' has no GPU, so its name"),
    (in_arm(0, "of", value="cuda"), "$.every_arm[0].of: is 'cuda', but the arm is not"),
    (in_arm(1, "control", value="hidden"), "$.every_arm[1].name: 'cuda' is not None-hidden"),
    (in_arm(1, "control", value="twin"), "$.every_arm[1].control: 'twin' does not go"),
    (in_arm(2, "control", value=None), "$.every_arm[2].control: None does not go"),
    (in_arm(3, "gpu", value=False), "$.every_arm[3].of: 'cuda' is not an arm with the same"),
    (in_arm(1, "device", value="1"), "$.every_arm[1].device: '1' is not the GPU that 'cuda'"),
    (in_arm(3, "uuid", value="x"), "$.every_arm[3].of: 'cuda' is not an arm with the same"),
    (in_arm(4, "gpu", value=True), "$.every_arm[4].gpu: is true, but the arm hides"),
    (set_at("cells", 0, "sweep", value="depth"), "$.cells[0].sweep: 'depth' is not an axis"),
    (set_at("cells", 0, "cpus", value=0), "$.cells[0].cpus: 0 is not a number of CPUs"),
    (
        set_at("cells", 0, "choices", value={"depth": {"effect": "script"}}),
        "$.cells[0].choices.depth: is not an axis",
    ),
    (set_at("cells", 0, "id", value="x"), "$.cells[0].id: 'x', but"),
    (repeat("cells"), "$.cells[2].id: 'matmul"),
    (set_at("calls", "tpu", value={}), "$.calls.tpu: 'tpu' is not an arm of"),
    (set_at("calls", "cpu", "x", value=1), "$.calls.cpu.x: is not a cell of this plan"),
    (set_at("slow", value={"cpu": {"x": 1.5}}), "$.slow.cpu.x: is not a cell of this plan"),
    (set_at("slow", value={"cpu": {"overhead.fence": -1.0}}), "$.slow.cpu.overhead.fence: -1.0 is"),
]


@pytest.mark.parametrize(("change", "expected"), REFUSED_PLANS, ids=[t for _, t in REFUSED_PLANS])
def test_refuses_a_plan_with_its_field(folder: Path, change: Change, expected: str) -> None:
    rewrite(folder / "campaign.json", change)
    assert refusal(lambda: load_campaign(folder)).startswith(f"campaign.json: {expected}")


def test_a_plan_that_was_not_calibrated_yet_is_read(folder: Path) -> None:
    rewrite(folder / "campaign.json", set_at("prediction", "calibrated_s", value=None))
    assert load_plan(folder).prediction.calibrated_s is None


def test_a_file_must_bear_its_invocations_name(folder: Path) -> None:
    (folder / "cpu-01.json").rename(folder / "cpu-1.json")
    message = refusal(lambda: load_campaign(folder))
    assert message == "cpu-1.json: $.invocation: its arm, block and repeat belong into cpu-01.json"
    (folder / "cpu-1.json").rename(folder / "notes.json")
    assert refusal(lambda: load_campaign(folder)).startswith("notes.json: is not a document's name")


BROKEN: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "not JSON, or cut short"),
    "a mark in front": (b'\xef\xbb\xbf{"schema": 2}', "not JSON"),
    "deep": (b"[" * 200_000, "nested too deeply"),
    "huge number": (b'{"schema": 2' + b"0" * 6000 + b"}", "not a whole number"),
    "huge fact": (b'{"schema": 2, "facts": {"x": 1' + b"0" * 6000 + b"}}", "$.facts.x: is not a"),
    "NaN": (b'{"schema": 2, "facts": {"x": NaN}}', "$.facts.x: is not a finite number"),
    "twice": (b'{"schema": 2, "schema": 2}', "is not a whole number"),
    "trailing": (b'{"schema": 2} {}', "Extra data"),
    "controls": (b'{"schema": 2, "\\u001b[31m": 1}', "$"),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("file", ["campaign.json", "cuda-01.json"])
def test_broken_files(folder: Path, name: str, file: str) -> None:
    content, expected = BROKEN[name]
    (folder / file).write_bytes(content)
    message = refusal(lambda: load_campaign(folder))
    assert message.startswith(f"{file}: ")
    assert expected in message


def test_things_that_are_not_files(folder: Path, tmp_path: Path) -> None:
    assert "no such folder" in refusal(lambda: load_campaign(tmp_path / "nothing"))
    assert "no such folder" in refusal(lambda: load_campaign(folder / "campaign.json"))
    assert "No such file" in refusal(lambda: load_campaign(tmp_path))
    path = folder / "cpu-01.json"
    for make, kind in (
        (path.mkdir, "a folder"),
        (lambda: os.mkfifo(path), "a FIFO"),
        (lambda: path.symlink_to(folder / "cpu-02.json"), "a link"),
    ):
        path.rmdir() if path.is_dir() else path.unlink()
        make()
        assert (
            refusal(lambda: load_campaign(folder)) == f"{path.name}: is {kind}, not a regular file"
        )


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of everything in a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


def attempt(folder: Path) -> tuple[str | None, str]:
    """The refusal, or everything that was made of the campaign."""
    try:
        return None, "".join(report_folder(folder).files.values())
    except DocumentError as error:
        return str(error), ""


HOSTILE: list[Any] = [
    *(None, True, -1, 0, 2**70, -0.5, 1e308, float("nan"), float("inf")),
    *("", "x", "<b>|`\n\x1b[31m", [], {}, [None], {"": None}),
]


@pytest.mark.method
@pytest.mark.parametrize("file", ["campaign.json", "cuda-01.json"])
def test_every_field_changed_is_read_or_refused(tmp_path: Path, file: str) -> None:
    """Nothing but a DocumentError ever comes out, whatever a field holds or lacks; `tests/fuzz` tries some
    of it by chance."""
    campaign = synthetic.make_campaign(blocks=1, cells=synthetic.make_cells()[:1])
    documents = synthetic.make_documents(campaign, samples=1, calibration=False)
    folder = synthetic.write_campaign(tmp_path, campaign, documents)
    path = folder / file
    original = json.loads(path.read_text())
    refused = read = 0
    for place in places(original):
        for value in (*HOSTILE, drop):
            changed = deepcopy(original)
            (drop(*place) if value is drop else set_at(*place, value=value))(changed)
            path.write_text(json.dumps(changed))
            message, text = attempt(folder)
            if message is None:
                read += 1
                assert value is drop or value == value  # noqa: PLR0124  NaN is never read
                assert "\x1b" not in text
            else:
                refused += 1
                # What a plan lacks can be found out by a document.
                assert message.startswith(("campaign.json: ", file, "cuda-01.json", "cpu-01.json"))
                assert file == "campaign.json" or message.startswith(file)
    assert refused > read > 0


def test_the_schema_describes_what_is_written(folder: Path) -> None:
    generated = schema()
    jsonschema.Draft202012Validator.check_schema(generated)
    validator = jsonschema.Draft202012Validator(generated)
    for path in folder.glob("*.json"):
        value = json.loads(path.read_text())
        assert list(validator.iter_errors(value)) == []
        value["surprise"] = 1
        assert list(validator.iter_errors(value))
    json.dumps(generated, allow_nan=False)
