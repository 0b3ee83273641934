"""The spec of the built-in example, for samples that are smaller than it was written for."""

from pathlib import Path
from typing import Any

import yaml

WIDE = {
    "il": 90.0, "dld": 39.9, "category_error": 90.0, "one_value": 90.0, "muted": 90.0,
    "under_k_across": 0.0, "singled_out": 0.0, "lone_changes": 0.0,
}  # fmt: skip
"""Ceilings that a few hundred rows can meet; those that a series promises stay."""


def change_example(folder: Path, *, series: bool = True, **ceilings: float) -> Path:
    """Give the example wide ceilings, or none about a series and no cohorts."""
    path = folder / "enterprise-survey.yaml"
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    gate = content["gate"]
    gate["ceilings"] = {**WIDE, **ceilings}
    if not series:
        del content["series"], gate["floors"]
        about_series = ("muted", "under_k_across", "singled_out", "lone_changes")
        gate["ceilings"] = {k: v for k, v in gate["ceilings"].items() if k not in about_series}
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path
