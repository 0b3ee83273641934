"""Settings that turn off telemetry and stored results, however the product is started."""

import os

SETTINGS = {
    "DO_NOT_TRACK": "1",
    "GX_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_TELEMETRY_ENABLE_RESOURCE_METRICS": "false",
    "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
    "PREFECT_LOGGING_LOG_PRINTS": "false",
    # Prefect must never pickle the inputs or outputs of a stage to disk
    "PREFECT_TASKS_DEFAULT_PERSIST_RESULT": "false",
    "PREFECT_FLOWS_DEFAULT_PERSIST_RESULT": "false",
}


def enforce() -> None:
    """Put the settings in the environment, and override any earlier values.

    Prefect and Great Expectations read them on import, so this must run first: both are imported
    only from packages that import this module. Child processes inherit the settings.
    """
    os.environ.update(SETTINGS)
