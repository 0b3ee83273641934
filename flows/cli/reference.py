"""Commands that explain and show examples: methods, measures, example, spec."""

import json
import sys
from pathlib import Path

from flows.cli import display, documents
from flows.cli.command import JSON, argument, command, one_of, positive, share

ADVICE = (
    "Choose best with a budget of iterations for up to 100,000 records (it loses 9 to 56 % less "
    "than mdav on the benchmark sets), mdav for larger tables (it groups 500,000 records in 17 s), "
    "and another method only for a reason of your own: microrelease explore compares all of them "
    "on your table."
)
"""Figures of docs/benchmarks.md."""


@command(JSON)
def methods(as_json: bool) -> int:
    """Recommend a method, and list all methods and orderings with their options and papers."""
    from algorithms.microaggregation import METHODS
    from algorithms.orderings import ORDERINGS
    from expectations.request.options import described

    known = {name: (METHODS[name], described(METHODS[name].run)) for name in METHODS}
    paths = {name: (ORDERINGS[name], described(ORDERINGS[name].run)) for name in ORDERINGS}
    if as_json:
        documents.write(documents.methods(ADVICE, known, paths))
    else:
        display.methods(ADVICE, known)
        display.orderings(paths)
    return 0


@command(
    one_of(
        argument("--markdown", action="store_true", help="print the page docs/measures.md"),
        JSON,
    ),
)
def measures(markdown: bool, as_json: bool) -> int:
    """List the measures of risk and utility, and what they mean.

    In a spec, any of them can have a ceiling (where lower is better) or a floor (where higher is
    better).
    """
    from algorithms.measures import MEASURES
    from flows.cli.measures_page import measures_page

    if markdown:
        sys.stdout.write(measures_page())
    elif as_json:
        documents.write(documents.measures(MEASURES))
    else:
        display.measures(MEASURES)
    return 0


@command(
    argument("folder", type=Path, metavar="DIR", help="folder to write to"),
    argument(
        "--rows",
        type=positive,
        default=2000,
        help="number of enterprises per table (default: %(default)s)",
    ),
    argument(
        "--quarters", type=positive, default=6, help="number of tables (default: %(default)s)"
    ),
    argument(
        "--seed", type=int, default=1, help="another seed gives other data (default: %(default)s)"
    ),
    argument(
        "--moving",
        type=share,
        default=0.0,
        metavar="SHARE",
        help="share of enterprises that change altogether in a quarter, from 0 to 1: 0.5 makes a "
        "panel that is hard to protect (default: %(default)s)",
    ),
    argument(
        "--format",
        choices=("csv", "parquet"),
        default="csv",
        dest="file_format",
        help="format of the tables (default: %(default)s)",
    ),
    argument("--force", action="store_true", help="overwrite files that differ"),
)
def example(
    folder: Path,
    rows: int,
    quarters: int,
    seed: int,
    moving: float,
    file_format: str,
    force: bool,
) -> int:
    """Write the built-in example: tables and a ready-made spec.

    The tables hold a quarterly survey of fictitious enterprises, of which some leave, some enter
    and some are absent in each quarter; the spec releases them.
    """
    from flows.example import write_example

    *tables, spec = write_example(
        folder,
        rows=rows,
        quarters=quarters,
        seed=seed,
        moving=moving,
        file_format=file_format,
        force=force,
    )
    display.say(f"tables: {len(tables)}, of up to {rows} rows; spec: {spec}")
    return 0


@command(
    argument("--schema", action="store_true", required=True, help="print the JSON schema"),
)
def spec(schema: bool) -> int:  # noqa: ARG001 - required, so that the command can print more one day
    """Print the JSON schema of release specs.

    With the schema, an editor can complete, explain and check a spec as you write it.
    """
    from expectations.request.spec import ReleaseSpec

    content = ReleaseSpec.model_json_schema()
    sys.stdout.write(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    return 0
