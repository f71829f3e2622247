"""What is tried of a script's training: from what was watched alone, and what must not be offered."""

from __future__ import annotations

from typing import Any

import pytest

from suite.model.why import CallbackSeen, Retrace, Stage, Statement, Try, Watched
from suite.worker.why.intervention import EVERY, thin_to
from suite.worker.why.interventions import INTERVENTIONS

COMPILED = {
    **dict.fromkeys(("run_eagerly", "jit_compile"), "False"),
    **dict.fromkeys(("steps_per_execution", "validation_freq"), "1"),
}
LINES = {"compile": 8, "fit": 9}
BY_NAME = {each.name: each for each in INTERVENTIONS}


def watched(clock: str = "fit", **fields: Any) -> Watched:
    counts = {"seconds": 10.0, "epoch_steps": 48.0, "batch": 32.0, **fields.pop("counts", {})}
    settings = {**COMPILED, **fields.pop("settings", {})}
    lines = {**LINES, **fields.pop("lines", {})}
    return Watched(clock=clock, line=9, counts=counts, settings=settings, lines=lines, **fields)


def callback(name: str = "Slow", **fields: Any) -> CallbackSeen:
    plain = {
        "line": 4,
        "calls": 200,
        "seconds": 5.0,
        "by_batch": True,
        "method": f"{name}.on_train_batch_end",
    }
    return CallbackSeen(name=name, **{**plain, **fields})


def epochs(name: str = "Slow", **fields: Any) -> CallbackSeen:
    plain = {"calls": 6, "by_batch": False, "method": f"{name}.on_epoch_end"}
    return callback(name, **{**plain, **fields})


def statement(text: str, **fields: Any) -> Watched:
    plain = {"line": 20, "end_line": 20, "loop": 18, "calls": 400, "seconds": 4.0, "is_step": False}
    return watched("function", statements=[Statement(text=text, **{**plain, **fields})])


def retrace(reason: str, seconds: float = 4.0) -> Watched:
    seen = Retrace(name="step", line=12, reason=reason)
    return watched("function", retraces=[seen], counts={"retrace.step_s": seconds})


def propose(name: str, seen: Watched, *, gpu: bool = False) -> list[Try]:
    return list(BY_NAME[name].propose(seen, gpu))


WITHOUT = ("validation", "ceiling", "without validation")

