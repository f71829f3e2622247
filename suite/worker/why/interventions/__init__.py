"""Every intervention, in the order in which their tries are made; one that is not listed does not exist."""

from __future__ import annotations

from suite.worker.why.intervention import Intervention
from suite.worker.why.interventions import (
    batch,
    callbacks,
    convert,
    copies,
    eager,
    jit,
    mixed_precision,
    on_batch,
    placement,
    retrace,
    reuse,
    statement,
    steps_per_execution,
    validation,
)

INTERVENTIONS: tuple[Intervention, ...] = (
    eager.EAGER,
    retrace.RETRACE,
    on_batch.ON_BATCH,
    callbacks.CALLBACKS,
    validation.VALIDATION,
    statement.STATEMENT,
    convert.CONVERT,
    placement.PLACEMENT,
    copies.COPIES,
    reuse.REUSE,
    steps_per_execution.STEPS_PER_EXECUTION,
    mixed_precision.MIXED_PRECISION,
    batch.BATCH,
    jit.JIT,
)
