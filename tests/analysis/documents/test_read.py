"""Documents in, words out; whatever is wrong ends in one error that names file and field."""

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
from suite.errors import DocumentError
from suite.wire import dump_document
from tests import synthetic
from tests.rendering import report_folder

Change = Callable[[dict[str, Any]], None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small campaign of two arms and two blocks, on disk."""
    cells = [one for one in synthetic.make_cells() if one.id.endswith(("xla=off", "fence"))][-2:]
    campaign = synthetic.make_campaign(blocks=2, cells=cells)
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


def test_controls_are_loaded_apart(folder: Path) -> None:
    """The plan does not list their arms; any other arm that it does not list is refused."""
    for arm, block in (("cuda-twin", 2), ("cuda-twin", 1), ("cpu-twin", 1), ("cuda-hidden", 1)):
        value = json.loads((folder / "cpu-01.json").read_text())
        value["invocation"] |= {"arm": arm, "block": block}
        (folder / f"{arm}-0{block}.json").write_text(json.dumps(value))
    loaded = load_campaign(folder)
    assert len(loaded.documents) == 6
    assert [(d.invocation.arm, d.invocation.block) for d in loaded.controls] == [
        *[("cpu-twin", 1), ("cuda-hidden", 1), ("cuda-twin", 1), ("cuda-twin", 2)]
    ]
    value["invocation"]["arm"] = "tpu-twin"
    (folder / "tpu-twin-01.json").write_text(json.dumps(value))
    assert "'tpu-twin' is no arm" in refusal(lambda: load_campaign(folder))


def test_loads_what_the_wire_wrote(folder: Path) -> None:
    loaded = load_campaign(folder)
    assert loaded.folder == "campaign"
    assert [(d.invocation.arm, d.invocation.block) for d in loaded.documents] == [
        *[("cpu", 0), ("cpu", 1), ("cpu", 2)],
        *[("cuda", 0), ("cuda", 1), ("cuda", 2)],
    ]
    for document in loaded.documents:
        name = f"{document.invocation.arm}-{document.invocation.block:02d}.json"
        assert dump_document(document) == (folder / name).read_text()
    assert dump_document(load_plan(folder)) == (folder / "campaign.json").read_text()


def test_a_repeat_is_a_document_of_its_own(folder: Path) -> None:
    document = load_document(folder / "cpu-02.json")
    repeat = replace(document, invocation=replace(document.invocation, repeat=1))
    (folder / "cpu-02-r1.json").write_text(dump_document(repeat))
    assert [d.invocation.repeat for d in load_campaign(folder).documents] == [0, 0, 0, 1, 0, 0, 0]


def test_derived_and_unfinished_files_are_no_documents(folder: Path) -> None:
    (folder / "summary.json").write_text("{}")
    (folder / ".cpu-03.json").write_text("{")
    (folder / "cpu-03.json.tmp").write_text("{")
    assert len(load_campaign(folder).documents) == 6


def reach(document: Any, keys: tuple[Any, ...]) -> Any:
    """What holds the last of these keys."""
    for key in keys[:-1]:
        document = document[key]
    return document


def set_at(*keys: Any, value: Any) -> Change:
    return lambda document: reach(document, keys).__setitem__(keys[-1], value)


def drop(*keys: Any) -> Change:
    return lambda document: reach(document, keys).__delitem__(keys[-1])


def become(outcome: str, **fields: Any) -> Change:
    return lambda document: document["cells"][0].update(outcome=outcome, **fields)


def in_first(key: str, value: Any) -> Change:
    """Another field of the first cell."""
    return set_at("cells", 0, key, value=value)


def in_arm(place: int, key: str, value: Any) -> Change:
    """Another field of an arm of the plan."""
    return set_at("every_arm", place, key, value=value)


def watched(**series: Any) -> Change:
    """Telemetry."""
    return set_at("telemetry", value={"started": "2026-11-21T09:30:00+00:00", **series})


EMPTIED = {"samples_s": [], "warmup_s": [], "first_call_s": None}

REFUSED: list[tuple[Change, str]] = [
    (set_at("schema", value=7), "$.schema: the file has schema 7, this version reads 1 and 2"),
    (set_at("schema", value="1"), "$.schema: is a text, not a whole number"),
    (set_at("schema", value=True), "$.schema: is true or false, not a whole number"),
    (drop("schema"), "$.schema: is missing; this version reads schema 1 and 2"),
    (drop("facts"), "$: Object missing required field `facts`"),
    (set_at("surprise", value=1), "$.surprise: is no field that this version knows"),
    (set_at("cells", 0, "sample_s", value=[]), "$.cells[0].sample_s: is no field"),
    (set_at("cells", 1, "samples_s", 1, value=-0.1), "$.cells[1].samples_s[1]: -0.1 is negative"),
    (set_at("cells", 1, "samples_s", 1, value=0), "$.cells[1].samples_s[1]: 0.0 s is no time"),
    (set_at("cells", 1, "samples_s", 0, value=1e10), "$.cells[1].samples_s[0]: 10000000000.0 s is"),
    (set_at("cells", 0, "warmup_s", 0, value=-1), "$.cells[0].warmup_s[0]: -1.0 is negative"),
    (set_at("cells", 0, "first_call_s", value=-1), "$.cells[0].first_call_s: -1.0 is negative"),
    (set_at("cells", 0, "samples_s", value="1"), "$.cells[0].samples_s: Expected `array`"),
    (set_at("cells", 0, "calls_per_sample", value=0), "$.cells[0].calls_per_sample: "),
    (set_at("cells", 0, "calls_per_sample", value=True), "$.cells[0].calls_per_sample: "),
    (set_at("cells", 0, "enqueue_fraction", value=1.1), "$.cells[0].enqueue_fraction: 1.1 is not"),
    (set_at("cells", 0, "placement", "CPU:0", value=-1), "$.cells[0].placement.CPU:0: -1 is"),
    (set_at("cells", 0, "peak_memory_bytes", value=-1), "$.cells[0].peak_memory_bytes: -1 is"),
    (set_at("cells", 0, "check", "tolerance", value=-1), "$.cells[0].check.tolerance: -1.0 is"),
    (set_at("cells", 0, "work", "amount", value=-1), "$.cells[0].work.amount: -1.0 is negative"),
    (set_at("cells", 0, "work", "unit", value=" "), "$.cells[0].work.unit: is empty"),
    (set_at("cells", 0, "spent_s", "check", value=-1), "$.cells[0].spent_s.check: -1.0 is"),
    (set_at("cells", 0, "container", value="x"), "$.cells[0].container: 'x' is no container"),
    (set_at("cells", 0, "id", value="a.b"), "$.cells[0].id: 'a.b', but scenario, case and"),
    (set_at("cells", 0, "case", value="other"), "$.cells[0].id: "),
    (set_at("cells", 0, "started", value="2026-01-01T00:00:00"), "$.cells[0].started: 2026-01"),
    (set_at("cells", 0, "ended", value="2026-01-01T00:00:00Z"), "$.cells[0].ended: 2026-01-01T"),
    (set_at("cells", 0, "outcome", value="lost"), "$.cells[0].outcome: Invalid enum value 'lost'"),
    (become("measured", reason="x"), "$.cells[0].reason: is given although"),
    (become("measured", samples_s=[]), "$.cells[0].samples_s: is empty although"),
    (become("measured", work=None), "$.cells[0].work: is empty although"),
    (become("measured", calls_per_sample=None), "$.cells[0].calls_per_sample: is empty"),
    (become("skipped", reason="x"), "$.cells[0].samples_s: is given although"),
    (become("skipped", **EMPTIED), "$.cells[0].reason: is missing although"),
    (become("failed", reason=" ", **EMPTIED), "$.cells[0].reason: is missing although"),
    (become("pending"), "$.cells[0].samples_s: is given although the cell is pending"),
    (set_at("invocation", "block", value=-1), "$.invocation.block: -1 is negative"),
    (set_at("invocation", "repeat", value=-1), "$.invocation.repeat: -1 is negative"),
    (set_at("invocation", "ended", value="2026-01-01T00:00:00Z"), "$.invocation.ended: 2026-"),
    (set_at("invocation", "ended", value=None), "$.invocation.ended: is null although"),
    (set_at("invocation", "started", value=5), "$.invocation.started: Expected `datetime`"),
    (set_at("invocation", "isolation", value="some"), "$.invocation.isolation: "),
    (set_at("invocation", "image", "size_bytes", value=-5), "$.invocation.image.size_bytes: -5"),
    (set_at("invocation", "containers", 0, "start_s", value=-1), "$.invocation.containers[0].s"),
    (set_at("invocation", "arm", value="tpu"), "$.invocation.arm: 'tpu' is no arm of campaign"),
    (set_at("campaign", "id", value="other"), "$.campaign.id: 'other', but campaign.json says"),
    (set_at("campaign", "seed", value=8), "$.campaign.seed: 8, but campaign.json says 7"),
    (set_at("spent_s", "import", value=-1), "$.spent_s.import: -1.0 is negative"),
    (set_at("facts", " ", value=1), "$.facts: holds a value without a name"),
    (set_at("facts", "x", value=[1]), "$.facts[...]: Expected"),
    (set_at("facts", "x", value=10**30), "$.facts.x: "),
    (set_at("facts", "x", value="\ud800"), "$.facts.x: holds half a character"),
    (set_at("suite", "content", value=""), "$.suite.content: is empty"),
    (set_at("telemetry", value=3), "$.telemetry: Expected `object | null`, got `int`"),
    (watched(at_s=[0, 1], series={"a": [1]}), "$.telemetry.series.a: has 1 values for 2 instants"),
    (watched(at_s=[1, 0.5]), "$.telemetry.at_s[1]: 0.5 is before the previous instant"),
]


@pytest.mark.parametrize(("change", "expected"), REFUSED, ids=[text for _, text in REFUSED])
def test_refuses_with_file_and_field(folder: Path, change: Change, expected: str) -> None:
    rewrite(folder / "cpu-01.json", change)
    message = refusal(lambda: load_campaign(folder))
    assert message.startswith(f"cpu-01.json: {expected}")


LARGE: list[tuple[Change, str]] = [
    (in_first("samples_s", [1.0] * 10_001), "samples_s: holds 10001 values; 10000 are"),
    (
        set_at("invocation", "containers", value=[{}] * 2001),
        "containers: holds 2001 values; 2000 are",
    ),
    (watched(series={"a": [1.0] * 200_001}), "series.a: holds 200001 values"),
    (set_at("facts", value=dict.fromkeys(map(str, range(5001)), 1)), "$.facts: holds 5001 values"),
    (
        set_at("facts", "x", value="x" * 100_001),
        "$.facts.x: has 100001 characters; 100000 is the most",
    ),
    (set_at("facts", "x" * 1001, value=1), "$.facts: has a key that has 1001 characters"),
    (set_at("cells", 0, "calls_per_sample", value=10**9), "1000000000 is more than 1000000"),
    (set_at("invocation", "block", value=100), "$.invocation.block: 100 is more than 99"),
    (set_at("invocation", "image", "size_bytes", value=2**61), "is more than"),
    (set_at("facts", "x", value=[0] * 1_000_001), "$: holds over 1000000 values"),
]


@pytest.mark.parametrize(("change", "expected"), LARGE, ids=[text for _, text in LARGE])
def test_what_is_larger_than_any_campaign_is_refused(
    folder: Path, change: Change, expected: str
) -> None:
    rewrite(folder / "cpu-01.json", change)
    message = refusal(lambda: load_campaign(folder))
    assert message.startswith("cpu-01.json: $")
    assert expected in message


def test_a_path_is_only_spelled_where_there_is_something_to_say(folder: Path) -> None:
    """Long keys over many values, and many levels over many values, once took minutes and all memory."""
    wide: Any = {"k" * 1000: [["x"] for _ in range(1900)]}
    for _ in range(300):
        wide = {"k" * 1000: wide}
    rewrite(folder / "cpu-01.json", set_at("facts", "x", value=wide))
    assert refusal(lambda: load_campaign(folder)).startswith("cpu-01.json: $.facts")


REFUSED_PLANS: list[tuple[Change, str]] = [
    (set_at("schema", value=3), "$.schema: the file has schema 3, this version reads 1 and 2"),
    (set_at("created", value="2026-01-01T00:00:00"), "$.created: 2026-01-01T00:00:00 has no UTC"),
    (set_at("arms", value=[]), "$.arms: names no arm"),
    (set_at("arms", value=["cpu", "cpu"]), "$.arms[1]: 'cpu' is empty or stands there twice"),
    *(
        (
            lambda plan, arm=arm, known=known: plan.update(arms=["cpu", arm], every_arm=known),
            f"$.arms[1]: {arm!r} is none of cpu",
        )
        for arm in ("CUDA", "cuda ", "gpu", "cuda-again-again", "cpu-hidden")
        for known in ([], [{"name": "cpu", "image": "cpu", "gpu": False}])
    ),
    (
        lambda plan: plan.update(arms=["cpu", "cuda-twin"], every_arm=[]),
        "$.arms[1]: 'cuda-twin' is",
    ),
    (in_arm(1, "name", "cpu"), "$.arms[1]: 'cuda' is none of cpu, cpu, cpu-twin"),
    (in_arm(2, "name", "../x"), "$.every_arm[2].name: '../x' is no name, or"),
    (in_arm(2, "name", "cuda"), "$.every_arm[2].name: 'cuda' is no name, or stands"),
    (in_arm(1, "gpu", value=False), "$.every_arm[1].gpu: 'cuda' has no GPU, and does"),
    (in_arm(0, "of", "cuda"), "$.every_arm[0].of: 'cuda', and the arm is no"),
    (in_arm(1, "control", "hidden"), "$.every_arm[1].name: 'cuda' does not say"),
    (in_arm(1, "control", "twin"), "$.every_arm[1].control: 'twin' does not go"),
    (in_arm(2, "control", None), "$.every_arm[2].control: None does not go"),
    (in_arm(2, "name", "x"), "$.every_arm[2].name: 'x' does not say that it is"),
    (in_arm(3, "gpu", value=False), "$.every_arm[3].of: 'cuda' is not an arm with the same"),
    (in_arm(1, "device", "1"), "$.every_arm[1].device: '1' is not the GPU that 'cuda'"),
    (in_arm(3, "uuid", "x"), "$.every_arm[3].of: 'cuda' is not an arm with the same"),
    (in_arm(4, "gpu", value=True), "$.every_arm[4].gpu: the GPU is hidden, and it has"),
    (set_at("blocks", value=0), "$.blocks: 0 is less than 1"),
    (set_at("blocks", value=10**9), "$.blocks: 1000000000 is more than 99"),
    (set_at("most_blocks", value=100), "$.most_blocks: 100 is more than 99"),
    (set_at("seed", value=2**31), "$.seed: 2147483648 is more than 2147483647"),
    (set_at("id", value="../elsewhere"), "$.id: '../elsewhere' is no name of a folder"),
    (set_at("id", value="two\nlines"), "$.id: 'two\\nlines' is no name of a folder"),
    (set_at("label", value="x" * 61), "$.label: has 61 characters; 60 is the most"),
    (set_at("price", value=1e9), "$.price: 1000000000.0 is more than 1000000"),
    (set_at("cells", value=[{}] * 501), "$.cells: holds 501 values; 500 are the most"),
    (set_at("budget_s", value=-1), "$.budget_s: -1.0 is negative"),
    (set_at("prediction", "before_s", value=-1), "$.prediction.before_s: -1.0 is negative"),
    (set_at("prediction", "corrected_s", 0, value=-1), "$.prediction.corrected_s[0]: -1.0 is"),
    (set_at("price", value=-1), "$.price: -1.0 is negative"),
    (set_at("cells", 0, "sweep", value="depth"), "$.cells[0].sweep: 'depth' is no axis"),
    (set_at("cells", 0, "id", value="x"), "$.cells[0].id: 'x', but"),
    (set_at("calls", "tpu", value={}), "$.calls.tpu: 'tpu' is no arm of this plan"),
    (set_at("calls", "cpu", "x", value=1), "$.calls.cpu.x: is no cell of this plan"),
    (set_at("calls", "cpu", "overhead.fence", value=0), "$.calls.cpu.overhead.fence: 0 is less"),
    (
        set_at("excluded", value={"cpu": {"overhead.fence": {"outcome": "failed", "reason": ""}}}),
        "$.excluded.cpu.overhead.fence.reason: is empty",
    ),
    (lambda plan: plan["cells"].append(plan["cells"][0]), "$.cells[2].id: "),
]


@pytest.mark.parametrize(("change", "expected"), REFUSED_PLANS, ids=[t for _, t in REFUSED_PLANS])
def test_refuses_a_plan_with_its_field(folder: Path, change: Change, expected: str) -> None:
    rewrite(folder / "campaign.json", change)
    assert refusal(lambda: load_campaign(folder)).startswith(f"campaign.json: {expected}")


@pytest.mark.parametrize("family", ["overhead", "matmul", "mlp", "tfdata", "asked"])
def test_a_plan_of_schema_1_may_name_a_case_that_nobody_knows(family: str, folder: Path) -> None:
    def rename(plan: dict[str, Any]) -> None:
        plan |= {"schema": 1, "calls": {}, "controls": []}
        cell = plan["cells"][0] | {"scenario": family, "case": "{0.a}", "params": {}, "sweep": None}
        plan["cells"] = [cell | {"id": f"{family}.{{0.a}}"}]

    rewrite(folder / "campaign.json", rename)
    (cell,) = load_plan(folder).cells
    assert cell.name == f"{family}.{{0.a}}"


def test_a_plan_that_was_not_calibrated_yet_is_read(folder: Path) -> None:
    rewrite(folder / "campaign.json", set_at("prediction", "calibrated_s", value=None))
    assert load_plan(folder).prediction.calibrated_s is None


def test_a_cell_must_be_planned_and_stand_once(folder: Path) -> None:
    rewrite(folder / "campaign.json", lambda plan: (plan["cells"].pop(), plan["calls"].clear()))
    message = refusal(lambda: load_campaign(folder))
    assert (
        message == "cpu-00.json: $.cells[1].id: overhead.fence is not in the plan of campaign.json"
    )
    rewrite(folder / "cpu-00.json", lambda one: one["cells"].append(one["cells"][0]))
    assert "stands in this document twice" in refusal(lambda: load_campaign(folder))


def test_the_same_invocation_twice(folder: Path) -> None:
    (folder / "cpu-02.json").write_text((folder / "cpu-01.json").read_text())
    message = refusal(lambda: load_campaign(folder))
    assert message == (
        "cpu-02.json: $.invocation: arm 'cpu', block 1, repeat 0 is also what cpu-01.json holds"
    )


def test_a_file_must_bear_its_invocations_name(folder: Path) -> None:
    (folder / "cpu-01.json").rename(folder / "cpu-1.json")
    message = refusal(lambda: load_campaign(folder))
    assert message == "cpu-1.json: $.invocation: its arm, block and repeat belong into cpu-01.json"
    (folder / "cpu-1.json").rename(folder / "notes.json")
    assert refusal(lambda: load_campaign(folder)).startswith("notes.json: no name of a document")


BROKEN: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "not JSON, or cut short"),
    "a list": (b"[]", "$: is a list, not an object"),
    "null": (b"null", "$: is null, not an object"),
    "not UTF-8": (b'{"schema": "\xff"}', "byte 12 is not UTF-8"),
    "UTF-16": ('{"schema": 1}'.encode("utf-16"), "is not UTF-8"),
    "a mark in front": (b'\xef\xbb\xbf{"schema": 1}', "not JSON"),
    "deep": (b"[" * 200_000, "nested too deeply"),
    "deep objects": (b'{"a":' * 200_000, "nested too deeply"),
    "huge number": (b'{"schema": 1' + b"0" * 6000 + b"}", "not a whole number"),
    "huge fact": (b'{"schema": 1, "facts": {"x": 1' + b"0" * 6000 + b"}}", "$.facts.x: is not a"),
    "NaN": (b'{"schema": 1, "facts": {"x": NaN}}', "$.facts.x: is not a finite number"),
    "infinite": (b'{"schema": 1, "facts": {"x": -1e999}}', "$.facts.x: is not a finite number"),
    "twice": (b'{"schema": 1, "schema": 1}', "is a number, not a whole number"),
    "twice inside": (b'{"schema": 1, "facts": {"x": 1, "x": 2}}', "$.facts.x: stands twice"),
    "trailing": (b'{"schema": 1} {}', "Extra data"),
    "controls": (b'{"schema": 1, "\\u001b[31m": 1}', "$"),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("file", ["campaign.json", "cuda-01.json"])
def test_broken_files(folder: Path, name: str, file: str) -> None:
    content, expected = BROKEN[name]
    (folder / file).write_bytes(content)
    message = refusal(lambda: load_campaign(folder))
    assert message.startswith(f"{file}: ")
    assert expected in message


def test_things_that_are_no_files(folder: Path, tmp_path: Path) -> None:
    assert "no such folder" in refusal(lambda: load_campaign(tmp_path / "nothing"))
    assert "no such folder" in refusal(lambda: load_campaign(folder / "campaign.json"))
    assert "No such file" in refusal(lambda: load_campaign(tmp_path))
    (folder / "cpu-01.json").unlink()
    (folder / "cpu-01.json").mkdir()
    what = "cpu-01.json: is a folder, not a regular file"
    assert refusal(lambda: load_campaign(folder)) == what
    (folder / "cpu-01.json").rmdir()
    os.mkfifo(folder / "cpu-01.json")
    assert refusal(lambda: load_campaign(folder)) == "cpu-01.json: is a FIFO, not a regular file"
    (folder / "cpu-01.json").unlink()
    (folder / "cpu-01.json").symlink_to(folder / "cpu-02.json")
    assert refusal(lambda: load_campaign(folder)) == "cpu-01.json: is a link, not a regular file"


def test_cut_short_at_every_place(folder: Path) -> None:
    path = folder / "cpu-01.json"
    whole = path.read_bytes()
    for end in range(0, len(whole) - 2, 37):
        path.write_bytes(whole[:end])
        assert refusal(lambda: load_document(path)).startswith(
            "cpu-01.json: not JSON, or cut short"
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


@pytest.mark.parametrize(
    "step", [5, pytest.param(1, marks=pytest.mark.method)], ids=["some values", "every value"]
)
@pytest.mark.parametrize("file", ["campaign.json", "cuda-01.json"])
def test_every_field_changed_is_read_or_refused(tmp_path: Path, file: str, step: int) -> None:
    """Nothing but a DocumentError ever comes out, whatever a field holds or lacks.

    Each field in turn begins with another of the values, of which it gets each ``step``-th.
    """
    campaign = synthetic.make_campaign(blocks=1, cells=synthetic.make_cells()[:1])
    documents = synthetic.make_documents(campaign, samples=1, calibration=False)
    folder = synthetic.write_campaign(tmp_path, campaign, documents)
    path = folder / file
    original = json.loads(path.read_text())
    refused = read = 0
    values = [*HOSTILE, drop]
    for turn, place in enumerate(places(original)):
        for value in values[turn % step :: step]:
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
