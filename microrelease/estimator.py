"""A transformer for pipelines of scikit-learn, which it does not need."""

import inspect
import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Self

import numpy as np
from pydantic import ValidationError
from scipy.sparse import issparse
from scipy.spatial import cKDTree

from algorithms.attributes import Number
from algorithms.errors import DataError, SpecError
from algorithms.masking import Plan, mask
from algorithms.standardisation import scale_of
from algorithms.table import Table
from algorithms.types import Labels, Matrix, Order
from expectations.request.faults import faults
from expectations.request.sections.microaggregation import MicroaggregationSection

MOST_NAMES = 5
"""Names that a message lists."""


class NotFittedError(ValueError, AttributeError):
    """The estimator is used before it is fitted; scikit-learn's own class where that is loaded."""


class Microaggregator:
    """Replace records by the averages of groups of at least k similar records.

    A transformer for matrices of numbers, with the interface of scikit-learn. All columns are
    masked together and weigh alike; averages keep all digits. Use `mask` for columns of other
    kinds, missing values, strata or weights.

    The promise of k covers the records of the fit only, and only the columns that are given: the
    result of `fit_transform`, or of `transform` on the same records in any order. A new record is
    replaced by the average of the group whose centre is nearest. That carries **no promise of k**:
    a single new record may be the only one with its values.

    Parameters
    ----------
    k : int
        Smallest group.
    method : str
        How records are grouped; `microrelease methods` lists the methods.
    options : mapping, optional
        Options of the method.
    ordering : str, optional
        Path for a method that cuts one.

    Attributes
    ----------
    labels_ : array of shape (n,)
        The group of each record of the fit.
    cluster_centers_ : array of shape (groups, d)
        The average of each group, in the units of the columns.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of str
        Their names, if the fit was given a frame whose columns all have names.

    Examples
    --------
    >>> records = np.array([[1.0, 10.0], [2.0, 11.0], [8.0, 40.0], [9.0, 43.0]])
    >>> Microaggregator(k=2).fit_transform(records)
    array([[ 1.5, 10.5],
           [ 1.5, 10.5],
           [ 8.5, 41.5],
           [ 8.5, 41.5]])
    """

    def __init__(
        self,
        k: int = 5,
        method: str = "mdav",
        options: Mapping[str, Any] | None = None,
        ordering: str | None = None,
    ) -> None:
        self.k = k
        self.method = method
        self.options = options
        self.ordering = ordering

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: N803, ARG002 - names of scikit-learn
        """Group the records.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Finite numbers: at least k records.
        y : object
            Ignored.

        Raises
        ------
        SpecError
            If k, the method or its options are not valid.
        DataError
            If the records are not finite numbers, or fewer than k.
        """
        plan = self._plan()
        names = _names(X)
        x = _matrix(X)
        if len(x) < plan.k:
            raise DataError(
                f"k must not exceed the number of rows; got k={plan.k} for {len(x)} "
                f"{'sample' if len(x) == 1 else 'samples'}"
            )
        attributes = tuple(Number(f"column {j}", all_digits=True) for j in range(x.shape[1]))
        masked = mask(Table(attributes, tuple(x.T)), plan)
        self.labels_: Labels = masked.groupings[0].partition.labels.copy()
        _, first = np.unique(self.labels_, return_index=True)
        self.cluster_centers_: Matrix = np.column_stack(masked.published.keys)[first]
        self.n_features_in_: int = x.shape[1]
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        # one checksum of all records, sorted, so that the fit can be recognised: it reveals none
        order = _sorted(x)
        self._fit_checksum = _checksum(x[order])
        self._fit_labels = self.labels_[order]
        self._scale = scale_of(x)
        return self

    def transform(self, X: Any) -> Matrix:  # noqa: N803 - the name that scikit-learn gives it
        """Replace records by the averages of their groups.

        The records of the fit, in any order, keep their groups. Any other records are new, also a
        part of them: each goes to the group with the nearest centre, without a promise of k.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Finite numbers, in the columns of the fit.
        """
        self._check_fitted()
        self._check_names(_names(X))
        x = _matrix(X)
        if x.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {x.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        order = _sorted(x)
        labels = np.empty(len(x), dtype=np.int64)
        if _checksum(x[order]) == self._fit_checksum:
            labels[order] = self._fit_labels
        else:
            centres = cKDTree(self._scale.apply(self.cluster_centers_))
            labels[:] = centres.query(self._scale.apply(x))[1]
        return self.cluster_centers_[labels]

    def fit_transform(self, X: Any, y: object = None) -> Matrix:  # noqa: N803
        """Group records, and replace each by the average of its group."""
        self.fit(X, y)
        return self.cluster_centers_[self.labels_]

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns of the result: those of the fit."""
        self._check_fitted()
        own = getattr(self, "feature_names_in_", None)
        if input_features is None:
            return (
                np.array([f"x{j}" for j in range(self.n_features_in_)], dtype=object)
                if own is None
                else own
            )
        given = np.asarray(input_features, dtype=object)
        if own is not None and not np.array_equal(own, given):
            raise DataError("input_features is not equal to feature_names_in_")
        if len(given) != self.n_features_in_:
            raise DataError(
                "input_features should have length equal to number of features "
                f"({self.n_features_in_}), got {len(given)}"
            )
        return given

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - as scikit-learn
        """Give the parameters by name."""
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name.

        Raises
        ------
        SpecError
            If there is no such parameter.
        """
        for name, value in params.items():
            if name not in self._parameters():
                raise SpecError(
                    f"no parameter of {type(self).__name__} is called {name!r}; there are: "
                    f"{', '.join(self._parameters())}"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        changed = (
            f"{name}={getattr(self, name)!r}"
            for name, parameter in self._parameters().items()
            if getattr(self, name) is not parameter.default
        )
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "labels_")

    def __sklearn_tags__(self) -> Any:
        # scikit-learn alone calls this
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(),
        )

    @classmethod
    def _parameters(cls) -> dict[str, inspect.Parameter]:
        parameters = dict(inspect.signature(cls.__init__).parameters)
        del parameters["self"]
        return parameters

    def _plan(self) -> Plan:
        """Validate the parameters by the rules of a spec."""
        try:
            section = MicroaggregationSection(
                method=self.method,
                k=self.k if isinstance(self.k, bool) else _whole(self.k),
                options=dict(self.options or {}),
                ordering=self.ordering,
            )
        except ValidationError as error:
            raise SpecError("\n".join(faults(error))) from None
        return section.plan

    def _check_fitted(self) -> None:
        if not hasattr(self, "labels_"):
            exceptions = sys.modules.get("sklearn.exceptions")
            kind = NotFittedError if exceptions is None else exceptions.NotFittedError
            raise kind(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                "appropriate arguments before using this estimator."
            )

    def _check_names(self, names: Any) -> None:
        """Refuse columns in another order, or of other names, than those of the fit."""
        own = getattr(self, "feature_names_in_", None)
        if own is None or names is None or np.array_equal(own, names):
            return
        unseen, lacking = sorted({*names} - {*own}), sorted({*own} - {*names})
        lines = ["The feature names should match those that were passed during fit."]
        for words, which in (
            ("unseen at fit time", unseen),
            ("seen at fit time, yet now missing", lacking),
        ):
            if which:
                rest = ["- ..."] if len(which) > MOST_NAMES else []
                shown = [f"- {name}" for name in which[:MOST_NAMES]]
                lines += [f"Feature names {words}:", *shown, *rest]
        if not unseen and not lacking:
            lines.append("Feature names must be in the same order as they were in fit.")
        raise DataError("\n".join(lines) + "\n")


