"""The page docs/measures.md, written from the registry of measures."""

import math

from algorithms.measure import Measure
from algorithms.measures import MEASURES

INTRODUCTION = """# Measures

These are the figures that the gate, the command line, the reports and the artefacts show. `microrelease measures --markdown`
writes this page. All measures compare the values as they are published, after rounding, with the originals, on the scale of
the originals (z-scores with *n* - 1; [labels, codes and missing values](real-tables.md#the-mathematics) have coordinates,
too). Every release needs a ceiling for IL and one for DLD
([sensible ceilings](exploring.md#sensible-ceilings)). A spec may also set a ceiling for any other measure where lower is
better, and a floor for any measure where higher is better:

```yaml
gate:
  ceilings: {il: 25.0, dld: 38.0, within_records: 5.0}
  floors: {l_distinct: 3}
```
"""

BOUND = """
## Lower bounds on the information loss

For a group *G* of *m* records, SSE(*G*) = 1/(2*m*) Σ d²(*i*, *j*) over all ordered pairs in *G*. The other *m* - 1
records in the group of record *i* are no nearer than its *m* - 1 nearest neighbours in the whole table, whose squared
distances add up to S(*i*, *m* - 1). So SSE(*G*) is at least Σ S(*i*, *m* - 1) / (2*m*) over the records of *G*.
S(*i*, *m* - 1) / *m* grows with *m*, and groups hold at least *k* records, so no partition loses less than
Σ S(*i*, *k* - 1) / (2*k*) over all records. This is `il_bound`, in per cent of SST. Rounding only adds to the loss, so
the bound also holds for the published values. Groups never cross strata, so each stratum has a bound of its own, and
the bounds are added. Where a group publishes one label, distances between labels are stretched by √(*k* / (*k* - 1)), which
is [proven](real-tables.md#the-mathematics) to remain a bound. Withheld records add their squared distance from the mean.

If records have weights, a group of total weight W loses Σ w(*i*) w(*j*) d²(*i*, *j*) / (2 W) over all ordered pairs. So
record *i* bears w(*i*)/2 times the weighted average of d² over its group, where it counts itself with 0. That is at least
the smallest such average over all sets of *k* - 1 other records or more. Of these the nearest and the lightest are looked
at; all others are taken to be as near as the last of the nearest, and as light as the next of the lightest. With
`bound_rounds`, a pair's d² is split unevenly here, too. Distances between labels are not stretched.

A spec asks for stronger bounds with `evaluation: {bound_rounds: 100}`. The budget is counted in rounds, so the same spec
gives the same figure on every machine; the ascent ends earlier if the bound hardly rises any more. The strongest
bound that results goes into the certificate, the report and the map, and the certificate names it:

- **Weighted distances.** Each pair's d² is split unevenly between its two records, with weights that add up to one, and the
  *k* - 1 smallest weighted distances of each record count. Any weights prove a bound; an ascent looks for good ones.
- **A semidefinite programme**, for any *k*. For a partition, let Z(*i*, *j*) = 1/*m* if records *i* and *j* share a group of
  *m*, and 0 if they do not. Then SSE = Σ C(*i*, *j*) Z(*i*, *j*) with C = d²/2. Z is symmetric, its rows add up to 1, it is
  positive semidefinite, and it satisfies two kinds of inequalities:
  *stars*, Σ Z(*i*, *j*) - Σ Z(*j*, *l*) ≤ Z(*i*, *i*), with sums over two to four records *j* and over pairs *j*, *l* of
  them, so that a record shares its group with others only as far as these share it with each other; and *clusters*: *s*
  records, with the remainder *r* > 0 of *s* divided by *k*, satisfy
  Σ Z(*i*, *i*) + Σ Z(*i*, *j*) / (*k* - *r*) ≤ ⌊*s* / *k*⌋ + *s* / (*k* - *r*), so that 12 records far from all others
  form one group of 10 or more, not 1.2. Let A be any antisymmetric matrix, S any
  positive semidefinite one, and let T collect inequalities at prices that are not negative, with limits that cost *t*.
  With W = C + A - S + T, no partition loses less than the sum over all records of
  the least (W(*i*, *i*) + the *m* - 1 smallest W(*i*, *j*)) / *m*, for *m* from *k* to 2*k* - 1, minus *t*. Every choice of
  A, S and prices proves a bound. Good ones are found by the alternating direction method of multipliers, on
  overlapping patches of 40 to 300 records. Where labels count, C depends on *m* as explained in
  [real tables](real-tables.md#the-mathematics).

  Time per round is 0.05 to 0.2 seconds on a thousand records, 0.6 on 20,000 and 2 to 3 on 100,000; memory is some 25 kB per
  record. Above 200,000 records this bound is left out, and the bound by weighted distances counts. A million records get
  that one. Tables in parts get the bound by nearest neighbours, up to 2,000,000 records.

  To choose rounds: 60 show most of the bound, 100 to 200 nearly all of it.
- **Column generation**, for tables of up to 5,000 records, with `evaluation: {certify_seconds: 60}`. A linear programme may
  choose fractions of groups, with a column for every group of *k* to 2*k* - 1 records. Columns are generated where a group
  costs less than the prices of its records, and the prices reached within the time limit prove a bound. Inequalities are
  added that every partition satisfies: at most one group holds two of three records, for example. Where these no longer help,
  partitions are divided into those with two records in one group and those with the two apart, until a partition is
  proven optimal or time is up. This is the strongest bound up to about *k* = 5. Its result depends on the speed of
  the machine, and the notes of the evaluation say how many rounds were completed. Seconds without rounds also spend 100
  rounds on the semidefinite programme, which takes over where columns do not come to an end.

For rounding, the semidefinite bound subtracts more than the arithmetic can have added. Tests compare it with the optimum
over all partitions of thousands of small tables, and recompute it from A, S and prices in exact fractions.
"""

