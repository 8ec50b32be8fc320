"""A compiled MuJoCo model as a scene folder: the list of steps."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray
from pxr import Gf, Usd, UsdGeom, UsdPhysics, UsdSemantics, UsdShade, Vt

from scenes.cameras import write_camera
from scenes.errors import AssetError, SceneError
from scenes.finite import refuse_non_finite_files, refuse_non_finite_model
from scenes.grouping import (
    WORLD,
    Grouping,
    ObjectName,
    body_object,
    drawn_geoms,
    drawn_groups,
    world_geom_object,
)
from scenes.info import (
    SCENE_FORMAT,
    BodyInfo,
    CameraInfo,
    LightInfo,
    ObjectInfo,
    PartInfo,
    RobotInfo,
    SceneInfo,
)
from scenes.lights import light_pose, write_light, write_surroundings
from scenes.materials import Materials, geom_look
from scenes.meshes import DRAWN_SHAPES, geom_triangles, plane_half_extents
from scenes.names import UniqueNames, provenance
from scenes.proxies import collides, proxy_pose, write_proxy
from scenes.report import SceneReport
from scenes.scene import Scene, matrix_value
from scenes.states import follows, posed, write_state
from scenes.textures import TextureFiles
from scenes.transforms import rigid, rigid_inverse, rotation_from_quaternion

_OBJ = mujoco.mjtObj
_TEXTURES = "textures"


@dataclass(frozen=True)
class Description:
    """What a source knows about a scene beyond its compiled model."""

    scene_id: str
    source: str
    digest: str
    versions: Mapping[str, str]
    language: str | None = None
    language_bddl: str | None = None
    objects_of_interest: tuple[str, ...] = ()
    main_camera: str | None = None
    grouping: Grouping = field(default_factory=Grouping)
    robot_joints: tuple[str, ...] = ()
    gripper_joints: tuple[str, ...] = ()
    ee_site: str | None = None
    """Site whose position is the end effector's."""
    ee_body: str | None = None
    """Body whose orientation is the end effector's."""


def compile_mjcf(path: Path) -> mujoco.MjModel:
    """Compile a MuJoCo XML file.

    Raises:
        AssetError: The file is missing, MuJoCo refuses it (with its reason), or a mesh holds a
            vertex that is not finite.
    """
    if not path.is_file():
        raise AssetError(f"{path}: no such file.")
    try:
        spec = mujoco.MjSpec.from_file(str(path))
        refuse_non_finite_files(spec, path.resolve().parent)
        model = spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        reason = " ".join(str(error).split())
        raise AssetError(f"{path}: MuJoCo refuses this model: {reason}") from error
    refuse_non_finite_model(model, str(path))
    return model


