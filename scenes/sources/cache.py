"""The cache of converted scenes, which many processes may share."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path

import mujoco

from scenes.errors import SceneError, StorageError
from scenes.stage.info import SCENE_FORMAT
from scenes.stage.scene import Scene
from scenes.storage.locks import Waiting, held_lock, remove_idle_locks
from scenes.storage.temporary import remove_leftovers

CONVERTER = 19
"""Raised whenever the same source would give another stage; part of the cache key."""

_NAME_BYTES = 80


def scene_of_cache(folder: Path, make: Callable[[], object], waiting: Waiting) -> Scene:
    """Open a scene of the cache; make it where it is not there, or not whole.

    A scene that is whole is opened without a lock, so that the cache may be read-only.

    Args:
        folder: The scene's folder, as `cache_folder` names it.
        make: Makes the folder, whole or not at all.
        waiting: Told while another process makes it.

    Raises:
        SceneError: It cannot be made.
        StorageError: The cache cannot be written.
    """
    if scene := _whole(folder):
        return scene
    try:
        with held_lock(lock_file(folder), waiting):
            if scene := _whole(folder):
                return scene
            remove_leftovers(folder.parent)
            if folder.exists():
                shutil.rmtree(folder)
            make()
        remove_idle_locks(lock_file(folder).parent)
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written: {error.strerror or error}.") from error
    return Scene.open(folder)


def cache_folder(cache: Path, name: str, digest: str, settings: str) -> Path:
    """Folder of a scene in the cache.

    Args:
        cache: Folder of the cache.
        name: Start of the folder's name.
        digest: Hash of all that the scene is made from.
        settings: What else decides how it is made.
    """
    key: Mapping[str, str] = {**converter_versions(), "settings": settings, "digest": digest}
    text = f"{SCENE_FORMAT}/{CONVERTER}/{sorted(key.items())}"
    short = blake2b(text.encode(), digest_size=8).hexdigest()
    start = name.encode(errors="replace")[:_NAME_BYTES].decode(errors="ignore")
    return cache / "scenes" / f"{start}-{short}"


def converter_versions() -> dict[str, str]:
    """Versions of the libraries that decide what a stage holds."""
    return {"mujoco": mujoco.__version__, "usd-core": version("usd-core")}


def lock_file(folder: Path) -> Path:
    """Lock of a scene's folder."""
    return folder.parent / ".locks" / f"{folder.name}.lock"


def _whole(folder: Path) -> Scene | None:
    try:
        return Scene.open(folder)
    except SceneError:
        return None
