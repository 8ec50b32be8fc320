"""Mitsuba, as the registry knows it."""

from __future__ import annotations

from typing import get_args

from datagen.backends.base import Pass
from datagen.backends.entry import BackendEntry
from datagen.backends.mitsuba.config import MitsubaConfig

MITSUBA = BackendEntry(
    name="mitsuba",
    backend="datagen.backends.mitsuba.backend:MitsubaBackend",
    passes=frozenset(get_args(Pass)),
    honoured="datagen.backends.mitsuba.values:MITSUBA_HONOURED",
    requires="mitsuba",
    settings=MitsubaConfig,
    comparison={"cull_back_faces": True},
    prepare="datagen.backends.mitsuba.variant:prepare",
)
