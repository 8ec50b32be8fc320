"""The contract of what happens between rendering and labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from datagen.backends import Buffers
from scenes import Pinhole


class Post(Protocol):
    """A step after rendering.

    A mild distortion moves every array alike, label maps by the nearest pixel: labels read from
    maps follow. Those that are projected (loose box, `pixels_total`, occlusion) and the row's `K`
    stay the pinhole's. A sensor changes `rgb` and `hdr` alone. A step draws no random number: what
    varies comes with the sample.
    """

    def __call__(self, buffers: Buffers, view: Pinhole) -> Buffers:
        """Change the buffers of one view.

        Args:
            buffers: As a backend gave them, [h, w, ...].
            view: The pinhole they were rendered by.
        """
        ...


def after_rendering(steps: Iterable[Post], buffers: Buffers, view: Pinhole) -> Buffers:
    """Take the buffers of a view through steps, in their order.

    Args:
        steps: The steps; none is an ideal pinhole and sensor.
        buffers: As a backend gave them, [h, w, ...].
        view: The pinhole they were rendered by.
    """
    for step in steps:
        buffers = step(buffers, view)
    return buffers
