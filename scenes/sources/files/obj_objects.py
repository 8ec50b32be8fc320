"""OBJ files with several objects: MuJoCo reads the faces of the first alone."""

from __future__ import annotations

_NEW_OBJECT = (b"o ", b"g ", b"o\t", b"g\t")


def merged_objects(data: bytes) -> bytes | None:
    """Give an OBJ file whose objects and groups are one.

    Args:
        data: The file.

    Returns:
        The file without its object and group lines; None when all faces are in one object.
    """
    lines = data.splitlines()
    with_faces, in_this = 0, False
    for line in lines:
        if line[:2] in _NEW_OBJECT or line in (b"o", b"g"):
            in_this = False
        elif line[:2] in (b"f ", b"f\t") and not in_this:
            with_faces, in_this = with_faces + 1, True
    if with_faces < 2:
        return None
    return b"\n".join(line for line in lines if line[:2] not in _NEW_OBJECT) + b"\n"
