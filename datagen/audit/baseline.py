"""Baselines: what a backend shows now, kept to be compared with what it shows later.

The file is a zip of `.npy` arrays without pickle, as `numpy.load` reads it: `index` holds the
versions, configs and views as JSON in bytes, `<number>_<pass>` the buffers of a view by a backend.
Normals and albedo are kept in half precision; distance and position follow from the depth.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from datagen.audit.view import Side
from datagen.audit.views import ShownView
from datagen.backends import Buffers
from datagen.run.versions import version_changes
from datagen.shading.formula import luminance
from scenes import Pinhole
from writers import ReadError
from writers.store.atomic import atomic_file
from writers.store.plan import first_difference

BASELINE_VERSION = 1
_INDEX = "index"
_KEPT = {
    "rgb": np.dtype(np.uint8),
    "part": np.dtype(np.uint16),
    "depth": np.dtype(np.float32),
    "normal": np.dtype(np.float16),
    "albedo": np.dtype(np.float16),
}
"""Passes that are kept, and as what."""
_FULL = {"part": np.int32, "normal": np.float32, "albedo": np.float32}


class BaselineWriter:
    """Writes a baseline view by view; the file appears whole or not at all.

    Raises:
        WriteError: The file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._views: list[dict[str, Any]] = []
        self._parts: dict[str, dict[str, str]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Open the file."""
        file = self._stack.enter_context(atomic_file(self._path))
        archive = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self._archive = self._stack.enter_context(archive)
        return self

    def __exit__(self, *error: Any) -> None:
        """Close the file; after an error nothing of it is left."""
        self._stack.__exit__(*error)

    def add(self, shown: ShownView) -> None:
        """Keep a view as every backend shows it."""
        info = shown.session.scene.info
        self._parts[shown.frame.scene_id] = {str(part.part): part.path for part in info.parts}
        for side in shown.sides:
            number = len(self._views)
            for name, kind in _KEPT.items():
                values = getattr(side.buffers, name)
                if values is not None:
                    self._put(f"{number:05}_{name}", values.astype(kind))
            camera = side.labels.camera
            self._views.append(
                {
                    "key": _key(shown, side.backend),
                    "K": camera.K.tolist(),
                    "T_world_camera": camera.T_world_camera.tolist(),
                    "near": camera.near,
                    "size": [camera.width, camera.height],
                    "signature": signature(side.buffers),
                }
            )

    def finish(
        self,
        versions: Mapping[str, str],
        backends: Mapping[str, Mapping[str, str]],
        config: Mapping[str, Any],
    ) -> None:
        """Write what holds for all views; the last thing before the file is closed."""
        index = {
            "baseline_version": BASELINE_VERSION,
            "versions": dict(versions),
            "backends": {name: dict(facts) for name, facts in backends.items()},
            "config": dict(config),
            "parts": self._parts,
            "views": self._views,
        }
        text = json.dumps(index, sort_keys=True).encode()
        self._put(_INDEX, np.frombuffer(text, np.uint8))

    def _put(self, name: str, values: NDArray[Any]) -> None:
        with self._archive.open(f"{name}.npy", "w", force_zip64=True) as file:
            npy.write_array(file, np.ascontiguousarray(values), allow_pickle=False)


@dataclass(frozen=True)
class KeptSide:
    """A view as a baseline keeps it."""

    side: Side
    notes: tuple[str, ...]
    """What of it does not fit the scene of today."""


class Baseline:
    """Reads a baseline; use it as a context manager."""

    def __init__(self, path: Path, file: Any, index: Mapping[str, Any]) -> None:
        self._path = path
        self._file = file
        self._index = index
        self._numbers = {tuple(view["key"]): n for n, view in enumerate(index["views"])}
        self._seen: set[int] = set()

    @classmethod
    def open(cls, path: Path) -> Baseline:
        """Open a baseline.

        Raises:
            ReadError: The file is missing, is no baseline, or one of another version.
        """
        try:
            file = np.load(path, allow_pickle=False)
        except OSError as error:
            raise ReadError(f"{path}: cannot be read ({error.strerror or error}).") from error
        except (ValueError, EOFError, zipfile.BadZipFile) as error:
            raise ReadError(f"{path}: no baseline of an audit ({error}).") from error
        try:
            index = json.loads(file[_INDEX].tobytes())
            version = index["baseline_version"]
            if version != BASELINE_VERSION:
                file.close()
                raise ReadError(
                    f"{path}: a baseline of version {version}, this one reads {BASELINE_VERSION}; "
                    "save it anew."
                )
            return cls(path, file, index)
        except (ValueError, LookupError, TypeError, AttributeError, zipfile.BadZipFile) as error:
            raise ReadError(f"{path}: no baseline of an audit ({error!r}).") from error

    def __enter__(self) -> Self:
        """Give the open baseline."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the file."""
        self._file.close()

    @property
    def backends(self) -> tuple[str, ...]:
        """Backends that it keeps views of."""
        return tuple(dict.fromkeys(str(key[-1]) for key in self._numbers))

    def side(self, shown: ShownView, backend: str) -> KeptSide | None:
        """Give the kept side of a view, labelled with the scene of today; None without it.

        Part numbers are translated by the prims they stood for, so that a scene that was converted
        anew can be compared.

        Raises:
            ReadError: The file is damaged.
        """
        number = self._numbers.get(_key(shown, backend))
        if number is None:
            return None
        self._seen.add(number)
        record = self._index["views"][number]
        camera = Pinhole(
            np.array(record["K"]),
            np.array(record["T_world_camera"]),
            record["size"][0],
            record["size"][1],
            record["near"],
        )
        found: dict[str, Any] = {}
        for name in _KEPT:
            values = self._read(f"{number:05}_{name}")
            if values is not None:
                found[name] = values.astype(_FULL.get(name, values.dtype))
        found["part"], notes = self._translated(shown, found["part"])
        buffers = _completed(Buffers(**found), camera)
        side = shown.session.side(backend, shown.sample, shown.camera, buffers)
        labels = dataclasses.replace(side.labels, camera=camera)
        return KeptSide(dataclasses.replace(side, labels=labels), notes)

    def signature_notes(self, shown: ShownView, side: Side) -> tuple[str, ...]:
        """Say whether a view is the same to the byte, or how its brightness has changed."""
        number = self._numbers[_key(shown, side.backend)]
        then, now = self._index["views"][number]["signature"], signature(side.buffers)
        if then == now:
            return ("the same to the byte as in the baseline",)
        changed = [name for name in _KEPT if then["digests"].get(name) != now["digests"].get(name)]
        notes = [f"not the same to the byte as in the baseline: {', '.join(changed)}"]
        if then["luminance"] is not None and now["luminance"] is not None and "rgb" in changed:
            notes.append(f"mean luminance {then['luminance']:.4f} then, {now['luminance']:.4f} now")
        return tuple(notes)

    def changes(
        self,
        versions: Mapping[str, str],
        backends: Mapping[str, Mapping[str, str]],
        config: Mapping[str, Any],
    ) -> tuple[str, ...]:
        """Say what is not as it was when the baseline was saved: versions, settings, config."""
        lines = list(version_changes(self._index["versions"], dict(versions)))
        for name, facts in backends.items():
            before = self._index["backends"].get(name, {})
            lines += [f"{name}: {change}" for change in version_changes(before, dict(facts))]
        difference = first_difference(self._index["config"], json.loads(json.dumps(config)))
        if difference:
            key, then, now = difference
            lines.append(f"config: {key} was {then}, now {now}")
        return tuple(dict.fromkeys(lines))

    def unseen(self, backends: Sequence[str]) -> tuple[str, ...]:
        """Say how many kept views of these backends have not been asked for."""
        left = [
            key for key, n in self._numbers.items() if n not in self._seen and key[-1] in backends
        ]
        if not left:
            return ()
        first = "/".join(map(str, left[0][:-1]))
        return (f"{len(left)} views of the baseline were not shown again, the first {first}",)

    def _read(self, name: str) -> NDArray[Any] | None:
        if name not in self._file:
            return None
        try:
            return cast(NDArray[Any], self._file[name])
        except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
            raise ReadError(f"{self._path}: damaged: {name} cannot be read ({error}).") from error

    def _translated(
        self, shown: ShownView, part: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], tuple[str, ...]]:
        then: Mapping[str, str] = self._index["parts"][shown.frame.scene_id]
        now = {each.path: each.part for each in shown.session.scene.info.parts}
        table = np.zeros(1 + max(map(int, then), default=0), np.int32)
        for number, path in then.items():
            table[int(number)] = now.get(path, 0)
        gone = [then[str(number)] for number in np.unique(part[part > 0]) if not table[number]]
        notes = (f"of the baseline and no more in the scene: {', '.join(gone)}",) if gone else ()
        return table[part], notes


