"""Timelines that were drawn before are kept; drawing one takes about a second."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tasks.store.history import Past

if TYPE_CHECKING:
    from tasks.reporting.pictures import Svg

MOST = 200
"""Timelines that are kept."""

Key = tuple[tuple[str, str, str], ...]


class Pictures:
    """The timelines of datasets; the library that draws them is used by one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, list[Svg]] = OrderedDict()

    def timeline(self, dataset: str, pasts: Sequence[Past]) -> "list[Svg]":
        """Draw every gated measure by period, one picture each."""
        # its import takes a second
        from tasks.reporting.timeline import timeline

        key = tuple((dataset, past.attempt, past.decision) for past in pasts)
        with self._lock:
            drawn = self._kept.pop(key, None)
            if drawn is None:
                drawn = timeline(pasts, dataset)
            self._kept[key] = drawn
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)
        return drawn
