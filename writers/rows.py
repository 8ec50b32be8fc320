"""One view as numpy arrays and plain values: what the writers take and the readers give."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class ObjectRow:
    """What one view shows of one object.

    The tight box is the half-open pixel range `[x0, x1) x [y0, y1)` of the visible pixels, the
    loose box the projection of the whole silhouette, clipped to the picture.
    """

    instance: int
    """Number of the object in the instance map and table."""

    name: str
    """Name of the object."""

    class_name: str
    """Class of the object; the column is called `class`."""

    x0: int | None = None
    """Left edge of the tight box [px]; None if no pixel is visible."""

    y0: int | None = None
    """Top edge of the tight box [px]."""

    x1: int | None = None
    """Right edge of the tight box, exclusive [px]."""

    y1: int | None = None
    """Bottom edge of the tight box, exclusive [px]."""

    loose_x0: float | None = None
    """Left edge of the loose box [px]; None if the object is outside the picture."""

    loose_y0: float | None = None
    """Top edge of the loose box [px]."""

    loose_x1: float | None = None
    """Right edge of the loose box [px]."""

    loose_y1: float | None = None
    """Bottom edge of the loose box [px]."""

    pixels_visible: int | None = None
    """Pixels that show the object."""

    pixels_total: int | None = None
    """Pixels that would show the object if it stood alone."""

    occlusion: float | None = None
    """1 - pixels_visible / pixels_total; None if pixels_total is 0."""

    T_world_object: NDArray[np.float64] | None = None
    """Object frame to world frame, [4, 4], lengths in [m]."""

    box_center: NDArray[np.float64] | None = None
    """Centre of the 3D box in the object's frame, [3], [m]."""

    box_size: NDArray[np.float64] | None = None
    """Edge lengths of the 3D box along the object's axes, [3], [m]."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Row:
    """One sample seen by one camera through one backend.

    Pictures have row 0 at the top. A pass is None where it was not rendered or not read back;
    `rgb`, `instance`, `part`, `semantic` and `depth` are needed to write a row.
    """

    scene_id: str
    """Scene of the view."""

    episode_index: int
    """Episode within the scene."""

    frame_index: int
    """Frame within the episode; a single picture is frame 0."""

    camera: str
    """Name of the camera."""

    backend: str
    """Name of the renderer."""

    width: int
    """Picture width [px]."""

    height: int
    """Picture height [px]."""

    K: NDArray[np.float64]
    """Camera matrix [3, 3] in pixels, pixel centres at +0.5."""

    T_world_camera: NDArray[np.float64]
    """Camera frame (x right, y down, z forward) to world frame, [4, 4], lengths in [m]."""

    seed: int
    """Seed of the run."""

    source: str | None = None
    """What the scene was made from, e.g. `mjcf/<path>`."""

    language: str | None = None
    """Instruction of the task."""

    language_bddl: str | None = None
    """Instruction as the BDDL file spells it."""

    timestamp: float = 0.0
    """Time since the start of the episode [s]."""

    camera_model: str = "pinhole"
    """Name of the camera model."""

    distortion: list[float] = field(default_factory=list)
    """Coefficients of the camera model; empty for a pinhole."""

    rgb: NDArray[np.uint8] | None = None
    """Display picture, sRGB, [h, w, 3]."""

    instance: NDArray[np.int32] | None = None
    """Object number per pixel, [h, w]; 0 is nothing."""

    part: NDArray[np.int32] | None = None
    """Part number per pixel, [h, w]; 0 is nothing."""

    semantic: NDArray[np.int32] | None = None
    """Class number per pixel, [h, w]; 0 is nothing."""

    depth: NDArray[np.float32] | None = None
    """Planar distance to the image plane, [h, w], [m]; +inf is nothing."""

    distance: NDArray[np.float32] | None = None
    """Distance to the camera centre, [h, w], [m]; +inf is nothing."""

    normal: NDArray[np.float32] | None = None
    """Surface normal in the world frame, [h, w, 3]."""

    albedo: NDArray[np.float32] | None = None
    """Diffuse reflectance, linear, [h, w, 3]."""

    hdr: NDArray[np.float32] | None = None
    """Scene-linear radiance, [h, w, 3]."""

    objects: list[ObjectRow] = field(default_factory=list[ObjectRow])
    """Every object of the scene that could be seen."""

    robot_joint_position: list[float] | None = None
    """Joint positions [rad or m], in the order of the manifest's robot table."""

    robot_ee_pose: list[float] | None = None
    """End-effector position [m] and quaternion wxyz, 7 values."""

    robot_gripper: list[float] | None = None
    """Gripper joint positions [rad or m]."""

    action: list[float] | None = None
    """Action of the frame; None until a source gives one."""

    state: list[float] | None = None
    """State vector of the frame; None until a source gives one."""

    recipe: str = "[]"
    """JSON of every random draw of the sample."""

    redraws: int = 0
    """How often the sample was drawn again."""

    flags: list[str] = field(default_factory=list)
    """What a reader should know about the view, e.g. `dark`."""

    @property
    def row_id(self) -> str:
        """Give the row's key: scene, episode, frame, camera and backend, joined by "/"."""
        return row_id(
            self.scene_id, self.episode_index, self.frame_index, self.camera, self.backend
        )


def row_id(scene_id: str, episode_index: int, frame_index: int, camera: str, backend: str) -> str:
    """Join a row's key by "/"."""
    return f"{scene_id}/{episode_index}/{frame_index}/{camera}/{backend}"
