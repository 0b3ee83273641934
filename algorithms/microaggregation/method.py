"""The contract of a method."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any

from algorithms.errors import ContractError
from algorithms.local_search.units import repair
from algorithms.problem import FIELDS, Problem
from algorithms.types import Labels, Matrix, Partition, check_matrix


@dataclass(frozen=True)
class Method:
    """A way to group records.

    Attributes
    ----------
    run : callable
        ``run(x, k, *, options) -> labels``. Besides ``x`` and ``k`` it may name any other field of
        `Problem` as a parameter, and is then given it. Its keyword-only parameters are the
        method's options. As an attribute it refuses an ``x`` that is not a matrix.
    summary : str
        One or two sentences for people who use the data; printed on public pages.
    paper : str
        Key of the paper that describes it, in ``algorithms/references.py``.

    Raises
    ------
    ContractError
        If a parameter is neither a field of `Problem` nor an option, or if the method reads a path
        and searches: a search starts from groups.
    """

    run: Callable[..., Labels]
    summary: str
    paper: str

    def __post_init__(self) -> None:
        unknown = [name for name in self.asks if name not in FIELDS]
        if unknown or not {"x", "k"} <= set(self.asks):
            raise ContractError(
                f"a method asks for x, k and other fields of a problem ({', '.join(FIELDS)}); "
                f"{self.run.__name__!r} asks for {', '.join(self.asks)}"
            )
        if self.reads_path and self.searches:
            raise ContractError(
                f"a method reads a path or searches, never both; {self.run.__name__!r} does both"
            )
        object.__setattr__(self, "run", _of_matrices(self.run))

    def solve(self, problem: Problem, options: Mapping[str, Any] | None = None) -> Partition:
        """Group the records of a problem, and prove the groups.

        If the problem has units and the method does not ask for them, its groups are repaired.

        Parameters
        ----------
        problem : Problem
            The records, and everything else that the method may ask for.
        options : mapping, optional
            The method's own options; a budget is a field of the problem.

        Raises
        ------
        ContractError
            If the method asks for something that the problem does not hold, or does not give one
            label per record.

        Examples
        --------
        >>> from algorithms.microaggregation import METHODS
        >>> METHODS["mdav"].solve(Problem(np.array([[0.0], [9.0], [1.0], [8.0]]), k=2)).labels
        array([0, 1, 0, 1])
        """
        given = {name: getattr(problem, name) for name in self.asks}
        lacking = [name for name in self.needs if given[name] is None]
        if lacking:
            raise ContractError(
                f"method {self.run.__name__!r} asks for what the problem does not hold: "
                f"{', '.join(lacking)}"
            )
        labels: Labels = self.run(**given, **(options or {}))
        if labels.shape != (len(problem.x),):
            raise ContractError("a method gives one label per row")
        if problem.units is not None and "units" not in self.asks:
            labels = repair(problem.x, labels, problem.k, problem.units)
        return Partition(labels, problem.k, problem.units)

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return self.run.__name__

    @cached_property
    def asks(self) -> tuple[str, ...]:
        """Name the fields of a problem that the method is given."""
        return tuple(name for name, _ in self._parameters)

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """Name those of them without which it cannot run."""
        return tuple(name for name, parameter in self._parameters if _is_required(parameter))

    @property
    def reads_path(self) -> bool:
        """Whether it cuts a path through the records, and so needs an ordering."""
        return "path" in self.asks

    @property
    def searches(self) -> bool:
        """Whether it searches until its budget is spent."""
        return "budget" in self.asks

    @property
    def _parameters(self) -> list[tuple[str, inspect.Parameter]]:
        return [
            (name, parameter)
            for name, parameter in inspect.signature(self.run).parameters.items()
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        ]


def _of_matrices(run: Callable[..., Labels]) -> Callable[..., Labels]:
    """Refuse records that are not a matrix in words; a kernel or an index would fail on them."""

    @wraps(run)
    def checked(x: Matrix, *args: Any, **kwargs: Any) -> Labels:
        check_matrix(x)
        return run(x, *args, **kwargs)

    return checked


def _is_required(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty
