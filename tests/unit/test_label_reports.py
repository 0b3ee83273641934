"""Pages of tables with labels, codes, missing values, strata, units, weights and secrets."""

import math
import tarfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from algorithms.comparison import Comparison
from algorithms.evaluation import Evaluation
from algorithms.profile import LabelProfile, Margin, Profile, StrataProfile, profile
from algorithms.risk.known import Exposure, unchanged_exposures
from expectations.concerns import concerns
from expectations.gate import Verdicts
from expectations.manifest import Manifest, decode
from expectations.published.claims import Claims
from expectations.published.verifier import verify
from tasks.explore.cell import Cell, measures_of
from tasks.explore.page import map_page
from tasks.explore.recommendation import recommendation
from tasks.explore.source import SourceFacts, source_facts
from tasks.ingest import ingest
from tasks.publish import publish
from tasks.reporting import pictures
from tasks.reporting.methodology import secrets
from tasks.reporting.release_report import MOST_LABELS, elided, release_report
from tasks.validate import validate
from tests.conftest import Request
from tests.mixed import KEYS, RARE, SMALL, mixed
from tests.publishing import approved
from tests.unit.test_report import Outline, checked

WITHHOLD = {
    "microaggregation": {"small_strata": "withhold"},
    "gate": {"ceilings": {"il": 100.0, "dld": 100.0, "withheld": 50.0}},
}
BY_PREFIX = {"icd": {"prefixes": [1]}, "region": {"prefixes": [1]}}
GOLDEN = Path(__file__).parents[1] / "golden"


@dataclass(frozen=True)
class Made:
    """The pages of a release."""

    manifest: Manifest
    profile: Profile
    claims: Claims
    page: str
    readme: str

    def report(self, drawn: bool = True) -> Outline:
        return checked(release_report(self.manifest, self.profile if drawn else None))


Make = Callable[..., Made]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Publish a table with other roles; the same release is made once."""
    ready: dict[str, Made] = {}

    def made(sections: dict[str, Any] | None = None, **columns: Any) -> Made:
        key = f"{sections}{columns}"
        if key not in ready:
            request_of = mixed(Request(tmp_path_factory.mktemp("made")), **columns)
            ready[key] = _made(request_of, **(sections or {}))
        return ready[key]

    return made


def _made(request_of: Request, **sections: Any) -> Made:
    masked, approval, spec, record = approved(request_of.load(**sections))
    folder = publish.fn(masked, approval, spec, record).folder
    manifest = record.ending(
        "000001-small",
        "approved",
        evaluation=asdict(approval.evaluation),
        gate=[asdict(verdict) for verdict in approval.verdicts],
    )
    pages = [
        (folder / name).read_text(encoding="utf-8") for name in ("methodology.html", "README.md")
    ]
    return Made(manifest, profile(Comparison(masked)), verify(folder).claims, *pages)


# the report


def test_the_report_shows_every_column_by_its_kind(make: Make) -> None:
    made = make()
    found = made.report()
    for words in (
        "sex labels",
        "icd codes in a tree",
        "education ordered levels",
        "admitted date",
        "bmi number",
        "Wrong labels Change of totals Filled Blanked",
        "of the records show a label that is not theirs.",
        "Records with each of the most frequent labels",
    ):
        assert words in found.text
    assert "Totals of sex, original and published" in found.pictures
    assert "Totals of icd, original and published" in found.pictures
    for name in ("education", "admitted", "bmi", "income"):
        assert f"Density of {name}, original and published" in found.pictures
        assert f"Totals of {name}, original and published" not in found.pictures
    assert made.manifest.evaluation is not None
    for column in made.manifest.evaluation.columns:
        assert f"{column['il']:.4f} %" in found.text


def test_columns_stand_in_the_order_of_the_spec(make: Make) -> None:
    text = release_report(make().manifest, make().profile)
    places = [text.index(f"<h3>{name}</h3>") for name in KEYS]
    assert places == sorted(places)


def test_only_columns_on_number_lines_have_means_and_correlations(make: Make) -> None:
    made = make()
    found = made.report()
    caption = "Changes of means and quantiles"
    rows = found.text[found.text.index(caption) : found.text.index("The pictures show no single")]
    for name in ("education", "admitted", "bmi", "income"):
        assert f" {name} " in rows
    for name in ("sex", "icd"):
        assert f" {name} " not in rows
    pairs = found.text[found.text.index("The largest changes of correlations") :]
    pairs = pairs[: pairs.index("Group sizes")]
    assert "bmi and income" in pairs
    assert "sex" not in pairs


def test_original_totals_below_k_are_not_shown(make: Make) -> None:
    made = make()
    found = made.report()
    assert "One original label stood for fewer than 4 records." in found.text
    # it may be published, but its original total is not shown
    assert f"{RARE} 2 " not in found.text
    kept = LabelProfile("sex", (Margin("f", 60, 58), Margin(RARE, None, 4)), 2, 3, 1.5)
    shown = checked(release_report(made.manifest, _with_labels(made.profile, kept)))
    assert "2 original labels stood for fewer than 4 records each." in shown.text
    assert f"{RARE} <4 4" in shown.text
    assert "f 60 58 −2" in shown.text  # noqa: RUF001 - a minus sign


def _with_labels(drawn: Profile, changed: LabelProfile) -> Profile:
    labels = tuple(changed if each.name == changed.name else each for each in drawn.labels)
    return replace(drawn, labels=labels)


def test_many_labels_are_counted_and_not_listed(make: Make) -> None:
    made = make()
    many = tuple(Margin(f"label {i}", 90 - i, 90 - i) for i in range(MOST_LABELS + 7))
    drawn = _with_labels(made.profile, LabelProfile("sex", many, 0, 0, 0.0))
    found = checked(release_report(made.manifest, drawn))
    assert "7 less frequent labels are not listed." in found.text
    assert f"label {MOST_LABELS - 1} " in found.text
    assert f"label {MOST_LABELS} " not in found.text
    assert "label 0 90 90 0" in found.text
    bars = Outline(pictures.as_svg(pictures.totals(many_of(many)), "bars")).text
    assert f"label {pictures.MOST_BARS - 1} " in bars
    assert f"label {pictures.MOST_BARS} " not in bars


def many_of(margins: tuple[Margin, ...]) -> LabelProfile:
    return LabelProfile("x", margins, 0, 0, 0.0)


def test_a_column_without_labels_that_may_be_shown_has_no_bars(make: Make) -> None:
    made = make()
    drawn = _with_labels(made.profile, LabelProfile("sex", (), 9, 20, 50.0))
    found = checked(release_report(made.manifest, drawn))
    assert "Totals of sex, original and published" not in found.pictures
    assert "9 original labels stood for fewer than 4 records each." in found.text


@pytest.mark.filterwarnings("ignore:Glyph")
def test_bars_of_any_labels_are_drawn_as_text() -> None:
    labels = (r"$\nonsense$ costs $5", "<b>", "\x01", "a" * 99, "$", "%")
    margins = tuple(Margin(label, None if i else 9, 7) for i, label in enumerate(labels))
    text = pictures.as_svg(pictures.totals(many_of(margins)), "bars")
    assert text == pictures.as_svg(pictures.totals(many_of(margins)), "bars")
    found = Outline(text)
    assert r"$\nonsense$ costs $5" in found.text
    assert "<b>" in found.text
    assert "a" * (pictures.LONGEST_LABEL - 1) + "…" in found.text
    assert "a" * pictures.LONGEST_LABEL not in found.text


def test_strata_are_counted_and_never_named(make: Make) -> None:
    made = make(WITHHOLD, strata=["region"])
    found = made.report()
    strata = made.profile.strata
    assert strata is not None
    for words in (
        f"Strata {strata.count}",
        f"Records in the smallest {strata.smallest}",
        f"Records in the largest {strata.largest}",
        f"Median IL of a stratum {strata.il[1]:.2f} %",
        "Records withheld 2",
        "Records in merged strata 0",
    ):
        assert words in found.text
    for text in (found.text, made.page, made.readme):
        assert SMALL not in text
        assert "N1" not in text


def test_a_table_without_strata_has_no_such_section(make: Make) -> None:
    assert "Strata are not listed" not in make().report().text


def test_the_report_tells_who_could_still_be_told_apart(make: Make) -> None:
    made = make()
    found = made.report()
    records = made.manifest.evaluation.records if made.manifest.evaluation else 0
    assert [each.columns for each in made.profile.exposures] == [
        (),
        ("outcome",),
        ("score",),
        ("outcome", "score"),
    ]
    assert "the columns counted into k 0 (0.0 %) 0 (0.0 %)" in found.text
    for each in made.profile.exposures[1:]:
        shares = " ".join(f"{n} ({100 * n / records:.1f} %)" for n in (each.unique, each.below))
        assert f"these and {', '.join(each.columns)} {shares}" in found.text
    assert "whoever signs the spec holds that attackers do not know them" in found.text


def test_a_table_without_confidential_columns_says_so(make: Make) -> None:
    found = make(confidential=[]).report()
    assert "No column is confidential: every published column is counted into k." in found.text
    assert "these and" not in found.text


def test_a_weighted_table_says_what_is_weighted(make: Make) -> None:
    weighted = make(weight="weight").report().text
    assert "The records have weights (weight)." in weighted
    assert "The lower bound of IL is weighted, too." in weighted
    assert "The records have weights" not in make().report().text


def test_k_in_units_is_named_so(make: Make) -> None:
    assert "Requested k 4 units (person)" in make(unit="person").report().text
    assert "units (" not in make().report().text


def test_a_report_without_pictures_keeps_the_tables_of_columns(make: Make) -> None:
    found = make().report(drawn=False)
    assert found.pictures == []
    assert "sex labels" in found.text
    assert "Who could still be told apart" not in found.text


def test_the_lines_of_a_hierarchy_are_not_printed() -> None:
    rows = [[f"code-{i}", "all"] for i in range(1234)]
    spec = {"columns": {"hierarchies": {"a": {"sha256": "ab", "rows": rows}, "b": {"rows": []}}}}
    shown = elided(spec)
    assert shown["columns"]["hierarchies"]["a"] == {
        "sha256": "ab",
        "rows": "1,234 lines, not shown",
    }
    assert shown["columns"]["hierarchies"]["b"] == {"rows": []}
    assert spec["columns"]["hierarchies"]["a"]["rows"] is rows
    assert elided({}) == {}
    assert elided({"columns": {"other": []}}) == {"columns": {"other": []}}


@pytest.mark.parametrize("number", [1, 2])
def test_manifests_of_earlier_formats_have_a_report(number: int, tmp_path: Path) -> None:
    with tarfile.open(GOLDEN / f"format-{number}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    paths = sorted(tmp_path.rglob("manifest.json"))
    assert len(paths) > 3
    for path in paths:
        manifest = decode(path.read_bytes(), path.parent.name)
        found = checked(release_report(manifest))
        assert "Loss of each masked column" not in found.text
        assert manifest.attempt in found.text


def test_an_attempt_that_stopped_before_it_was_measured_has_a_report(make: Make) -> None:
    content = make().manifest.content
    for part in ("evaluation", "gate"):
        content.pop(part)
    manifest = Manifest.model_validate(content | {"decision": "failed", "reason": "no file"})
    found = checked(release_report(manifest))
    assert "No file." in found.text
    assert "Columns" not in found.names


# concerns


@pytest.mark.parametrize(
    ("name", "value", "level", "words"),
    [
        ("category_error", 4.0, "low", ""),
        ("category_error", 5.0, "medium", "5 % of the published labels are not those"),
        ("category_error", 15.0, "high", "15 % of the published labels"),
        ("margin_change", 1.0, "medium", "totals of labels changed by 1 %"),
        ("association_change", 0.2, "high", "changed by 0.2 on average"),
        ("filled", 2.0, "medium", "show a value where theirs is missing"),
        ("blanked", 10.0, "high", "show no value where they have one"),
        ("withheld", 1.0, "medium", "are left out, because their stratum is too small"),
        ("merged", 5.0, "medium", "is published as a wider one"),
        ("weighted_total_change", 6.0, "high", "weighted total of a column changed by 6 %"),
        ("one_value", 0.5, "low", ""),
        ("one_value", 1.0, "medium", "for 1 % of the records"),
        ("one_value", 10.0, "high", "anyone who finds the group learns that value"),
        ("linked_known", 17.0, "low", "groups of 5 allow at most 20 %"),
        ("linked_known", 20.0, "medium", "links 20 % of the records"),
        ("unique_with_one", 5.0, "low", ""),
        ("unique_with_one", 100.0, "medium", "k does not cover them"),
        ("below_k_with_all", 100.0, "medium", "have fewer than k alike"),
        ("k_units", 5.0, "low", "has 5 units, as it must"),
        ("k_units", 4.0, "high", "has 4 units, not 5"),
    ],
)
def test_a_measure_of_real_tables_has_a_level_and_a_sentence(
    name: str, value: float, level: str, words: str
) -> None:
    (found,) = concerns({name: value}, 5, {})
    assert (found.measure, found.level) == (name, level)
    assert words in found.why


def test_records_that_stand_out_by_more_columns_are_a_concern_only_if_they_are_more() -> None:
    same = {
        "unique_with_one": 90.0,
        "below_k_with_one": 95.0,
        "unique_with_all": 95.0,
        "below_k_with_all": 100.0,
    }
    assert _levels(same) == {
        "unique_with_one": "medium",
        "below_k_with_one": "low",
        "unique_with_all": "low",
        "below_k_with_all": "low",
    }
    assert _levels({**same, "unique_with_one": 2.0})["unique_with_all"] == "medium"


def test_groups_with_one_value_are_judged_by_their_share() -> None:
    assert _levels({"l_distinct": 1.0, "one_value": 0.3}) == {
        "l_distinct": "medium",
        "one_value": "low",
    }


def _levels(measures: dict[str, float]) -> dict[str, str]:
    return {each.measure: each.level for each in concerns(measures, 5, {})}


# the map


PICTURE = pictures.Svg('<svg role="img" aria-label="x"></svg>')
PICTURES = {"map": PICTURE, "il-by-k": PICTURE}


def cell(spec: Any, **measures: float) -> Cell:
    """Make a cell of the spec's own choice with these measures."""
    known = {"k": 4.0, "il": 9.0, "dld": 9.0, "rounding": 0.0, **measures}
    found = Evaluation(known, 120, 30, {4: 30})
    return Cell(spec.microaggregation, found, Verdicts(found, spec.gate, 4).each)


