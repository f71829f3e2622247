"""The axes that whoever writes a script chooses, declared once: what each value is called, and its price."""

from __future__ import annotations

from suite.cells.cell import Choice

LARGER_BATCH = Choice(
    effect="training",
    costs="more memory; fewer updates an epoch, so the learning rate has to be found anew",
    larger="a larger batch",
    usual=32,
)
"""32 is Keras's own default."""

MORE_EXAMPLES = Choice(
    effect="script",
    costs="more memory; the answers come together, when the last is ready",
    larger="more examples a call",
)

PREFETCH = Choice(
    effect="script",
    costs="memory for the batches ahead",
    values={"off": "none", "on": "prefetch"},
)

SHUFFLE = Choice(
    effect="training",
    costs="the order is the same in every epoch",
    values={"on": "shuffling", "off": "no shuffling"},
)

DATA_PLACE = Choice(
    effect="script",
    costs="memory on the device",
    values={"host": "NumPy arrays at every call", "device": "data that lie on the device"},
)

COPY_AHEAD = Choice(
    effect="script",
    costs="memory on the device for the batches ahead",
    values={"off": "copying at the call", "on": "prefetch to the device"},
)

PRECISION = Choice(
    effect="training",
    costs="fewer digits",
    values={"fp32": "fp32", "tf32": "TF32", "bf16": "bf16", "fp16": "fp16"},
)

EXECUTION = Choice(
    effect="script",
    costs="tracing, once for each shape; XLA compiles as well",
    values={
        "eager": "eager execution",
        "graph": "one graph (tf.function)",
        "xla": "XLA (jit_compile)",
    },
)

XLA = Choice(
    effect="script",
    costs="compiling, once for each shape",
    values={"off": "eager execution", "on": "XLA (jit_compile)"},
)

MORE_STEPS = Choice(
    effect="script",
    costs="callbacks and losses only after so many steps",
    larger="more steps an execution",
)

ANSWER = Choice(
    effect="script",
    costs="batches and progress of one's own",
    values={
        "predict": "Model.predict",
        "on_batch": "predict_on_batch",
        "graph_numpy": "a tf.function around the model",
    },
)

EXECUTION_OF_CALL = Choice(
    effect="script",
    costs="tracing, once for each shape",
    values={"direct": "model(x), eager", "graph": "model(x) in a tf.function"},
)

TRACED_NUMBER = Choice(
    effect="script",
    costs="a tensor made of the number at every call; Python can't branch on it",
    values={"anew": "a Python number", "once": "a tensor"},
)

TRACED_SHAPE = Choice(
    effect="script",
    costs="one graph for all shapes, made for none of them",
    values={"anew": "a trace for every shape", "once": "reduce_retracing=True"},
)

YIELDED = Choice(
    effect="script",
    costs="what yields the elements is written anew; arrays have to fit into memory",
    values={
        "generator": "a Python generator of elements",
        "chunks": "a Python generator of whole batches",
        "slices": "slices of arrays",
    },
)

PYTHON_IN_STEP = Choice(
    effect="script",
    costs="rewriting it in TensorFlow's operations",
    values={"numpy_function": "NumPy in the step", "none": "TensorFlow's operations in the step"},
)

MAP_FUNCTION = Choice(
    effect="script",
    costs="rewriting it in TensorFlow's operations",
    values={"numpy_function": "NumPy in the map", "native": "TensorFlow's operations in the map"},
)

MAP_CALLS = Choice(
    effect="script",
    costs="CPUs that the training may need",
    values={
        "sequential": "one map call at a time",
        "autotune": "parallel map calls (AUTOTUNE)",
        "fixed": "a parallel map call for each CPU",
    },
)

MAP_PLACE = Choice(
    effect="script",
    costs="a function that takes batches",
    values={"element": "an element at a time", "batch": "a map of a batch at a time"},
)

PIPELINE = Choice(
    effect="script",
    costs="rewriting the map; CPUs, and memory where it runs ahead",
    values={
        "numpy_function": "a NumPy map",
        "native": "a sequential native map, not prefetched",
        "parallel": "a parallel native map, prefetched",
    },
)

BEHIND_GENERATOR = Choice(
    effect="script",
    costs="arrays that fit into memory",
    values={"generator": "a Python generator", "parallel": "slices of arrays"},
)

FILES = Choice(
    effect="script",
    costs="writing the files anew",
    values={
        "csv": "CSV",
        "tfrecord-memory": "a TFRecord file",
        "interleave": "several TFRecord files, interleaved",
    },
)
