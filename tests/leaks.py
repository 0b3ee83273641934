"""Finds sentinel values in anything that a run leaves behind."""

import base64
import re
from collections.abc import Mapping, Sequence


def sentinels_in(content: bytes, sentinels: Mapping[str, Sequence[bytes]]) -> set[str]:
    """Find sentinels in plain and within base64; each may have several forms."""
    encoded = b"".join(
        base64.b64decode(run + b"=" * (-len(run) % 4))
        for run in re.findall(rb"[A-Za-z0-9+/]{16,}", content)
        if len(run) % 4 != 1
    )
    return {
        name
        for name, forms in sentinels.items()
        if any(form in content or form in encoded for form in forms)
    }
