"""One view as numpy arrays and plain values, and the column of each: what a shard holds."""

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from writers.columns import Records, column, columns_of, derived_column
from writers.kinds import (
    CAMERA_MATRIX,
    DEPTH_MM,
    DISTANCE,
    FLOAT32,
    FLOAT32_LIST,
    FLOAT64,
    FLOAT64_LIST,
    FLOATS_3,
    INT32,
    INT64,
    LABELS,
    RGB,
    TEXT,
    TEXTS,
    TRANSFORM,
    VECTOR,
)


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class ObjectRow:
    """What one view shows of one object.

    The tight box is the half-open pixel range `[x0, x1) x [y0, y1)` of the visible pixels, the
    loose box the projection of the whole silhouette, clipped to the picture.
    """

    instance: Annotated[int, column(INT32)]
    """Number of the object in the instance map and table."""

    name: Annotated[str, column(TEXT)]
    """Name of the object."""

    class_name: Annotated[str, column(TEXT, name="class")]
    """Class of the object."""

    x0: Annotated[int | None, column(INT32)] = None
    """Left edge of the tight box [px]; None if no pixel is visible."""

    y0: Annotated[int | None, column(INT32)] = None
    """Top edge of the tight box [px]."""

    x1: Annotated[int | None, column(INT32)] = None
    """Right edge of the tight box, exclusive [px]."""

    y1: Annotated[int | None, column(INT32)] = None
    """Bottom edge of the tight box, exclusive [px]."""

    loose_x0: Annotated[float | None, column(FLOAT32)] = None
    """Left edge of the loose box [px]; None if the object is outside the picture."""

    loose_y0: Annotated[float | None, column(FLOAT32)] = None
    """Top edge of the loose box [px]."""

    loose_x1: Annotated[float | None, column(FLOAT32)] = None
    """Right edge of the loose box [px]."""

    loose_y1: Annotated[float | None, column(FLOAT32)] = None
    """Bottom edge of the loose box [px]."""

    pixels_visible: Annotated[int | None, column(INT32)] = None
    """Pixels that show the object."""

    pixels_total: Annotated[int | None, column(INT32)] = None
    """Pixels that would show the object if it stood alone."""

    occlusion: Annotated[float | None, column(FLOAT32)] = None
    """1 - pixels_visible / pixels_total; None if pixels_total is 0."""

    T_world_object: Annotated[NDArray[np.float64] | None, column(TRANSFORM)] = None
    """Object frame to world frame, [4, 4], lengths in [m]."""

    box_center: Annotated[NDArray[np.float64] | None, column(VECTOR)] = None
    """Centre of the 3D box in the object's frame, [3], [m]."""

    box_size: Annotated[NDArray[np.float64] | None, column(VECTOR)] = None
    """Edge lengths of the 3D box along the object's axes, [3], [m]."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Row:
    """One sample seen by one camera through one backend.

    Each field declares the column that it is stored in, and the columns stand in the order of the
    fields. Pictures have row 0 at the top. A pass is None where it was not rendered or not read
    back; those that are not optional are needed to write a row.
    """

    scene_id: Annotated[str, column(TEXT, "scene of the view")]

    source: Annotated[str | None, column(TEXT, "what the scene was made from")] = None
    """What the scene was made from, e.g. `mjcf/<file name>`."""

    language: Annotated[
        str | None, column(TEXT, "instruction of the task; null where the source has none")
    ] = None

    language_bddl: Annotated[
        str | None,
        column(TEXT, "instruction as the BDDL file spells it"),
    ] = None

    episode_index: Annotated[int, column(INT64, "episode within the scene")]

    frame_index: Annotated[
        int, column(INT64, "frame within the episode; a single picture is frame 0")
    ]

    timestamp: Annotated[float, column(FLOAT64, "time since the start of the episode [s]")] = 0.0

    camera: Annotated[str, column(TEXT, "camera of the view")]

    backend: Annotated[str, column(TEXT, "renderer of the view")]

    width: Annotated[int, column(INT32, "picture width [px]")]

    height: Annotated[int, column(INT32, "picture height [px]")]

    rgb: Annotated[
        NDArray[np.uint8] | None,
        column(RGB, "lossless picture, sRGB; row 0 at the top, never flipped"),
    ] = None
    """Display picture, sRGB, [h, w, 3]."""

    instance: Annotated[
        NDArray[np.int32] | None, column(LABELS, "object number per pixel; 0 = nothing")
    ] = None
    """Object number per pixel, [h, w]; 0 is nothing."""

    part: Annotated[
        NDArray[np.int32] | None, column(LABELS, "part number per pixel; 0 = nothing")
    ] = None
    """Part number per pixel, [h, w]; 0 is nothing."""

    semantic: Annotated[
        NDArray[np.int32] | None, column(LABELS, "class number per pixel; 0 = nothing")
    ] = None
    """Class number per pixel, [h, w]; 0 is nothing."""

    depth: Annotated[
        NDArray[np.float32] | None,
        column(DISTANCE, "planar distance to the image plane [m], row major; inf = nothing"),
    ] = None
    """Planar distance to the image plane, [h, w], [m]; +inf is nothing."""

    distance: Annotated[
        NDArray[np.float32] | None,
        column(
            DISTANCE,
            "distance to the camera centre [m], row major; inf = nothing",
            optional=True,
        ),
    ] = None
    """Distance to the camera centre, [h, w], [m]; +inf is nothing."""

    normal: Annotated[
        NDArray[np.float32] | None,
        column(
            FLOATS_3,
            "surface normal in the world frame, row major, xyz per pixel",
            optional=True,
        ),
    ] = None
    """Surface normal in the world frame, [h, w, 3]."""

    albedo: Annotated[
        NDArray[np.float32] | None,
        column(FLOATS_3, "diffuse reflectance, linear, row major, rgb per pixel", optional=True),
    ] = None
    """Diffuse reflectance, linear, [h, w, 3]."""

    hdr: Annotated[
        NDArray[np.float32] | None,
        column(FLOATS_3, "scene-linear radiance, row major, rgb per pixel", optional=True),
    ] = None
    """Scene-linear radiance, [h, w, 3]."""

    K: Annotated[
        NDArray[np.float64],
        column(CAMERA_MATRIX, "camera matrix, 3x3 row major [px], pixel centres at +0.5"),
    ]
    """Camera matrix [3, 3] in pixels, pixel centres at +0.5."""

    camera_model: Annotated[str, column(TEXT, "`pinhole`")] = "pinhole"
    """Name of the camera model."""

    distortion: Annotated[
        list[float],
        column(FLOAT64_LIST, "coefficients of the camera model; empty for a pinhole"),
    ] = field(default_factory=list)

    T_world_camera: Annotated[
        NDArray[np.float64],
        column(TRANSFORM, "camera (x right, y down, z forward) to world, 4x4 row major [m]"),
    ]
    """Camera frame (x right, y down, z forward) to world frame, [4, 4], lengths in [m]."""

    objects: Annotated[
        list[ObjectRow],
        column(
            Records(ObjectRow),
            "every object that could be seen: number, name, class; tight box, half-open pixels "
            "`[x0, x1) x [y0, y1)`; loose box of the whole silhouette; pixel counts, occlusion; "
            "pose and 3D box in the object's frame [m]",
        ),
    ] = field(default_factory=list[ObjectRow])

    robot_joint_position: Annotated[
        list[float] | None,
        column(
            FLOAT64_LIST,
            "joint positions [rad or m]; names in the manifest; null without a robot",
        ),
    ] = None
    """Joint positions [rad or m], in the order of the manifest's robot table."""

    robot_ee_pose: Annotated[
        list[float] | None,
        column(FLOAT64_LIST, "end-effector position [m] and quaternion wxyz"),
    ] = None
    """End-effector position [m] and quaternion wxyz, 7 values."""

    robot_gripper: Annotated[
        list[float] | None, column(FLOAT64_LIST, "gripper joint positions [rad or m]")
    ] = None

    action: Annotated[
        list[float] | None,
        column(FLOAT32_LIST, "action of the frame; null where the source has none"),
    ] = None

    state: Annotated[
        list[float] | None,
        column(FLOAT32_LIST, "state vector of the frame; null where the source has none"),
    ] = None

    seed: Annotated[int, column(INT64, "seed of the run")]

    recipe: Annotated[
        str, column(TEXT, "JSON of every random draw of the sample", statistics=False)
    ] = "[]"

    redraws: Annotated[int, column(INT32, "how often the sample was drawn again")] = 0

    flags: Annotated[
        list[str],
        column(TEXTS, "what to know about the view, e.g. `dark`"),
    ] = field(default_factory=list)

    @property
    def row_id(self) -> str:
        """Give the row's key: scene, episode, frame, camera and backend, joined by "/"."""
        return row_id(
            self.scene_id, self.episode_index, self.frame_index, self.camera, self.backend
        )


def row_id(scene_id: str, episode_index: int, frame_index: int, camera: str, backend: str) -> str:
    """Join a row's key by "/"."""
    return f"{scene_id}/{episode_index}/{frame_index}/{camera}/{backend}"


DERIVED_COLUMNS = {
    "scene_id": derived_column(
        "row_id",
        TEXT,
        'the key (scene, episode, frame, camera, backend), joined by "/"',
        source="row_id",
    ),
    "K": derived_column(
        "depth_mm",
        DEPTH_MM,
        "depth in whole millimetres, 16 bit, lossy; 0 = nothing, or outside 1 to 65535 mm",
        source="depth",
        optional=True,
    ),
}
"""Columns that follow from the fields, by the column that each stands in front of."""

COLUMNS = columns_of(Row, DERIVED_COLUMNS)
"""All columns, in the order of the file."""
