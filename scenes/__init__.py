"""Scenes: what is drawn, where it stands, and how it is called, as USD on disk."""

from scenes.mujoco_import import import_mujoco

# Before any other module imports MuJoCo.
import_mujoco()

# ruff: noqa: E402
from scenes.errors import AssetError, MissingExtraError, SceneError, StorageError
from scenes.sources.converter import Converter
from scenes.sources.libero.conversion import libero_scene
from scenes.sources.libero.tasks import (
    BundleRequest,
    libero_bundle,
    libero_bundles,
    libero_suites,
    libero_tasks,
    try_libero_bundles,
)
from scenes.sources.mjcf.source import convert_mjcf, mjcf_scene
from scenes.sources.urdf.source import convert_urdf, urdf_scene
from scenes.sources.usd.source import convert_usd, usd_scene
from scenes.stage.colors import srgb_decode, srgb_encode
from scenes.stage.info import SceneInfo
from scenes.stage.matrices import Matrix, matrix_array, matrix_value
from scenes.stage.mesh_prims import Triangles
from scenes.stage.pinhole import Pinhole, camera_path, pinhole
from scenes.stage.sample import SampleLayer
from scenes.stage.scene import Scene, State
from scenes.storage.bundle import Bundle

__all__ = [
    "AssetError",
    "Bundle",
    "BundleRequest",
    "Converter",
    "Matrix",
    "MissingExtraError",
    "Pinhole",
    "SampleLayer",
    "Scene",
    "SceneError",
    "SceneInfo",
    "State",
    "StorageError",
    "Triangles",
    "camera_path",
    "convert_mjcf",
    "convert_urdf",
    "convert_usd",
    "libero_bundle",
    "libero_bundles",
    "libero_scene",
    "libero_suites",
    "libero_tasks",
    "matrix_array",
    "matrix_value",
    "mjcf_scene",
    "pinhole",
    "srgb_decode",
    "srgb_encode",
    "try_libero_bundles",
    "urdf_scene",
    "usd_scene",
]
