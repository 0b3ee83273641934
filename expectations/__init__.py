"""Every rule that a release must satisfy: rules for specs, tables, measures and published files."""

from expectations import privacy

privacy.enforce()
