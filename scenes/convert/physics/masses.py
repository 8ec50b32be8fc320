"""Mass properties of bodies, merged over those that are welded together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Usd, UsdPhysics

from scenes.stage.matrices import quaternion_from_rotation, rigid, rigid_inverse

FOLLOWER_SHARE = 1e-6
"""Mass and inertia of a welded body as a share of those of the link that carries its own."""


@dataclass(frozen=True)
class MassProperties:
    """Mass properties of a rigid link in the frame of its body."""

    mass: float
    """[kg]."""
    center: NDArray[np.float64]
    """Centre of mass [m], [3]."""
    inertia: NDArray[np.float64]
    """Moments about the principal axes through the centre of mass [kg m^2], [3]."""
    axes: NDArray[np.float64]
    """Principal axes as a unit quaternion in wxyz order, [4]."""

    def follower(self) -> MassProperties:
        """What a body welded to this link is given, whose own mass is merged into the link."""
        return MassProperties(
            self.mass * FOLLOWER_SHARE,
            np.zeros(3),
            np.full(3, self.inertia.max() * FOLLOWER_SHARE),
            np.array([1.0, 0.0, 0.0, 0.0]),
        )


NOMINAL = MassProperties(1.0, np.zeros(3), np.ones(3), np.array([1.0, 0.0, 0.0, 0.0]))
"""For a link without mass that is fixed to the world or moved by a user."""


def merged_mass(
    model: mujoco.MjModel, rest: mujoco.MjData, body: int, welded: Iterable[int]
) -> MassProperties | None:
    """Mass properties of a body with those welded to it; None when they have no mass.

    Args:
        model: The compiled model.
        rest: Its poses at qpos0.
        body: The body whose frame counts.
        welded: Bodies that keep their places in that frame.
    """
    bodies = [other for other in (body, *welded) if model.body_mass[other] > 0]
    if not bodies:
        return None
    if bodies == [body]:
        return MassProperties(
            float(model.body_mass[body]),
            np.array(model.body_ipos[body]),
            np.array(model.body_inertia[body]),
            np.array(model.body_iquat[body]),
        )
    T_body_world = rigid_inverse(rigid(rest.xpos[body], rest.xmat[body]))
    masses = np.array(model.body_mass[bodies])
    T_body_inertial = [
        T_body_world @ rigid(rest.xipos[other], rest.ximat[other]) for other in bodies
    ]
    centers = np.array([pose[:3, 3] for pose in T_body_inertial])
    center = masses @ centers / masses.sum()
    total = np.zeros((3, 3))
    for other, mass, pose in zip(bodies, masses, T_body_inertial, strict=True):
        R, arm = pose[:3, :3], pose[:3, 3] - center
        total += R @ np.diag(model.body_inertia[other]) @ R.T
        # Steiner's parallel axis theorem.
        total += mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    moments, vectors = np.linalg.eigh(total)
    vectors[:, 2] = np.cross(vectors[:, 0], vectors[:, 1])
    return MassProperties(float(masses.sum()), center, moments, quaternion_from_rotation(vectors))


def author_mass(prim: Usd.Prim, properties: MassProperties) -> None:
    """Author mass properties on the prim of a body."""
    api = UsdPhysics.MassAPI.Apply(prim)
    api.CreateMassAttr(properties.mass)
    api.CreateCenterOfMassAttr(Gf.Vec3f(*map(float, properties.center)))
    api.CreateDiagonalInertiaAttr(Gf.Vec3f(*map(float, properties.inertia)))
    api.CreatePrincipalAxesAttr(Gf.Quatf(*map(float, properties.axes)))
