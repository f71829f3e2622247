"""Every intervention, in the order in which their tries are made; one that is not listed does not exist."""

from __future__ import annotations

from suite.worker.why.interventions.batch import BATCH
from suite.worker.why.interventions.cache import CACHE
from suite.worker.why.interventions.callbacks import CALLBACKS
from suite.worker.why.interventions.convert import CONVERT
from suite.worker.why.interventions.copies import COPIES
from suite.worker.why.interventions.eager import EAGER
from suite.worker.why.interventions.jit import JIT
from suite.worker.why.interventions.memory import MEMORY
from suite.worker.why.interventions.mixed_precision import MIXED_PRECISION
from suite.worker.why.interventions.on_batch import ON_BATCH
from suite.worker.why.interventions.parallel import PARALLEL
from suite.worker.why.interventions.placement import PLACEMENT
from suite.worker.why.interventions.python_functions import PYTHON_DATA, PYTHON_MODEL
from suite.worker.why.interventions.retrace import RETRACE
from suite.worker.why.interventions.reuse import REUSE
from suite.worker.why.interventions.statement import STATEMENT
from suite.worker.why.interventions.steps_per_execution import STEPS_PER_EXECUTION
from suite.worker.why.interventions.validation import VALIDATION
from suite.worker.why.interventions.workers import PYDATASET

INTERVENTIONS = (
    *(MEMORY, CACHE, PARALLEL, PYDATASET, PYTHON_DATA, PYTHON_MODEL, EAGER, RETRACE, ON_BATCH),
    *(CALLBACKS, VALIDATION, STATEMENT, CONVERT, PLACEMENT, COPIES, REUSE, STEPS_PER_EXECUTION),
    *(MIXED_PRECISION, BATCH, JIT),
)
