"""Reads the sources behind earlier releases again, if they are still there and unchanged."""

from dataclasses import replace

import numpy as np

from algorithms.errors import ReleaseError
from algorithms.table import Table
from expectations.manifest import InputFacts
from expectations.request.sections.source import SourceSection
from expectations.request.spec import ReleaseSpec
from expectations.suites.require import plainly
from tasks.ingest import read_source
from tasks.store.editions import Edition
from tasks.store.vault import Members
from tasks.store.vault_key import Key
from tasks.tokens import Numbers
from tasks.validate import check_source


def read_again(
    edition: Edition,
    spec: ReleaseSpec,
    members: Members,
    key: Key,
    population: str,
    numbers: Numbers,
) -> Table | None:
    """Read the records behind an earlier release, with persons numbered as in the new one.

    Parameters
    ----------
    edition : Edition
        An earlier release of the same dataset.
    spec : ReleaseSpec
        The spec of the new release, whose roles the columns get.
    members : Members
        The persons whose records were published.
    key, population : Key, str
        What makes tokens of identifiers.
    numbers : Numbers
        The numbers of persons.

    Returns
    -------
    Table or None
        None if the source is gone, has changed since, or does not fit the spec any more.
    """
    facts = edition.manifest.input
    if facts is None:
        return None
    try:
        then = _as_then(spec, edition, facts)
        source, read = read_source(then)
        if facts.sha256 != read.sha256 and facts.content != read.content:
            return None
        table, _ = check_source(source, then, plainly)
    except (ReleaseError, OSError, ValueError):
        return None
    tokens = key.tokens(source.select(list(spec.columns.identifiers)), population)
    published = np.isin(tokens, members.tokens)
    table = replace(table, persons=numbers.of(tokens))
    return table if published.all() else table.take(np.flatnonzero(published))


def _as_then(spec: ReleaseSpec, edition: Edition, facts: InputFacts) -> ReleaseSpec:
    """Ask for the source of an earlier period."""
    release = spec.release.model_copy(update={"period": edition.release.period})
    source = spec.source
    if isinstance(source, SourceSection):
        # checked again: the ending of another file may show no kind
        source = SourceSection.model_validate(source.model_dump() | {"path": facts.path})
    return spec.model_copy(update={"release": release, "source": source})
