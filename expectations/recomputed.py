"""Of the figures in a published folder: those that need no original, computed anew."""

import json
import math
from pathlib import Path

import pandas as pd
import pyarrow.parquet

from algorithms.errors import IntegrityError
from algorithms.evaluation import evaluate_published
from expectations.codes import codes_of
from expectations.published import PACKAGE, PARQUET


def recompute(folder: Path) -> dict[str, float]:
    """Compute every measure that needs no original from a folder that was verified.

    Raises
    ------
    IntegrityError
        If a figure in the folder's description is another.
    """
    package = json.loads((folder / PACKAGE).read_bytes())
    claims = package["microrelease"]
    roles = {
        field["name"]: field["microrelease:role"]
        for field in package["resources"][0]["schema"]["fields"]
    }
    frame = pyarrow.parquet.read_table(folder / PARQUET).to_pandas(types_mapper=pd.ArrowDtype)
    keys = [name for name, role in roles.items() if role == "quasi-identifier"]
    found = evaluate_published(
        frame[keys].to_numpy(dtype="float64"),
        claims["k"],
        {name: codes_of(frame[name]) for name, role in roles.items() if role == "confidential"},
    )
    told = claims.get("measures", {})
    faults = [
        f"{name} must be {told.get(name)}; it is {value}"
        for name, value in found.items()
        if not math.isclose(value, told.get(name, math.nan), rel_tol=1e-9, abs_tol=1e-9)
    ]
    if faults:
        raise IntegrityError(
            f"{str(folder)!r} does not hold what {PACKAGE} says: {'; '.join(faults)}"
        )
    return found
