"""Nothing phones home, and nothing confidential is kept, however the product is started."""

import os

SETTINGS = {
    "DO_NOT_TRACK": "1",
    "GX_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_TELEMETRY_ENABLE_RESOURCE_METRICS": "false",
    "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
    "PREFECT_LOGGING_LOG_PRINTS": "false",
    # no setting may pickle the inputs or outputs of a stage to disk
    "PREFECT_TASKS_DEFAULT_PERSIST_RESULT": "false",
    "PREFECT_FLOWS_DEFAULT_PERSIST_RESULT": "false",
}


def enforce() -> None:
    """Put the settings in the environment, whatever was there before.

    Prefect and Great Expectations read them when they are imported, so this runs first: both are
    only ever imported from packages that import this one. Child processes inherit them.
    """
    os.environ.update(SETTINGS)