KINDS = """
## Labels, missing values, strata and weights

A measure applies to the columns for which it makes sense, and is left out if there are none:

- `il`, `dld`, `linked_nearest`, `reidentified_best` and `pmse` use the coordinates of all key columns.
- Means, variances, quantiles, correlations and the spectrum need a number line: numbers, dates and ordered levels.
- In `within_records` and `within_values`, a label is within reach if it is the record's own.
- `category_error`, `margin_change` and `association_change` describe labels and codes. Modes erase rare labels while the
  error stays small, so look at `margin_change` as well. [Calibrated labels](spec.md#what-a-group-publishes) keep totals.
- `filled` and `blanked` describe key columns with a policy for [missing values](spec.md#missing-values); `withheld` and
  `merged` describe small [strata](spec.md#strata).
- With a [weight](spec.md#weights), IL is weighted, and `weighted_total_change` shows the largest change of a weighted
  total.

## How far the signature carries

*k* counts all published columns except the confidential ones. Two groups of measures show what lies beyond it. All of
them but `linked_known` can be recomputed from the public file.

- `linked_known` is the success of an attacker who knows every column that *k* counts: at most 100 / *k*.
- `unique_with_one`, `below_k_with_one`, `unique_with_all` and `below_k_with_all` ask what happens if an attacker also
  knows confidential columns, one or all of them. A column with many different values, such as an exact profit, makes
  nearly every record unique. That is no fault of the groups: it shows how much the signature on that column carries.
- `one_value` is the share of records in groups that share one confidential value. Everyone who finds such a group learns
  the value without knowing which record is whose. A floor of 2 on `l_distinct` forbids such groups.
"""

