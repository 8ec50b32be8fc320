"""Settings that decide how a compiled model becomes a stage."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Collision = Literal["boxes", "body_box", "object_box", "hull"]
MaterialRule = Literal["mujoco", "physical"]


class Settings(BaseModel):
    """The base of all settings of sources."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True
    )


class ObjectGroup(Settings):
    """Bodies and geoms that make one object."""

    label: str = Field(pattern="^[a-z0-9_]+$")
    """Class label."""

    bodies: tuple[str, ...] = ()
    """Bodies by name; a body that is not listed belongs to its root body's object."""

    geoms: tuple[str, ...] = ()
    """Geoms of the world body, by name or as `#<id>`."""
