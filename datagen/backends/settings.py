"""The base of every backend's settings."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class BackendSettings(BaseModel):
    """Settings of a backend: keyword arguments of its class."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )
