"""What is known of one finished shard."""

from pydantic import BaseModel, ConfigDict, Field


class ShardRecord(BaseModel):
    """What manifest and journal know of one shard."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: str = Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$")
    """File name within the data folder."""

    rows: int = Field(ge=0)
    """Number of rows."""

    bytes: int = Field(ge=0)
    """Size of the file."""

    blake2b: str = Field(pattern=r"^[0-9a-f]{64}$")
    """BLAKE2b digest of the file, 32 bytes in hexadecimal."""
