"""The FLIP difference of two pictures: what an eye notices when they alternate."""

from __future__ import annotations

import flip_evaluator
import numpy as np
from numpy.typing import NDArray


def flip_map(
    reference: NDArray[np.floating], candidate: NDArray[np.floating]
) -> NDArray[np.float32]:
    """LDR-FLIP of each pixel, 0 to 1, [h, w], at the method's default 67 pixels per degree.

    Andersson et al., "FLIP: A Difference Evaluator for Alternating Images", 2020, computed by its
    authors' package.

    Args:
        reference: Display picture in [0, 1], [h, w, 3].
        candidate: The same view, [h, w, 3].
    """
    first, second = (
        np.ascontiguousarray(picture, dtype=np.float32) for picture in (reference, candidate)
    )
    found, _, _ = flip_evaluator.evaluate(first, second, "LDR", applyMagma=False)
    return np.asarray(found, dtype=np.float32).reshape(reference.shape[:2])
