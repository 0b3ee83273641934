"""The Python interface: frames in, frames out, and the sentences of the command line."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import microrelease
from algorithms.errors import DataError, RefusedError, ReleaseError, SpecError
from expectations.privacy import SETTINGS
from expectations.tables import arrow_of
from flows.cli import main
from microrelease import Masked, mask
from tasks.ingest import ingest
from tasks.pipeline import mask_and_measure, plainly
from tasks.validate import validate
from tests.conftest import Request
from tests.mixed import COLUMNS, RARE, mixed

ROOT = Path(__file__).parents[2]
SECRET = "a cell of the table"
ROLES: dict[str, Any] = {
    "k": 4,
    "quasi_identifiers": ["region", "employees", "turnover"],
    "categories": ["region"],
    "integers": ["employees", "turnover"],
    "confidential": ["profit"],
    "identifiers": ["company"],
    "method": "mdav",
}


@pytest.fixture
def frame() -> pd.DataFrame:
    return microrelease.example(rows=60)[["company", "region", "employees", "turnover", "profit"]]


def script(text: str, folder: Path) -> str:
    """Run a script in a process of its own, and give what it printed."""
    path = folder / "script.py"
    path.write_text(text, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, path], cwd=ROOT, env=None, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


class TestImport:
    def test_it_loads_nothing_heavy_and_turns_telemetry_off(self, tmp_path: Path) -> None:
        shown = script(
            f"import os, sys; sys.path.insert(0, {str(ROOT)!r}); import microrelease\n"
            "heavy = 'great_expectations', 'matplotlib', 'numba', 'pandas', 'prefect', 'sklearn'\n"
            "print([name for name in heavy if name in sys.modules])\n"
            "print(sorted(microrelease.__all__) == sorted(set(dir(microrelease)) & "
            "set(microrelease.__all__)))\n"
            f"print({{name: os.environ.get(name) for name in {list(SETTINGS)}}})\n",
            tmp_path,
        )
        assert shown.splitlines() == ["[]", "True", str(SETTINGS)]

    @pytest.mark.parametrize("name", microrelease.__all__)
    def test_every_name_can_be_used(self, name: str) -> None:
        assert getattr(microrelease, name).__name__ == name

    def test_an_unknown_name_is_an_attribute_error(self) -> None:
        with pytest.raises(AttributeError, match="no attribute 'masks'"):
            _ = microrelease.masks  # type: ignore[attr-defined]
        assert microrelease.__version__.count(".") == 2


class TestSameAsASpecFile:
    @pytest.mark.parametrize(
        ("roles", "how"),
        [
            ({}, {}),
            ({"strata": ["region"]}, {"small_strata": "withhold"}),
            (
                {"unit": "person", "weight": "weight"},
                {"method": "best", "options": {"iterations": 200}},
            ),
            (
                {"strata": ["region"], "hierarchies": {"region": {"prefixes": [1]}}},
                {"small_strata": "merge"},
            ),
        ],
    )
    def test_the_values_are_those_of_a_release(
        self, roles: dict[str, Any], how: dict[str, Any], request_of: Request
    ) -> None:
        roles = {**roles, "hierarchies": COLUMNS["hierarchies"] | roles.get("hierarchies", {})}
        spec = mixed(request_of, **roles).load(microaggregation=how)
        source, _ = ingest.fn(spec)
        table, _ = validate.fn(source, spec)
        files, evaluation = mask_and_measure(table, spec, plainly)
        expected = arrow_of(files.published, spec.columns)

        columns = spec.columns.model_dump(exclude_defaults=True)
        dropped = list(columns.pop("dropped"))
        settings = spec.microaggregation.model_dump(exclude_defaults=True)
        found = mask(source.drop_columns(dropped), **columns, **settings)
        assert found.frame.select(expected.column_names).equals(expected)
        assert dict(found.measures) == evaluation.measures
        assert found.certificate.sentence == evaluation.certificate

        frame = pd.read_csv(request_of.source, dtype={"icd": str}).drop(columns=dropped)
        again = mask(frame, **columns, **settings).frame
        assert (
            pa.Table.from_pandas(again[expected.column_names], preserve_index=False)
            .cast(expected.schema)
            .equals(expected)
        )

    def test_a_hierarchy_can_be_read_from_a_file(self, frame: pd.DataFrame, tmp_path: Path) -> None:
        regions = sorted(set(frame["region"]))
        lines = [f"{region};{'near' if region < 'M' else 'far'}" for region in regions]
        (tmp_path / "regions.csv").write_text("\n".join(lines), encoding="utf-8")
        roles = {**ROLES, "categories": []}
        tree = {"region": {"file": tmp_path / "regions.csv"}}
        found = mask(frame, **roles, hierarchies=tree).frame["region"]
        assert set(found) <= {*regions, "near", "far", "*"}


class TestLibraries:
    def test_pandas_arrow_and_polars_give_the_same_values(self, frame: pd.DataFrame) -> None:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        in_pandas, in_arrow, in_polars = (
            mask(each, **ROLES).frame for each in (frame, table, pl.from_pandas(frame))
        )
        assert isinstance(in_pandas, pd.DataFrame)
        assert isinstance(in_arrow, pa.Table)
        assert isinstance(in_polars, pl.DataFrame)
        pd.testing.assert_frame_equal(in_arrow.to_pandas(), in_pandas)
        assert in_polars.equals(pl.from_pandas(in_pandas))

    def test_any_table_that_offers_arrow_is_read(self, frame: pd.DataFrame) -> None:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        found = mask(table.to_reader(), **ROLES).frame
        assert found.equals(mask(table, **ROLES).frame)

    def test_rows_keep_their_order_and_index_and_columns_theirs(self, frame: pd.DataFrame) -> None:
        frame = frame.set_index(pd.Index([f"row {i % 7}" for i in range(len(frame))]))
        found = mask(frame, **ROLES).frame
        assert list(found.columns) == ["region", "employees", "turnover", "profit"]
        assert list(found.index) == list(frame.index)
        assert list(found["profit"]) == list(frame["profit"])

    def test_unchanged_columns_keep_their_types(self, frame: pd.DataFrame) -> None:
        frame["profit"] = frame["profit"].astype("Int32")
        frame["size"] = pd.Categorical(["small", "large"] * 30, ["small", "large"], ordered=True)
        roles = ROLES | {"strata": ["size"], "confidential": ["profit"]}
        found = mask(frame, **roles).frame
        pd.testing.assert_frame_equal(found[["profit", "size"]], frame[["profit", "size"]])
        in_polars = pl.from_pandas(frame).with_columns(pl.col("region").cast(pl.Categorical))
        again = mask(in_polars, **roles).frame
        assert again.select("profit", "size").equals(in_polars.select("profit", "size"))
        assert again.schema["size"] == in_polars.schema["size"]

    def test_columns_that_arrow_holds_stay_so(self, frame: pd.DataFrame) -> None:
        found = mask(frame.convert_dtypes(dtype_backend="pyarrow"), **ROLES).frame
        assert all(isinstance(kind, pd.ArrowDtype) for kind in found.dtypes)

    def test_records_that_are_withheld_are_missing_from_the_index(
        self, frame: pd.DataFrame
    ) -> None:
        frame["region"] = ["rare", *["common"] * 58, "rare"]
        roles = ROLES | {
            "quasi_identifiers": ["employees", "turnover"],
            "strata": ["region"],
            "categories": [],
        }
        with pytest.raises(RefusedError, match="1 with 2 records hold fewer"):
            mask(frame, **roles)
        found = mask(frame, **roles, small_strata="withhold")
        assert list(found.frame.index) == list(range(1, 59))
        assert found.withheld == 2
        assert "withheld: 2 records" in repr(found)
        assert SECRET not in repr(found)

    def test_a_mixture_of_numbers_and_text_is_read_as_a_file_would_hold_it(
        self, frame: pd.DataFrame
    ) -> None:
        frame["employees"] = [str(n) if n % 2 else n for n in frame["employees"]]
        frame["profit"] = [1, "two", None] * 20
        found = mask(frame, **ROLES).frame
        assert found["employees"].dtype == np.int64
        assert list(found["profit"]) == [1, "two", None] * 20


def spoilt(frame: pd.DataFrame, column: str, cell: Any) -> pd.DataFrame:
    frame[column] = frame[column].astype(object)
    frame.loc[3, column] = cell
    return frame


class TestFaults:
    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            (
                lambda f: spoilt(f, "employees", np.nan),
                "'employees' must have no missing values, or columns.missing must say how they are "
                "treated; 1 row breaks this: correct the source, or the roles in the spec",
            ),
            (
                lambda f: spoilt(f, "employees", SECRET),
                "'employees' must be numeric; 1 row breaks this: correct the source, or the roles "
                "in the spec",
            ),
            (
                lambda f: f.drop(columns="turnover"),
                "the file must have exactly the columns to which the spec gives a role: missing "
                "from the file: 'turnover'; the file has 4 columns, the spec names 5",
            ),
            (
                lambda f: f.set_axis(["company", "region", "region", "turnover", "profit"], axis=1),
                "each column of the source must have its own name; these are repeated: 'region'",
            ),
        ],
    )
    def test_a_frame_gets_the_sentence_of_the_command_line(
        self,
        change: Any,
        sentence: str,
        frame: pd.DataFrame,
        request_of: Request,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        spoiled = change(frame)
        with pytest.raises(DataError) as caught:
            mask(spoiled, **ROLES)
        assert str(caught.value) == sentence
        assert isinstance(caught.value, ValueError)

        spoiled.to_csv(request_of.source, index=False)
        roles = {key: value for key, value in ROLES.items() if key not in ("k", "method")}
        request_of.content["columns"] = roles
        assert main(["check", str(request_of.write(microaggregation={"k": 4}))]) == 11
        assert sentence in capsys.readouterr().err

    def test_a_column_without_a_role_is_an_error_that_says_what_to_pass(
        self, frame: pd.DataFrame
    ) -> None:
        frame[SECRET] = 1
        with pytest.raises(DataError) as caught:
            mask(frame, **ROLES)
        assert str(caught.value) == (
            "the file must have exactly the columns to which the spec gives a role: without a role "
            "in the spec: 1 (names not shown); the file has 6 columns, the spec names 5: name each "
            "column in quasi_identifiers, strata, weight, confidential, unit or identifiers, or "
            "leave it out, for example with frame.drop(columns=...)"
        )

    @pytest.mark.parametrize(
        ("arguments", "kind", "sentence"),
        [
            ({"k": 61}, DataError, "the file must have at least k=61 rows"),
            ({"k": 1}, SpecError, "microaggregation.k: must be greater than or equal to 2; got 1"),
            ({"k": "5"}, SpecError, "microaggregation.k: must be a valid integer; got '5'"),
            (
                {"method": "mdva"},
                SpecError,
                "microaggregation.method: no method is called 'mdva'; did you mean 'mdav'?",
            ),
            (
                {"quasi_identifiers": []},
                SpecError,
                "columns.quasi_identifiers: must list at least 1; the list is empty",
            ),
            (
                {"method": "mhm"},
                SpecError,
                "microaggregation: method 'mhm' reads a path: name an ordering",
            ),
        ],
    )
    def test_an_argument_gets_the_sentence_of_the_spec(
        self, arguments: dict[str, Any], kind: type, sentence: str, frame: pd.DataFrame
    ) -> None:
        with pytest.raises(kind) as caught:
            mask(frame, **(ROLES | arguments))
        assert str(caught.value) == sentence

    @pytest.mark.parametrize(
        ("found", "remedy"),
        [
            ([[1, 2]], "list: make one of it"),
            ("table.csv", "str: make one of it"),
            (np.zeros((9, 2)), "ndarray: make one of it"),
            (pd.Series([1, 2]), "Series: make one of it"),
            (pl.LazyFrame({"a": [1]}), "LazyFrame: collect it first"),
        ],
    )
    def test_what_is_no_frame_is_refused(self, found: Any, remedy: str) -> None:
        with pytest.raises(DataError, match=f"got an object of type {remedy}"):
            mask(found, **ROLES)

    @pytest.mark.parametrize(
        "cells",
        [
            [{"a": SECRET}, SECRET] * 30,
            [[SECRET]] * 60,
            pd.date_range("2026-01-01", periods=60, tz="Europe/Madrid"),
        ],
    )
    def test_a_column_that_no_file_can_hold_is_refused(
        self, cells: Any, frame: pd.DataFrame
    ) -> None:
        frame["profit"] = cells
        with pytest.raises(DataError, match=r"these hold something else: 'profit'$"):
            mask(frame, **ROLES)

    def test_names_of_columns_must_be_text(self, frame: pd.DataFrame) -> None:
        with pytest.raises(DataError, match="5 of 5 do not: rename them"):
            mask(frame.set_axis(range(5), axis=1), **ROLES)

    def test_an_empty_frame_is_refused(self, frame: pd.DataFrame) -> None:
        with pytest.raises(DataError, match="must have rows; it is empty"):
            mask(frame.iloc[:0], **ROLES)

    def test_an_error_of_a_library_shows_no_cell(
        self, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fails(*_: object) -> None:
            raise KeyError(SECRET)

        monkeypatch.setattr("microrelease.masking.mask_and_measure", fails)
        with pytest.raises(ReleaseError) as caught:
            mask(frame, **ROLES)
        assert str(caught.value).startswith("mask failed: KeyError at test_python.py")
        assert caught.value.__context__ is None


class TestMasked:
    @pytest.fixture
    def masked(self, frame: pd.DataFrame) -> Masked:
        return mask(frame, **ROLES)

    def test_k_is_counted_on_the_result(self, masked: Masked) -> None:
        sizes = masked.frame.groupby(["region", "employees", "turnover"]).size()
        assert masked.k == sizes.min() == masked.measures["k"]

    def test_numpy_numbers_are_accepted_as_k(self, frame: pd.DataFrame) -> None:
        assert mask(frame, **(ROLES | {"k": np.int64(7)})).k >= 7

    def test_it_shows_figures_and_no_original(self, request_of: Request) -> None:
        spec = mixed(request_of).load()
        source, _ = ingest.fn(spec)
        columns = spec.columns.model_dump(exclude_defaults=True)
        kept = source.drop_columns(list(columns.pop("dropped")))
        shown = repr(mask(kept, method="mdav", k=4, **columns))
        assert "Masked: 120 records in 30 groups, k = 4" in shown
        assert "no method could lose less than" in shown
        assert "warning: 1 of 3 labels of 'sex' stand for fewer than k=4" in shown
        assert RARE not in shown
        assert "J44" not in shown

    def test_it_cannot_be_pickled(self, masked: Masked) -> None:
        with pytest.raises(TypeError, match="write its frame instead"):
            pickle.dumps(masked)

    def test_a_certificate_has_a_bound_or_says_why_there_is_none(
        self, masked: Masked, frame: pd.DataFrame
    ) -> None:
        certificate = masked.certificate
        assert certificate.lower_bound == masked.measures["il_bound"]
        assert certificate.ratio == masked.measures["il_over_bound"]
        assert str(certificate).startswith("no method could lose less than")
        roles = ROLES | {"confidential": [], "weight": "profit"}
        weighted = mask(frame.assign(profit=1.5), **roles).certificate
        assert weighted.lower_bound is not None
        assert weighted.ratio is not None

    def test_more_work_gives_a_stronger_bound(self, masked: Masked, frame: pd.DataFrame) -> None:
        stronger = mask(frame, **ROLES, bound_rounds=50).certificate.lower_bound
        assert stronger is not None
        assert masked.certificate.lower_bound is not None
        assert stronger > masked.certificate.lower_bound

    def test_pictures_show_losses_sizes_and_columns(self, masked: Masked) -> None:
        losses, sizes = masked.plot().axes
        shown = [bar.get_width() for bar in losses.patches]
        assert [label.get_text() for label in losses.get_yticklabels()] == [
            "region",
            "employees",
            "turnover",
        ]
        assert np.mean(shown) == pytest.approx(masked.measures["il"], abs=1e-3)
        assert sum(bar.get_height() for bar in sizes.patches) == 15
        assert masked.plot("turnover").axes[0].get_xlabel() == "turnover"
        assert masked.plot("region").axes[0].get_xlabel() == "records"
        assert masked.plot()._repr_png_()[1:4] == b"PNG"
        with pytest.raises(SpecError, match="choose among 'region', 'employees', 'turnover'"):
            masked.plot("profit")


class TestExplore:
    def test_a_script_without_a_main_guard_can_explore(self, tmp_path: Path) -> None:
        shown = script(
            f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
            "import microrelease, pyarrow\n"
            "frame = microrelease.example(rows=60)[['employees', 'turnover']]\n"
            "table = pyarrow.Table.from_pandas(frame, preserve_index=False)\n"
            "keys = ['employees', 'turnover']\n"
            "found = microrelease.explore(table, k=4, quasi_identifiers=keys, integers=keys,\n"
            "    methods=['mdav', 'mhm'], orderings=['npn'], ks=[3, 4, 500], workers=1)\n"
            "print(type(found.table).__name__, found.table['ordering'].to_pylist())\n"
            "print(found.table['k'].to_pylist(), found.table['admissible'].to_pylist())\n"
            "print([fault is None for fault in found.table['fault'].to_pylist()])\n"
            "print(sorted(found.choice))\n"
            "same = microrelease.mask(table, quasi_identifiers=keys, integers=keys, "
            "**found.choice)\n"
            "print(same.measures['il'] == min(il for il, good in "
            "zip(found.table['il'].to_pylist(), found.table['admissible'].to_pylist()) if good))\n"
            "print(found.plot().axes[0].get_xlabel(), '|', found.plot('il_by_k').axes[0]"
            ".get_xlabel(), '|', found.figure.axes[0].get_ylabel())\n"
            "try:\n    found.plot('bars')\n"
            "except microrelease.SpecError as error:\n    print(error)\n"
            "print(found)\n",
            tmp_path,
        ).splitlines()
        assert shown[0] == "Table [None, None, None, 'npn', 'npn', 'npn']"
        assert shown[1] == "[3, 4, 500, 3, 4, 500] [False, True, False, False, True, False]"
        assert shown[2] == "[True, True, False, True, True, False]"
        assert shown[3] in ("['k', 'method']", "['k', 'method', 'ordering']")
        assert shown[4] == "True"
        assert shown[5].startswith("IL: information lost, % | k: smallest number of records")
        assert shown[6] == "kind must be 'map' or 'il_by_k'; got 'bars'"
        assert shown[7] == "Exploration: 4 of 6 choices measured"
        assert "Use m" in shown[8]
        assert "The spec now uses" not in shown[8]

    @pytest.mark.parametrize("limits", [{"seconds": 0.0}, {"workers": 0}])
    def test_limits_must_allow_something(self, limits: Any, frame: pd.DataFrame) -> None:
        with pytest.raises(SpecError, match="seconds must be above 0, and workers at least 1"):
            microrelease.explore(frame, quasi_identifiers=["employees"], **limits)

    def test_an_unknown_method_is_refused_before_any_work(self, frame: pd.DataFrame) -> None:
        with pytest.raises(SpecError, match="did you mean 'mdav'"):
            microrelease.explore(frame, quasi_identifiers=["employees"], methods=["mdva"])
