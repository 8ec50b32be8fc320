"""Settings of a run: one YAML file, one root model."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    create_model,
    field_validator,
    model_validator,
)

from datagen.audit.config import AuditConfig
from datagen.backends.base import Pass
from datagen.backends.errors import BackendError
from datagen.backends.names import DEFAULT_BACKEND, BackendName
from datagen.backends.registry import backend_entries, backend_entry, capabilities
from datagen.backends.settings import BackendSettings
from datagen.configuration.errors import validation_sentences
from datagen.configuration.file import apply_overrides, read_yaml
from datagen.errors import ConfigError
from randomizers import RandomizeSection
from scenes.sources.limits import ConversionLimits
from scenes.sources.settings import CameraChoice, SourceConfig, source_config
from writers import OutputConfig

PassName = Literal["distance", "normal", "albedo", "hdr"]
PictureSide = Annotated[int, Field(gt=0, le=8192)]
CACHE_VARIABLE = "DATAGEN_CACHE"


class _Settings(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )


def cache_folder() -> Path:
    """Folder of converted scenes: $DATAGEN_CACHE, else datagen in the user's cache folder."""
    if named := os.environ.get(CACHE_VARIABLE):
        return Path(named).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "datagen"


class RunConfig(_Settings):
    """Everything that one run is made from.

    Paths are taken from the current folder. Only `output`, `cache`, `workers` and `conversion`
    do not decide what the rows hold. Each backend that has settings has a section of its name, and
    each kind of source its key in `scenes`; the model with these is the one that `from_data` and
    `load_config` give.
    """

    seed: int = Field(default=0, ge=0, lt=2**63)
    """Seed of every random draw."""

    output: Path
    """Run folder; it is made, and a run that was stopped goes on in it."""

    workers: int = Field(default=1, ge=1, le=1024)
    """Processes that render; the rows do not depend on their number."""

    cache: Path = Field(default_factory=cache_folder)
    """Folder of converted scenes, shared by all runs; by default $DATAGEN_CACHE, else
    $XDG_CACHE_HOME/datagen, else ~/.cache/datagen."""

    scenes: tuple[SourceConfig, ...] = Field(min_length=1)
    """What the scenes are made from."""

    conversion: ConversionLimits = ConversionLimits()
    """What reading and converting one scene may take; one that takes more is refused."""

    samples_per_state: int = Field(default=1, ge=1, le=10_000_000)
    """Samples of each state; each is an episode of one frame with draws of its own."""

    limit: int | None = Field(default=None, ge=1)
    """Make only the first frames of the plan, as many as hold this number of rows."""

    cameras: CameraChoice
    """Cameras by name, or `all`; every scene must have them that has no `cameras` of its own."""

    size: tuple[PictureSide, PictureSide] = (256, 256)
    """Width and height of the pictures [pixel]."""

    backends: tuple[BackendName, ...] = Field(default=(DEFAULT_BACKEND,), min_length=1)
    """Renderers; each gives a row for every camera."""

    passes: tuple[PassName, ...] = ()
    """What is stored beside picture, depth and label maps, where a backend has it."""

    randomize: RandomizeSection = ()
    """What is varied from sample to sample: a mapping of names to settings, or a list."""

    parquet: OutputConfig = OutputConfig()
    """Settings of the output files."""

    audit: AuditConfig = Field(default=AuditConfig(), exclude=True)
    """What `datagen audit` compares and lets pass; not a part of what decides the rows."""

    _file: str = PrivateAttr(default="config")
    _given: Mapping[str, str] = PrivateAttr(default_factory=dict[str, str])

    @field_validator("output", "cache")
    @classmethod
    def _expand_home(cls, value: Path) -> Path:
        if str(value) == ".":
            raise ValueError("should name a folder of its own")
        return value.expanduser()

    @field_validator("cameras", "backends", "passes")
    @classmethod
    def _refuse_repeats(cls, value: tuple[str, ...] | str) -> tuple[str, ...] | str:
        if isinstance(value, tuple) and len(set(value)) < len(value):
            raise ValueError("lists something twice")
        return value

    @model_validator(mode="after")
    def _every_pass_has_a_backend(self) -> RunConfig:
        offered = capabilities()
        for name in self.passes:
            able = [backend for backend in offered if name in offered[backend]]
            if not set(able) & set(self.backends):
                raise ValueError(
                    f"the pass {name!r} needs one of the backends {', '.join(able)}; "
                    f"backends lists {', '.join(self.backends)}"
                )
        return self

    @property
    def buffers(self) -> frozenset[Pass]:
        """Passes to ask a backend for, where it has them."""
        return frozenset({"rgb", "part", "depth", *self.passes})

    def settings_of(self, backend: str) -> BackendSettings | None:
        """Settings of a backend; None for one that has none."""
        return None if backend_entry(backend).settings is None else getattr(self, backend)

    @property
    def file(self) -> str:
        """File that the config was read from, for messages."""
        return self._file

    def problem(self, sentence: str) -> ConfigError:
        """Make the error for a problem found after validation; it starts with the dotted key."""
        return ConfigError(f"{_origin(sentence, self._given, self._file)}: {sentence}")

    @classmethod
    def from_data(
        cls, data: object, file: str = "config", given: Mapping[str, str] | None = None
    ) -> RunConfig:
        """Validate plain data, as it comes from YAML or JSON.

        Args:
            data: The data.
            file: What to call its origin in an error.
            given: Keys whose values do not come from the file, with what to call their origin.

        Raises:
            ConfigError: One line per problem: file, dotted key, value, what is allowed.
        """
        try:
            text = json.dumps(data)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{file}: a part of it contains itself.") from error
        model = _with_sections()
        try:
            config = model.model_validate_json(text)
        except ValidationError as error:
            sentences = validation_sentences(error, model, data)
            raise ConfigError(
                "\n".join(f"{_origin(line, given or {}, file)}: {line}" for line in sentences)
            ) from error
        config._file, config._given = file, given or {}
        return config


