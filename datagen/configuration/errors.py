"""Problems of a config as sentences: the dotted key, the value, and what is allowed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

Key = str | int
Node = Mapping[str, Any]

_PLAIN = (
    (r"^(Input|Tuple|List|Set|Dictionary|String|Value) should ", "should "),
    (r"a valid integer.*|an integer$", "an integer"),
    (r"a valid number.*|a finite number$", "a finite number"),
    (r"a valid string$", "a text"),
    (r"a valid boolean.*$", "true or false"),
    (r"a valid (array|list|tuple)$", "a list"),
    (r"an object$|a valid (dictionary|object).*$", "a mapping"),
    (r" after validation", ""),
)
"""Words of YAML in place of pydantic's."""


def unknown_name(key: str, value: object, known: Iterable[object]) -> str:
    """Say that a value is not one of a closed set, with the nearest of them."""
    return f"{key}: {_shown(value)} is not known.{_known(value, known) or ' There are none.'}"


def validation_sentences(error: ValidationError, model: type[BaseModel], data: Any) -> list[str]:
    """Turn a failed validation into sentences, one per problem.

    Args:
        error: What pydantic raised.
        model: Root model that `data` was validated by.
        data: The plain data, to tell keys of the file from names of a choice.
    """
    problems = error.errors(include_url=False)
    deeper = {
        problem["loc"][:depth] for problem in problems for depth in range(len(problem["loc"]))
    }
    sentences: dict[str, str] = {}
    for problem in problems:
        # A list with one bad item also counts as too short.
        if problem["type"] == "too_short" and problem["loc"] in deeper:
            continue
        sentence = _sentence(problem, model, data)
        start, should_be, kind = sentence.partition(" should be ")
        # The branches of a choice each say what they want.
        if should_be and start in sentences:
            sentences[start] = f"{sentences[start].rstrip('.')} or {kind}"
        else:
            sentences[start if should_be else sentence] = sentence
    return list(sentences.values())


def _sentence(details: ErrorDetails, model: type[BaseModel], data: Any) -> str:
    location, kind, value = details["loc"], details["type"], details["input"]
    context = details.get("ctx", {})
    if kind == "missing":
        key = _dotted([*location[:-1]], data, str(location[-1]))
        return f"{key}: this setting is required."
    key = _dotted(location, data)
    if kind == "extra_forbidden":
        known = _known_keys(model, location[:-1])
        name = str(location[-1])
        below = [] if name in known else _keys_below(model, location[:-1], name)
        if below:
            prefix = f"{key.rpartition('.')[0]}." if "." in key else ""
            meant = " or ".join(repr(f"{prefix}{each}") for each in below)
            return f"{key}: not a known key.{_known(None, known)} Did you mean {meant}?"
        return f"{key}: not a known key.{_known(name, known)}"
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        field = str(context["discriminator"]).strip("'")
        if field.endswith("()"):
            return f"{key}: {_shown(value)} is not of a kind that can stand here."
        key = f"{key}.{field}" if key else field
        if kind == "union_tag_not_found":
            tags = _quoted(context.get("expected_tags", "")) or _tags(model, location)
            return f"{key}: this setting is required.{_known(None, tags)}"
        return unknown_name(key, context["tag"], _quoted(context["expected_tags"]))
    if kind in ("literal_error", "enum"):
        return unknown_name(key, value, _quoted(context["expected"]))
    message = details["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    for pattern, plain in _PLAIN:
        message = re.sub(pattern, plain, message)
    message = message.rstrip(".")
    shown = _shown(value)
    if message.startswith("should"):
        message = f"{shown} {message}"
    elif location and shown not in message:
        message = f"{shown}: {message}"
    return f"{key}: {message}." if key else f"{message}."


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:76]} ..."


def _known(value: object, known: Iterable[object]) -> str:
    names = [str(name) for name in known]
    if not names:
        return ""
    listed = names if len(names) <= 60 else [*names[:60], f"... {len(names) - 60} more"]
    nearest = difflib.get_close_matches(str(value), names, n=1, cutoff=0.5)
    hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
    return f" Known: {', '.join(listed)}.{hint}"


def _quoted(text: object) -> list[str]:
    return re.findall(r"'([^']*)'", str(text))


def _dotted(location: Sequence[Key], data: Any, absent: str = "") -> str:
    """Join the keys of a location that the file holds; the others name a branch of a choice."""
    keys: list[Key] = []
    place = data
    for key in location:
        if isinstance(place, Mapping):
            mapping = cast(Mapping[Key, Any], place)
            # A mapping that stands for a list is counted in its order.
            named = list(mapping)[key] if isinstance(key, int) and key < len(mapping) else key
            if named in mapping:
                keys.append(named)
                place = mapping[named]
        elif isinstance(place, list) and isinstance(key, int):
            keys.append(key)
            place = cast(list[Any], place)[key]
    return ".".join(map(str, [*keys, absent] if absent else keys))


def _known_keys(model: type[BaseModel], location: Sequence[Key]) -> list[str]:
    names = [name for node in _nodes(model, location) for name in node.get("properties", {})]
    return list(dict.fromkeys(names))


def _keys_below(model: type[BaseModel], location: Sequence[Key], name: str) -> list[str]:
    """Find a key in the sections below a location, as dotted keys from there."""
    return [
        f"{section}.{name}"
        for section in _known_keys(model, location)
        if name in _known_keys(model, [*location, section])
    ]


def _tags(model: type[BaseModel], location: Sequence[Key]) -> list[str]:
    return [
        tag
        for node in _nodes(model, location)
        for tag in node.get("discriminator", {}).get("mapping", {})
    ]


def _nodes(model: type[BaseModel], location: Sequence[Key]) -> list[Node]:
    """Find what the model's JSON schema says of a location, all branches of choices together."""
    schema = model.model_json_schema()
    definitions = cast(Mapping[str, Node], schema.get("$defs", {}))

    def branches(node: Node) -> list[Node]:
        if "$ref" in node:
            return branches(definitions[str(node["$ref"]).rsplit("/", 1)[-1]])
        choices = [*node.get("oneOf", ()), *node.get("anyOf", ()), *node.get("allOf", ())]
        return [node, *(inner for choice in choices for inner in branches(choice))]

    def step(nodes: list[Node], key: Key) -> list[Node]:
        tagged = [
            {"$ref": node["discriminator"]["mapping"][key]}
            for node in nodes
            if key in node.get("discriminator", {}).get("mapping", {})
        ]
        inside = [
            node["properties"][key] for node in nodes if key in node.get("properties", {})
        ] or [
            node["items"]
            for node in nodes
            if isinstance(key, int) and isinstance(node.get("items"), Mapping)
        ]
        found = tagged or inside
        return [inner for node in found for inner in branches(node)] if found else nodes

    nodes = branches(schema)
    for key in location:
        nodes = step(nodes, key)
    return nodes
