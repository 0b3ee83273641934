"""The best groups that a budget of iterations can find."""

from typing import Annotated

from annotated_types import Ge, Gt, Le

from algorithms.errors import ContractError
from algorithms.local_search.search import search
from algorithms.microaggregation.mdav import mdav
from algorithms.microaggregation.method import Method
from algorithms.problem import Bound, Budget
from algorithms.rounding.grid import Grid
from algorithms.types import Labels, Matrix, Watch

Seed = Annotated[int, Ge(0)]
Chains = Annotated[int, Ge(1), Le(64)]
Gap = Annotated[float, Gt(0)]
DEFAULT = Budget()


def best(
    x: Matrix,
    k: int,
    grid: Grid | None = None,
    start: Labels | None = None,
    budget: Budget = DEFAULT,
    watch: Watch | None = None,
    units: Labels | None = None,
    bound: Bound | None = None,
    *,
    seed: Seed = 0,
    chains: Chains = 2,
    gap: Gap | None = None,
) -> Labels:
    """Improve groups by local search, then by annealed ruin and recreate.

    First each record moves to another group, or swaps places with a record, where that reduces the
    loss most; only the groups of its nearest records are candidates. Groups are dissolved or
    divided where that reduces the loss. Then, in each iteration, a few neighbouring groups are
    dissolved and their records grouped again, with some randomness. A result that loses slightly
    more is accepted at first, and less and less often later [SSSD00]_. Several chains of such
    iterations run at the same time, and exchange their changes at fixed iterations.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Smallest group allowed, ``1 <= k <= n``; the largest holds ``2k - 1`` records.
    grid : Grid, optional
        The values that can be published. With it, a group costs what its rounded average loses.
    start : Labels of shape (n,), optional
        Groups to improve; by default those of MDAV.
    budget : Budget
        Rounds of ruin and recreate, over all chains, and seconds, which include the search for
        neighbours and not MDAV. By default there are four times the square of the number of groups,
        but at most (3,000,000 + 30 n) / k² rounds: some ten seconds for thousands of records.
    watch : callable, optional
        Called with the progress, and with the best groups found so far.
    units : Labels of shape (n,), optional
        The unit of each record, as an arbitrary number. With it, every group holds records of at
        least ``k`` units, and may hold ``2k`` records or more.
    bound : Bound, optional
        A lower bound on the loss of any groups; read only with ``gap``.
    seed : int
        Seed of the random numbers.
    chains : int
        Number of chains. The groups depend on it, and not on the number of threads.
    gap : float, optional
        The search ends early once its groups are proven to lose at most so many per cent more than
        the bound.

    Returns
    -------
    Labels of shape (n,)
        Group of each row.

    Raises
    ------
    ContractError
        If there is a gap, but no bound.

    Notes
    -----
    Time that of MDAV, of the search for neighbours, and O(k² d) or so per iteration; memory
    O(n (d + k)). One column is cut at the least loss of all partitions, without a search. Departs
    from [SSSD00]_, which is about vehicle routing, in that records recreated make local moves until
    none saves anything, and that of several near records some are overlooked.

    Examples
    --------
    >>> best(np.array([[0.0, 0.0], [9.0, 9.0], [1.0, 0.0], [8.0, 9.0]]), k=2)
    array([0, 1, 0, 1])
    """
    if gap is not None and bound is None:
        raise ContractError(
            "the option gap compares the loss with a proven bound; the problem holds none"
        )
    return search(
        x,
        mdav(x, k) if start is None else start,
        k,
        grid,
        iterations=budget.iterations,
        seconds=budget.seconds,
        seed=seed,
        chains=chains,
        watch=watch,
        units=units,
        bound=bound,
        gap=gap,
    )


METHOD = Method(
    run=best,
    summary=(
        "The groups of MDAV are improved step by step: records move between groups, and groups "
        "that lie near each other are taken apart and formed again, where that brings averages "
        "closer to the original values."
    ),
    paper="SSSD00",
)
