"""Somebody changes a published folder so that it agrees with itself, and k does not hold."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from algorithms.errors import ContractError, IntegrityError, RefusedError
from algorithms.masked import Masked
from expectations.published.claims import FORMAT
from expectations.published.files import checksums
from expectations.published.recomputed import recompute
from expectations.published.verifier import verify
from tasks import public_files
from tasks.judge import judge
from tasks.publish import publish
from tests.conftest import Request
from tests.publishing import approved, folder_of, publish_all, rewrite

ROWS = "id,house,region,town,size,age,weight,illness\n" + "".join(
    f"p{i},h{i // 2},{'north' if i < 8 else 'south'},{'big' if i % 8 < 4 else 'little'},"
    f"{10 * i + 5000 * (i % 8 >= 4)},{20 + i},{1.5 + i % 2},d{i % 3}\n"
    for i in range(16)
)


@pytest.fixture
def survey(tmp_path: Path) -> Request:
    """Put a table with strata, a weight and units on disk; ``town`` is constant in groups."""
    request_of = Request(tmp_path)
    request_of.source.write_text(ROWS, encoding="utf-8")
    request_of.content["columns"] = {
        "identifiers": ["id"],
        "unit": "house",
        "strata": ["region"],
        "other": ["town"],
        "quasi_identifiers": ["size", "age"],
        "weight": "weight",
        "confidential": ["illness"],
        "integers": ["size", "age"],
    }
    request_of.content["microaggregation"] = {"method": "mdav", "k": 2}
    return request_of


@pytest.fixture
def folder(survey: Request) -> Path:
    published = publish_all(survey)
    verified = verify(published)
    assert verified.claims.format == FORMAT == 4
    assert verified.claims.known == ("region", "town", "size", "age", "weight")
    recompute(verified)
    return published


def forge(folder: Path, name: str, cell: object) -> None:
    """Change one cell, write both files anew, and describe them truly."""
    table = pyarrow.parquet.read_table(folder / "data.parquet")
    column = table[name].to_pylist()
    assert column[0] != cell
    values = pa.array([cell, *column[1:]], table[name].type)
    table = table.set_column(table.column_names.index(name), name, values)
    pyarrow.parquet.write_table(table, folder / "data.parquet")
    pyarrow.csv.write_csv(table, folder / "data.csv")

    def rehash(package: dict[str, Any]) -> None:
        for resource in package["resources"]:
            resource["bytes"] = (folder / resource["path"]).stat().st_size
            resource["hash"] = f"sha256:{checksums(folder)[resource['path']]}"

    rewrite(folder, rehash)


def set_role(name: str, role: str) -> Callable[[dict[str, Any]], None]:
    def change(package: dict[str, Any]) -> None:
        for resource in package["resources"]:
            for column in resource["schema"]["fields"]:
                if column["name"] == name:
                    column["microrelease:role"] = role

    return change


@pytest.mark.parametrize(
    ("name", "cell"),
    [("region", "south"), ("region", "east"), ("town", "middling"), ("weight", 9.25), ("age", 99)],
)
def test_one_changed_cell_that_an_attacker_may_know_fails_verification(
    folder: Path, name: str, cell: object
) -> None:
    forge(folder, name, cell)
    with pytest.raises(IntegrityError, match=r"all columns but the confidential ones must occur"):
        verify(folder)


def test_a_missing_stratum_counts_as_a_value(folder: Path) -> None:
    forge(folder, "region", None)
    with pytest.raises(IntegrityError, match="the rarest occurs in 1"):
        verify(folder)


def test_a_stratum_called_confidential_is_seen_by_its_measures(folder: Path) -> None:
    # strata and keys are counted apart from confidential columns: both measures change
    rewrite(folder, set_role("region", "confidential"))
    verified = verify(folder)
    assert "region" not in verified.claims.known
    with pytest.raises(IntegrityError, match="does not hold what"):
        recompute(verified)


def test_a_consistent_lie_about_roles_is_seen_by_whoever_knows_the_checksums(
    folder: Path,
) -> None:
    # one folder cannot show which columns attackers know: that is what a custodian signs, and the
    # register keeps the checksum of the description that was signed
    signed = checksums(folder)["datapackage.json"]
    rewrite(folder, set_role("region", "confidential"))
    forge(folder, "region", "south")

    def forget(package: dict[str, Any]) -> None:
        package["microrelease"]["measures"] = {}

    rewrite(folder, forget)
    assert recompute(verify(folder)) == {}
    assert checksums(folder)["datapackage.json"] != signed


def claim_format(number: int) -> Callable[[dict[str, Any]], None]:
    def change(package: dict[str, Any]) -> None:
        package["microrelease"]["format"] = number

    return change


@pytest.mark.parametrize("number", [1, 2])
def test_the_number_of_an_older_format_alone_fits_no_description(folder: Path, number: int) -> None:
    forge(folder, "region", "south")
    rewrite(folder, claim_format(number))
    with pytest.raises(IntegrityError, match="is not a description of a release"):
        verify(folder)


@pytest.mark.parametrize("number", [1, 2])
def test_a_whole_description_in_an_older_format_hides_strata_and_shows_its_format(
    folder: Path, number: int
) -> None:
    # older formats promised k on quasi-identifiers only, and stay readable: a verifier of one
    # folder sees that smaller promise, and only a signed checksum tells that it was larger
    signed = checksums(folder)["datapackage.json"]
    forge(folder, "region", "south")
    rewrite(folder, claim_format(number))

    def complete(package: dict[str, Any]) -> None:
        package["microrelease"] |= {"integers": ["size", "age"], "decimals": {}, "measures": {}}

    rewrite(folder, complete)
    claims = verify(folder).claims
    assert (claims.format, claims.known) == (number, ("size", "age"))
    assert checksums(folder)["datapackage.json"] != signed


def with_units(masked: Masked, units: list[int]) -> Masked:
    """Say that records belong to other units than those that were grouped."""
    return replace(masked, original=replace(masked.original, units=pa.array(units).to_numpy()))


def test_units_are_counted_on_the_staged_files(survey: Request) -> None:
    masked, approval, spec, record = approved(survey.load())
    one_house = with_units(masked, [0] * len(masked.original))
    with pytest.raises(ContractError, match="k=2 units in every combination; the rarest has 1"):
        publish.fn(one_house, approval, spec, record)
    assert not folder_of(survey).exists()


def test_units_are_counted_on_the_staged_files_in_their_order(
    survey: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    # rows are sorted before they are written: units must be sorted with them
    counted: list[int] = []
    count = public_files._count_units

    def watch(verified: Any, units: Any, spec: Any) -> None:
        counted.extend(units.to_pylist())
        count(verified, units, spec)

    monkeypatch.setattr(public_files, "_count_units", watch)
    masked, approval, spec, record = approved(survey.load())
    target = publish.fn(masked, approval, spec, record).folder
    sizes = verify(target).column("size").to_pylist()
    assert masked.original.units is not None
    before = zip(masked.original.units.tolist(), masked.published.keys[0].tolist(), strict=True)
    assert sorted(zip(counted, sizes, strict=True)) == sorted(before)


def test_a_table_of_too_few_units_passes_no_judge(survey: Request) -> None:
    masked, approval, spec, _ = approved(survey.load())
    one_house = with_units(masked, [0] * len(masked.original))
    with pytest.raises(ContractError, match="at least 2 different values of 'house'"):
        judge.fn(one_house, approval.verdicts, spec)


def test_other_columns_that_groups_do_not_heed_are_refused(survey: Request) -> None:
    rows = survey.source.read_text(encoding="utf-8").replace("p0,h0,north,big", "p0,h0,north,tiny")
    survey.source.write_text(rows, encoding="utf-8")
    with pytest.raises(RefusedError, match=r"columns.other \('town'\) .* counted into k"):
        publish_all(survey)
    assert not survey.public.exists()
