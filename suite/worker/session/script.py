"""A script as people post it, in this process from its first moment: measured first, proven afterwards.

Nothing is configured, and no kernel runs before it: no start-up sequence, no look at the GPU.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from suite.clock import now
from suite.model import AT_END, FINE, CellResult, Scalar, make_pending
from suite.worker.proof import facts, gpu, libraries
from suite.worker.proof.placement import prove
from suite.worker.scenario.scenario import Printed
from suite.worker.session import startup
from suite.worker.session.cell import Request, book, explain, record_once

Send = Callable[..., None]


def measure(
    send: Send, requests: Sequence[Request], looked: Mapping[str, Scalar], *, on_gpu: bool
) -> None:
    """Runs the script of these cells once, and sends what it printed of each.

    ``looked`` are the facts of what had to be opened before TensorFlow starts: without it, this wheel
    shows a GPU to no script at all.

    Raises:
        Refused: the arm needs a GPU, and TensorFlow had none.
    """
    if not on_gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    spent_s: dict[str, float] = {}
    with book(spent_s, "import"):
        import tensorflow as tf

        _ = tf.keras.Model
    device = "/GPU:0" if on_gpu else "/CPU:0"
    send("startup", stages=spent_s, device=device)
    # The first in flight stands for all of them while the script runs.
    send("cell_started", id=requests[0].cell.id)
    began = now()
    printed = _run(requests, device)
    ended = time.perf_counter_ns()
    gathered = {**looked, **facts.machine_facts(), **facts.tensorflow_facts()}
    if on_gpu:
        startup.demand_gpu(tf)
        gathered |= {**gpu.loaded_versions(), **libraries.cache_facts("end")}
        gathered[AT_END] = gpu.find_trouble(device) or FINE
    send("facts", facts=gathered, seconds=(time.perf_counter_ns() - ended) / 1e9)
    for index, request in enumerate(requests):
        if index:
            send("cell_started", id=request.cell.id)
            began = now()
        result = _judge(request, printed if isinstance(printed, str) else printed[index], device)
        send("cell", cell=replace(result, started=began, ended=now()))


def _run(requests: Sequence[Request], device: str) -> Sequence[Printed] | str:
    """What the script printed, or why it did not come to its end."""
    script = requests[0].scenario.script
    if script is None:
        raise ValueError(f"{requests[0].cell.id} has no script")
    try:
        return script(device=device, asked=[request.cell.params for request in requests])
    except Exception as error:  # noqa: BLE001  whatever a script raises is its cells' outcome
        return explain(error)


def _judge(request: Request, printed: Printed | str, device: str) -> CellResult:
    """The outcome of one cell: its number is worth nothing where its work was not seen on its device."""
    result = replace(make_pending(request.cell), outcome="failed")
    if isinstance(printed, str):
        return replace(result, reason=printed)
    spent_s = {"measure": printed.seconds}
    try:
        with book(spent_s, "placement"):
            nodes = printed.again()
            placement = prove(request.proof, nodes, printed.tensors, request.place(device))
        with book(spent_s, "check"):
            check = printed.check()
    except Exception as error:  # noqa: BLE001  as above
        return replace(result, reason=explain(error))
    return record_once(
        result,
        printed.seconds,
        waits="the script waits for its results",
        placement=placement.nodes,
        elsewhere=placement.elsewhere,
        check=check,
        spent_s=spent_s,
        evidence={} if printed.traces is None else {"traces": float(printed.traces)},
    )