def test_a_map_shows_the_records_that_stand_out_whatever_is_chosen(request_of: Request) -> None:
    spec = mixed(request_of, strata=["region"]).load(**WITHHOLD)
    read, _ = ingest.fn(spec)
    table, _ = validate.fn(read, spec)
    source = source_facts(table, 4)
    assert source.records == 120
    assert source.exposures == unchanged_exposures(table, 4)
    assert any("are likely to vanish" in warning for warning in source.warnings)
    found = Outline(map_page([cell(spec)], spec, PICTURES, source))
    assert "Records that stand out by columns that are published unchanged" in found.text
    for each in source.exposures:
        assert f"{', '.join(each.columns)} {each.unique} (" in found.text
    assert "whoever signs the spec holds that attackers do not know them" in found.text
    assert "are likely to vanish" in found.text
    for secret in (SMALL, RARE):
        assert secret not in found.text


def test_a_map_of_a_table_without_unchanged_columns_has_no_such_table(request_of: Request) -> None:
    spec = mixed(request_of, confidential=[]).load()
    text = Outline(map_page([cell(spec)], spec, PICTURES, SourceFacts(120))).text
    assert "stand out by columns" not in text
    strata = SourceFacts(120, (Exposure(("region",), 0, 2),))
    text = Outline(map_page([cell(spec)], spec, PICTURES, strata)).text
    assert "region 0 (0.0 %) 2 (1.7 %)" in text
    assert "whoever signs" not in text


