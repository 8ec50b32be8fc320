"""YAML text of a config, read strictly, and the overrides of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import yaml

from datagen.errors import ConfigError

_MAX_BYTES = 8 * 2**20
_MAX_VALUES = 1_000_000


class _StrictLoader(yaml.SafeLoader):
    """Safe YAML without its traps: values as in JSON, and no key twice.

    `1e-3` is a number, `no` and `2024-01-01` are texts, `010` is ten.
    """

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else None
            if name is None:
                raise yaml.constructor.ConstructorError(
                    None, None, "a key must be a plain word", key.start_mark
                )
            if name in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {name!r} stands here twice", key.start_mark
                )
            seen.add(name)
        mapping = super().construct_mapping(node, deep)
        return {str(key): value for key, value in mapping.items()}

    def construct_decimal(self, node: yaml.ScalarNode) -> int:
        return int(str(self.construct_scalar(node)))


_StrictLoader.add_constructor("tag:yaml.org,2002:int", _StrictLoader.construct_decimal)
for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+.0123456789",
    ),
):
    _StrictLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}",
        re.compile(rf"^(?:{_pattern})$"),
        ["" if letter == "\0" else letter for letter in _first],
    )


def parse_yaml(text: str, where: str) -> Any:
    """Parse one YAML document into plain data; what an alias stands for is a copy of its own.

    Args:
        text: The document.
        where: What to call it in an error.

    Raises:
        ConfigError: It is not YAML, holds a key twice, an unsafe tag, or aliases without end.
    """
    try:
        return _unshared(yaml.load(text, Loader=_StrictLoader), where)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f" line {mark.line + 1}, column {mark.column + 1}:" if mark else ""
        problem = ", ".join(filter(None, (error.context, error.problem))) or "not YAML"
        raise ConfigError(f"{where}:{line} {problem}.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        first = "nested too deep" if isinstance(error, RecursionError) else _first_line(error)
        raise ConfigError(f"{where}: not YAML: {first}.") from error


def _unshared(data: Any, where: str) -> Any:
    """Copy data so that no part of it stands in two places: an override must reach one place."""
    count = 0

    def copied(value: Any, parents: tuple[int, ...]) -> Any:
        nonlocal count
        count += 1
        if id(value) in parents:
            raise ConfigError(f"{where}: a part of it contains itself.")
        if count > _MAX_VALUES:
            raise ConfigError(
                f"{where}: holds more than {_MAX_VALUES} values once its aliases are followed."
            )
        if isinstance(value, dict):
            mapping = cast(dict[str, Any], value)
            return {key: copied(item, (*parents, id(value))) for key, item in mapping.items()}
        if isinstance(value, list):
            return [copied(item, (*parents, id(value))) for item in cast(list[Any], value)]
        return value

    return copied(data, ())


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML file that holds one mapping.

    Raises:
        ConfigError: The file is missing, unreadable, too large, not UTF-8, or holds no mapping.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise ConfigError(f"{path}: holds more than {_MAX_BYTES >> 20} MiB; not a config.")
        text = content.decode("utf-8-sig")
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: there is no such file.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not a text file in UTF-8.") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}.") from error
    data = parse_yaml(text, str(path))
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: holds {_kind(data)} where settings `key: value` are expected.")
    return cast(dict[str, Any], data)


def apply_overrides(data: dict[str, Any], overrides: Iterable[str]) -> None:
    """Set values in plain data, each as `a.b.0.c=value` with the value in YAML.

    A missing mapping on the way is made; the index one past the end of a list adds to it.

    Raises:
        ConfigError: An override has no `=`, or leads through something that holds no keys.
    """
    for override in overrides:
        dotted, equals, text = override.partition("=")
        keys = dotted.strip().split(".")
        if not equals or not all(keys):
            raise ConfigError(f"--set {override}: write it as key=value, such as mitsuba.spp=64.")
        _put(data, keys, parse_yaml(text, f"--set {override}"), override)


def _put(data: dict[str, Any], keys: list[str], value: Any, override: str) -> None:
    place: Any = data
    for depth, key in enumerate(keys):
        last = depth == len(keys) - 1
        if isinstance(place, list):
            items = cast(list[Any], place)
            index = _index(key, items, ".".join(keys[:depth]), override)
            if index == len(items):
                items.append(None)
            if last:
                items[index] = value
            elif items[index] is None:
                items[index] = {}
            place = items[index]
        elif isinstance(place, dict):
            mapping = cast(dict[str, Any], place)
            if last:
                mapping[key] = value
            elif mapping.get(key) is None:
                mapping[key] = {}
            place = mapping[key]
        else:
            dotted = ".".join(keys[:depth])
            raise ConfigError(f"--set {override}: {dotted} is {_kind(place)} and holds no keys.")


def _index(key: str, items: list[Any], dotted: str, override: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", key) or int(key) > len(items):
        raise ConfigError(
            f"--set {override}: {dotted} is a list of {len(items)}; "
            f"{key!r} is not an index from 0 to {len(items)}."
        )
    return int(key)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _kind(value: Any) -> str:
    if isinstance(value, list):
        return "a list"
    return "a mapping" if isinstance(value, dict) else repr(value)
