"""What a run shows in the Prefect UI: aggregates only."""

from prefect.artifacts import create_table_artifact

from expectations.gate import Verdict


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
