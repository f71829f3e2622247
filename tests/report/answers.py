"""Made-up answers to why a script is slow: one for each way in which a question can end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import structs

from suite.analysis.result.arms import Machine
from suite.analysis.result.limits import Price
from suite.analysis.result.numbers import Estimate
from suite.analysis.result.why import (
    Answer,
    ArmSpeed,
    Change,
    Named,
    Together,
    Tried,
)
from suite.flags import raise_flag
from tests import synthetic

MAKE_UP = (raise_flag("simulated"),)


def estimate(value: float, low: float | None = None, high: float | None = None, n: int = 3) -> Any:
    return Estimate(value=value, low=low, high=high, n=n)


def speed(standing: Any, *, gpu: bool = False, **fields: Any) -> ArmSpeed:
    ordinary = {
        "tensorflow": "2.21.0",
        "step": estimate(14.1e-3 if gpu else 11.8e-3, 11.4e-3, 14.6e-3 if gpu else 12.2e-3),
        "first_step_s": 1.9,
        "setup_s": 2.1,
        "window": (60, 256),
        "clock": "fit",
        "line": 44,
        "batch": 32,
        "runs": 12,
        "spent_s": 61.0,
        "compared_after": 20,
    }
    return ArmSpeed(standing=standing, gpu=gpu, **{**ordinary, **fields})


def attempt(name: str, standing: Any, gain: Estimate | None = None, **fields: Any) -> Tried:
    intervention, _, target = name.partition(":")
    texts = {
        "arm": "ARMS=cuda",
        "cache": "ds = ds.map(decode).cache()",
        "prefetch": "ds = ds.prefetch(tf.data.AUTOTUNE)",
        "jit_compile": "model.compile(…, jit_compile=True)",
        "from_memory": "batches out of memory",
        "steps_per_execution": "model.compile(…, steps_per_execution=32)",
        "larger_batch": "batches of 256",
    }
    ordinary: dict[str, Any] = {
        "arm": "cpu",
        "cause": "input" if intervention in {"cache", "prefetch", "from_memory"} else "overhead",
        "kind": "ceiling" if intervention == "from_memory" else "fix",
        "text": texts[intervention],
        "line": int(target) if target.isdigit() else None,
        "training": "unchanged" if gain else None,
        "cpu_gain": gain and round(gain.value * 0.97, 3),
        "applied": 196 if gain else 0,
    }
    return Tried(name=name, standing=standing, gain=gain, **{**ordinary, **fields})


CACHE = attempt(
    "cache:30", "helps", estimate(12.0, 10.9, 13.2, 4), needs="3 MB of memory, and a first epoch"
)
STEPS = attempt("steps_per_execution", "helps", estimate(1.8, 1.5, 2.1), on=("cache:30",), line=40)
MEMORY = attempt("from_memory", "helps", estimate(17.8, 15.1, 20.9))
PREFETCH = attempt("prefetch:33", "no gain", estimate(1.02, 0.97, 1.07))
XLA = attempt("jit_compile", "no gain", estimate(0.78, 0.75, 0.82), line=40, training="rounding")


def make_answer(**fields: Any) -> Answer:
    """An answer for one arm of which nothing is known; with these fields."""
    ordinary: dict[str, Any] = {
        "schema": 1,
        "suite": synthetic.SUITE,
        "analysed_by": "0.1.0",
        "campaign": "made-up",
        "folder": "20261121T093000Z-made-up-why",
        "created": synthetic.CREATED,
        "command": "make why SCRIPT=train.py SEED=7",
        "budget_s": 600.0,
        "script": "train.py",
        "hash": "7" * 64,
        "machine": Machine(cpu="Made-Up Processor", cpus_used="2"),
        "flags": MAKE_UP,
        "causes": (),
        "tried": (),
        "together": {},
    }
    return Answer(**{**ordinary, **fields})


def fix_of(tried: Tried) -> Change:
    names = ("name", "text", "gain", "training", "line", "needs")
    return Change(**{name: getattr(tried, name) for name in names})


INPUT = Named(
    cause="input",
    arm="cpu",
    line=30,
    share=0.917,
    fix=fix_of(CACHE),
    ceilings=(Change(name="from_memory", text=MEMORY.text, gain=MEMORY.gain or estimate(1.0)),),
)
OVERHEAD = Named(
    cause="overhead", arm="cpu", line=40, share=0.04, fix=fix_of(STEPS), on=("cache:30",)
)


def make_named() -> Answer:
    """Two causes on the CPU, one on a GPU that is the faster one from some batch on; all that can be told."""
    on_gpu = structs.replace(CACHE, arm="cuda", gain=estimate(14.0, 12.0, 16.5), cpu_gain=9.0)
    return make_answer(
        arguments=("--epochs", "5"),
        machine=Machine(cpu="Made-Up Processor", cpus_used="2", gpus=("Made-Up GPU",)),
        arms={
            "cpu": speed(
                "named",
                epoch_s=0.58,
                epoch_steps=49,
                epoch_cost=0.0000854,
                unknown=0.046,
                notes=("mnist.load_data() was answered with made-up data of the same shapes",),
            ),
            "cuda": speed(
                "named", gpu=True, epoch_s=0.69, epoch_steps=49, epoch_cost=0.000102, unknown=0.07
            ),
        },
        causes=(
            structs.replace(INPUT, arm="cuda", share=0.929, fix=fix_of(on_gpu), ceilings=()),
            INPUT,
            OVERHEAD,
        ),
        tried=(MEMORY, CACHE, PREFETCH, STEPS, XLA, on_gpu),
        together={
            "cpu": Together(
                tries=("cache:30", "steps_per_execution"),
                gain=estimate(21.5, 18.8, 24.6),
                training="unchanged",
                step=11.8e-3 / 21.5,
            )
        },
        ratios={"cuda": estimate(1.195, 1.13, 1.26)},
        by_batch={32: estimate(1.195, 1.13, 1.26), 256: estimate(0.6, 0.55, 0.65)},
        gpu_wins_from=256,
        price=Price(hourly=0.53, currency="EUR"),
    )


def make_nothing() -> Answer:
    """A healthy script on the CPU alone."""
    memory = attempt("from_memory", "no gain", estimate(0.97, 0.93, 1.02))
    batch = attempt("larger_batch", "no gain", estimate(1.0, 0.95, 1.05), training="otherwise")
    return make_answer(arms={"cpu": speed("nothing")}, tried=(memory, PREFETCH, batch, XLA))


ON_GPU = attempt("arm:cuda", "helps", estimate(2.0, 1.8, 2.2))


def make_slower() -> Answer:
    """Nothing helps on either, and the GPU is the faster one, at which batch nobody knows."""
    return make_answer(
        arms={"cpu": speed("nothing"), "cuda": speed("nothing", gpu=True)},
        causes=(Named(cause="device", arm="cpu", line=None, share=0.5, fix=fix_of(ON_GPU)),),
        tried=(PREFETCH, structs.replace(PREFETCH, arm="cuda")),
        ratios={"cuda": estimate(0.5, 0.46, 0.55)},
        by_batch={32: estimate(1.2, 0.9, 1.5)},
        price=Price(hourly=0.53, currency="EUR"),
    )


def make_undecided() -> Answer:
    """The budget was spent before all was tried."""
    return make_answer(
        arms={"cpu": speed("undecided", step=estimate(0.0118))},
        tried=(
            attempt("from_memory", "undecided", estimate(1.3, 0.9, 1.9, 1)),
            attempt("cache:30", "no effect", reason="the change never took effect"),
            attempt("prefetch:33", "failed", reason="InvalidArgumentError: no such element"),
            attempt("jit_compile", "not tried", reason="the budget of 30 s was spent"),
        ),
        budget_s=30.0,
        stopped="the budget of 30 s was spent",
    )


def make_noisy() -> Answer:
    """Somebody else works on the machine."""
    arm = speed("noisy", repeats=1.83)
    noisy = attempt("cache:30", "undecided", estimate(1.9, 0.8, 4.4))
    withdrawn = attempt(
        "prefetch:33", "withdrawn", estimate(1.4, 1.2, 1.7), training="distribution"
    )
    return make_answer(arms={"cpu": arm}, tried=(noisy, withdrawn))


def make_failed() -> Answer:
    """The script has an error."""
    reason = "ValueError: shapes (3,) and (4,) (train.py, line 12)"
    return make_answer(
        arms={"cpu": ArmSpeed(standing="failed", gpu=False, runs=1, spent_s=4.0, reason=reason)}
    )


def make_stand_in() -> Answer:
    """The GPU's driver is a stand-in, and so its times are no times."""
    on_gpu = structs.replace(CACHE, arm="cuda", standing="undecided")
    return make_answer(
        flags=(raise_flag("stand-in", {"arm": "cuda"}),),
        arms={"cpu": speed("named", unknown=0.083), "cuda": speed("simulated", gpu=True)},
        causes=(structs.replace(INPUT, fix=None),),
        tried=(MEMORY, PREFETCH, on_gpu),
    )


ANSWERS: Mapping[str, Callable[[], Answer]] = {
    "named": make_named,
    "nothing": make_nothing,
    "slower": make_slower,
    "undecided": make_undecided,
    "noisy": make_noisy,
    "failed": make_failed,
    "stand-in": make_stand_in,
}