@functools.cache
def _with_sections() -> type[RunConfig]:
    """The model of a run's config with all kinds of sources, and sections of the backends."""
    sections: dict[str, Any] = {
        name: (entry.settings, entry.settings())
        for name, entry in backend_entries().items()
        if entry.settings is not None
    }
    taken = sections.keys() & RunConfig.model_fields.keys()
    if taken:
        raise BackendError(f"backend {min(taken)!r}: the config has another key of this name.")
    # One that is given anew stands where it stood.
    scenes = RunConfig.model_fields["scenes"]
    kinds = (tuple[source_config(), ...], Field(min_length=1, description=scenes.description))
    return create_model(
        "RunConfig", __base__=RunConfig, __doc__=RunConfig.__doc__, scenes=kinds, **sections
    )


def load_config(
    path: Path, overrides: Iterable[str] = (), options: Mapping[str, str | int] | None = None
) -> RunConfig:
    """Read a config file and set values on top of it.

    Args:
        path: YAML file.
        overrides: Values to set, each as `a.b.0.c=value` with the value in YAML.
        options: Values of top-level keys that replace all others.

    Raises:
        ConfigError: One line per problem: file, dotted key, value, what is allowed.
    """
    data = read_yaml(path)
    overrides = tuple(overrides)
    apply_overrides(data, overrides)
    given = {text.partition("=")[0].strip(): f"--set {text}" for text in overrides}
    given |= {key: f"--{key} {value}" for key, value in (options or {}).items()}
    return RunConfig.from_data(data | dict(options or {}), str(path), given)


def _origin(sentence: str, given: Mapping[str, str], file: str) -> str:
    """Name where the value of the key comes from with which a sentence begins."""
    key = sentence.partition(":")[0]
    # The last one that was given is the one that counts.
    for name, origin in reversed(list(given.items())):
        if key == name or key.startswith(f"{name}.") or name.startswith(f"{key}."):
            return origin
    return file
