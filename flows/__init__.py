"""The order of the stages, and the command line."""

import expectations  # noqa: F401 - sets what must be set before Prefect is imported