CASES: list[tuple[str, Watched, list[tuple[str, str, str]]]] = [
    # Eager mode: one way, the outermost.
    ("eager", watched(), []),
    (
        "eager",
        watched(settings={"run_eagerly": "True"}),
        [("eager:compile", "fix", "compile(…) without run_eagerly=True")],
    ),
    (
        "eager",
        watched("function", settings={"run_functions_eagerly": "True"}),
        [("eager:functions", "fix", "without tf.config.run_functions_eagerly(True)")],
    ),
    (
        "eager",
        watched("tape", lines={"tape.function": 7, "tape": 9}),
        [("eager:7", "fix", "@tf.function above this def")],
    ),
    ("eager", watched(lines={"tape.function": 7}), []),
    # Retraces: those that cost something, and can be ended.
    (
        "retrace",
        retrace("number: w, n"),
        [("retrace:step:number:w,n", "fix", "w, n passed to step as a tensor: tf.constant(…)")],
    ),
    (
        "retrace",
        retrace("shape"),
        [("retrace:step:shape", "fix", "@tf.function(reduce_retracing=True) above step")],
    ),
    (
        "retrace",
        retrace("anew"),
        [("retrace:step:anew", "fix", "step made a tf.function once, before the loop")],
    ),
    ("retrace", retrace(""), []),
    ("retrace", retrace("shape", seconds=0.4), []),
    # Callbacks.
    ("callbacks", watched(callbacks=[callback(seconds=0.4)]), []),
    (
        "callbacks",
        watched(callbacks=[callback()]),
        [
            (
                "callbacks:Slow:batch:50",
                "fix",
                "`if batch % 50: return` as the first line of Slow.on_train_batch_end",
            )
        ],
    ),
    (
        "callbacks",
        watched(callbacks=[epochs("ModelCheckpoint")]),
        [("callbacks:ModelCheckpoint:epoch:5", "fix", "ModelCheckpoint(…, save_freq=240)")],
    ),
    (
        "callbacks",
        watched(callbacks=[epochs("TensorBoard", calls=4)]),
        [("callbacks:TensorBoard:epoch:3", "fix", "TensorBoard(…, histogram_freq=3)")],
    ),
    # What is not in a method of the script's.
    (
        "callbacks",
        watched(callbacks=[callback("LambdaCallback")]),
        [
            (
                "callbacks:LambdaCallback:batch:50",
                "fix",
                "LambdaCallback(…, on_train_batch_end=lambda batch, logs: None if batch % 50 else …)",
            )
        ],
    ),
    (
        "callbacks",
        watched(callbacks=[epochs("CSVLogger", method="on_epoch_end of a subclass of CSVLogger")]),
        [
            (
                "callbacks:CSVLogger:epoch:5",
                "fix",
                "`if epoch % 5: return` as the first line of on_epoch_end of a subclass of CSVLogger",
            )
        ],
    ),
    # What has a say in the training is left out at most; so is what a window holds once.
    (
        "callbacks",
        watched(callbacks=[callback("EarlyStopping", steers=True)]),
        [("callbacks:EarlyStopping", "ceiling", "without EarlyStopping")],
    ),
    (
        "callbacks",
        watched(callbacks=[epochs(calls=2)]),
        [("callbacks:Slow", "ceiling", "without Slow")],
    ),
    # Validation.
    ("validation", watched(counts={"validation": 6, "validation_s": 0.4}), []),
    (
        "validation",
        watched(counts={"validation": 6, "validation_s": 4.0}),
        [WITHOUT, ("validation:5", "fix", "validation_freq=5")],
    ),
    (
        "validation",
        watched(counts={"validation": 5, "validation_s": 4.0}, settings={"validation_freq": "2"}),
        [WITHOUT, ("validation:8", "fix", "validation_freq=8")],
    ),
    (
        "validation",
        watched(counts={"validation": 2, "validation_s": 4.0}),
        [WITHOUT],
    ),
    # Statements.
    ("statement", statement("print(loss.numpy())", is_step=True), []),
    ("statement", statement("print(loss.numpy())", seconds=0.4), []),
    ("statement", statement("x = prepare(rows)", is_step=True, makes=True, seconds=0.4), []),
    (
        "statement",
        statement("x = prepare(rows)", is_step=True, makes=True),
        [
            (
                "statement:20",
                "ceiling",
                "what the step takes made in the first turn only: x = prepare(rows)",
            )
        ],
    ),
    (
        "statement",
        statement("print(loss.numpy())"),
        [
            (
                "statement:20:50",
                "fix",
                "every 50 turns only (if step % 50 == 0:): print(loss.numpy())",
            )
        ],
    ),
    (
        "statement",
        statement("if n % 20 == 0: save(model)", calls=420),
        [
            (
                "statement:20:10",
                "fix",
                "every 200 turns only (% 200 for % 20): if n % 20 == 0: save(model)",
            )
        ],
    ),
    (
        "statement",
        statement("if n % often == 0: save(model)"),
        [("statement:20", "ceiling", "without: if n % often == 0: save(model)")],
    ),
    # Conversions: of few arrays again and again, of slices, of others each time.
    ("convert", watched(counts={"convert": 90, "arrays": 90, "convert_s": 4.0}), []),
    ("convert", watched(counts={"convert": 90, "arrays": 2, "convert_s": 0.4}), []),
    (
        "convert",
        watched(counts={"convert": 90, "arrays": 2, "convert_s": 4.0}),
        [("convert", "fix", "tf.constant(…) of the array once, before the loop")],
    ),
    (
        "convert",
        watched(counts={"convert": 90, "arrays": 60, "convert_s": 4.0}),
        [("convert", "ceiling", "without the conversion of arrays and lists at each step")],
    ),
    # Single batches.
    (
        "on_batch",
        watched(counts={"single.predict_s": 4.0, "single.fit_s": 0.1}),
        [("on_batch:predict", "fix", "predict_on_batch(…) instead of predict(…)")],
    ),
    (
        "on_batch",
        watched(counts={"single.predict_s": 4.0}, settings={"single.predict": "callback"}),
        [("on_batch:predict", "fix", "predict_on_batch(…) instead of predict(…)")],
    ),
    # Start-up.
    ("reuse", watched(counts={"train_functions": 1}), []),
    (
        "reuse",
        watched(counts={"train_functions": 5}),
        [
            (
                "reuse",
                "ceiling",
                "without compiling 5 models in turn: one that is given fresh weights each time",
            )
        ],
    ),
    # Several steps at once: a whole number of executions, and no callback that it would thin.
    (
        "steps_per_execution",
        watched(),
        [("steps_per_execution:10", "fix", "compile(…, steps_per_execution=10)")],
    ),
    ("steps_per_execution", watched(callbacks=[callback(seconds=0.0)]), []),
    ("steps_per_execution", watched(settings={"run_eagerly": "True"}), []),
    ("steps_per_execution", watched(settings={"steps_per_execution": "8"}), []),
    ("steps_per_execution", watched("function"), []),
    ("steps_per_execution", watched(counts={"epoch_steps": 1}), []),
    ("steps_per_execution", watched(counts={"epoch_steps": 0}), []),
    # XLA.
    ("jit", watched(), [("jit:True", "fix", "compile(…, jit_compile=True)")]),
    (
        "jit",
        watched(settings={"jit_compile": "True"}),
        [("jit:False", "fix", "compile(…, jit_compile=False)")],
    ),
    (
        "jit",
        watched("function", lines={"step.function": 12}),
        [("jit:12", "fix", "@tf.function(jit_compile=True) above this def")],
    ),
    ("jit", watched("tape"), []),
    # Larger batches, where there are examples enough.
    ("batch", watched(), [("batch:8", "fix", "batch_size=256")]),
    ("batch", watched(counts={"epoch_steps": 49}), [("batch:7", "fix", "batch_size=224")]),
    ("batch", watched(counts={"epoch_steps": 9}), []),
    ("batch", watched("function"), []),
    (
        "batch",
        watched(
            "function",
            stages=[Stage(dataset=0, method="batch", line=6)],
            counts={"batch:6": 10, "epoch_steps:6": -1},
        ),
        [("batch:6:8", "fix", ".batch(80)")],
    ),
    (
        "batch",
        watched(
            stages=[Stage(dataset=0, method="batch", line=6)],
            counts={"batch:6": 10, "epoch_steps:6": -2},
        ),
        [],
    ),
]