def signature(buffers: Buffers) -> dict[str, Any]:
    """Give digests of the kept passes and the mean luminance of the picture, as JSON values."""
    digests = {
        name: hashlib.blake2b(np.ascontiguousarray(values).tobytes(), digest_size=16).hexdigest()
        for name in _KEPT
        if (values := getattr(buffers, name)) is not None
    }
    light = None if buffers.rgb is None else round(luminance(buffers.rgb), 6)
    return {"digests": digests, "luminance": light}


def _key(shown: ShownView, backend: str) -> tuple[str, int, int, str, str]:
    frame = shown.frame
    return (frame.scene_id, frame.episode_index, frame.frame_index, shown.camera, backend)


def _completed(buffers: Buffers, camera: Pinhole) -> Buffers:
    """Add distance and position, which follow from the depth and the camera."""
    depth = buffers.depth
    if depth is None:
        return buffers
    rows, columns = np.mgrid[: camera.height, : camera.width] + 0.5
    x = (columns - camera.K[0, 2]) / camera.K[0, 0]
    y = (rows - camera.K[1, 2]) / camera.K[1, 1]
    rays = np.stack([x, y, np.ones_like(x)], axis=-1)
    seen = np.isfinite(depth)
    flat = np.where(seen, depth, 0.0)[..., None] * rays
    rotation, origin = camera.T_world_camera[:3, :3], camera.T_world_camera[:3, 3]
    position = np.where(seen[..., None], flat @ rotation.T + origin, np.inf)
    distance = np.where(seen, np.linalg.norm(flat, axis=-1), np.inf)
    return dataclasses.replace(
        buffers, distance=distance.astype(np.float32), position=position.astype(np.float32)
    )
