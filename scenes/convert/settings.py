"""Settings that decide how a compiled model becomes a stage."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

Collision = Literal["boxes", "body_box", "object_box", "hull"]
MaterialRule = Literal["mujoco", "physical"]
ObjectWord = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]*[^\W_][^\x00-\x1f\x7f]*$")]
"""Name of an object: at least a letter or digit, no control characters."""


def _spelling(value: object) -> str:
    return "<word>" if isinstance(value, str) else "<times>"


Fineness = Annotated[
    Annotated[Literal["mujoco"], Tag("<word>")]
    | Annotated[int, Field(ge=2, le=16), Tag("<times>")],
    Discriminator(_spelling),
]
"""How finely round shapes are cut into triangles."""


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
