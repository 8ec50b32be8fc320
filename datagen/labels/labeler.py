"""From what a backend saw to every label of the view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datagen.backends import Buffers, Size
from datagen.errors import DatagenError
from datagen.labels.boxes import pixel_counts, tight_boxes
from datagen.labels.flags import view_flags
from datagen.labels.objects import ObjectLabel
from datagen.labels.robot import RobotLabel, robot_label
from datagen.labels.shapes import Shapes
from datagen.labels.silhouettes import EMPTY, Silhouette
from scenes import Pinhole, SampleLayer, Scene, pinhole

Ids = NDArray[np.int32]


@dataclass(frozen=True)
class ViewLabels:
    """All labels of a view."""

    camera: Pinhole
    instance: Ids
    """Instance numbers, 0 = nothing, [h, w]."""
    part: Ids
    """Part numbers, 0 = nothing, [h, w]."""
    semantic: Ids
    """Class numbers of the run, 0 = nothing, [h, w]."""
    objects: tuple[ObjectLabel, ...]
    """Every object with a drawn part, by instance number."""
    robot: RobotLabel | None
    flags: tuple[str, ...]
    """Flags raised, in alphabetical order; see `datagen.labels.flags`."""


class Labeler:
    """Labels views of one scene; what does not depend on the backend is computed once for all.

    Args:
        scene: The scene; its meshes are read here.
        classes: Number of each class label, from 1, the same in the whole run.

    Raises:
        DatagenError: A class of the scene has no number.
    """

    def __init__(self, scene: Scene, classes: Mapping[str, int]) -> None:
        info = scene.info
        self._scene = scene
        self._shapes = Shapes(scene)
        self._objects = {each.instance: each for each in info.objects}
        self._last_instance = max(self._objects, default=0)
        self._instances = np.zeros(1 + max((p.part for p in info.parts), default=0), np.int32)
        self._semantics = np.zeros_like(self._instances)
        for part in info.parts:
            each = self._objects[part.instance]
            if each.label not in classes:
                raise DatagenError(
                    f"{info.scene_id}: object {each.name!r}: the class {each.label!r} is not in "
                    f"the run's class table. Known: {', '.join(classes)}."
                )
            self._instances[part.part] = part.instance
            self._semantics[part.part] = classes[each.label]

    def labels(self, sample: SampleLayer, camera: str, size: Size, buffers: Buffers) -> ViewLabels:
        """Label a view.

        Args:
            sample: The sample that the backend showed.
            camera: Name of the camera.
            size: Picture size [pixel].
            buffers: What the backend returned: the part map, and the picture for `dark`, `blown`.

        Raises:
            DatagenError: The part map is missing or does not fit the scene or the size.
        """
        part = self._part_map(camera, size, buffers)
        self._scene.show(sample)
        view = pinhole(self._scene, camera, size.width, size.height)
        posed = self._shapes.pose(sample)
        whole = self._shapes.silhouettes(posed, camera, view)
        boxes = self._shapes.boxes(posed)
        instance = self._instances[part]
        visible = pixel_counts(instance, self._last_instance)
        tight = tight_boxes(instance, self._last_instance)
        objects = tuple(
            ObjectLabel(
                instance=number,
                name=self._objects[number].name,
                label=self._objects[number].label,
                tight_box=tight.get(number),
                loose_box=whole.get(number, EMPTY).box,
                pixels_visible=int(visible[number]),
                pixels_total=int(visible[number])
                + _hidden_pixels(instance, number, whole.get(number, EMPTY)),
                T_world_object=T_world_object,
                box=boxes[number],
            )
            for number, T_world_object in posed.T_world_object.items()
        )
        robot = self._scene.info.robot
        return ViewLabels(
            camera=view,
            instance=instance,
            part=part,
            semantic=self._semantics[part],
            objects=objects,
            robot=None if robot is None else robot_label(robot, sample),
            flags=view_flags(self._scene.info, objects, part, buffers.rgb),
        )

    def _part_map(self, camera: str, size: Size, buffers: Buffers) -> Ids:
        where = f"{self._scene.info.scene_id}: camera {camera!r}"
        part = buffers.part
        if part is None:
            raise DatagenError(f"{where}: labels need the pass 'part', which was not rendered.")
        if part.shape != (size.height, size.width):
            raise DatagenError(
                f"{where}: the part map has {part.shape[1]} x {part.shape[0]} pixels, "
                f"not {size.width} x {size.height}."
            )
        last = len(self._instances) - 1
        if part.size and (part.min() < 0 or part.max() > last):
            raise DatagenError(
                f"{where}: the part map holds numbers from {part.min()} to {part.max()}; "
                f"the scene has parts 1 to {last}."
            )
        return part


def _hidden_pixels(instance: Ids, number: int, silhouette: Silhouette) -> int:
    """Pixels of a whole silhouette that another object or nothing shows."""
    rows, columns = silhouette.mask.shape
    row, column = silhouette.row, silhouette.column
    shown = instance[row : row + rows, column : column + columns]
    return int(np.count_nonzero(silhouette.mask & (shown != number)))
