"""Root layers of a scene folder."""

from __future__ import annotations

from pathlib import Path

from pxr import Sdf, Usd, UsdGeom, UsdPhysics

from scenes.stage.scene import state_file


def state_units(stage: Usd.Stage) -> None:
    """State Z up, metres and kilograms; USD does not read them from sublayers."""
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)


def new_base(path: Path, source: str) -> Usd.Stage:
    """Start the base layer: units, `/World` and its scopes."""
    stage = Usd.Stage.CreateNew(str(path))
    state_units(stage)
    world = UsdGeom.Xform.Define(stage, "/World").GetPrim()
    stage.SetDefaultPrim(world)
    world.SetCustomDataByKey("datagen", {"source": source})
    for scope in SCOPES:
        UsdGeom.Scope.Define(stage, f"/World/{scope}")
    return stage


SCOPES = ("materials", "cameras", "lights")
"""Children of `/World` that are no objects."""


def write_stack(folder: Path, state: str) -> None:
    """Write `scene.usda`, what a person opens: a state over the base layer."""
    layer = Sdf.Layer.CreateNew(str(folder / "scene.usda"))
    state_units(Usd.Stage.Open(layer))
    layer.defaultPrim = "World"
    # Last, when no stage is open that would read all that is stacked.
    layer.subLayerPaths = [f"./{state_file(state)}", "./base.usdc"]
    layer.Save()
