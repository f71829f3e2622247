"""Every intervention, in the order in which their tries are made; one that is not listed does not exist."""

from __future__ import annotations

from suite.worker.why.intervention import Intervention
from suite.worker.why.interventions.cache import CACHE
from suite.worker.why.interventions.memory import MEMORY
from suite.worker.why.interventions.parallel import PARALLEL
from suite.worker.why.interventions.python_functions import PYTHON_DATA, PYTHON_MODEL

INTERVENTIONS: tuple[Intervention, ...] = (MEMORY, CACHE, PARALLEL, PYTHON_DATA, PYTHON_MODEL)
