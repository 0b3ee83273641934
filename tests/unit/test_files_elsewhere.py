"""Measures of records that are not in memory, beside those of records that are."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from algorithms import profile as profiles
from algorithms.blocks.links import bound_by_blocks, known_by_blocks, linkage_by_blocks
from algorithms.blocks.running import Arrays, in_order
from algorithms.comparison import Chunk, Comparison, Files, PublishedFiles
from algorithms.evaluation import evaluate
from algorithms.masking import Plan, mask
from algorithms.measure import Estimate, Omitted
from algorithms.microaggregation import METHODS
from algorithms.profile import profile
from algorithms.search.linkage import Linkage
from algorithms.table import Codes, Table
from algorithms.types import Labels, Mask, Matrix, Order
from tests.tables import table_of


class PublishedElsewhere(PublishedFiles):
    """Published records that lie in another order, with columns that are read one at a time."""

    def __init__(self, files: Comparison, order: Order) -> None:
        self.k = files.k
        self._released, self._order = files.released, order

    @property
    def rows(self) -> int:
        return len(self._order)

    @property
    def classes(self) -> Labels:
        return self._released.classes[self._order]

    @property
    def sizes(self) -> NDArray[Any]:
        return self._released.sizes

    @property
    def silent(self) -> Mask | None:
        return None

    @property
    def confidential_names(self) -> Sequence[str]:
        return self._released.confidential_names

    def confidential(self, name: str) -> Codes:
        return self._released.confidential(name).take(self._order)


class Elsewhere(Files):
    """Records that lie in blocks of groups, as a store would give them."""

    def __init__(self, files: Comparison, blocks: int) -> None:
        self._files = files
        groups = files.masked.groups
        self._blocks = [np.flatnonzero(groups % blocks == number) for number in range(blocks)]
        self._order = np.concatenate(self._blocks)
        self._empty = Table(files.original.attributes, tuple(np.empty(0) for _ in files.places))

    @property
    def k(self) -> int:
        return self._files.k

    @property
    def rows(self) -> int:
        return self._files.rows

    @property
    def original(self) -> Table:
        return self._empty

    @property
    def published(self) -> Table:
        return self._empty

    @property
    def sets(self) -> Labels | None:
        return None

    @property
    def places(self) -> tuple[slice, ...]:
        return self._files.places

    @property
    def centre(self) -> Matrix:
        return self._files.centre

    @property
    def released(self) -> PublishedFiles:
        return self.once(lambda files: PublishedElsewhere(files._files, files._order))

    def column(self, coordinate: int) -> tuple[Matrix, Matrix]:
        before, after = self._files.column(coordinate)
        return before[self._order], after[self._order]

    def chunks(self) -> Iterator[Chunk]:
        for rows in self._blocks:
            yield Chunk(*self._files.some(rows), self._files.masked.averages[rows])

    def some(self, rows: Order) -> tuple[Matrix, Matrix]:
        return self._files.some(self._order[rows])

    def numbers(self, column: int) -> tuple[Matrix, Matrix]:
        before, after = self._files.numbers(column)
        return before[self._order], after[self._order]

    def _arrays(self) -> list[Arrays]:
        return [{"x": chunk.before, "after": chunk.after} for chunk in self.chunks()]

    def linkage(self) -> Linkage:
        return linkage_by_blocks(in_order, self._arrays())

    def linked_known(self) -> float:
        return known_by_blocks(in_order, self._arrays())

    def neighbour_bound(self, k: int) -> float:
        return bound_by_blocks(in_order, self._arrays(), k)


@pytest.fixture
def files() -> Comparison:
    rng = np.random.default_rng(4)
    x = np.rint(20.0 * rng.lognormal(size=(400, 3))).astype(np.int64)
    confidential = {
        "c": Codes(rng.permutation(np.arange(400) % 7), ordered=True),
        "d": Codes(rng.permutation(np.arange(400) % 3)),
    }
    return Comparison(mask(table_of(list(x.T), confidential), Plan(k=4, method=METHODS["mdav"])))


def test_measures_are_the_same_wherever_the_records_are(files: Comparison) -> None:
    here, there = evaluate(files), evaluate(Elsewhere(files, 5))
    assert set(here.exact) == set(there.exact)
    for name, value in here.exact.items():
        assert there.exact[name] == pytest.approx(value, rel=1e-12, abs=1e-12), name
    for name in ("dld", "dld_optimistic", "dld_pessimistic", "linked_nearest", "linked_known"):
        assert there.exact[name] == here.exact[name]
    assert (there.records, there.groups, there.sizes) == (here.records, here.groups, here.sizes)
    assert there.columns == here.columns
    assert Elsewhere(files, 5).merged == files.merged == 0


def test_pictures_are_the_same_wherever_the_records_are(files: Comparison) -> None:
    here, there = profile(files), profile(Elsewhere(files, 5))
    for one, other in zip(here.columns, there.columns, strict=True):
        np.testing.assert_allclose(one.before, other.before, rtol=1e-12)
        np.testing.assert_allclose(one.density_after, other.density_after, rtol=1e-9)
    np.testing.assert_allclose(here.correlations_after, there.correlations_after, atol=1e-12)
    assert (here.linkage, here.exposures) == (there.linkage, there.exposures)


def test_stronger_bounds_need_the_records_in_memory(files: Comparison) -> None:
    options = {"bound_rounds": 5}
    there = evaluate(Elsewhere(files, 3), ["il_bound", "il_over_bound"], options)
    plain = evaluate(files, ["il_bound"])
    assert there.exact["il_bound"] == pytest.approx(plain.exact["il_bound"], rel=1e-12)
    assert there.notes["il_bound"].endswith("stronger bounds need all records in memory")
    assert evaluate(files, ["il_bound"], options).exact["il_bound"] > plain.exact["il_bound"]


def test_progress_is_told_after_each_measure(files: Comparison) -> None:
    shares: list[tuple[int, float]] = []
    evaluate(files, ["il", "k", "dld"], watch=lambda done, share: shares.append((done, share)))
    assert shares == [(1, 1 / 3), (2, 2 / 3), (3, 1.0)]


def test_samples_are_drawn_wherever_the_records_are(
    files: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiles, "MOST_LINKED", 100)
    found = profile(Elsewhere(files, 5))
    assert found.linkage_note.startswith("measured on")
    assert found.linkage_all == pytest.approx(profile(files).linkage_all)


class LongElsewhere(Elsewhere):
    """Records that are too many for some searches."""

    def linked_known(self) -> Estimate:
        return Estimate(self.rows / 4, "from a sample")

    def neighbour_bound(self, k: int) -> Omitted:
        return Omitted(f"too many records for k = {k}")


def test_searches_may_be_estimated_or_left_out(files: Comparison) -> None:
    found = evaluate(LongElsewhere(files, 5))
    assert found.exact["linked_known"] == 25.0
    assert found.notes["linked_known"] == "Estimated: from a sample"
    assert "il_bound" not in found.measures
    assert "il_over_bound" not in found.measures
    assert found.notes["il_bound"] == f"Left out: too many records for k = {files.k}"
