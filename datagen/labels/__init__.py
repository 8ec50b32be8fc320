"""Labels: what a view shows, computed once for all backends from buffers, scene and state."""

from datagen.labels.boxes import Box3D, TightBox
from datagen.labels.flags import BLOWN_SHARE, DARK_LUMA, state_flags
from datagen.labels.labeler import Labeler, ViewLabels
from datagen.labels.objects import ObjectLabel
from datagen.labels.robot import RobotLabel
from datagen.labels.silhouettes import LooseBox, Silhouette

__all__ = [
    "BLOWN_SHARE",
    "DARK_LUMA",
    "Box3D",
    "Labeler",
    "LooseBox",
    "ObjectLabel",
    "RobotLabel",
    "Silhouette",
    "TightBox",
    "ViewLabels",
    "state_flags",
]
