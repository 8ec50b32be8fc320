"""What crosses to a renderer: plain data, so that it may live in another process.

A scene is a folder, a sample a table of paths and values, and a frame's views come in one call.
In-process backends take the same road.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from pxr import Sdf

from datagen.backends.base import Backend, Buffers, Pass, Size
from scenes import SampleLayer, Scene

Plain = bool | int | float | str | tuple["Plain", ...]


@dataclass(frozen=True)
class SampleTable:
    """A sample as data."""

    state: str
    """State of the scene that it begins with."""
    values: tuple[tuple[str, Plain], ...]
    """What it sets on top of the state, by attribute path, sorted; vectors and arrays are tuples,
    matrices tuples of rows as USD has them, quaternions begin with their real part."""
    noise_seed: int
    """Seed of the renderer's sampling pattern."""

    @classmethod
    def of(cls, sample: SampleLayer) -> SampleTable:
        """The table of a sample."""
        changed = sorted(map(str, sample.drawn))
        values = tuple((path, _plain(sample.get(path))) for path in changed)
        return cls(sample.state.name, values, sample.noise_seed)

    def layer(self, scene: Scene) -> SampleLayer:
        """The sample over a scene that has the same state and attributes.

        Raises:
            SceneError: It has not.
        """
        sample = SampleLayer(scene, self.state, noise_seed=self.noise_seed)
        for path, value in self.values:
            sample.set(path, _typed(scene, path, value))
        return sample


@dataclass(frozen=True)
class View:
    """A picture that is asked for."""

    camera: str
    """Camera of the scene, by its name."""
    size: Size


class Renderer(Protocol):
    """A backend that is told of scenes and samples by data alone."""

    name: str

    def open(self, folder: Path) -> None:
        """Load the scene of a folder: the heavy part."""
        ...

    def render(
        self, sample: SampleTable, views: Sequence[View], passes: Set[Pass]
    ) -> Iterator[Buffers]:
        """Show a sample of the open scene and render views of it, in their order."""
        ...

    def describe(self) -> dict[str, str]:
        """State versions, device and settings that decide the bytes."""
        ...

    def close(self) -> None:
        """Free what `open` took."""
        ...


class LocalRenderer:
    """A backend of this process.

    Args:
        backend: The backend.
        scene: The scene of the folder that will be opened, if this process has it open already.
    """

    def __init__(self, backend: Backend, scene: Scene | None = None) -> None:
        self.name = backend.name
        self.backend = backend
        self._scene = scene
        self._shown: SampleTable | None = None

    def open(self, folder: Path) -> None:
        """Load the scene of a folder."""
        if self._scene is None or self._scene.folder != folder:
            self._scene = Scene.open(folder)
        self.backend.open(self._scene)
        self._shown = None

    def render(
        self, sample: SampleTable, views: Sequence[View], passes: Set[Pass]
    ) -> Iterator[Buffers]:
        """Show a sample and render views of it."""
        self.apply(sample)
        for view in views:
            yield self.backend.render(view.camera, view.size, passes)

    def apply(self, sample: SampleTable) -> None:
        """Show a sample of the open scene, if it is not the one shown."""
        assert self._scene is not None
        if sample != self._shown:
            self.backend.apply(sample.layer(self._scene))
            self._shown = sample

    def describe(self) -> dict[str, str]:
        """State what decides the bytes."""
        return self.backend.describe()

    def close(self) -> None:
        """Free what was loaded."""
        self.backend.close()
        self._shown = None


def _plain(value: Any) -> Plain:
    """A value of USD as numbers, words and tuples of them."""
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Sdf.AssetPath):
        return str(value.path)
    if hasattr(value, "GetImaginary"):
        return (float(value.GetReal()), *map(float, value.GetImaginary()))
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return tuple(_plain(each) for each in value)


def _typed(scene: Scene, path: str, value: Plain) -> Any:
    """The value as `SampleLayer.set` takes it."""
    kind = scene.stage.GetAttributeAtPath(path).GetTypeName()
    default = kind.defaultValue
    if hasattr(default, "GetImaginary") and isinstance(value, tuple):
        real, *imaginary = value
        return type(default)(real, *imaginary)
    if np.ndim(default) == 2 and not kind.isArray:
        return type(default)(value)
    return value
