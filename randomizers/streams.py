"""Random streams that depend on what is drawn, and on nothing drawn before."""

from __future__ import annotations

import hashlib
from typing import Literal

import numpy as np

Scope = Literal["run", "scene", "episode", "frame", "view"]
"""How long a draw lasts: it is equal for all samples of the same scope and scope id."""


def stream(
    seed: int, randomizer: str, scope: Scope, scope_id: str, target: str, attempt: int
) -> np.random.Generator:
    """Make the random stream of one draw.

    The six arguments are written as UTF-8 text, each preceded by its length in bytes (8 bytes,
    little-endian), so that no two sets of arguments give the same bytes. The first 32 bytes of
    BLAKE2b over them, read as a little-endian number, seed a PCG64 through `SeedSequence`. The
    stream knows nothing else: other randomizers, targets, samples, workers and processes have no
    influence on it, and no global random state is read or written.

    Args:
        seed: Seed of the run.
        randomizer: Name of the randomizer instance.
        scope: How long the draw lasts.
        scope_id: Which of the scope's runs, scenes, episodes, frames or views.
        target: What is drawn for, such as a prim path with a parameter.
        attempt: Number of the attempt, from 0.
    """
    digest = hashlib.blake2b(digest_size=32)
    for field in (str(seed), randomizer, scope, scope_id, target, str(attempt)):
        data = field.encode("utf-8")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    entropy = int.from_bytes(digest.digest(), "little")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))