def convert_model(
    model: mujoco.MjModel,
    out: Path,
    description: Description,
    states: Mapping[str, ArrayLike],
    *,
    texture_store: Path | None = None,
    model_file: str | None = None,
) -> Scene:
    """Convert a compiled model into a scene folder; it appears whole or not at all.

    Args:
        model: The compiled model.
        out: Folder to make; it must not exist.
        description: Names, classes and texts of the source.
        states: qpos, [nq], by state name; the first is what `scene.usda` shows.
        texture_store: Folder that keeps textures once for many scenes.
        model_file: File of the model relative to `out`, put there by the caller before;
            None saves the compiled model as `model.mjb`.

    Raises:
        SceneError: Something cannot be converted; nothing is left behind.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        _Conversion(model, temporary, description, texture_store).run(states, model_file)
        temporary.chmod(0o755)
        temporary.replace(out)
    except OSError as error:
        raise SceneError(f"{out}: cannot be written: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return Scene.open(out)


class _Conversion:
    def __init__(
        self,
        model: mujoco.MjModel,
        folder: Path,
        description: Description,
        texture_store: Path | None,
    ) -> None:
        self.model = model
        self.folder = folder
        self.description = description
        self.report = SceneReport(description.source)
        self.rest = posed(model, model.qpos0)
        groups = description.grouping.drawn_groups
        self.drawn = drawn_geoms(model, drawn_groups(model) if groups is None else groups)
        self.stage = Usd.Stage.CreateNew(str(folder / "base.usdc"))
        self.textures = TextureFiles(folder / _TEXTURES, texture_store)
        self.materials = Materials(self.stage, model, self.textures, _TEXTURES)
        self.names = UniqueNames()
        for taken in ("materials", "cameras", "lights"):
            self.names.identifier(taken, taken, 0)
        self.objects: list[ObjectInfo] = []
        self.bodies: list[BodyInfo] = []
        self.parts: list[PartInfo] = []
        self.children: dict[str, UniqueNames] = {}
        self.body_paths: dict[int, str] = {}

    def run(self, states: Mapping[str, ArrayLike], model_file: str | None) -> None:
        self._root()
        self._bodies()
        self._world_geoms()
        for body in self.bodies:
            if body.body_id != WORLD:
                self._body_parts(body)
        main = next(iter(states), None)
        shown = posed(self.model, self.model.qpos0 if main is None else states[main])
        cameras = self._cameras()
        lights = self._lights(shown)
        self._count(len(cameras), len(lights))
        self.stage.GetRootLayer().Save()
        if model_file is None:
            model_file = "model.mjb"
            mujoco.mj_saveModel(self.model, str(self.folder / model_file), None)
        info = self._info(cameras, lights, main or "rest", model_file)
        info.write(self.folder / "scene.json")
        self.report.write(self.folder / "report.json")
        for name, qpos in (states or {"rest": self.model.qpos0}).items():
            write_state(self.folder, info, self.model, name, qpos)
        _stack(self.folder, info.default_state)

    def _root(self) -> None:
        stage_units(self.stage)
        world = UsdGeom.Xform.Define(self.stage, "/World").GetPrim()
        self.stage.SetDefaultPrim(world)
        world.SetCustomDataByKey("datagen", {"source": self.description.source})
        write_surroundings(world, self.model)
        UsdGeom.Scope.Define(self.stage, "/World/materials")
        UsdGeom.Scope.Define(self.stage, "/World/cameras")
        UsdGeom.Scope.Define(self.stage, "/World/lights")

    def _object(self, name: ObjectName) -> ObjectInfo:
        path = f"/World/{self.names.identifier(name.name, 'object', len(self.objects) + 1)}"
        prim = UsdGeom.Xform.Define(self.stage, path).GetPrim()
        labels = UsdSemantics.LabelsAPI.Apply(prim, "class")
        labels.CreateLabelsAttr().Set(Vt.TokenArray([name.label]))
        info = ObjectInfo(
            instance=len(self.objects) + 1,
            name=name.name,
            label=name.label,
            path=path,
            kind=name.kind,
        )
        self.objects.append(info)
        self.children[path] = UniqueNames()
        return info

    def _body(self, owner: ObjectInfo, name: str | None, body: int) -> BodyInfo:
        path = f"{owner.path}/{self.children[owner.path].identifier(name, 'body', body)}"
        xform = UsdGeom.Xform.Define(self.stage, path)
        xform.AddTransformOp().Set(matrix_value(self._pose(body)))
        provenance(xform.GetPrim(), "body", name, body)
        first = int(self.model.body_jntadr[body])
        free = first >= 0 and self.model.jnt_type[first] == mujoco.mjtJoint.mjJNT_FREE
        info = BodyInfo(
            name=name or f"body_{body}",
            path=path,
            body_id=body,
            instance=owner.instance,
            free=bool(free),
        )
        self.bodies.append(info)
        self.children[path] = UniqueNames()
        self.children[path].identifier("collision", "collision", 0)
        return info

    def _bodies(self) -> None:
        owners: dict[ObjectName, ObjectInfo] = {}
        for body in range(1, self.model.nbody):
            name = body_object(self.model, body, self.description.grouping)
            if name not in owners:
                owners[name] = self._object(name)
            label = mujoco.mj_id2name(self.model, _OBJ.mjOBJ_BODY, body)
            self.body_paths[body] = self._body(owners[name], label, body).path

    def _world_geoms(self) -> None:
        drawn = set(self.drawn)
        owners: dict[ObjectName, BodyInfo] = {}
        for geom in np.flatnonzero(self.model.geom_bodyid == WORLD):
            if int(geom) not in drawn and not collides(self.model, int(geom)):
                continue
            name = world_geom_object(self.model, int(geom), self.description.grouping)
            if name not in owners:
                owners[name] = self._body(self._object(name), "body", WORLD)
            self._geom(owners[name], int(geom), drawn)

    def _body_parts(self, body: BodyInfo) -> None:
        drawn = set(self.drawn)
        first = int(self.model.body_geomadr[body.body_id])
        for geom in range(first, first + int(self.model.body_geomnum[body.body_id])):
            self._geom(body, geom, drawn)

    def _geom(self, body: BodyInfo, geom: int, drawn: set[int]) -> None:
        pose = rigid(
            self.model.geom_pos[geom], rotation_from_quaternion(self.model.geom_quat[geom])
        )
        if geom in drawn:
            self._part(body, geom, pose)
        if collides(self.model, geom):
            self._proxy(body, geom, pose)

    def _part(self, body: BodyInfo, geom: int, pose: NDArray[np.float64]) -> None:
        name = mujoco.mj_id2name(self.model, _OBJ.mjOBJ_GEOM, geom)
        if int(self.model.geom_type[geom]) == mujoco.mjtGeom.mjGEOM_PLANE:
            sides = self.model.geom_size[geom][:2]
            if np.any(sides <= 0):
                half = plane_half_extents(self.model, geom)
                self.report.approximated.append(
                    f"geom {name or geom}: infinite plane shown as {2 * half[0]:g} x "
                    f"{2 * half[1]:g} m"
                )
        look = geom_look(self.model, geom)
        triangles = geom_triangles(self.model, geom, look.texture)
        path = f"{body.path}/{self.children[body.path].identifier(name, 'geom', geom)}"
        mesh = UsdGeom.Mesh.Define(self.stage, path)
        mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        mesh.CreateOrientationAttr(UsdGeom.Tokens.rightHanded)
        is_plane = self.model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE
        mesh.CreateDoubleSidedAttr(bool(is_plane))
        mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(triangles.points))
        mesh.CreateFaceVertexCountsAttr(
            Vt.IntArray.FromNumpy(np.full(len(triangles.faces), 3, dtype=np.int32))
        )
        mesh.CreateFaceVertexIndicesAttr(
            Vt.IntArray.FromNumpy(np.ascontiguousarray(triangles.faces.ravel()))
        )
        mesh.CreateNormalsAttr(Vt.Vec3fArray.FromNumpy(triangles.normals))
        mesh.SetNormalsInterpolation(UsdGeom.Tokens.vertex)
        low, high = triangles.points.min(axis=0), triangles.points.max(axis=0)
        mesh.CreateExtentAttr(Vt.Vec3fArray([Gf.Vec3f(*map(float, v)) for v in (low, high)]))
        if triangles.st is not None:
            from pxr import Sdf

            UsdGeom.PrimvarsAPI(mesh).CreatePrimvar(
                "st", Sdf.ValueTypeNames.TexCoord2fArray, UsdGeom.Tokens.vertex
            ).Set(Vt.Vec2fArray.FromNumpy(np.ascontiguousarray(triangles.st)))
        mesh.AddTransformOp().Set(matrix_value(pose))
        provenance(mesh.GetPrim(), "geom", name, geom)
        UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).Bind(self.materials.of(look))
        self.parts.append(
            PartInfo(
                part=len(self.parts) + 1,
                name=name or f"geom_{geom}",
                path=path,
                instance=body.instance,
                body=body.path,
                geom_id=geom,
            )
        )

    def _proxy(self, body: BodyInfo, geom: int, pose: NDArray[np.float64]) -> None:
        name = mujoco.mj_id2name(self.model, _OBJ.mjOBJ_GEOM, geom)
        box = proxy_pose(self.model, geom, pose)
        if box is None:
            self.report.left_out.append(
                f"geom {name or geom}: no collision box: its bounding box has no finite, positive "
                "volume"
            )
            return
        if not self.stage.GetPrimAtPath(f"{body.path}/collision"):
            UsdGeom.Scope.Define(self.stage, f"{body.path}/collision")
        prim = write_proxy(self.stage, f"{body.path}/collision/geom_{geom}", box)
        provenance(prim, "geom", name, geom)

    def _cameras(self) -> list[CameraInfo]:
        cameras = []
        for camera in range(self.model.ncam):
            name = mujoco.mj_id2name(self.model, _OBJ.mjOBJ_CAMERA, camera)
            parent, T_world_parent = self._carrier(
                int(self.model.cam_bodyid[camera]), int(self.model.cam_mode[camera]), "cameras"
            )
            world = rigid(self.rest.cam_xpos[camera], self.rest.cam_xmat[camera])
            identifier = self._children(parent).identifier(name, "camera", camera)
            if T_world_parent is not None:
                world = rigid(
                    self.model.cam_pos[camera],
                    rotation_from_quaternion(self.model.cam_quat[camera]),
                )
            prim = write_camera(self.stage, f"{parent}/{identifier}", self.model, camera, world)
            provenance(prim, "camera", name, camera)
            cameras.append(
                CameraInfo(
                    name=name or f"camera_{camera}", path=str(prim.GetPath()), camera_id=camera
                )
            )
        return cameras

    def _lights(self, shown: mujoco.MjData) -> list[LightInfo]:
        target = self._reference_point(shown)
        lights = []
        for light in range(self.model.nlight):
            name = mujoco.mj_id2name(self.model, _OBJ.mjOBJ_LIGHT, light)
            parent, T_world_parent = self._carrier(
                int(self.model.light_bodyid[light]), int(self.model.light_mode[light]), "lights"
            )
            pose = light_pose(self.rest.light_xpos[light], self.rest.light_xdir[light])
            if T_world_parent is not None:
                pose = rigid_inverse(T_world_parent) @ pose
            axis = shown.light_xdir[light]
            reference = float((target - shown.light_xpos[light]) @ axis)
            identifier = self._children(parent).identifier(name, "light", light)
            prim = write_light(
                self.stage,
                f"{parent}/{identifier}",
                self.model,
                light,
                pose,
                reference if reference > 0.05 else 1.0,
            )
            provenance(prim, "light", name, light)
            lights.append(
                LightInfo(name=name or f"light_{light}", path=str(prim.GetPath()), light_id=light)
            )
        return lights

    def _reference_point(self, shown: mujoco.MjData) -> NDArray[np.float64]:
        """Where the main camera's axis meets what is drawn; else the model's centre."""
        name = self.description.main_camera
        camera = mujoco.mj_name2id(self.model, _OBJ.mjOBJ_CAMERA, name) if name else -1
        if camera < 0:
            return np.array(self.model.stat.center)
        groups = np.zeros(6, dtype=np.uint8)
        groups[list({int(self.model.geom_group[g]) for g in self.drawn})] = 1
        origin = shown.cam_xpos[camera]
        direction = -shown.cam_xmat[camera].reshape(3, 3)[:, 2]
        hit = np.zeros(1, dtype=np.int32)
        distance = mujoco.mj_ray(
            self.model, shown, origin, direction, groups, 1, -1, hit, np.zeros(3)
        )
        return np.array(self.model.stat.center) if distance < 0 else origin + distance * direction

    def _carrier(self, body: int, mode: int, scope: str) -> tuple[str, NDArray[np.float64] | None]:
        """Parent of a camera or light, and its pose if it is a body."""
        if body == WORLD or follows(mode):
            return f"/World/{scope}", None
        return self.body_paths[body], self._pose(body)

    def _children(self, parent: str) -> UniqueNames:
        return self.children.setdefault(parent, UniqueNames())

    def _pose(self, body: int) -> NDArray[np.float64]:
        return rigid(self.rest.xpos[body], self.rest.xmat[body])

    def _count(self, cameras: int, lights: int) -> None:
        model = self.model
        shown = set(self.drawn)
        proxies = [g for g in range(model.ngeom) if collides(model, g)]
        self.report.counts_in = {
            "bodies": model.nbody - 1,
            "drawn geoms": len(shown),
            "collision geoms": len(proxies),
            "cameras": model.ncam,
            "lights": model.nlight,
        }
        self.report.counts_out = {
            "bodies": sum(body.body_id != WORLD for body in self.bodies),
            "drawn geoms": len(self.parts),
            "collision geoms": len(proxies) - len(self.report.left_out),
            "cameras": cameras,
            "lights": lights,
            "materials": self.materials.count,
            "textures": self.textures.count,
        }
        hidden = [g for g in range(model.ngeom) if g not in shown and g not in proxies]
        for geom in hidden:
            name = mujoco.mj_id2name(model, _OBJ.mjOBJ_GEOM, geom) or geom
            self.report.left_out.append(
                f"geom {name}: not drawn (group {int(model.geom_group[geom])} or wholly "
                "transparent) and without collision"
            )
        for kind, count in (
            ("skins", model.nskin),
            ("flexes", model.nflex),
            ("sites", model.nsite),
            ("tendons", model.ntendon),
        ):
            if count:
                self.report.left_out.append(f"{count} {kind}: never drawn")
        if model.nlight or model.vis.headlight.active:
            self.report.approximated.append(
                "lights: MuJoCo's have no falloff; they agree at the reference distance only"
            )

    def _info(
        self,
        cameras: list[CameraInfo],
        lights: list[LightInfo],
        default_state: str,
        model_file: str,
    ) -> SceneInfo:
        description = self.description
        return SceneInfo(
            format=SCENE_FORMAT,
            scene_id=description.scene_id,
            source=description.source,
            language=description.language,
            language_bddl=description.language_bddl,
            objects_of_interest=description.objects_of_interest,
            main_camera=description.main_camera,
            default_state=default_state,
            model=model_file,
            digest=description.digest,
            versions=dict(description.versions),
            objects=tuple(self.objects),
            bodies=tuple(self.bodies),
            parts=tuple(self.parts),
            cameras=tuple(cameras),
            lights=tuple(lights),
            robot=self._robot(),
        )

    def _robot(self) -> RobotInfo | None:
        description = self.description
        if description.ee_body is None or description.ee_site is None:
            return None
        body = self._id(_OBJ.mjOBJ_BODY, description.ee_body)
        site = self._id(_OBJ.mjOBJ_SITE, description.ee_site)
        T_world_body = self._pose(body)
        T_body_ee = np.eye(4)
        T_body_ee[:3, 3] = (
            rigid_inverse(T_world_body) @ np.append(self.rest.site_xpos[site], 1.0)
        )[:3]
        return RobotInfo(
            joints=description.robot_joints,
            joint_qpos=self._qpos(description.robot_joints),
            gripper_joints=description.gripper_joints,
            gripper_qpos=self._qpos(description.gripper_joints),
            ee_body=self.body_paths[body],
            T_body_ee=tuple(tuple(float(v) for v in row) for row in T_body_ee),
        )

    def _qpos(self, joints: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(
            int(self.model.jnt_qposadr[self._id(_OBJ.mjOBJ_JOINT, joint)]) for joint in joints
        )

    def _id(self, kind: mujoco.mjtObj, name: str) -> int:
        number = mujoco.mj_name2id(self.model, kind, name)
        if number < 0:
            raise SceneError(f"{self.description.source}: the model has no {kind.name} {name!r}.")
        return number


def stage_units(stage: Usd.Stage) -> None:
    """State Z up, metres and kilograms."""
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)


def _stack(folder: Path, state: str) -> None:
    """Write `scene.usda`: the default state over the base layer."""
    stage = Usd.Stage.CreateNew(str(folder / "scene.usda"))
    stage.GetRootLayer().subLayerPaths = [f"./states/{state}.usda", "./base.usdc"]
    stage_units(stage)
    stage.SetDefaultPrim(stage.GetPrimAtPath("/World"))
    stage.GetRootLayer().Save()
