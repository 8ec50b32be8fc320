"""The plan file: it takes an output folder for one run, and says whether a run may go on."""

import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from writers.atomic import create_exclusively
from writers.errors import PlanError, ReadError

PLAN_NAME = "plan.json"
"""File name of the plan in a run folder."""


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
    text = json.dumps(plan, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    if create_exclusively(path, text.encode()):
        return False
    difference = first_difference(read_plan(folder), json.loads(text))
    if difference:
        key, there, here = difference
        raise PlanError(
            f"{path}: the folder belongs to another run: '{key}' is {there} there and {here} "
            "here. Choose another output folder, or remove this one."
        )
    return True


def read_plan(folder: Path) -> dict[str, JsonValue]:
    """Read the plan of a run folder.

    Raises:
        ReadError: The plan is missing or is not a JSON object.
    """
    return read_json_object(folder / PLAN_NAME, "Is this the output folder of a run?")


def read_json_object(path: Path, remedy: str) -> dict[str, JsonValue]:
    """Read a JSON file that holds one object.

    Raises:
        ReadError: The file is missing or is not a JSON object; the message ends with `remedy`.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReadError(f"{path}: cannot be read ({error.strerror}). {remedy}") from error
    except ValueError as error:
        raise ReadError(f"{path}: not a whole JSON file ({error}). {remedy}") from error
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


_ABSENT = "\0absent"


def _spell(value: JsonValue) -> str:
    if value == _ABSENT:
        return "absent"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}..."
