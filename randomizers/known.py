"""What a wrong name is answered with: the names that there are, and the nearest of them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def known(name: object, names: Iterable[str]) -> str:
    """List the names that there are: `Known: choice, uniform. Did you mean 'uniform'?`."""
    listed = sorted(names)
    nearest = difflib.get_close_matches(str(name), listed, n=1, cutoff=0.5)
    hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
    return f"Known: {', '.join(listed) or 'none'}.{hint}"
