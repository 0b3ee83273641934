"""Stages of the pipeline, without statistics."""

import expectations  # noqa: F401 - sets what must be set before Prefect is imported
