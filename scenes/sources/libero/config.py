"""Settings of LIBERO tasks as a source."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, field_validator

from scenes.convert.settings import Collision, MaterialRule, Settings


class StateCount(Settings):
    """The first so many initial states."""

    count: int = Field(ge=1)
    """How many, from the first."""


def _kind(value: object) -> str:
    """Tell the spellings of a choice apart, so that errors are those of the one meant."""
    if isinstance(value, str):
        return "<word>"
    return "<count>" if isinstance(value, dict | StateCount) else "<list>"


class LiberoConfig(Settings):
    """Tasks of a LIBERO suite."""

    suite: str
    """Name of the suite, such as libero_spatial; `datagen scenes` lists them."""

    tasks: Annotated[
        Annotated[Literal["all"], Tag("<word>")]
        | Annotated[tuple[int | str, ...], Field(min_length=1), Tag("<list>")],
        Discriminator(_kind),
    ] = "all"
    """`all`, or tasks by index or by name; `datagen scenes SUITE` lists them."""

    initial_states: Annotated[
        Annotated[Literal["all"], Tag("<word>")]
        | Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1), Tag("<list>")]
        | Annotated[StateCount, Tag("<count>")],
        Discriminator(_kind),
    ] = StateCount(count=1)
    """Initial states of each task: `all`, indices, or `{count: n}` for the first n."""

    state: Literal["settled", "stored"] = "settled"
    """`settled`: objects have come to rest; `stored`: as in LIBERO's files, some float."""

    seed: int = Field(default=0, ge=0, lt=2**32)
    """Seed of the fixtures' poses, which LIBERO's initial states do not hold."""

    materials: MaterialRule = "physical"
    """What `specular` and `shininess` become: highlights as strong as MuJoCo's (`mujoco`), or those
    of plastic and lacquer (`physical`: dielectrics of reflectance 0.04)."""

    collision: Collision = "boxes"
    """What stands for colliding geoms: a box for each (`boxes`), for each body (`body_box`) or
    for each object (`object_box`), or a convex hull for each (`hull`)."""

    @field_validator("tasks", "initial_states")
    @classmethod
    def _refuse_repeats(cls, value: object) -> object:
        if isinstance(value, tuple) and len(set(value)) < len(value):
            raise ValueError("lists something twice")
        return value
