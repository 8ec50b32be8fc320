"""The parts of a scene as one Newton model, moved and recoloured in place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import newton
import numpy as np
import warp
from newton.sensors import SensorCamera
from numpy.typing import NDArray
from pxr import UsdGeom

from datagen.backends.errors import BackendError
from scenes import Matrix, Scene, srgb_encode
from scenes.stage.looks import Look, read_looks, read_tints
from scenes.stage.matrices import quaternion_from_rotation

# Warp announces itself and the lack of a GPU when it is first used.
warp.config.log_level = warp.LOG_ERROR

_RIGID_TOLERANCE = 1e-6
_DISTANCE_MAX = 1e4
"""Longest ray [m]."""


class PartModel:
    """One mesh shape per part; the shape of part n has the index n - 1.

    Shapes hang on no body: their own transform is the world pose of the part's prim. The tree over
    the shapes is built anew for every sample, those over the triangles of each mesh once: so a
    picture does not depend on the samples before it.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._paths = [part.path for part in scene.info.parts]
        bare, dressed = _meshes(scene, self._paths)
        builder = newton.ModelBuilder()
        config = newton.ModelBuilder.ShapeConfig(
            density=0.0, has_shape_collision=False, has_particle_collision=False
        )
        for path, mesh in zip(self._paths, bare, strict=True):
            builder.add_shape_mesh(-1, mesh=mesh, cfg=config, label=path)
        self._model: Any = builder.finalize(device="cpu")
        self._state = self._model.state()
        settings = SensorCamera.RenderConfig(
            enable_backface_culling=False, enable_particles=False, max_distance=_DISTANCE_MAX
        )
        # Without vertex normals the camera gives those of the faces, which decide what is culled.
        self._bare = SensorCamera(self._model, default_render_config=settings)
        self._model.shape_source = dressed
        try:
            self._dressed = SensorCamera(
                self._model, default_render_config=replace(settings, enable_textures=True)
            )
        except ValueError as error:
            raise BackendError(f"{scene.info.scene_id}: Newton says: {error}.") from error
        # Under white light from everywhere the radiance is the diffuse reflectance.
        self._dressed.set_ambient_light((1.0, 1.0, 1.0))
        self._view = warp.array([warp.transform_identity()], dtype=warp.transformf, device="cpu")
        self.seen_from_behind = np.array(
            [
                bool(UsdGeom.Mesh(scene.stage.GetPrimAtPath(path)).GetDoubleSidedAttr().Get())
                for path in self._paths
            ]
        )

    def update(self) -> None:
        """Bring every shape to the sample over the stage.

        Raises:
            BackendError: A world pose is not rigid.
        """
        poses = np.stack(self._scene.world_transforms(self._paths))
        self._require_rigid(poses)
        colors = read_tints(self._scene, self._paths)
        shown = np.array([self._scene.is_visible(path) for path in self._paths])
        model, hidden = self._model, ~np.int32(newton.ShapeFlags.VISIBLE)
        flags = model.shape_flags.numpy() & hidden
        model.shape_flags.assign(flags | (shown * np.int32(newton.ShapeFlags.VISIBLE)))
        model.shape_transform.assign(_transforms(poses))
        model.shape_color.assign(srgb_encode(colors).astype(np.float32))
        model.bvh_build_shapes(self._state)

    def faces(
        self, origins: NDArray[np.float32], directions: NDArray[np.float32]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]:
        """Nearest faces along world rays, from either side.

        Args:
            origins: Starts [m], [n, 3].
            directions: Unit vectors, [n, 3].

        Returns:
            Shape index (-1 = nothing), [n]; distance from the start [m], [n]; unit normal of the
            face, [n, 3].
        """
        count = len(origins)
        shape: Any = self._bare.allocate_image_shape_index(1, count, 1)
        distance: Any = self._bare.allocate_image_depth(1, count, 1)
        normal: Any = self._bare.allocate_image_normal(1, count, 1)
        self._bare.update(
            self._state,
            self._view,
            _bundle(origins, directions),
            shape_index_image=shape,
            depth_image=distance,
            normal_image=normal,
        )
        # Nothing is 0xffffffff, which is -1 as a signed number.
        index = shape.numpy().reshape(-1).view(np.int32).astype(np.int64)
        return index, distance.numpy().reshape(-1), normal.numpy().reshape(-1, 3)

    def surfaces(
        self, origins: NDArray[np.float32], directions: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """World normal, interpolated over the face, and linear diffuse reflectance, [n, 3] each.

        Both are 0 where a ray hits nothing. The same rays hit the same points as in `faces`.
        """
        count = len(origins)
        normal: Any = self._dressed.allocate_image_normal(1, count, 1)
        radiance: Any = self._dressed.allocate_image_color_hdr(1, count, 1)
        self._dressed.update(
            self._state,
            self._view,
            _bundle(origins, directions),
            normal_image=normal,
            hdr_color_image=radiance,
        )
        return normal.numpy().reshape(-1, 3), radiance.numpy().reshape(-1, 3)

    def _require_rigid(self, poses: Matrix) -> None:
        R, t = poses[:, :3, :3], poses[:, :3, 3]
        skew = np.abs(R @ R.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2))
        handed = np.einsum("ni,ni->n", np.cross(R[:, 0], R[:, 1]), R[:, 2])
        wrong = ~(skew < _RIGID_TOLERANCE) | ~np.isfinite(t).all(axis=1) | (handed < 0)
        if wrong.any():
            raise BackendError(
                f"{self._scene.info.scene_id}: {self._paths[int(np.flatnonzero(wrong)[0])]}: its "
                "world pose is not finite or holds scale, shear or a mirror; the backend newton "
                "shows rotation and translation only."
            )


def _meshes(scene: Scene, paths: list[str]) -> tuple[list[newton.Mesh], list[newton.Mesh]]:
    """Meshes of all parts: once with positions only, once with normals and textures as well."""
    bare: list[newton.Mesh] = []
    dressed: list[newton.Mesh] = []
    for path, look in zip(paths, read_looks(scene, paths), strict=True):
        rest = scene.triangles(path)
        faces = rest.faces.ravel()
        texture = _texture(scene, look)
        if texture is not None and rest.st is None:
            raise BackendError(
                f"{scene.info.scene_id}: {path}: its material has a texture, the mesh has no "
                "coordinates `st` for it."
            )
        bare.append(newton.Mesh(rest.points, faces, compute_inertia=False))
        dressed.append(
            newton.Mesh(
                rest.points,
                faces,
                normals=rest.normals,
                uvs=rest.st if texture is not None else None,
                compute_inertia=False,
                texture=texture,
            )
        )
    return bare, dressed


def _texture(scene: Scene, look: Look) -> str | None:
    """Picture of a look's base colour; None without one."""
    texture = look.textures.get("base_color")
    if texture is None:
        return None
    if texture.file is None or not texture.file.is_file():
        raise BackendError(f"{scene.info.scene_id}: {texture.path}: the texture is missing.")
    return str(texture.file)


def _transforms(poses: Matrix) -> NDArray[np.float32]:
    """Position [m] and quaternion xyzw of rigid poses, [n, 7]."""
    wxyz = np.array([quaternion_from_rotation(pose[:3, :3]) for pose in poses])
    return np.hstack([poses[:, :3, 3], wxyz[:, [1, 2, 3, 0]]]).astype(np.float32)


def _bundle(origins: NDArray[np.float32], directions: NDArray[np.float32]) -> Any:
    rays = np.stack([origins, directions], axis=1)[None, :, None]
    return warp.array(rays, dtype=warp.vec3f, device="cpu")
