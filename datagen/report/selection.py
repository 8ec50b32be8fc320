"""Which rows stand for all: evenly spread, and fair to every scene, camera and backend."""

from __future__ import annotations

from collections.abc import Sequence


def spread(count: int, most: int) -> list[int]:
    """Give at most `most` of the numbers 0 to `count` - 1, evenly spread and in order."""
    kept = min(count, most)
    return [(2 * i + 1) * count // (2 * kept) for i in range(kept)]


def shares(sizes: Sequence[int], most: int) -> list[int]:
    """Divide `most` places over groups, equally but for groups that are too small.

    Where there are more groups than places, evenly spread groups get one place each.

    Args:
        sizes: Members of each group.
        most: Places in all.

    Returns:
        Places of each group, no more than its size.
    """
    places = [0] * len(sizes)
    left = most
    waiting = [index for index, size in enumerate(sizes) if size]
    while left and waiting:
        if len(waiting) > left:
            waiting = [waiting[i] for i in spread(len(waiting), left)]
        each = left // len(waiting)
        for index in waiting:
            taken = min(each, sizes[index] - places[index])
            places[index] += taken
            left -= taken
        waiting = [index for index in waiting if places[index] < sizes[index]]
    return places
