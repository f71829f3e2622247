"""Every intervention, in the order in which their tries are made; one that is not listed does not exist."""

from __future__ import annotations

from suite.worker.why.intervention import Intervention

INTERVENTIONS: tuple[Intervention, ...] = ()
