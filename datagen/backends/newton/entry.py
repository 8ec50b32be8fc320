"""Newton's camera, as the registry knows it."""

from __future__ import annotations

from datagen.backends.entry import BackendEntry

NEWTON = BackendEntry(
    name="newton",
    backend="datagen.backends.newton.backend:NewtonBackend",
    passes=frozenset({"rgb", "part", "depth", "distance", "normal", "albedo", "position"}),
    honoured="datagen.backends.newton.values:NEWTON_HONOURED",
    requires="newton",
    extra="newton",
)
