"""Settings of what scenes are made from: an entry of a config's `scenes`."""

from __future__ import annotations

import functools
from typing import Annotated, Any, Literal

from pydantic import (
    Discriminator,
    Field,
    Tag,
    create_model,
    field_validator,
    model_validator,
)

from scenes.convert.settings import Settings
from scenes.sources.registry import source_class, source_classes
from scenes.sources.source import Source


def _choice(value: object) -> str:
    return "<word>" if value == "all" else "<list>"


CameraChoice = Annotated[
    Annotated[Literal["all"], Tag("<word>")]
    | Annotated[tuple[str, ...], Field(min_length=1), Tag("<list>")],
    Discriminator(_choice),
]
"""Cameras by name, or all of a scene's."""


class SourceConfig(Settings):
    """One source of scenes: exactly one of the kinds, and what its scenes are called.

    The model with a key for each kind is the one that `source_config` gives.
    """

    name: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_-]{1,80}$")
    """Name of its scene, or start of the names of its tasks; none: made from the file's name, and
    from its folder or keyframe where several sources share one."""

    cameras: CameraChoice | None = None
    """Cameras by name, or `all`, in place of the config's `cameras`."""

    @field_validator("cameras")
    @classmethod
    def _refuse_repeats(cls, value: tuple[str, ...] | str | None) -> tuple[str, ...] | str | None:
        if isinstance(value, tuple) and len(set(value)) < len(value):
            raise ValueError("lists something twice")
        return value

    @model_validator(mode="after")
    def _exactly_one(self) -> SourceConfig:
        if len(self._given()) != 1:
            raise ValueError(f"a source is exactly one of: {', '.join(source_classes())}")
        return self

    @property
    def source(self) -> Source:
        """The source."""
        (kind,) = self._given()
        return source_class(kind)(getattr(self, kind))

    def _given(self) -> list[str]:
        return [kind for kind in source_classes() if getattr(self, kind, None) is not None]


@functools.cache
def source_config() -> type[SourceConfig]:
    """The model of an entry of `scenes`, with a key for each kind of source.

    Raises:
        SourceKindError: What a package adds as a kind is none.
    """
    sections: dict[str, Any] = {
        kind: (
            cls.settings_model | None,
            Field(default=None, description=(cls.__doc__ or "").partition("\n")[0]),
        )
        for kind, cls in source_classes().items()
    }
    kinds = create_model("SourceKinds", __base__=Settings, **sections)
    # Keys of the kinds come first.
    bases: Any = (SourceConfig, kinds)
    model: Any = create_model("SourceConfig", __base__=bases, __doc__=SourceConfig.__doc__)
    return model
