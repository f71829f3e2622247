"""The words of the trade: what an arm, an outcome, an invocation and a campaign are.

Frozen, keyword-only dataclasses; the standard library only, because the measured container
loads this folder too.  Durations are seconds, sizes are bytes, instants carry their UTC offset.
"""

from suite.model.arm import (
    Arm,
    Control,
    control_of,
    family_of,
    group_versions,
    name_kind,
    on_device,
    version_of,
)
from suite.model.document import (
    AT_END,
    BILLS,
    CACHE,
    FINE,
    FIRST_CALL,
    NOT_FROM_LOCK,
    SIMULATED,
    CampaignIdentity,
    CellResult,
    Check,
    Container,
    Document,
    Image,
    Invocation,
    InvocationStatus,
    Isolation,
    OutcomeName,
    Scalar,
    SuiteIdentity,
    Telemetry,
    container_seconds,
    count_compiled,
    document_name,
    facts_of,
    lived_seconds,
    make_pending,
    name_bill,
    name_files,
    name_invocation,
)
from suite.model.plan import (
    PLAN,
    Again,
    Campaign,
    Excluded,
    InterimLook,
    Prediction,
    Sustained,
)
