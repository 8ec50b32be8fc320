"""How points of the candidate are moved, turned, scaled and seen through another lens."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from datagen.audit.measure.edges import Floats


@dataclass(frozen=True)
class Warp:
    """How a point of the candidate comes to lie on the reference's surface.

    A pixel with depth d is lifted with the focal length `exp(log_focal)` times the reference's and
    the principal point moved by `principal`; the point P then goes to
    `exp(log_scale) R (R0 P + t0 - pivot) + pivot + t`.
    """

    R: Floats
    t: Floats
    log_focal: float
    principal: Floats
    log_scale: float
    pivot: Floats
    R0: Floats
    t0: Floats

    @property
    def angle(self) -> float:
        """Angle of the rotation R [rad]."""
        twist = np.array([self.R[2, 1], self.R[0, 2], self.R[1, 0]])
        twist -= [self.R[1, 2], self.R[2, 0], self.R[0, 1]]
        return float(np.arctan2(np.linalg.norm(twist), np.trace(self.R) - 1.0))

    def moved(self, points: Floats) -> Floats:
        """Points of the candidate's camera [m], [n, 3], in the reference's camera."""
        return self._turned(points) + self.pivot + self.t

    def _turned(self, points: Floats) -> Floats:
        based = points @ self.R0.T + self.t0 - self.pivot
        return np.exp(self.log_scale) * based @ self.R.T

    def inverse_moved(self, points: Floats) -> Floats:
        """Where points of the reference [m], [n, 3], went, without R0 and t0."""
        return (points - self.pivot - self.t) @ self.R / np.exp(self.log_scale) + self.pivot

    def lens(self, K: Floats) -> Floats:
        """Intrinsics the candidate was taken with, for the reference's K."""
        lens = K.copy()
        lens[[0, 1], [0, 1]] *= np.exp(self.log_focal)
        lens[:2, 2] += self.principal
        return lens

    def stepped(self, step: Floats) -> Warp:
        """This warp after a step in the ten parameters."""
        turn = rotation(step[:3])
        return replace(
            self,
            R=turn @ self.R,
            t=self.t + step[3:6],
            log_focal=self.log_focal + float(step[6]),
            principal=self.principal + step[7:9],
            log_scale=self.log_scale + float(step[9]),
        )

    def based(self, pivot: Floats) -> Warp:
        """The same warp as the base of a further one about a pivot [m]."""
        T = self.moved(np.zeros((1, 3)))[0]
        return replace(
            self,
            R=np.eye(3),
            t=np.zeros(3),
            log_scale=0.0,
            pivot=pivot,
            R0=self.R @ self.R0,
            t0=T,
        )


def identity() -> Warp:
    """Nothing moves."""
    return Warp(np.eye(3), np.zeros(3), 0.0, np.zeros(2), 0.0, np.zeros(3), np.eye(3), np.zeros(3))


def rotation(turn: Floats) -> Floats:
    """Rotation matrix of a rotation vector [rad] (Rodrigues), [3, 3]."""
    angle = float(np.linalg.norm(turn))
    cross = np.array([[0, -turn[2], turn[1]], [turn[2], 0, -turn[0]], [-turn[1], turn[0], 0]])
    if angle < 1e-9:
        return np.eye(3) + cross
    return (
        np.eye(3)
        + np.sin(angle) / angle * cross
        + (1.0 - np.cos(angle)) / angle**2 * (cross @ cross)
    )
