"""Settings of the output files."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class OutputConfig(BaseModel):
    """How rows become Parquet shards."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    rgb: Literal["webp", "png"] = "webp"
    """Codec of the rgb column; both are lossless, WebP is smaller."""

    depth_mm: bool = False
    """Also write depth as a 16-bit PNG in whole millimetres, for viewers and other tools."""

    frames_per_shard: int = Field(default=32, ge=1, le=100_000)
    """Frames in one shard; all views of a frame stand in the same shard."""

    row_group_rows: int = Field(default=256, ge=1, le=100_000)
    """Most rows in one row group."""

    row_group_mb: int = Field(default=64, ge=1, le=1024)
    """Most encoded data in one row group [MB = 1e6 bytes]; a single larger row stands alone."""

    zstd_level: int = Field(default=3, ge=1, le=19)
    """Zstandard level of the depth and scalar columns; pictures are compressed already."""
