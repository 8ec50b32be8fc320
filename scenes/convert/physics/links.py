"""The tree of rigid links that a physics engine moves, found in a compiled model."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from scenes.convert.grouping import WORLD


@dataclass(frozen=True)
class Link:
    """A body with joints of its own and all that is welded to it; bodies by index."""

    body: int
    carrier: int | None
    """Body that the first joint hangs on: a link, a body fixed to the world, or the world body;
    None for a body that floats freely."""
    joints: tuple[int, ...]
    """Joints from the carrier to this link, in the order they act; none of a free body."""
    followers: tuple[int, ...]
    """Bodies welded to this one."""

    @property
    def members(self) -> tuple[int, ...]:
        """The link's bodies, its own first."""
        return (self.body, *self.followers)


@dataclass(frozen=True)
class Tree:
    """Links that hang together."""

    base: int | None
    """Body fixed to the world that the first link hangs on (the world body itself when there is
    no other); None when the first link floats."""
    links: tuple[Link, ...]
    """At least one; carriers stand before what they carry."""

    @property
    def articulated(self) -> bool:
        """Whether any joint belongs to the tree, fixed ones included."""
        return (
            self.base is not None
            or len(self.links) > 1
            or any(link.followers for link in self.links)
        )


def link_trees(model: mujoco.MjModel) -> list[Tree]:
    """Trees of a model, in the order of their first bodies.

    Links that hang on the same body fixed to the world make one tree. A link that hangs on the
    world body itself starts a tree of its own.
    """
    links = _links(model)
    grown: dict[int, list[Link]] = {}
    bases: dict[int, int | None] = {}
    tree_of: dict[int, int] = {}
    tree_of_base: dict[int, int] = {}
    for link in links:
        carrier = link.carrier
        if carrier in tree_of:
            tree = tree_of[carrier]
        elif carrier in tree_of_base:
            tree = tree_of_base[carrier]
        else:
            tree = link.body
            bases[tree] = carrier
            if carrier is not None and carrier != WORLD:
                tree_of_base[carrier] = tree
        tree_of[link.body] = tree
        grown.setdefault(tree, []).append(link)
    return [Tree(bases[tree], tuple(members)) for tree, members in grown.items()]


def fixed_below(model: mujoco.MjModel, body: int) -> tuple[int, ...]:
    """Bodies below a body that are fixed to the world with it."""
    found = {body}
    for other in (np.flatnonzero(model.body_weldid[body + 1 :] == WORLD) + body + 1).tolist():
        if int(model.body_parentid[other]) in found:
            found.add(other)
    return tuple(sorted(found - {body}))


def mocap_bodies(model: mujoco.MjModel) -> tuple[int, ...]:
    """Bodies that a user moves, and those welded to them."""
    if not model.nmocap:
        return ()
    found: set[int] = set()
    for body in range(1, model.nbody):
        moved = model.body_mocapid[body] >= 0
        carried = int(model.body_parentid[body]) in found and not model.body_jntnum[body]
        if moved or carried:
            found.add(body)
    return tuple(sorted(found))


def _links(model: mujoco.MjModel) -> list[Link]:
    jointed = [body for body in range(1, model.nbody) if model.body_jntnum[body]]
    welded: dict[int, list[int]] = {}
    for body, weld in enumerate(model.body_weldid.tolist()):
        welded.setdefault(weld, []).append(body)
    return [
        Link(
            body=body,
            carrier=_carrier(model, body),
            joints=() if _free(model, body) else _joints(model, body),
            followers=tuple(other for other in welded.get(body, ()) if other != body),
        )
        for body in jointed
    ]


def _carrier(model: mujoco.MjModel, body: int) -> int | None:
    if _free(model, body):
        return None
    parent = int(model.body_parentid[body])
    weld = int(model.body_weldid[parent])
    return weld if model.body_jntnum[weld] and weld != WORLD else parent


def _joints(model: mujoco.MjModel, body: int) -> tuple[int, ...]:
    first = int(model.body_jntadr[body])
    return tuple(range(first, first + int(model.body_jntnum[body])))


def _free(model: mujoco.MjModel, body: int) -> bool:
    return bool(model.jnt_type[model.body_jntadr[body]] == mujoco.mjtJoint.mjJNT_FREE)
