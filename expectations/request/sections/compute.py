"""The section ``compute``: where the work is done, which changes no result."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, model_validator

from algorithms.errors import SpecError
from expectations.request.faults import SLUG
from expectations.request.fields import STRICT

ADDRESS = re.compile(r"tls://[A-Za-z0-9._\-\[\]:]+:[0-9]{1,5}")
"""Address of a Dask scheduler; one that begins with tcp:// is open to everyone on the network."""


def check_address(address: str) -> None:
    """Check that everything on its way to a scheduler is encrypted.

    Raises
    ------
    SpecError
        If it is not.
    """
    if not ADDRESS.fullmatch(address):
        raise SpecError(
            "address must begin with tls:// and end with a port, because anyone on the network can "
            "read and command a cluster without TLS; it does not: start it with certificates"
        )


class TlsSection(BaseModel):
    """The certificates with which a run and a cluster prove to each other who they are."""

    model_config = STRICT

    ca: Path
    """File with the certificate of the authority that signed the others."""
    cert: Path
    """File with the certificate of this client."""
    key: Path
    """File with the private key of that certificate."""


class ClusterSection(BaseModel):
    """Where a cluster is, and how a run proves to it who it is."""

    model_config = STRICT

    address: str
    """Address of the scheduler, such as tls://scheduler.example:8786."""
    tls: TlsSection
    """The certificates of the run."""

    @model_validator(mode="after")
    def _is_encrypted(self) -> Self:
        check_address(self.address)
        return self


class ComputeSection(BaseModel):
    """Where the work is done. No choice here changes a result."""

    model_config = STRICT

    engine: Literal["local", "processes", "dask"] = "local"
    """Where blocks are worked on: in this process, in several processes of this machine, or on the
    workers of a Dask cluster."""
    workers: Annotated[int, Field(ge=1, le=1024, strict=True)] | None = None
    """With `processes`: how many; by default one for each core of the machine."""
    address: str | None = None
    """With `dask`: address of the scheduler, such as tls://scheduler.example:8786."""
    tls: TlsSection | None = None
    """With `dask`: the certificates of the run."""
    block: Annotated[str, Field(pattern=SLUG, max_length=100)] | None = None
    """With `dask`: name of a Prefect Secret block with address and tls, instead of both here."""
    scratch_folder: Path | None = None
    """Folder for intermediate results, which are encrypted; needed with `dask`, where all workers
    must see it, and for tables that are not held in memory."""
    memory_rows: int = Field(default=2_000_000, ge=1, strict=True)
    """Largest number of records that is held in memory where there is a scratch folder."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        faults = list(self._faults())
        if faults:
            raise SpecError("; ".join(faults))
        if self.address is not None:
            check_address(self.address)
        return self

    @property
    def cluster(self) -> ClusterSection | None:
        """The cluster that the section itself describes, if it does."""
        if self.address is None or self.tls is None:
            return None
        return ClusterSection(address=self.address, tls=self.tls)

    def _faults(self) -> Iterator[str]:
        own = {"address": self.address, "tls": self.tls}
        if self.engine != "processes" and self.workers is not None:
            yield f"workers is about engine: processes; the engine is {self.engine}: drop workers"
        if self.engine != "dask":
            for key, value in {**own, "block": self.block}.items():
                if value is not None:
                    yield f"{key} is about engine: dask; the engine is {self.engine}: drop {key}"
            return
        if self.block is None and None in own.values():
            yield "engine: dask needs address and tls, or block; something of it is missing"
        if self.block is not None and any(own.values()):
            yield "block stands for address and tls; both are given: leave one out"
        if self.scratch_folder is None:
            yield "engine: dask needs scratch_folder, which all workers must see; it is missing"
