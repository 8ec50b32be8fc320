"""The `randomize` section of a config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationError,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import (
    CoreSchema,
    InitErrorDetails,
    PydanticCustomError,
    PydanticKnownError,
    SchemaValidator,
    core_schema,
)

from randomizers.errors import RandomizerError, UnknownKindError
from randomizers.randomizer import Randomizer
from randomizers.registry import kinds, loaded_classes, randomizer_class


class _AnyKind:
    """Reads settings by the class of their `type`, which may be another package's."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(_read)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(_union(loaded_classes()))


AnyRandomizer = Annotated[Randomizer, _AnyKind()]
"""Settings of any randomizer; `type` says which."""


@cache
def _union(classes: tuple[type[Randomizer], ...]) -> CoreSchema:
    choices = {cls.model_fields["type"].default: TypeAdapter(cls).core_schema for cls in classes}
    return core_schema.tagged_union_schema(choices, "type")


@cache
def _validator(classes: tuple[type[Randomizer], ...]) -> SchemaValidator:
    return SchemaValidator(_union(classes))


def _read(data: object) -> Randomizer:
    if isinstance(data, Randomizer):
        return data
    if isinstance(data, Mapping):
        _find_kind(cast(Mapping[str, Any], data))
    return _validator(loaded_classes()).validate_python(data)


def _find_kind(data: Mapping[str, Any]) -> None:
    """Load the class that settings name.

    Raises:
        PydanticCustomError: They name none.
        PydanticKnownError: They name one that is not known.
        ValidationError: It cannot be loaded.
    """
    if "type" not in data:
        raise PydanticCustomError(
            "union_tag_not_found", "Unable to find out the kind: 'type' is missing", _expected()
        )
    kind = data["type"]
    try:
        randomizer_class(str(kind))
    except UnknownKindError as error:
        context = {**_expected(), "tag": str(kind)}
        raise PydanticKnownError("union_tag_invalid", context) from error
    except RandomizerError as error:
        problem = PydanticCustomError("randomizer", "{reason}", {"reason": str(error)})
        details = InitErrorDetails(type=problem, loc=("type",), input=kind)
        raise ValidationError.from_exception_data("randomizer", [details]) from error


def _expected() -> dict[str, Any]:
    return {"discriminator": "'type'", "expected_tags": ", ".join(map(repr, kinds()))}


def _listed(data: Any) -> Any:
    """Turn a mapping of names to settings into a list; the type defaults to the name."""
    if not isinstance(data, Mapping):
        return tuple(cast(list[Any], data)) if isinstance(data, list) else data
    entries = cast(Mapping[str, Any], data).items()
    return tuple(
        {"type": name, "name": name, **cast(Mapping[str, Any], settings)}
        if isinstance(settings, Mapping)
        else settings
        for name, settings in entries
    )


def distinct_names(randomizers: Sequence[Randomizer]) -> Sequence[Randomizer]:
    """Refuse two randomizers of one name: their draws would be the same.

    Raises:
        ValueError: A name stands twice.
    """
    names = [randomizer.name for randomizer in randomizers]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name!r} names two randomizers; give each a `name` of its own")
    return randomizers


RandomizeSection = Annotated[
    tuple[AnyRandomizer, ...], BeforeValidator(_listed), AfterValidator(distinct_names)
]
"""All randomizers of a run: a list of settings, or a mapping of names to settings."""
