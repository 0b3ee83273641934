"""The verifier, on folders that are consistent in themselves and yet wrong."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from algorithms.errors import IntegrityError
from expectations.published.claims import claims_of, encode
from expectations.published.files import checksums
from expectations.published.recomputed import recompute
from expectations.published.verifier import verify
from flows.cli import main
from tests.conftest import Request
from tests.publishing import folder_of, rewrite


def reseal(folder: Path, table: pa.Table, csv: bytes | None = None) -> None:
    """Put other records into a folder and describe them truly."""
    pyarrow.parquet.write_table(table, folder / "data.parquet")
    if csv is None:
        pyarrow.csv.write_csv(table, folder / "data.csv")
    else:
        (folder / "data.csv").write_bytes(csv)

    def describe(package: dict[str, Any]) -> None:
        for resource in package["resources"]:
            path = folder / resource["path"]
            resource["bytes"] = path.stat().st_size
            resource["hash"] = f"sha256:{checksums(folder)[path.name]}"

    rewrite(folder, describe)


def table_of(folder: Path) -> pa.Table:
    return pyarrow.parquet.read_table(folder / "data.parquet")


def replace_column(folder: Path, name: str, values: pa.Array) -> pa.Table:
    table = table_of(folder)
    return table.set_column(table.column_names.index(name), name, values)


FORGERIES: list[tuple[str, Any, str]] = [
    (
        "a group too small",
        lambda f: reseal(f, replace_column(f, "staff", pa.array(range(7)))),
        "must occur in at least 3 rows; the rarest occurs in 1",
    ),
    (
        "rows removed",
        lambda f: reseal(f, table_of(f).slice(1)),
        "there must be 7 rows; there are 6",
    ),
    ("a column removed", lambda f: reseal(f, table_of(f).drop(["zone"])), "does not have the col"),
    (
        "another type",
        lambda f: reseal(f, replace_column(f, "staff", table_of(f)["staff"].cast(pa.float64()))),
        "column 'staff' must be of type integer; it is number",
    ),
    (
        "a missing value",
        lambda f: reseal(f, replace_column(f, "sales", pa.nulls(7, pa.float64()))),
        "quasi-identifier 'sales' must have no missing values; it has 7",
    ),
    (
        "files that differ",
        lambda f: reseal(f, table_of(f), (f / "data.csv").read_bytes().replace(b"007", b"008")),
        "do not hold the same records",
    ),
    (
        "a file that is no CSV",
        lambda f: reseal(f, table_of(f), b"zone,staff\nx\n"),
        "data.csv cannot be read",
    ),
    ("k = 1", lambda f: rewrite(f, lambda p: p["microrelease"].update(k=1)), "not a description"),
    ("no claims", lambda f: rewrite(f, lambda p: p.pop("microrelease")), "not a description"),
    ("no resources", lambda f: rewrite(f, lambda p: p.update(resources=[])), "not a description"),
    (
        "another resource",
        lambda f: rewrite(f, lambda p: p["resources"].reverse()),
        "does not describe data.csv and data.parquet",
    ),
    ("no mapping", lambda f: (f / "datapackage.json").write_text("[]"), "not a description"),
    (
        "a format to come",
        lambda f: rewrite(f, lambda p: p["microrelease"].update(format=99)),
        "it is in format 99: use a later version",
    ),
    (
        "nonsense for a format",
        lambda f: rewrite(f, lambda p: p["microrelease"].update(format="two")),
        "not a description",
    ),
    (
        "no quasi-identifier",
        lambda f: rewrite(
            f,
            lambda p: [
                x.update({"microrelease:role": "other"})
                for x in p["resources"][0]["schema"]["fields"]
            ],
        ),
        "not a description",
    ),
    ("no JSON", lambda f: (f / "datapackage.json").write_text("{"), "not a description"),
]


@pytest.mark.parametrize(
    ("forge", "words"), [forgery[1:] for forgery in FORGERIES], ids=[f[0] for f in FORGERIES]
)
def test_the_verifier_believes_nothing_but_the_bytes(
    published: Request, forge: Any, words: str
) -> None:
    forge(folder_of(published))
    with pytest.raises(IntegrityError) as raised:
        verify(folder_of(published))
    assert words in str(raised.value)


def test_a_description_is_written_as_it_is_read(published: Request) -> None:
    content = (folder_of(published) / "datapackage.json").read_bytes()
    assert encode(claims_of(content)) == content


def test_a_parquet_file_that_cannot_be_read_is_no_release(published: Request) -> None:
    folder = folder_of(published)
    table = table_of(folder)
    reseal(folder, table)
    (folder / "data.parquet").write_bytes(b"not Parquet")

    def describe(package: dict[str, Any]) -> None:
        package["resources"][1]["bytes"] = len(b"not Parquet")
        package["resources"][1]["hash"] = f"sha256:{checksums(folder)['data.parquet']}"

    rewrite(folder, describe)
    with pytest.raises(IntegrityError, match=r"data.parquet cannot be read"):
        verify(folder)


def test_figures_that_need_no_original_are_computed_anew(published: Request) -> None:
    found = recompute(verify(folder_of(published)))
    assert found["k"] >= 3
    assert {"reidentified_random", "l_distinct", "t_ordered"} <= set(found)


def test_a_figure_that_was_changed_is_noticed(published: Request) -> None:
    def add(package: dict[str, Any]) -> None:
        package["microrelease"]["measures"]["l_distinct"] += 1.0

    rewrite(folder_of(published), add)
    with pytest.raises(IntegrityError, match=r"l_distinct must be \d\.0; it is \d\.0"):
        recompute(verify(folder_of(published)))


def test_a_verification_says_which_columns_it_counted_and_which_it_could_not(
    published: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_of(published)
    assert main(["verify", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "every combination of the 2 columns counted into k occurs in at least" in shown
    assert "not verified" not in shown

    def in_units(package: dict[str, Any]) -> None:
        package["microrelease"]["k_counts"] = "units"

    rewrite(folder, in_units)
    assert main(["verify", str(folder)]) == 0
    assert "not verified  k counts units" in capsys.readouterr().out


def test_an_old_format_says_that_it_did_not_count_columns_beside_the_keys(
    published: Request,
) -> None:
    claims = claims_of((folder_of(published) / "datapackage.json").read_bytes())
    old = replace(claims, format=2, roles={**claims.roles, "zone": "other"})
    assert old.known_in_words == "the 2 quasi-identifiers"
    assert old.limits_in_words == (
        "format 2 does not count columns that stand beside the quasi-identifiers: zone",
    )
