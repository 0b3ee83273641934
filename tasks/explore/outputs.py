"""The outputs of an exploration: a page with pictures, a table and, on request, a spec."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from prefect.artifacts import create_markdown_artifact, create_table_artifact

from algorithms.errors import RefusedError
from expectations.request.spec import ReleaseSpec
from tasks.explore.cell import Cell, best
from tasks.explore.proposal import SIGN, Proposal, propose
from tasks.explore.recommendation import (
    measures_not_computed,
    methods_not_tried,
    orderings_not_tried,
    recommendation,
)
from tasks.explore.source import SourceFacts
from tasks.explore.table import csv_of, rows_of
from tasks.store.disk import make_folder, replace_file

PAGE, TABLE = "map.html", "choices.csv"
PICTURES = ("map", "il-by-k")


def write_map(cells: Sequence[Cell], spec: ReleaseSpec, folder: Path, source: SourceFacts) -> None:
    """Write the page, its pictures and its table; files of an earlier exploration are replaced."""
    # matplotlib takes a while to import, and only this needs it
    from tasks.explore.page import map_page
    from tasks.explore.pictures import loss_by_k, risk_utility_map
    from tasks.reporting.pictures import as_png, as_svg

    make_folder(folder, "the folder of the map")
    drawings = (risk_utility_map(cells, spec), loss_by_k(cells, spec, source.curve))
    pictures = {
        name: as_svg(drawing, label)
        for name, drawing, label in zip(
            PICTURES,
            drawings,
            ("Risk-utility map", "Information loss by k, and the least possible loss"),
            strict=True,
        )
    }
    replace_file(folder / TABLE, csv_of(cells).encode())
    for name, drawing in zip(PICTURES, drawings, strict=True):
        replace_file(folder / f"{name}.svg", pictures[name].encode())
        replace_file(folder / f"{name}.png", as_png(drawing))
    replace_file(folder / PAGE, map_page(cells, spec, pictures, source).encode())


def show_map(cells: Sequence[Cell], spec: ReleaseSpec) -> None:
    """Create artefacts with the recommendation and the table of all choices."""
    create_markdown_artifact(
        key=f"explore-recommendation-{spec.release.name}", markdown=_summary(cells, spec)
    )
    create_table_artifact(
        key=f"explore-choices-{spec.release.name}",
        table=rows_of(cells),
        description="All choices that were tried, with their measures.",
    )


def _summary(cells: Sequence[Cell], spec: ReleaseSpec) -> str:
    """Write the recommendation, the proposed ceilings and all that was left out, as Markdown."""
    parts = [recommendation(cells, spec)]
    proposal = propose(cells, spec)
    if proposal is not None:
        parts += [
            f"## Proposed limits\n\n```yaml\n{proposal.snippet(spec)}\n```",
            "\n".join(f"- {meaning}" for meaning in proposal.meanings),
        ]
    left_out = {
        "methods not tried": methods_not_tried(cells),
        "orderings not tried": orderings_not_tried(cells),
        "measures not computed": measures_not_computed(cells),
    }
    lines = [f"- {kind}: {', '.join(names)}" for kind, names in left_out.items() if names]
    return "\n\n".join([*parts, "## Not part of this exploration", "\n".join(lines)])


def write_choice(cells: Sequence[Cell], spec: ReleaseSpec, source: Path, target: Path) -> None:
    """Write a copy of the spec ``source`` with the recommended choice.

    If the spec lacks ceilings, the copy gets the proposed ones.

    Raises
    ------
    RefusedError
        If no choice meets all limits, or if the file exists already.
    """
    chosen = best(cells)
    if chosen is None:
        raise RefusedError(f"no spec was written: {recommendation(cells, spec)}")
    if target.exists():
        raise RefusedError(f"{str(target)!r} must not be overwritten; choose another name")
    content: dict[str, Any] = yaml.safe_load(source.read_text(encoding="utf-8"))
    if target.absolute().parent != source.absolute().parent:
        # paths in a spec are relative to its folder
        filled_in = {"source": {"query_sha256", "query_text"}}
        dumped = spec.model_dump(mode="json", exclude_unset=True, exclude=filled_in)
        content["source"], content["publication"] = dumped["source"], dumped["publication"]
    content["microaggregation"] = chosen.released.model_dump(mode="json", exclude_defaults=True)
    reason = textwrap.indent(textwrap.fill(recommendation(cells, spec), 98), "# ")
    text = _with_proposal(content, propose(cells, spec))
    make_folder(target.absolute().parent, "the folder of the spec")
    replace_file(target, f"{reason}\n{text}".encode())


def _with_proposal(content: dict[str, Any], proposal: Proposal | None) -> str:
    """Write a spec as YAML, with a comment on the section of proposed ceilings."""
    if proposal is None:
        return yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    content = {**content, "gate": proposal.merged(content.get("gate"))}
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    return text.replace("\ngate:\n", f"\n# {SIGN}\ngate:\n", 1)
