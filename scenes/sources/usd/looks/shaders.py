"""Values and pictures that the inputs of a shader lead to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pxr import UsdShade

from scenes.sources.usd.reading.stage import TIME, UsdStage

_WRAPS = ("wrapS", "wrapT")


@dataclass(frozen=True)
class ShaderInput:
    """What an input of a shader leads to."""

    value: Any = None
    texture: UsdShade.Shader | None = None
    file: Any = None
    color_space: str = "auto"
    scale: Any = None
    bias: Any = None
    primvar: str = "st"
    st_matrix: Any = None
    wrap: tuple[str, str] = ("repeat", "repeat")


class Shaders:
    """Follows the inputs of a stage's shaders."""

    def __init__(self, stage: UsdStage) -> None:
        self._stage = stage

    def number(self, surface: UsdShade.Shader, name: str, default: float) -> float:
        """Value of an input, where it has one; a picture has none."""
        value = self.input(surface, name, 1).value
        return default if value is None else float(value)

    def input(self, shader: UsdShade.Shader, name: str, width: int = 0) -> ShaderInput:
        """Follow an input to its value or to the picture it is connected to.

        Args:
            shader: The node.
            name: The input.
            width: How many numbers a value has at least; 0 for what need not be numbers.

        Raises:
            AssetError: A value is not finite or no such numbers, or nodes are connected in a
                circle.
        """
        port = shader.GetInput(name)
        if not port:
            return ShaderInput()
        for attribute in port.GetValueProducingAttributes():
            if UsdShade.Utils.GetType(attribute.GetName()) != UsdShade.AttributeType.Output:
                value = self._stage.value(attribute)
                if width and value is not None:
                    self._stage.refuse_other(attribute, value, width)
                return ShaderInput(value=value)
            source = UsdShade.Shader(attribute.GetPrim())
            kind = str(source.GetIdAttr().Get(TIME)) if source else ""
            if kind == "UsdUVTexture":
                return self._texture(source, attribute.GetName())
            self._stage.notes.differs(
                f"{shader.GetPath()}: {name} comes from a node {kind or 'of no known kind'}, "
                "which is not followed"
            )
        if port.GetAttr().HasAuthoredConnections():
            self._stage.notes.differs(f"{shader.GetPath()}: the connection of {name} leads nowhere")
        return ShaderInput()

    def _texture(self, texture: UsdShade.Shader, output: str) -> ShaderInput:
        if output.rpartition(":")[2] not in ("rgb", "rgba", "r", "a"):
            self._stage.notes.differs(f"{texture.GetPath()}: its output {output} is read as rgb")
        st, matrix = self._coordinates(texture)
        wraps = tuple(str(self.input(texture, axis).value or "repeat") for axis in _WRAPS)
        return ShaderInput(
            texture=texture,
            file=self.input(texture, "file").value,
            color_space=str(self.input(texture, "sourceColorSpace").value or "auto"),
            scale=self.input(texture, "scale", 3).value,
            bias=self.input(texture, "bias", 3).value,
            primvar=st,
            st_matrix=matrix,
            wrap=(wraps[0], wraps[1]),
        )

    def _coordinates(self, texture: UsdShade.Shader) -> tuple[str, Any]:
        """Primvar that a picture is laid out by, and what is done to it first, [2, 3]."""
        matrix, source = np.eye(3), texture
        port, passed = texture.GetInput("st"), set[str]()
        while port and port.HasConnectedSource():
            source = UsdShade.Shader(port.GetConnectedSource()[0].GetPrim())
            if str(source.GetPath()) in passed:
                raise self._stage.refusal(
                    source.GetPrim(), "it is connected to itself in a circle."
                )
            passed.add(str(source.GetPath()))
            kind = str(source.GetIdAttr().Get(TIME)) if source else ""
            if kind != "UsdTransform2d":
                break
            matrix = matrix @ self._transform_2d(source)
            port = source.GetInput("in")
        name = self.input(source, "varname").value if source != texture else None
        plain = np.array_equal(matrix, np.eye(3))
        rows = None if plain else tuple(tuple(map(float, row)) for row in matrix[:2])
        return str(name or "st"), rows

    def _transform_2d(self, node: UsdShade.Shader) -> NDArray[np.float64]:
        """Scale, then rotation [deg] counter-clockwise, then translation, [3, 3]."""
        angle = np.radians(self.number(node, "rotation", 0.0))
        scale = self.input(node, "scale", 2).value or (1.0, 1.0)
        shift = self.input(node, "translation", 2).value or (0.0, 0.0)
        c, s = np.cos(angle), np.sin(angle)
        return np.array(
            [
                [c * scale[0], -s * scale[1], shift[0]],
                [s * scale[0], c * scale[1], shift[1]],
                [0.0, 0.0, 1.0],
            ]
        )
