"""The section ``microaggregation``: the method that groups the records, and its options."""

from collections.abc import Iterator
from typing import Any, Self

from pydantic import BaseModel, Field, model_validator

from algorithms.errors import SpecError
from algorithms.masking import Plan
from algorithms.microaggregation import METHODS
from algorithms.orderings import ORDERINGS
from algorithms.strata import SmallStrata
from expectations.request.fields import STRICT, GroupSize, MethodName, OrderingName
from expectations.request.options import check_options
from expectations.request.sections.blocks import BlocksSection


class MicroaggregationSection(BaseModel):
    """The method that groups the records, and the size of the groups."""

    model_config = STRICT

    method: MethodName
    """Name of the method; `microrelease methods` lists them."""
    k: GroupSize = Field(title="k")
    """Smallest group size: each published record stands for at least this many."""
    ordering: OrderingName | None = None
    """Path for a method that cuts one; other methods take none."""
    ordering_options: dict[str, Any] = {}
    """Options of the ordering; `microrelease methods` lists them."""
    options: dict[str, Any] = {}
    """Options of the method; `microrelease methods` lists them."""
    recut: bool = Field(default=False, strict=True)
    """For a method that reads no path: cut its groups again along the path through them, so that
    the published values lose least."""
    refine: dict[str, Any] | None = None
    """Improve the groups by the search of `best`, with its options; `{}` for the defaults."""
    small_strata: SmallStrata = "block"
    """What happens to strata of fewer than k records: the release is blocked, they are withheld, or
    merged along the hierarchy of a stratum."""
    each_column: bool = Field(default=False, strict=True)
    """Group each quasi-identifier on its own. This does not protect their combinations: with more
    than one of them, the gate refuses almost every table, because it is not k-anonymous."""

    blocks: BlocksSection | None = None
    """Cut sets of many records into blocks that are grouped one by one, so that time grows in
    proportion to the table. By default tables of more than 2,000,000 records are cut."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        method = METHODS[self.method]
        if method.reads_path != (self.ordering is not None):
            need = "reads a path: name an" if method.reads_path else "reads no path: drop the"
            raise SpecError(f"method {self.method!r} {need} ordering")
        if self.recut and method.reads_path:
            raise SpecError(f"method {self.method!r} cuts a path already: drop recut")
        check_options("method", self.method, method.run, self.options)
        if self.refine is not None:
            if method.searches:
                raise SpecError(f"method {self.method!r} refines its groups already: drop refine")
            check_options("refinement", "refine", METHODS["best"].run, self.refine)
        if self.ordering is not None:
            run = ORDERINGS[self.ordering].run
            check_options("ordering", self.ordering, run, self.ordering_options)
        elif self.ordering_options:
            raise SpecError("ordering_options need an ordering; the spec names none")
        faults = [] if self.blocks is None else list(self._block_faults(self.blocks))
        if faults:
            raise SpecError("; ".join(faults))
        return self

    def _block_faults(self, blocks: BlocksSection) -> Iterator[str]:
        """List the choices that blocks exclude."""
        if self.ordering is not None:
            yield (
                f"method {self.method!r} cuts one path through all records: drop blocks, or name "
                "a method that reads no path"
            )
        if self.recut:
            yield "recut cuts one path through all groups: drop recut or blocks"
        if self.each_column:
            yield "each_column groups single columns, which need no blocks: drop one of them"
        for key, options in (("options", self.options), ("refine", self.refine or {})):
            if options.get("seconds") is not None:
                yield (
                    f"{key}.seconds is a budget that blocks cannot share, because they may run at "
                    "the same time: give iterations instead"
                )
        if blocks.rows < 2 * self.k:
            yield f"blocks.rows must be at least 2 k = {2 * self.k}; it is {blocks.rows}"

    @property
    def plan(self) -> Plan:
        """The plan of the masking, with the algorithms themselves in place of their names."""
        return Plan(
            k=self.k,
            method=METHODS[self.method],
            options=self.options,
            ordering=None if self.ordering is None else ORDERINGS[self.ordering],
            ordering_options=self.ordering_options,
            recut=self.recut,
            refine=self.refine,
            each_column=self.each_column,
            small_strata=self.small_strata,
            blocks=None if self.blocks is None else self.blocks.blocks,
        )
