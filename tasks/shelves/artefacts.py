"""What a run shows in the Prefect UI: aggregates only."""

from collections.abc import Sequence

from prefect.artifacts import create_markdown_artifact, create_table_artifact

from expectations.gate import Verdict
from expectations.spec import ReleaseSpec
from tasks.explore.cell import Cell, recommendation
from tasks.explore.table import rows_of


def show_measures(dataset: str, sentence: str, verdicts: tuple[Verdict, ...]) -> None:
    """Log a table of measures against limits; runs of one dataset share its history."""
    create_table_artifact(
        key=f"release-measures-{dataset}",
        table=[
            {
                "measure": verdict.title,
                "value": verdict.shown_value,
                "limit": verdict.shown_limit,
                "verdict": "passed" if verdict.passed else "failed",
            }
            for verdict in verdicts
        ],
        description=sentence,
    )


def show_map(cells: Sequence[Cell], spec: ReleaseSpec) -> None:
    """Log the recommendation and the table of all choices that were tried."""
    create_markdown_artifact(
        key=f"explore-recommendation-{spec.release.name}", markdown=recommendation(cells, spec)
    )
    create_table_artifact(
        key=f"explore-choices-{spec.release.name}",
        table=rows_of(cells),
        description="Every choice that was tried, and all measures of it.",
    )
