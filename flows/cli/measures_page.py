"""The page about measures, from the registry."""

import math

from algorithms.measure import Measure
from algorithms.measures import MEASURES

INTRODUCTION = """# Measures

Every figure that gate, command line, reports and artefacts show, written by
`microrelease measures --markdown`. All compare the values that are really published, after rounding, with the
originals, on the scale of the originals (z-scores with *n* - 1). IL and DLD must have a ceiling in every spec; any
other measure of which less is better may have one, too, and any of which more is better a floor:

```yaml
gate:
  ceilings: {il: 25.0, dld: 38.0, within_records: 5.0}
  floors: {l_distinct: 3}
```
"""

BOUND = """
## What no method can go below

For a group *G* of *m* records, SSE(*G*) = 1/(2*m*) Σ d²(*i*, *j*) over all ordered pairs in *G*. The *m* - 1 others
of record *i* are no nearer than its *m* - 1 nearest neighbours in the whole table, whose squared distances add up
to S(*i*, *m* - 1); so SSE(*G*) is at least Σ S(*i*, *m* - 1) / (2*m*) over the records of *G*. S(*i*, *m* - 1) / *m*
grows with *m*, and groups hold at least *k*: no partition loses less than Σ S(*i*, *k* - 1) / (2*k*) over all
records. That is `il_bound`, in per cent of SST. Rounding only adds to the loss, so the bound holds for what is
published, too.

A stronger bound splits each pair's d² unevenly between its two records, with weights that add up to one, and takes
the *k* - 1 smallest weighted distances of each record; any weights give a proven bound, and good ones are sought by
ascent. A spec asks for it with `evaluation: {bound_rounds: 400}`; the rounds are the budget, so that the same spec
gives the same figure on every machine. It then takes the place of the plain bound in certificate, report and map.

The strongest bound is the value of a linear programme that may choose fractions of groups, with a column for every
group of *k* to 2*k* - 1 records. Columns are generated where a group costs less than the prices of its records,
and whatever prices are reached in time prove a bound. A spec asks for it with `evaluation: {certify_seconds: 60}`, for
tables of up to 5,000 records. On the benchmark sets seconds suffice at *k* = 3, and up to *k* = 5 a minute or so comes
within half a per cent of the programme's value; beyond that it seldom comes to more than the weighted bound, which is
then reported. How far it gets depends on the machine, and the notes of the evaluation tell how many rounds were made;
each bound is proven, whichever it is.
"""

ESTIMATES = """
## Estimates

`reidentified_best` needs an assignment of all records at once. Above {largest} records it is estimated from samples
of whole groups; manifest and report then say so, with a confidence interval. All other measures are exact at any
size, and none needs a matrix of all distances.

## Digits

The gate decides on all digits. What is written down (manifest, report, map, artefacts, public files) has at most
{decimals} decimals and {digits} significant digits where it was computed from originals: with all its digits a figure
is an exact equation in them, and a few such equations can be solved for a cell. A verdict shows more digits where it
takes them to see on which side of its limit a value is. Measures that need no original keep all digits, and anyone
who has the published file can compute them. No figure is the value of one record: means, variances and correlations
are of all records, and quantiles are averages of at least *k*.

This does not hide a record where hardly any other differs: if all but one group are constant in a column, the
variance of that column is the variance of that group, to however few digits it is told. The register is internal
for that reason, and IL is public because those who use the data must know it.

## Limits that can never refuse

The column *worst* has the worst value that a measure can take where every group holds at least *k* records. A limit
that tolerates this value refuses nothing, and `microrelease check` says so. All records of a group are published
as one point, and a point has two nearest originals: DLD is at most 200 / *k*.

Papers by key: [references.bib](references.bib).
"""


def measures_page() -> str:
    """Write the page."""
    from algorithms.measure import DECIMALS, DIGITS
    from algorithms.risk.one_to_one import LARGEST

    tables = [
        f"\n## {title}\n\n| name | measure | unit | better | worst | definition | paper |\n"
        "|---|---|---|---|---|---|---|\n"
        + "\n".join(_row(measure) for measure in MEASURES.values() if measure.kind == kind)
        + "\n"
        for kind, title in (("utility", "Utility"), ("risk", "Risk"))
    ]
    notes = ESTIMATES.format(largest=LARGEST, decimals=DECIMALS, digits=DIGITS)
    return INTRODUCTION + "".join(tables) + BOUND + notes


def _row(measure: Measure) -> str:
    extreme = measure.most if measure.better == "lower" else measure.least
    worst = f"{extreme:g}" if 0.0 < extreme < math.inf and measure.name != "k" else ""
    return (
        f"| `{measure.name}` | {measure.title} | {measure.unit} | {measure.better} | "
        f"{worst}{' / *k*' if measure.over_k else ''} | {measure.definition} | {measure.paper} |"
    )
