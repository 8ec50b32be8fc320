"""Settings of Mitsuba."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field, field_validator

from datagen.backends.settings import BackendSettings

SamplesPerPixel = Literal[1, 4, 16, 64, 256, 1024, 4096]


class MitsubaConfig(BackendSettings):
    """Settings of the path tracer."""

    spp: int = 16
    """Samples per pixel, a power of four: with others the picture could not be made again."""

    denoise: bool = True
    """Denoise the picture (Open Image Denoise)."""

    max_depth: int = Field(default=8, ge=1, le=64)
    """Longest path, in segments; 8 is within 1 % of 16."""

    variant: Literal["auto", "llvm", "scalar", "cuda"] = "auto"
    """Kind of renderer; `auto` takes the fastest one that works on the machine."""

    soft_copies: int = Field(default=12, ge=1, le=256)
    """Points that stand for each light's extent; 1 gives hard shadows."""

    cull_back_faces: bool = False
    """Look through surfaces seen from behind in labels and depth, as MuJoCo does."""

    @field_validator("spp")
    @classmethod
    def _power_of_four(cls, value: int) -> int:
        allowed = get_args(SamplesPerPixel)
        if value not in allowed:
            raise ValueError(f"should be one of {', '.join(map(str, allowed))}")
        return value