def _whole(k: Any) -> Any:
    """Accept whole numbers of numpy, which a spec would refuse."""
    return int(k) if isinstance(k, np.integer) else k


def _names(frame: Any) -> Any:
    """Give the names of the columns of a frame; None if it has none, or not all are text."""
    names = getattr(frame, "columns", None)
    if names is None or isinstance(frame, np.ndarray):
        names = getattr(frame, "column_names", None)
    names = None if names is None else list(names)
    if not names or not all(isinstance(name, str) for name in names):
        return None
    return np.array(names, dtype=object)


def _matrix(records: Any) -> Matrix:
    """Read records as a matrix of finite numbers.

    Raises
    ------
    DataError
        If they are anything else; the message names columns and counts.
    """
    if issparse(records):
        raise DataError("X must be a dense matrix; sparse data are not supported: use X.toarray()")
    cells = np.asarray(records)
    if np.iscomplexobj(cells):
        raise DataError("Complex data not supported: X must hold real numbers")
    if cells.ndim != 2:
        raise DataError(
            f"X must have one row per record and one column per feature; it has {cells.ndim} axes. "
            "Reshape your data, for example with X.reshape(-1, 1) for a single column"
        )
    if cells.shape[1] == 0:
        raise DataError(f"0 feature(s) (shape={cells.shape}) while a minimum of 1 is required.")
    names = _names(records)
    names = [f"column {j}" for j in range(cells.shape[1])] if names is None else names
    try:
        x = np.array(cells, dtype=np.float64)
    except (TypeError, ValueError):  # numpy quotes the cell
        raise _not_numbers(cells, names) from None
    strange = (~np.isfinite(x)).sum(axis=0)
    if strange.any():
        raise DataError(
            "; ".join(
                f"{name!r} must be finite, without NaN and inf; {count} of {len(x)} rows are not"
                for name, count in zip(names, strange, strict=True)
                if count
            )
        )
    return x


class _NotNumbersError(DataError, TypeError):
    """Cells that are no numbers; scikit-learn asks for this type."""


def _not_numbers(cells: Any, names: Sequence[str]) -> DataError:
    """Count the cells of each column that are no numbers."""
    counts = [sum(not _is_number(cell) for cell in column) for column in cells.T]
    listed = "; ".join(
        f"{name!r} must be numeric; {count} of {len(cells)} rows are not"
        for name, count in zip(names, counts, strict=True)
        if count
    )
    return _NotNumbersError(f"{listed} (an argument must be a string of digits or a real number)")


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def _sorted(x: Matrix) -> Order:
    """Sort records by their values; equal ones keep their order."""
    return np.lexsort(x.T)


def _checksum(x: Matrix) -> str:
    return sha256(np.ascontiguousarray(x + 0.0).tobytes()).hexdigest()