ACROSS = """
## Across releases

These measures compare a release with the earlier ones of the same persons. They exist only where the spec names
identifiers, so that persons can be followed. A record is *visible* if its confidential and other columns are published,
and *muted* if they are empty.

| attacker | knows | measures |
|---|---|---|
| intersects groups | the key values of a person in every release, that the person is in them, and which visible records are the same person's | `candidates_min`, `under_k_across`, `singled_out` |
| knows absences | also in which releases everybody else is absent or muted | `exact_singled_out` |
| intersects values | the key values of a person in every release, and that it keeps its value of a column | `l_across` |
| takes differences | no key values, only that two groups differ by one person | `lone_changes` |
| solves averages | no key values, only which visible records are the same person's | `solved` |

- The first three are promised by a floor of *k* on `candidates_min`. Someone who knows fewer releases has more candidates,
  so all releases within `series.window` are compared at once. Only persons who are visible in the new release are
  counted: all others keep the candidates that they had.
- `lone_changes` and `l_across` look at all earlier releases, whatever the window: neither needs to follow a record. In
  `lone_changes`, muted records and persons who have left are members of their groups, because they are in the averages.
- `l_across` needs the columns in `series.stable` and the sources of the earlier releases. The columns are intersected each
  on its own and all together. A person who changed its value is not counted, because the attacker would be wrong.
- `row_links` is the share of records that matching really follows from the last release. Records match if their strata,
  other and confidential values are unique in both releases and equal; or one to one within equal strata and other columns,
  so that the ranks of their confidential numbers differ least in sum, where two different labels count as a tenth of all
  ranks. In cells of more than {cell} records, labels must be equal too, and two records match if each is the nearest of
  the other. The rule that finds more persons counts, and a record with a twin is never found.
- With `series.links: measured`, `candidates_min` and its companions compare only releases into which a record is followed:
  directly, or along a chain of consecutive releases. A release whose source is not at hand counts as followed. This is a
  measurement of these two rules, not a proof: a cleverer attacker may follow more records.
- `solved` takes every person's values as constant and solves the averages of all groups by least squares. A muted record is
  an unknown of its own in each release.

If the source of an earlier release has gone or changed, `l_across`, `row_links` and `solved` are left out with that reason,
and a limit on them refuses the release.
"""

ESTIMATES = """
## Estimates

`reidentified_best` assigns all records at once. Above {largest} records it is estimated from samples of whole groups;
above {most_solved} records, `solved` is estimated from samples of records that lie close to each other. The manifest and
the report then say so and give a confidence interval. All other measures are exact for tables of any size, and none needs
a matrix of all distances.

## Digits

The gate uses all digits. Figures that were computed from originals are written (in the manifest, report, map, artefacts
and public files) with at most {decimals} decimals and {digits} significant digits: with all its digits, a figure is an
exact equation in the originals, and a few such equations can be solved for a cell. A verdict shows more digits if they
are needed to see on which side of its limit a value lies. Measures that do not need the originals keep all digits;
anyone who has the published file can compute them. No figure is the value of a single record: means, variances and
correlations cover all records, and quantiles are averages of at least *k* records.

This does not protect a record in a column where hardly any other record varies: if all groups but one are constant in
that column, its variance is the variance of that one group, however few digits are shown. For that reason the register
is internal. IL is public because users of the data must know it.

## Limits that can never refuse

The column *worst* shows the worst value that a measure can take if every group holds at least *k* records. A limit that
allows this value never refuses a release; `microrelease check`, `run`, `explore` and the map warn about it, and `check`
lists every limit with the worst value of its measure. For example, all records of a group are published as one point,
and a point has two nearest originals, so DLD is at most 200 / *k*. IL has no worst value, but a file that loses 100 % is
no better than publishing the mean of each column, so a ceiling of 100 on IL is warned about, too.

Papers by key: [references.bib](references.bib).
"""


def measures_page() -> str:
    """Return the page as Markdown."""
    from algorithms.measure import DECIMALS, DIGITS
    from algorithms.risk.links import LARGEST_CELL
    from algorithms.risk.one_to_one import MOST_ASSIGNED
    from algorithms.risk.solving import LARGEST_TABLE

    tables = [
        f"\n## {title}\n\n| name | measure | unit | better | worst | definition | paper |\n"
        "|---|---|---|---|---|---|---|\n"
        + "\n".join(_row(measure) for measure in MEASURES.values() if measure.kind == kind)
        + "\n"
        for kind, title in (("utility", "Utility"), ("risk", "Risk"))
    ]
    across = ACROSS.format(cell=LARGEST_CELL)
    notes = ESTIMATES.format(
        largest=MOST_ASSIGNED, most_solved=f"{LARGEST_TABLE:,}", decimals=DECIMALS, digits=DIGITS
    )
    return INTRODUCTION + "".join(tables) + KINDS + across + BOUND + notes


def _row(measure: Measure) -> str:
    extreme = measure.most if measure.better == "lower" else measure.least
    worst = f"{extreme:g}" if 0.0 < extreme < math.inf and measure.name != "k" else ""
    return (
        f"| `{measure.name}` | {measure.title} | {measure.unit} | {measure.better} | "
        f"{worst}{' / *k*' if measure.over_k else ''} | {measure.definition} | {measure.paper} |"
    )
