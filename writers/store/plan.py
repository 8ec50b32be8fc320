"""The plan file: it takes an output folder for one run, and says whether a run may go on."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from writers.errors import PlanError, ReadError
from writers.store.atomic import DIGEST_BYTES, create_exclusively

PLAN_NAME = "plan.json"
"""File name of the plan in a run folder."""

DIGEST_KEY = "file_digest"
"""Key of a plan's or manifest's own digest: BLAKE2b of its other content."""


def claim_folder(folder: Path, plan: Mapping[str, JsonValue]) -> bool:
    """Write `plan.json` if the folder has none; give True if a run with this plan goes on.

    Everything in the plan must be equal for a run to go on, so it holds what decides bytes and
    nothing else. Put a fingerprint last: the first difference is the one that is told.

    Args:
        folder: The run folder; it is made if need be.
        plan: JSON values; no NaN or infinity.

    Raises:
        PlanError: The folder belongs to a run with another plan.
        ReadError: The folder's plan cannot be read.
        WriteError: The folder cannot be written.
    """
    path = folder / PLAN_NAME
    mine = plain(plan)
    if create_exclusively(path, sealed_json(mine).encode()):
        return False
    _refuse_difference(path, read_plan(folder), mine)
    return True


def refuse_other_plan(folder: Path, part: Mapping[str, JsonValue]) -> None:
    """Refuse a folder that belongs to a run whose plan differs in a part that is known already.

    Raises:
        PlanError: The folder belongs to a run with another plan.
        ReadError: The folder's plan cannot be read.
    """
    path = folder / PLAN_NAME
    if path.exists():
        there = read_plan(folder)
        _refuse_difference(path, {key: there[key] for key in part if key in there}, plain(part))


def _refuse_difference(path: Path, there: dict[str, JsonValue], here: dict[str, JsonValue]) -> None:
    difference = first_difference(there, here)
    if difference:
        key, old, new = difference
        raise PlanError(
            f"{path}: the folder belongs to another run: '{key}' is {old} there and {new} "
            "here. Choose another output folder, or remove this one."
        )


def read_plan(folder: Path) -> dict[str, JsonValue]:
    """Read the plan of a run folder.

    Raises:
        ReadError: The plan is missing, damaged, or not a JSON object.
    """
    path = folder / PLAN_NAME
    if not path.exists():
        raise ReadError(f"{path}: cannot be read: it is not there. Is this the folder of a run?")
    value = read_json_object(path, _PLAN_REMEDY)
    if DIGEST_KEY not in value:
        raise ReadError(f"{path}: damaged: it has no '{DIGEST_KEY}'. {_PLAN_REMEDY}")
    return unsealed(path, value, _PLAN_REMEDY)


_PLAN_REMEDY = (
    "Remove this one file and give the command of the run again: shards that fit it are kept."
)


def sealed_json(value: dict[str, JsonValue]) -> str:
    """Write an object as indented JSON with the digest of its content as the last key."""
    sealed = {**value, DIGEST_KEY: _content_digest(value)}
    return json.dumps(sealed, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def unsealed(path: Path, value: dict[str, JsonValue], remedy: str) -> dict[str, JsonValue]:
    """Take the digest off an object that was read, and hold it against the rest.

    Raises:
        ReadError: They do not fit; the message ends with `remedy`.
    """
    content = {key: each for key, each in value.items() if key != DIGEST_KEY}
    if DIGEST_KEY in value and value[DIGEST_KEY] != _content_digest(content):
        raise ReadError(f"{path}: damaged: its content does not fit its '{DIGEST_KEY}'. {remedy}")
    return content


def plain(value: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Give values as JSON keeps them: tuples as lists, keys as text."""
    return json.loads(json.dumps(value, allow_nan=False))


def _content_digest(value: dict[str, JsonValue]) -> str:
    text = json.dumps(value, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).hexdigest()


def read_json_object(path: Path, remedy: str) -> dict[str, JsonValue]:
    """Read a JSON file that holds one object.

    Raises:
        ReadError: The file is missing or is not a JSON object; the message ends with `remedy`.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReadError(f"{path}: cannot be read ({error.strerror}). {remedy}") from error
    except (ValueError, RecursionError) as error:
        raise ReadError(f"{path}: not a whole JSON file{_place(error)}. {remedy}") from error
    if not isinstance(value, dict):
        raise ReadError(f"{path}: not a JSON object. {remedy}")
    return value


def first_difference(
    there: JsonValue, here: JsonValue, key: str = ""
) -> tuple[str, str, str] | None:
    """Give the dotted key of the first difference of two JSON values, and both values as JSON."""
    if isinstance(there, dict) and isinstance(here, dict):
        names = [*there, *(name for name in here if name not in there)]
        pairs = [(name, there.get(name, _ABSENT), here.get(name, _ABSENT)) for name in names]
    elif isinstance(there, list) and isinstance(here, list):
        length = max(len(there), len(here))
        pairs = [
            (
                str(i),
                there[i] if i < len(there) else _ABSENT,
                here[i] if i < len(here) else _ABSENT,
            )
            for i in range(length)
        ]
    elif type(there) is type(here) and there == here:
        return None
    else:
        return key, _spell(there), _spell(here)
    for name, left, right in pairs:
        difference = first_difference(left, right, f"{key}.{name}" if key else name)
        if difference:
            return difference
    return None


def _place(error: Exception) -> str:
    match error:
        case json.JSONDecodeError():
            return f": line {error.lineno}, column {error.colno} is not as it should be"
        case UnicodeDecodeError():
            return f": byte {error.start} is no UTF-8 text"
        case _:
            return ""


_ABSENT = "\0absent"


def _spell(value: JsonValue) -> str:
    if value == _ABSENT:
        return "absent"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}..."
