"""The estimator, by scikit-learn's own checks and by hand."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import microrelease
from algorithms.errors import DataError, SpecError
from algorithms.types import Matrix
from microrelease import Microaggregator

ROOT = Path(__file__).parents[2]

EXPECTED_FAILURES = {
    "check_methods_subset_invariance": (
        "the records of the fit keep their groups, so that k holds; a part of them is new data, "
        "and each record of it goes to the nearest centre"
    ),
}


@pytest.fixture
def x() -> Matrix:
    return np.random.default_rng(5).normal(size=(50, 3))


@pytest.mark.filterwarnings("ignore:Estimator Microaggregator does not inherit:UserWarning")
@parametrize_with_checks(
    [Microaggregator()], expected_failed_checks=lambda _estimator: EXPECTED_FAILURES
)
def test_it_passes_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def test_k_holds_for_the_records_of_the_fit_in_any_order(x: Matrix) -> None:
    estimator = Microaggregator(k=4)
    masked = estimator.fit_transform(x)
    _, counts = np.unique(masked, axis=0, return_counts=True)
    assert counts.min() >= 4
    order = np.random.default_rng(6).permutation(len(x))
    np.testing.assert_array_equal(estimator.transform(x[order]), masked[order])
    np.testing.assert_allclose(masked.mean(axis=0), x.mean(axis=0))


def test_a_new_record_goes_to_the_nearest_centre(x: Matrix) -> None:
    estimator = Microaggregator(k=4).fit(x)
    centres = estimator.cluster_centers_
    np.testing.assert_array_equal(estimator.transform(centres[[2]] + 1e-9), centres[[2]])


def test_groups_are_those_of_a_masked_frame(x: Matrix) -> None:
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    keys = list(frame.columns)
    masked = microrelease.mask(
        frame, 4, keys, "mdav", decimals=dict.fromkeys(keys, "all"), options={"first": "opposite"}
    ).frame
    options = {"first": "opposite"}
    for records in (frame, pa.Table.from_pandas(frame), x):
        found = Microaggregator(k=4, options=options).fit_transform(records)
        np.testing.assert_array_equal(found, masked.to_numpy())


@pytest.mark.parametrize(
    "estimator",
    [
        Microaggregator(k=3, method="mhm", ordering="npn"),
        Microaggregator(k=np.int64(3), method="best", options={"iterations": 20}),
    ],
)
def test_any_method_can_be_used(estimator: Microaggregator, x: Matrix) -> None:
    assert np.bincount(estimator.fit(x).labels_).min() >= 3


def test_it_stands_in_a_pipeline_and_is_cloned_and_changed(x: Matrix) -> None:
    pipeline = make_pipeline(StandardScaler(), Microaggregator(k=3))
    pipeline.set_params(microaggregator__k=5)
    assert np.bincount(pipeline.fit(x)[-1].labels_).min() >= 5
    copy = clone(Microaggregator(k=7, options={"tail": "block"}))
    assert repr(copy) == "Microaggregator(k=7, options={'tail': 'block'})"
    with pytest.raises(SpecError, match="no parameter of Microaggregator is called 'q'"):
        copy.set_params(q=1)


def test_names_are_those_of_the_frame(x: Matrix) -> None:
    estimator = Microaggregator(k=3).fit(pd.DataFrame(x, columns=list("abc")))
    assert list(estimator.get_feature_names_out()) == ["a", "b", "c"]
    assert list(estimator.fit(x).get_feature_names_out()) == ["x0", "x1", "x2"]
    wide = pd.DataFrame(np.zeros((5, 7)), columns=list("abcdefg"))
    with pytest.raises(DataError, match=r"unseen at fit time:\n- d\n- e\n- f\n- g\n"):
        estimator.fit(wide[["a", "b", "c"]]).transform(wide)
    with pytest.raises(DataError, match=r"yet now missing:\n- c\n- d\n- e\n- f\n- g\n"):
        estimator.fit(wide).transform(wide[["a", "b"]])
    with pytest.raises(DataError, match=r"- \.\.\.\n"):
        estimator.fit(wide).transform(wide[["a"]])


SECRET = "a cell of the table"


@pytest.mark.parametrize(
    ("records", "sentence"),
    [
        (
            pd.DataFrame({"a": [1.0] * 9, "b": [SECRET, *[2.0] * 8]}),
            "'b' must be numeric; 1 of 9 rows are not",
        ),
        ([[1.0], [np.nan]] * 5, "'column 0' must be finite, without NaN and inf; 5 of 10 rows are"),
        (np.zeros((3, 2)), "k must not exceed the number of rows; got k=5 for 3 samples"),
        (np.zeros(9), "it has 1 axes. Reshape your data"),
    ],
)
def test_a_fault_is_told_in_words_without_a_cell(records: Any, sentence: str) -> None:
    with pytest.raises(DataError) as caught:
        Microaggregator().fit(records)
    assert sentence in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"k": 1}, "k: must be greater than or equal to 2; got 1"),
        ({"k": True}, "k: must be a valid integer"),
        ({"method": "mdva"}, "did you mean 'mdav'"),
        ({"options": {"gamma": 1}}, "the options of 'mdav' are: first, tail"),
    ],
)
def test_parameters_are_checked_by_the_rules_of_a_spec(
    parameters: dict[str, Any], sentence: str, x: Matrix
) -> None:
    with pytest.raises(SpecError, match=sentence):
        Microaggregator(**parameters).fit(x)


def test_it_must_be_fitted_first(x: Matrix) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        Microaggregator().transform(x)


def test_it_works_without_scikit_learn() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import numpy as np; from microrelease import Microaggregator\n"
        "try:\n    Microaggregator().transform([[1.0]])\n"
        "except ValueError as error:\n    print(type(error).__name__)\n"
        "print(Microaggregator(k=2).fit_transform([[1.0], [9.0], [2.0], [8.0]]).T)\n"
        "print([name for name in sys.modules if name.startswith(('sklearn.', 'prefect'))])\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.stdout.splitlines() == ["NotFittedError", "[[1.5 8.5 1.5 8.5]]", "[]"], run.stderr
