"""Small USD stages for tests."""

from __future__ import annotations

from pathlib import Path

from scenes.sources.usd.config import UsdConfig
from scenes.sources.usd.reading.stage import UsdStage, open_usd

HEADER = '#usda 1.0\n(\n defaultPrim = "W"\n metersPerUnit = {unit}\n upAxis = "{up}"\n)\n'
CUBE_POINTS = [(x, y, z) for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)]
CUBE = f"""
 uniform token subdivisionScheme = "none"
 point3f[] points = {CUBE_POINTS}
 int[] faceVertexCounts = [4, 4, 4, 4, 4, 4]
 int[] faceVertexIndices = [0,2,3,1, 4,5,7,6, 0,1,5,4, 2,6,7,3, 0,4,6,2, 1,3,7,5]
"""
"""A cube from -1 to 1; its faces look along -z, +z, -y, +y, -x, +x."""
SQUARE = """
 uniform token subdivisionScheme = "none"
 point3f[] points = [(0,0,0), (1,0,0), (1,1,0), (0,1,0)]
 int[] faceVertexCounts = [4]
 int[] faceVertexIndices = [0, 1, 2, 3]
"""


def mesh(name: str, body: str = CUBE, more: str = "") -> str:
    return f'def Mesh "{name}" {{\n{body}\n{more}\n}}\n'


def translate(x: float, y: float, z: float) -> str:
    return (
        f"double3 xformOp:translate = ({x}, {y}, {z})\n"
        'uniform token[] xformOpOrder = ["xformOp:translate"]\n'
    )


def write(folder: Path, content: str, *, up: str = "Z", unit: float = 1.0) -> Path:
    """Write a stage whose default prim `/W` holds what is given."""
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / "stage.usda"
    header = HEADER.format(up=up, unit=unit)
    path.write_text(f'{header}def Xform "W" {{\n{content}\n}}\n')
    return path


def opened(folder: Path, content: str, *, up: str = "Z", unit: float = 1.0) -> UsdStage:
    return open_usd(UsdConfig(path=write(folder, content, up=up, unit=unit)))
