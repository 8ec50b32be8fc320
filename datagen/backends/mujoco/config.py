"""Settings of MuJoCo's renderer."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from datagen.backends.settings import BackendSettings


class MujocoConfig(BackendSettings):
    """Settings of MuJoCo's renderer."""

    colorspace: Literal["native", "display"] = "native"
    """`native`: as MuJoCo shows it; `display`: no texture is linearised."""

    samples: int | None = Field(default=None, ge=0, le=64)
    """Samples per pixel of the picture; none: what the model says."""