def test_measures_that_do_not_apply_are_left_out_of_a_map(request_of: Request) -> None:
    spec = request_of.load()
    plain, secret = cell(spec), cell(spec, one_value=12.5, category_error=3.25)
    assert math.isnan(plain.measure("category_error"))
    assert math.isnan(Cell(spec.microaggregation, fault="x").measure("il"))
    assert "groups with one confidential value" not in map_page([plain], spec, PICTURES)
    page = map_page([plain, secret], spec, PICTURES)
    assert "groups with one confidential value" in page
    assert "12.5000 %" in page
    assert "nan" not in Outline(page).text


def test_every_map_measures_the_whole_row(request_of: Request) -> None:
    wanted = {"linked_known", "category_error", "one_value", "unique_with_one"}
    assert wanted <= set(measures_of(request_of.load()))


def test_a_limit_of_a_measure_that_does_not_apply_is_to_be_dropped(request_of: Request) -> None:
    spec = request_of.load(gate={"ceilings": {"il": 1.0, "dld": 100.0, "category_error": 5.0}})
    words = recommendation([cell(spec), cell(spec, il=2.0)], spec)
    assert "wrong labels does not apply to this table: drop its limit" in words
    assert "IL is 2.0000 % but must be at most 1.0000 %" in words
    assert "nan" not in words


