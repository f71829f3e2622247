"""GPU=all from its options to the report: an arm on each GPU, and each container has its own GPU only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from suite import codec
from suite.analysis.documents.read import load_campaign, load_plan
from suite.host.campaign.store import Store
from suite.host.engine import LABEL, Card, GpuRequest, Job
from suite.model import Campaign
from tests.cli.shell import Shell, complaint, well
from tests.fakes.engine import FakeEngine, Life, Worker, record

UUIDS = ("GPU-11111111-0000-0000-0000-000000000000", "GPU-22222222-0000-0000-0000-000000000000")
TWO = tuple(Card(index=n, name="Made-Up GPU", uuid=uuid) for n, uuid in enumerate(UUIDS))
WORDS = (
    *("--gpu", "all", "--profile", "smoke", "--blocks", "2", "--seed", "3"),
    *("--only", "overhead.fence overhead.eager_op"),
)
PINNED = "vendor/tf:1@sha256:" + "d" * 64
WORKER = Worker()


def live(job: Job) -> Life:
    """A worker that says which GPU it was given."""
    if job.gpu is None:
        return WORKER(job)
    uuid = codec.hash_uuid(UUIDS[int(job.gpu.devices[0])])
    return replace(WORKER, gpu_facts={**WORKER.gpu_facts, "gpu.0.uuid": uuid})(job)


class Gpus(FakeEngine):
    """An engine whose machine has two GPUs unless told otherwise."""

    def __init__(self, **fields: Any) -> None:
        given = {"gpu": GpuRequest(driver="cdi", devices=("0",)), "cards": TWO, **fields}
        super().__init__(**{"otherwise": live, **given})

    def find_gpu(self, wanted: str | None) -> GpuRequest:
        return replace(super().find_gpu(wanted), devices=(wanted or "0",))


def bench(shell: Shell, *words: str, **fields: Any) -> tuple[Campaign, Gpus]:
    engine = Gpus(**fields)
    well(shell.bench(*WORDS, *words, engine=engine))
    return load_plan(shell.folder()), engine


def test_each_gpu_is_an_arm_and_its_containers_have_that_gpu_alone(shell: Shell) -> None:
    plan, engine = bench(shell, "--cuda-image", "vendor/tf:1", custom=PINNED)
    assert plan.arms == ["cpu", "cuda:0", "cuda:1"]
    assert [(arm.device, arm.uuid) for arm in plan.every_arm] == [
        (None, None),
        *((str(n), codec.hash_uuid(uuid)) for n, uuid in enumerate(UUIDS)),
    ]
    assert plan.settings == {"gpu": "all", "cuda_image": PINNED}
    assert "GPU=all" in plan.command
    given = {(one.labels[f"{LABEL}.invocation"][:-2], one.gpu) for one in engine.jobs}
    requests = [
        GpuRequest(driver="cdi", devices=(str(n),), uuid=uuid) for n, uuid in enumerate(UUIDS)
    ]
    assert given == {("cpu", None), ("cuda:0", requests[0]), ("cuda:1", requests[1])}
    # Every block has every arm once, and its files names that every file system takes.
    folder = shell.folder()
    assert {path.name for path in folder.glob("cuda-1-*")} == {
        f"cuda-1-0{block}.json" for block in (1, 2)
    }
    assert (folder / "logs" / "cuda-0-02.log").exists()
    assert "GPUs: cuda:0 is GPU 0" in (folder / "report.md").read_text()
    well(shell.run("check", str(folder)))
    for uuid in UUIDS:
        assert uuid[4:17] not in "".join(path.read_text() for path in folder.glob("*.json"))


def test_it_goes_on_on_the_same_gpus_and_on_no_other(shell: Shell) -> None:
    bench(shell)
    three = (*TWO, Card(index=2))
    well(shell.resume("--blocks", "3", engine=Gpus(cards=three)))
    documents = load_campaign(shell.folder()).documents
    assert {one.invocation.arm for one in documents} == {"cpu", "cuda:0", "cuda:1"}
    assert max(one.invocation.block for one in documents) == 3
    heard = shell.run("bench", "--recheck", str(shell.folder()))
    assert "measured cpu, cuda:0, cuda:1; RECHECK measures on one GPU" in complaint(heard, 2)
    assert "ARMS='cpu'" in heard.err
    for cards in (TWO[:1], (TWO[0], replace(TWO[1], uuid=UUIDS[0]))):
        engine = Gpus(cards=cards)
        heard = shell.resume("--blocks", "4", engine=engine)
        assert "the GPU of the arm cuda:1 is not GPU 1 of this machine" in complaint(heard, 4)
        assert engine.jobs == []
    # Where a driver tells no UUID, the number has to do.
    well(shell.resume("--blocks", "4", engine=Gpus(cards=(Card(index=0), Card(index=1)))))


def test_a_gpu_that_is_refused_leaves_the_others_to_go_on(shell: Shell) -> None:
    def lose(job: Job) -> Life:
        if job.gpu is not None and job.gpu.devices == ("1",):
            return Life(words=[record("refused", reason="the GPU is gone")], code=4)
        return live(job)

    assert "the GPU is gone" in complaint(shell.bench(*WORDS, engine=Gpus(otherwise=lose)), 4)
    plan = load_plan(shell.folder())
    assert list(plan.not_run) == ["cuda:1"]
    documents = load_campaign(shell.folder()).documents
    assert {one.invocation.arm for one in documents if one.invocation.block == 2} == {
        "cpu",
        "cuda:0",
    }
    well(shell.resume(engine=Gpus()))
    assert load_plan(shell.folder()).not_run == {}


def test_a_worker_on_another_gpu_than_its_arms_is_refused(shell: Shell) -> None:
    def stray(job: Job) -> Life:
        zero = None if job.gpu is None else replace(job.gpu, devices=("0",))
        return live(replace(job, gpu=zero))

    said = complaint(shell.bench(*WORDS, engine=Gpus(otherwise=stray)), 4)
    assert "computes on another GPU" in said
    assert list(load_plan(shell.folder()).not_run) == ["cuda:1"]


def test_one_gpu_makes_an_ordinary_campaign(shell: Shell) -> None:
    heard = well(shell.bench(*WORDS, engine=Gpus(cards=TWO[:1])))
    assert "GPU=all is an ordinary campaign" in heard.err
    plan = shell.plan()
    assert (plan.arms, plan.settings["gpu"]) == (["cpu", "cuda"], "0")
    assert "GPU=0" in plan.command
    # It goes on with the words that began it.
    well(shell.resume("--gpu", "all", "--blocks", "3", engine=Gpus(cards=TWO[:1])))
    # A plan that was changed to all does not.
    Store(shell.folder()).write_plan(replace(shell.plan(), settings={"gpu": "all"}))
    engine = Gpus()
    assert "gpu: 'all' leaves out the arm 'cuda'" in complaint(
        shell.resume("--blocks", "4", engine=engine), 5
    )
    assert engine.jobs == []


@pytest.mark.parametrize(
    ("words", "engine", "status", "named"),
    [
        (("bench", *WORDS, "--arms", "cpu"), {}, 2, "no requested arm has a GPU"),
        (("bench", *WORDS), {"gpu": None, "cards": ()}, 4, "no GPU"),
        (("bench", *WORDS), {"cards": ()}, 4, "nothing here lists"),
        (("bench", *WORDS, "--arms", "cuda cuda"), {}, 2, "is compared with itself"),
    ],
)
def test_what_can_not_be_is_refused_before_any_job(
    words: tuple[str, ...], engine: dict[str, Any], status: int, named: str, shell: Shell
) -> None:
    shell.engine = asked = Gpus(**engine)
    assert named in complaint(shell.run(*words, "--results", str(shell.results)), status)
    assert asked.jobs == []
    assert not list(shell.results.glob("*/logs"))
