"""Compares vault files with the chain of the register, the public files and the judged figures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from algorithms.errors import IntegrityError
from algorithms.history import ABSENT
from algorithms.risk.across import count_candidates
from algorithms.types import Integers, Labels
from expectations.manifest import VaultFacts
from expectations.published.batches import COUNT, tally
from expectations.published.claims import Claims
from expectations.published.verifier import Verification
from tasks.store.disk import Folder
from tasks.store.editions import Edition, last_sha256, published_editions, read_members
from tasks.store.register import Register
from tasks.store.vault import Members
from tasks.store.vault_key import Tokens

GROUPED = ("quasi-identifier", "stratum")
"""Roles of the public columns that are alike in a whole group."""
MUTED = ("confidential", "other")
"""Roles of the public columns that are empty in muted records."""


@dataclass(frozen=True, eq=False)
class PublicCounts:
    """Counts of the records of a public folder, with which a vault file is compared.

    Attributes
    ----------
    rows : int
        Number of records.
    classes : Integers, optional
        Number of records of each combination of values that groups share; None if groups share
        none, because each column has groups of its own.
    empty : int
        Number of records that are empty in all columns that muting empties.
    """

    rows: int
    classes: Integers | None
    empty: int


def public_counts(verified: Verification) -> PublicCounts:
    """Count the records of a public folder."""
    claims = verified.claims
    empty = sum(_empty_rows(batch, _columns(claims, MUTED)) for batch in verified.batches())
    classes = None if claims.each_column else _counts(verified, _columns(claims, GROUPED))
    return PublicCounts(verified.rows, classes, empty)


def vault_faults(
    register: Register, root: Folder, verified: Mapping[str, PublicCounts]
) -> Iterable[str]:
    """Check every vault file of a register.

    Parameters
    ----------
    register : Register
        A register whose chain and manifests are intact.
    root : Folder
        Its folder, open.
    verified : mapping of str to PublicCounts
        Counts of the public files of published releases that are intact, by attempt.
    """
    editions = [edition for edition in published_editions(register) if edition.facts is not None]
    members: dict[str, Members] = {}
    for place, edition in enumerate(editions):
        facts = edition.facts
        assert facts is not None
        if facts.previous != last_sha256(editions[:place], facts.population):
            yield (
                f"the vault file of {edition.name} must name the one that was published before; it "
                "names another"
            )
        if edition.forgotten:
            continue
        try:
            own = members[facts.sha256] = read_members(root, edition)
        except IntegrityError as error:
            yield str(error)
            continue
        public = verified.get(edition.manifest.attempt)
        faults = [
            *_not_as_counted(own, facts),
            *([] if public is None else _not_as_public(own, public)),
            *_not_as_judged(edition, members),
        ]
        if faults:
            yield f"the vault file of {edition.name} is not what was published: {'; '.join(faults)}"


def _not_as_counted(members: Members, facts: VaultFacts) -> Iterable[str]:
    muted = int((~members.visible).sum())
    if (len(members.tokens), muted) != (facts.persons, facts.muted):
        yield "the manifest counts other persons"


def _not_as_public(members: Members, public: PublicCounts) -> Iterable[str]:
    """Compare groups with combinations of the public file, and muted records with empty rows."""
    if len(members.tokens) != public.rows:
        yield f"it holds {len(members.tokens)} persons, and the public file {public.rows} rows"
        return
    groups = np.unique(members.groups, return_counts=True)[1]
    if public.classes is not None and not _are_unions(public.classes, groups):
        yield "its groups do not make up the combinations of the public file"
    muted = int((~members.visible).sum())
    if public.empty < muted:
        yield f"it mutes {muted} records, and only {public.empty} rows of the public file are empty"


def _columns(claims: Claims, roles: Sequence[str]) -> list[str]:
    return [name for name, role in claims.roles.items() if role in roles]


def _counts(verified: Verification, names: Sequence[str]) -> Integers:
    """Count the rows of each combination of some columns."""
    batches = partial(verified.batches, names)
    parts = tally(batches, names, verified.rows, verified.k_claimed)
    return np.concatenate([part[COUNT].to_numpy() for part in parts])


def _are_unions(classes: Integers, groups: Integers) -> bool:
    """Tell whether classes of these sizes can be unions of whole groups of those sizes.

    The largest classes together must hold at least as much as as many of the largest groups; where
    there are as many classes as groups, each must be one.

    Examples
    --------
    >>> _are_unions(np.array([4, 5]), np.array([5, 4]))
    True
    >>> _are_unions(np.array([9, 4]), np.array([4, 4, 5]))
    True
    >>> _are_unions(np.array([5, 4]), np.array([3, 6]))
    False
    """
    larger, smaller = np.sort(classes)[::-1], np.sort(groups)[::-1]
    if larger.size == smaller.size:
        return np.array_equal(larger, smaller)
    if larger.size > smaller.size or larger.sum() != smaller.sum():
        return False
    return bool((np.cumsum(larger) >= np.cumsum(smaller)[: larger.size]).all())


def _empty_rows(table: pa.Table, names: Sequence[str]) -> int:
    """Count the rows that are empty in all of some columns."""
    empty = np.ones(table.num_rows, dtype=bool)
    for name in names:
        empty &= pc.is_null(table[name]).to_numpy()
    return int(empty.sum())


def _not_as_judged(edition: Edition, members: Mapping[str, Members]) -> Iterable[str]:
    """Count candidates again from the vault files, and compare them with the judged figure."""
    judged = edition.manifest.measures.get("candidates_min")
    facts, spec = edition.facts, edition.manifest.spec
    assert facts is not None
    series = spec.get("series") or {}
    window = (series.get("window") or len(facts.against) + 1) - 1
    against = facts.against[max(len(facts.against) - window, 0) :]
    # neither units nor the matches of published values are in the vault
    recounts = series.get("links") != "measured" and spec.get("columns", {}).get("unit") is None
    if judged is None or not recounts or not all(sha256 in members for sha256 in against):
        return
    counted = _fewest(members[facts.sha256], [members[sha256] for sha256 in against])
    if counted != judged:
        yield f"candidates_min is {counted} by the vault, and {judged:g} was judged"


def _fewest(new: Members, earlier: Sequence[Members]) -> int:
    """Count the candidates of the visible person who has the fewest."""
    seen = np.full((len(new.tokens), len(earlier)), ABSENT)
    for t, members in enumerate(earlier):
        seen[:, t] = _seen(new.tokens, members)
    counts = count_candidates(new.groups, new.visible, seen, np.arange(len(new.tokens)))
    return int(counts[new.visible].min())


def _seen(tokens: Tokens, members: Members) -> Labels:
    """Give the group in which each token was visible; `ABSENT` where it was not."""
    places = np.minimum(np.searchsorted(members.tokens, tokens), len(members.tokens) - 1)
    there = (members.tokens[places] == tokens) & members.visible[places]
    return np.where(there, members.groups[places], ABSENT)