# the profile


def test_strata_and_labels_of_a_profile_come_from_the_table(make: Make) -> None:
    made = make(
        {"microaggregation": {"small_strata": "merge"}}, strata=["region"], hierarchies=BY_PREFIX
    )
    strata = made.profile.strata
    assert isinstance(strata, StrataProfile)
    assert (strata.merged > 0, strata.withheld) == (True, 0)
    assert strata.il[0] <= strata.il[1] <= strata.il[2]
    for column in made.profile.labels:
        assert all(each.before is None or each.before >= 4 or each.before == 0
                   for each in column.margins)  # fmt: skip
        assert np.isclose(sum(each.after for each in column.margins), made.claims.rows)


# the public pages


def test_public_pages_name_the_columns_that_k_counts_and_the_limits_with_numbers(
    make: Make,
) -> None:
    made = make()
    measures, figures = made.claims.measures, made.claims.figures
    page, text = checked(made.page).text, " ".join(made.readme.split())
    for shown in (page, text):
        assert "sex, icd, education, admitted, bmi and income occurs in at least 4 rec" in shown
        assert "a missing value counts as a value" in shown
        assert f"up to {measures['unique_with_one']:.2f} % of the records are unique" in shown
        assert f"knows all of them, {measures['unique_with_all']:.2f} %" in shown
        assert f"{measures['one_value']:.2f} % of the records" in shown
        assert f"the right one for {figures['linked_known']:.2f} % of the records" in shown
        assert "25.00 %" in shown
        assert "releases of" in shown
        assert "averaged columns" not in shown
    assert f"none moved by more than {figures['mean_change']:.2g} standard deviations" in page
    prose = [line for line in made.readme.splitlines() if not line.startswith("|")]
    assert all(len(line) <= 100 for line in prose)


@pytest.mark.parametrize(
    ("columns", "sections", "words"),
    [
        ({"unit": "person"}, {}, "cannot tell which of at least 4 of them a record belongs to"),
        ({"unit": "person"}, {}, "records of at least 4 different persons, households or compan"),
        ({"weight": "weight"}, {}, "each record counted by its original weight"),
        ({"weight": "weight"}, {}, "Use the published weights: weighted means and totals of"),
        ({"strata": ["region"]}, WITHHOLD, "1.67 % of the original records were withheld"),
        ({"strata": ["region"]}, WITHHOLD, "All records of a group have the same region."),
        (
            {"strata": ["region"], "hierarchies": BY_PREFIX},
            {"microaggregation": {"small_strata": "merge"}},
            "of the records show a wider region than their own",
        ),
        ({"confidential": []}, {}, "Not guaranteed: a minimum distance"),
        ({}, {}, "Any two different labels of a column are equally far apart."),
    ],
)
def test_the_methodology_speaks_of_what_the_release_has(
    make: Make, columns: dict[str, Any], sections: dict[str, Any], words: str
) -> None:
    made = make(sections or None, **columns)
    assert words in checked(made.page).text


def test_a_release_without_confidential_columns_says_nothing_of_them(make: Make) -> None:
    made = make(confidential=[])
    for shown in (made.page, made.readme):
        assert "The publisher holds" not in shown


def test_one_confidential_column_is_spoken_of_as_one(make: Make) -> None:
    claims = make().claims
    roles = {name: "quasi-identifier" if name == "outcome" else role
             for name, role in claims.roles.items()}  # fmt: skip
    share = claims.measures["unique_with_one"]
    assert secrets(replace(claims, roles=roles)) == (
        "The publisher holds that attackers do not know it. To an attacker who does, "
        f"{share:.2f} % of the records are unique."
    )
    assert secrets(replace(claims, measures={})) == (
        "The publisher holds that attackers do not know them. An attacker who does may tell the "
        "records of a group apart."
    )


def test_codes_of_withheld_records_do_not_count_as_values(request_of: Request) -> None:
    spec = mixed(request_of).load()
    read, _ = ingest.fn(spec)
    table, _ = validate.fn(read, spec)
    few = table.take(np.arange(10)).confidential["score"].values
    assert sorted(set(few.tolist())) == list(range(len(set(few.tolist()))))
