"""Oriented boxes and how deep they stand in each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_PARALLEL = 1e-6


@dataclass(frozen=True)
class Boxes:
    """Oriented boxes, all in one frame."""

    centers: Floats
    """[n, 3], m."""
    axes: Floats
    """Unit axes as the columns of rotations, [n, 3, 3]."""
    halves: Floats
    """Half extents along the axes, [n, 3], m; a flat box has a zero."""

    @classmethod
    def of_transforms(cls, transforms: Floats) -> Boxes:
        """Make boxes of the poses of cubes of size 2, half extents as scale, [n, 4, 4]."""
        transforms = transforms.reshape(-1, 4, 4)
        columns = transforms[:, :3, :3]
        halves = np.linalg.norm(columns, axis=1)
        axes = columns / np.where(halves > 0, halves, 1.0)[:, None, :]
        for k in range(3):
            flat = halves[:, k] == 0
            i, j = (k + 1) % 3, (k + 2) % 3
            axes[flat, :, k] = np.cross(axes[flat, :, i], axes[flat, :, j])
        return cls(transforms[:, :3, 3], axes, halves)

    def __len__(self) -> int:
        return len(self.centers)

    def __getitem__(self, index: NDArray[np.intp] | NDArray[np.bool_]) -> Boxes:
        return Boxes(self.centers[index], self.axes[index], self.halves[index])

    def moved(self, transforms: Floats) -> Boxes:
        """Move every box by a rigid transform: one for all, [4, 4], or one each, [n, 4, 4]."""
        rotations, offsets = transforms[..., :3, :3], transforms[..., :3, 3]
        centers = (rotations @ self.centers[..., None])[..., 0] + offsets
        return Boxes(centers, rotations @ self.axes, self.halves)

    def reach(self) -> Floats:
        """Half extents of the boxes around the boxes along the frame's axes, [n, 3]."""
        return (np.abs(self.axes) * self.halves[:, None, :]).sum(axis=2)

    def corners(self) -> Floats:
        """The eight corners of each box, [n, 8, 3]."""
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        offsets = signs[None] * self.halves[:, None, :]
        return self.centers[:, None, :] + offsets @ self.axes.transpose(0, 2, 1)


def near_pairs(a: Boxes, b: Boxes) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Find pairs whose surrounding boxes along the frame's axes overlap: the broad phase.

    Returns:
        Indices into `a` and into `b`, each [p].
    """
    reach_a, reach_b = a.reach(), b.reach()
    low = (a.centers - reach_a).min(axis=0, initial=np.inf)
    high = (a.centers + reach_a).max(axis=0, initial=-np.inf)
    near = ((b.centers - reach_b < high) & (b.centers + reach_b > low)).all(axis=1)
    candidates = np.flatnonzero(near)
    apart = np.abs(a.centers[:, None] - b.centers[candidates])
    i, j = np.nonzero((apart < reach_a[:, None] + reach_b[candidates]).all(axis=2))
    return i, candidates[j]


def penetration(a: Boxes, b: Boxes) -> Floats:
    """Depth to which pairs of boxes stand in each other [m], [p]; negative when apart.

    By the separating axis theorem over the 15 axes of two boxes: the depth is the smallest
    overlap of their shadows on an axis, which is how far one must move to leave the other, also
    where one lies wholly inside the other.

    Args:
        a: One box of each pair, [p].
        b: The other box of each pair, [p].
    """
    crossed = np.cross(
        a.axes.transpose(0, 2, 1)[:, :, None, :], b.axes.transpose(0, 2, 1)[:, None, :, :]
    ).reshape(-1, 9, 3)
    lines = np.concatenate([a.axes.transpose(0, 2, 1), b.axes.transpose(0, 2, 1), crossed], axis=1)
    lengths = np.linalg.norm(lines, axis=2)
    usable = lengths > _PARALLEL
    lines = lines / np.where(usable, lengths, 1.0)[:, :, None]
    shadows = sum(
        (np.abs(lines @ boxes.axes) * boxes.halves[:, None, :]).sum(axis=2) for boxes in (a, b)
    )
    apart = np.abs((lines * (b.centers - a.centers)[:, None, :]).sum(axis=2))
    return np.where(usable, shadows - apart, np.inf).min(axis=1)
