"""A scene opened for reading: its stage, its tables and its states."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pxr import Sdf, Tf, Usd, UsdGeom

from scenes.errors import AssetError, SceneError
from scenes.stage.info import SCENE_FORMAT, SceneInfo
from scenes.stage.matrices import Matrix
from scenes.stage.mesh_prims import Triangles, read_triangles
from scenes.storage.digests import check_digests, content_digest

if TYPE_CHECKING:
    import mujoco

    from scenes.stage.sample import SampleLayer


_STATE_BYTES = 200


@dataclass(frozen=True)
class State:
    """Where everything stands."""

    name: str
    qpos: NDArray[np.float64]
    """Generalized positions of the compiled model, [nq]."""
    overlaps: tuple[tuple[str, str], ...]
    """Pairs of objects of which one is free and that overlap; see `scenes.convert.overlaps`."""
    layer: Sdf.Layer
    """World pose of every body and of every camera and light that follows something, and the
    position of every hinge and slide [deg or m], 0 at qpos0."""


class Scene:
    """One USD stage on disk with its tables.

    The stage stays open. `show` puts a sample over it in the session layer; every reading method
    gives the composed value, `authored` the value without the sample.
    """

    def __init__(
        self, folder: Path, info: SceneInfo, stage: Usd.Stage, files: Iterable[str]
    ) -> None:
        self.folder = folder
        self.info = info
        self.stage = stage
        self._files = frozenset(files)
        self._shown: tuple[SampleLayer, int] | None = None
        self._states: dict[str, State] = {}
        self._triangles: dict[str, Triangles] = {}

    @classmethod
    def open(cls, folder: Path) -> Scene:
        """Open a scene folder whose files all hold what was written.

        Raises:
            SceneError: The folder holds no scene, or one of another format.
            AssetError: A file is missing, damaged or edited.
        """
        description = folder / "scene.json"
        if not description.is_file():
            raise SceneError(f"{folder}: no scene here: scene.json is missing.")
        try:
            info = SceneInfo.read(description)
        except (ValueError, OSError) as error:
            raise _broken(folder, f"{description}: damaged or edited.") from error
        if info.format != SCENE_FORMAT:
            raise SceneError(
                f"{description}: format {info.format}, this version reads {SCENE_FORMAT}; "
                "convert the scene again."
            )
        base = folder / "base.usdc"
        try:
            files = check_digests(folder)
        except AssetError as error:
            raise _broken(folder, str(error)) from error
        try:
            stage = Usd.Stage.Open(str(base))
        except Tf.ErrorException as error:
            raise _broken(folder, f"{base}: damaged or edited.") from error
        return cls(folder, info, stage, files)

    @cached_property
    def state_names(self) -> tuple[str, ...]:
        """Names of the states that the folder held when it was opened."""
        return tuple(sorted(Path(name).stem for name in self._files if name.startswith("states/")))

    def state(self, name: str) -> State:
        """Read a state.

        Raises:
            SceneError: There is no such state.
        """
        if name not in self._states:
            file = state_file(name)
            path = self.folder / file
            layer = Sdf.Layer.FindOrOpen(str(path)) if file in self._files else None
            if layer is None:
                known = ", ".join(self.state_names)
                raise SceneError(f"{self.info.scene_id}: no state {name!r}. Known: {known}.")
            kept = layer.customLayerData["datagen"]
            qpos = np.array(kept["qpos"], dtype=np.float64)
            names = list(kept["overlaps"])
            overlaps = tuple(zip(names[::2], names[1::2], strict=True))
            self._states[name] = State(name, qpos, overlaps, layer)
        return self._states[name]

    def show(self, sample: SampleLayer | None) -> None:
        """Put a sample over the stage, in place of the one shown before."""
        wanted = None if sample is None else (sample, sample.version)
        if wanted is not None and wanted == self._shown:
            return
        session = self.stage.GetSessionLayer()
        if sample is None:
            session.Clear()
        else:
            session.TransferContent(sample.layer)
        self._shown = wanted

    def has(self, path: str | Sdf.Path) -> bool:
        """Tell whether the base layer holds this attribute."""
        return self.stage.GetRootLayer().GetAttributeAtPath(path) is not None

    def authored(self, path: str | Sdf.Path) -> Any:
        """Value of an attribute as converted, without state and sample.

        Raises:
            SceneError: The scene has no such attribute.
        """
        spec = self.stage.GetRootLayer().GetAttributeAtPath(path)
        if spec is None:
            raise SceneError(f"{self.info.scene_id}: no attribute {path}.")
        return spec.default

    def value(self, path: str | Sdf.Path) -> Any:
        """Composed value of an attribute.

        Raises:
            SceneError: The scene has no such attribute.
        """
        attribute = self.stage.GetAttributeAtPath(path)
        if not attribute:
            raise SceneError(f"{self.info.scene_id}: no attribute {path}.")
        return attribute.Get()

    def world_transforms(self, paths: Iterable[str]) -> list[Matrix]:
        """Composed world poses `T_world_prim` [m], each [4, 4] for column vectors."""
        cache = UsdGeom.XformCache()
        return [
            np.array(cache.GetLocalToWorldTransform(self.stage.GetPrimAtPath(path))).T
            for path in paths
        ]

    def is_visible(self, path: str) -> bool:
        """Tell whether a prim and all above it are visible."""
        prim = UsdGeom.Imageable(self.stage.GetPrimAtPath(path))
        return prim.ComputeVisibility() != UsdGeom.Tokens.invisible

    def triangles(self, path: str) -> Triangles:
        """Read the mesh prim of a part."""
        if path not in self._triangles:
            self._triangles[path] = read_triangles(UsdGeom.Mesh(self.stage.GetPrimAtPath(path)))
        return self._triangles[path]

    def load_model(self) -> mujoco.MjModel:
        """Load the compiled MuJoCo model the scene came from.

        Raises:
            SceneError: The scene has none, or this MuJoCo cannot read it.
        """
        import mujoco

        if self.info.model is None:
            raise SceneError(f"{self.info.scene_id}: came from USD and has no MuJoCo model.")
        path = self.folder / self.info.model
        if self.info.model not in self._files:
            self._check_bundle(path.parent)
        load = (
            mujoco.MjModel.from_binary_path
            if path.suffix == ".mjb"
            else mujoco.MjModel.from_xml_path
        )
        from scenes.mujoco_warnings import mujoco_warnings

        try:
            # They stand in the scene's report since the conversion.
            with mujoco_warnings():
                return load(str(path))
        except ValueError as error:
            raise SceneError(f"{path}: MuJoCo {mujoco.__version__} says: {error}.") from error

    def _check_bundle(self, folder: Path) -> None:
        """Check a model that lies outside the scene, in the bundle that it was made from."""
        from scenes.storage.bundle import Bundle

        if Bundle.open(folder).digest != self.info.digest:
            raise AssetError(
                f"{folder}: not the model that the scene {self.info.scene_id} was made from."
            )


def state_file(name: str) -> str:
    """File of a state, from its scene's folder; names too long for a file are cut."""
    if len(name.encode()) > _STATE_BYTES:
        start = name.encode()[: _STATE_BYTES // 2].decode(errors="ignore")
        name = f"{start}-{content_digest(name.encode())[:16]}"
    return f"states/{name}.usda"


def _broken(folder: Path, what: str) -> AssetError:
    return AssetError(
        f"{what} This is not a whole scene; remove the folder {folder} and make it again."
    )
