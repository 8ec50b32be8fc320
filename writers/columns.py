"""Columns as they are declared: beside the field whose value they hold."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import NoneType
from typing import Annotated, Protocol, get_args, get_origin, get_type_hints

import pyarrow as pa

from writers.errors import ReadError, WriteError
from writers.kinds import Kind, Layout, RowFormat, feature


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of every shard: all that schema, files, readers and dataset card must know."""

    name: str
    """Name in the file."""

    kind: Kind
    """Arrow type, encoder and decoder."""

    meaning: str
    """What it holds, in one line of the dataset card, with the unit in square brackets."""

    source: str
    """Attribute of the row that gives the value."""

    optional: bool = False
    """Whether only those runs have it that ask for it by its name among their passes."""

    statistics: bool = True
    """Whether the file keeps the least and the greatest plain value of a row group."""

    derived: bool = False
    """Whether it follows from other fields, so that it is written and not read back."""

    nullable: bool = True
    """Whether its field may be None."""

    @property
    def feature(self) -> dict[str, object]:
        """Feature of the datasets library that shows the column."""
        return feature(self.kind.arrow)

    @property
    def is_pass(self) -> bool:
        """Whether it is a pass: a field with a value for each pixel."""
        return self.kind.layout != "plain" and not self.derived

    @property
    def required(self) -> bool:
        """Whether no row can be written without it."""
        return not self.nullable or (self.is_pass and not self.optional)


def column(
    kind: Kind,
    meaning: str = "",
    *,
    name: str = "",
    optional: bool = False,
    statistics: bool = True,
) -> Column:
    """Declare what a field is stored in, as metadata of the field's annotation.

    Args:
        kind: Arrow type, encoder and decoder.
        meaning: What the column holds, in one line of the dataset card; a member of a struct
            needs none.
        name: Name in the file, the field's by default.
        optional: Whether only those runs have the pass that ask for it by its name.
        statistics: Whether the file keeps the least and the greatest value of a row group.
    """
    return Column(
        name=name, kind=kind, meaning=meaning, source="", optional=optional, statistics=statistics
    )


def derived_column(
    name: str, kind: Kind, meaning: str, *, source: str, optional: bool = False
) -> Column:
    """Declare a column that no field is read back from, by the row's attribute that gives it."""
    return Column(
        name=name, kind=kind, meaning=meaning, source=source, optional=optional, derived=True
    )


def columns_of(record: type, derived: Mapping[str, Column] | None = None) -> tuple[Column, ...]:
    """Give the columns of a record type in the order of its fields.

    Args:
        record: A dataclass whose every field declares its column.
        derived: Columns that are no fields, by the column that each stands in front of.

    Raises:
        TypeError: A field declares no column, or not one.
    """
    hints = get_type_hints(record, include_extras=True)
    columns = [_field_column(record, field, hint) for field, hint in hints.items()]
    for following, entry in (derived or {}).items():
        position = [each.name for each in columns].index(following)
        columns.insert(position, entry)
    return tuple(columns)


def _field_column(record: type, field: str, hint: object) -> Column:
    value_type, *metadata = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    entries = [each for each in metadata if isinstance(each, Column)]
    if len(entries) != 1:
        raise TypeError(
            f"{record.__name__}.{field} declares {len(entries)} columns, not one: "
            "write `Annotated[type, column(...)]`."
        )
    (entry,) = entries
    nullable = NoneType in get_args(value_type)
    return replace(entry, name=entry.name or field, source=field, nullable=nullable)


class Named(Protocol):
    """A record that messages can call by its name."""

    @property
    def name(self) -> str:
        """Name of the record."""
        ...


class Records:
    """Kind of a list of records, stored as a list of structs of their fields' columns."""

    layout: Layout = "plain"

    def __init__(self, record: type[Named]) -> None:
        self._record = record
        self._columns = columns_of(record)
        members = [(each.name, each.kind.arrow) for each in self._columns]
        self.arrow = pa.list_(pa.struct(members))

    def encode(self, name: str, value: object, form: RowFormat) -> object:
        """Give each record's values by column.

        Raises:
            WriteError: A value does not fit.
        """
        if not isinstance(value, Iterable):
            raise WriteError(f"'{name}' is no list.")
        return [self._stored(each, form) for each in value]

    def decode(self, name: str, stored: object, size: tuple[int, int]) -> object:
        """Give the records.

        Raises:
            ReadError: A value is no such value.
        """
        if not isinstance(stored, Sequence):
            raise ReadError(f"'{name}' is no list")
        return [self._record_of(each, size) for each in stored]

    def _stored(self, record: Named, form: RowFormat) -> dict[str, object]:
        values: dict[str, object] = {}
        for each in self._columns:
            value = getattr(record, each.source)
            name = f"{record.name}.{each.name}"
            values[each.name] = None if value is None else each.kind.encode(name, value, form)
        return values

    def _record_of(self, stored: Mapping[str, object], size: tuple[int, int]) -> Named:
        values: dict[str, object] = {}
        for each in self._columns:
            value = stored[each.name]
            found = None if value is None else each.kind.decode(each.name, value, size)
            values[each.source] = found
        return self._record(**values)
