"""What can go wrong while a scene is made or opened."""

from __future__ import annotations

from collections.abc import Iterable


class SceneError(Exception):
    """A scene was refused or could not be made; the message is one sentence for the user.

    Args:
        lines: The sentence, or several, one a line. What a terminal would not show as letters
            (line ends, escape characters, bytes that are no text) is spelled out.
    """

    exit_code = 3
    """Exit code of a command that it ends."""

    def __init__(self, *lines: str) -> None:
        super().__init__(*map(spelled_out, lines))

    def __str__(self) -> str:
        return "\n".join(self.args)


class StorageError(SceneError):
    """A scene could not be written: the disk is full, or the folder may not be written to."""

    exit_code = 4


class AssetError(SceneError):
    """A mesh, a texture or another file that a scene needs is missing or not usable."""


class ConversionFault(SceneError):
    """A fault of this package ended a conversion; its trace is among the error's notes."""


class SettingError(SceneError):
    """A setting of a source names what is not there.

    Args:
        key: The setting, dotted, from the source's own settings.
        problem: What is wrong, in a sentence that begins with the value.
    """

    exit_code = 2

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"{key}: {problem}")
        self.key = key
        self.problem = problem


class UnknownNameError(SettingError):
    """A setting of a source holds a name that is none of those known.

    Args:
        key: The setting, dotted, from the source's own settings.
        value: The name.
        known: All that may stand there.
    """

    def __init__(self, key: str, value: object, known: Iterable[object]) -> None:
        self.value = value
        self.known = tuple(known)
        listed = ", ".join(map(str, self.known)) or "none"
        super().__init__(key, f"{value!r} is not known. Known: {listed}.")


class SourceKindError(SceneError):
    """What a package adds as a kind of source is none, or cannot be loaded."""

    exit_code = 2


class MissingExtraError(SceneError):
    """An optional dependency is not installed; the message holds the pip command."""

    exit_code = 2


ANSWERS: tuple[type[SceneError], ...] = (
    ConversionFault,
    AssetError,
    StorageError,
    MissingExtraError,
    SceneError,
)
"""Errors that are told from process to process by name and lines; any other is told as the first of
them that it derives from."""


def spelled_out(text: str) -> str:
    r"""Give a text with each character that is no visible one as its escape, such as `\n`."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )
