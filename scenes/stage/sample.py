"""One sample as a USD override layer: values only, never new prims."""

from __future__ import annotations

from typing import Any

import numpy as np
from pxr import Sdf

from scenes.errors import SceneError
from scenes.stage.matrices import Matrix, matrix_array, matrix_value
from scenes.stage.sample_values import checked, shown
from scenes.stage.scene import Scene

TRANSFORM = "xformOp:transform"


class SampleLayer:
    """A state of a scene and the values drawn on top of it.

    Writing to an attribute that the scene lacks is refused: USD itself would make a phantom prim.
    """

    def __init__(self, scene: Scene, state: str, *, noise_seed: int = 0) -> None:
        self.scene = scene
        self.state = scene.state(state)
        self.noise_seed = noise_seed
        """Seed of the renderer's sampling pattern."""
        self.version = 0
        """Number of values set so far."""
        self.layer = Sdf.Layer.CreateAnonymous("sample.usda")
        self.layer.TransferContent(self.state.layer)
        self._paths = set[Sdf.Path]()
        self._drawn = set[Sdf.Path]()

        def collect(path: Sdf.Path) -> None:
            if path.IsPropertyPath():
                self._paths.add(path)

        self.layer.Traverse(Sdf.Path.absoluteRootPath, collect)

    @property
    def paths(self) -> frozenset[Sdf.Path]:
        """Attributes that this sample states."""
        return frozenset(self._paths)

    @property
    def drawn(self) -> frozenset[Sdf.Path]:
        """Attributes that were set on top of the state."""
        return frozenset(self._drawn)

    def get(self, path: str) -> Any:
        """Value of an attribute in this sample: drawn, else of the state, else authored."""
        spec = self.layer.GetAttributeAtPath(path)
        return self.scene.authored(path) if spec is None else spec.default

    def start(self, path: str) -> Any:
        """Value a draw starts from: of the state, else authored; never an earlier draw."""
        spec = self.state.layer.GetAttributeAtPath(path)
        return self.scene.authored(path) if spec is None else spec.default

    def set(self, path: str, value: Any) -> None:
        """State the value of an attribute.

        Args:
            path: Path of an attribute that the scene has.
            value: A value of the attribute's type; for numbers and vectors numpy's do as well.

        Raises:
            SceneError: The scene has no such attribute, or the value is not one of its type, not
                finite, or not one of the allowed words.
        """
        base = self._attribute(path)
        try:
            value = checked(base.typeName, value, self._allowed(base))
        except ValueError as error:
            raise SceneError(
                f"{self.scene.info.scene_id}: cannot set {path} to {shown(value)}: {error}."
            ) from error
        spec = self.layer.GetAttributeAtPath(path)
        if spec is None:
            with Sdf.ChangeBlock():
                prim = Sdf.CreatePrimInLayer(self.layer, base.path.GetPrimPath())
                spec = Sdf.AttributeSpec(prim, base.name, base.typeName)
        spec.default = value
        self.version += 1
        self._paths.add(base.path)
        self._drawn.add(base.path)

    def _attribute(self, path: str) -> Sdf.AttributeSpec:
        # A text that is no path would be an error of USD's own.
        named = Sdf.Path.IsValidPathString(str(path))[0]
        base = self.scene.stage.GetRootLayer().GetAttributeAtPath(path) if named else None
        if base is None:
            raise SceneError(f"{self.scene.info.scene_id}: cannot set {path}: no such attribute.")
        return base

    def _allowed(self, base: Sdf.AttributeSpec) -> tuple[str, ...]:
        attribute = self.scene.stage.GetAttributeAtPath(base.path)
        return tuple(attribute.GetMetadata("allowedTokens") or ())

    def pose(self, prim: str) -> Matrix:
        """Local pose of a prim in this sample, [4, 4]; of a body it is the world pose [m]."""
        return matrix_array(self.get(f"{prim}.{TRANSFORM}"))

    def start_pose(self, prim: str) -> Matrix:
        """Local pose that a draw starts from, [4, 4]."""
        return matrix_array(self.start(f"{prim}.{TRANSFORM}"))

    def set_pose(self, prim: str, transform: Matrix) -> None:
        """State the local pose of a prim, [4, 4]."""
        if np.shape(transform) != (4, 4) or np.asarray(transform).dtype.kind not in "iuf":
            raise SceneError(
                f"{self.scene.info.scene_id}: cannot set {prim}.{TRANSFORM} to {shown(transform)}: "
                "expected a pose of 4 x 4 numbers."
            )
        self.set(f"{prim}.{TRANSFORM}", matrix_value(np.asarray(transform, dtype=np.float64)))