@pytest.mark.parametrize(("name", "seen", "tries"), CASES)
def test_it_is_proposed_where_it_applies(
    name: str, seen: Watched, tries: list[tuple[str, str, str]]
) -> None:
    found = propose(name, seen)
    assert [(each.name, each.kind, each.text) for each in found] == tries
    assert all(each.name.partition(":")[::2] == (name, each.target) for each in found)


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("placement", watched(settings={"device": "/CPU:0"})),
        ("copies", watched(stages=[Stage(dataset=0, method="batch", line=6)])),
        ("mixed_precision", watched(settings={"policy": "float32"})),
    ],
)
def test_what_is_about_a_gpu_is_proposed_beside_one(name: str, seen: Watched) -> None:
    assert propose(name, seen) == []
    (found,) = propose(name, seen, gpu=True)
    assert found.on_gpu


@pytest.mark.parametrize(
    ("settings", "cause", "training"),
    [
        ({}, "overhead", "rounding"),
        ({"single.predict": "callback"}, "callback", "rounding"),
        ({"random": "True"}, "overhead", "distribution"),
    ],
)
def test_where_a_call_is_and_what_a_step_draws_go_with_the_try(
    settings: dict[str, str], cause: str, training: str
) -> None:
    seen = watched(counts={"single.predict_s": 4.0}, settings=settings)
    (change,) = propose("on_batch", seen)
    assert (change.cause, change.training) == (cause, training)


def test_nothing_about_a_gpu_is_proposed_of_what_was_not_seen() -> None:
    seen = watched(settings={"policy": "mixed_float16"})
    assert [
        propose(name, seen, gpu=True) for name in ("placement", "copies", "mixed_precision")
    ] == [
        [],
        [],
        [],
    ]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("loss_values.append(float(loss))", "fetch"),
        ("manager.save()", "callback"),
        ("for a, b in val_ds: test_step(a, b)", "validation"),
    ],
)
def test_a_statement_is_about_what_its_text_says(text: str, cause: str) -> None:
    assert [each.cause for each in propose("statement", statement(text))] == [cause]


def test_validation_that_something_steers_by_is_not_made_rarer() -> None:
    seen = {"validation": 6, "validation_s": 4.0}
    stopping = callback("EarlyStopping", steers=True, seconds=0.0)
    (found,) = propose("validation", watched(counts=seen, callbacks=[stopping]))
    assert (found.kind, found.training) == ("ceiling", "otherwise")


def test_a_larger_batch_is_counted_by_the_example_and_trains_otherwise() -> None:
    (found,) = propose("batch", watched())
    assert (found.scale, found.training) == (8.0, "otherwise")
    assert [each.late for each in propose("jit", watched())] == [True]


@pytest.mark.parametrize("calls", range(1, 200))
def test_a_window_holds_the_true_share_of_what_is_thinned(calls: int) -> None:
    every, others = thin_to(calls), calls - 1
    if every is None:
        assert others < 2
    else:
        # As many as in the long run, but for part of one where there are many.
        ran = sum(turn % every == 0 for turn in range(1, calls))
        assert abs(ran - others / every) < 1
        assert every == EVERY or others % every == 0 or others > 10
