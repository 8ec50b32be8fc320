"""Scenes: what is drawn, where it stands, and how it is called, as USD on disk."""

from scenes.mujoco_import import import_mujoco

# Before any other module imports MuJoCo.
import_mujoco()

# ruff: noqa: E402
from scenes.bundle import Bundle
from scenes.cameras import Pinhole, camera_path, pinhole
from scenes.colors import srgb_decode, srgb_encode
from scenes.converted import convert_mjcf, libero_scene, mjcf_scene
from scenes.converter import Converter
from scenes.errors import AssetError, MissingExtraError, SceneError, StorageError
from scenes.info import SceneInfo
from scenes.libero import (
    BundleRequest,
    libero_bundle,
    libero_bundles,
    libero_suites,
    libero_tasks,
    try_libero_bundles,
)
from scenes.mesh_prims import Triangles
from scenes.sample import SampleLayer
from scenes.scene import Matrix, Scene, State, matrix_array, matrix_value
from scenes.urdf import convert_urdf, urdf_scene
from scenes.usd import convert_usd, usd_scene

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
