"""Every rule a release must satisfy: of the request, the input, the output, the bytes on disk."""

from expectations import privacy

privacy.enforce()
