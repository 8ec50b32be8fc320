"""The dataset card: README.md of a run folder, with the front matter that dataset hubs read."""

import json
from pathlib import Path

import pyarrow as pa

from writers.kinds import IMAGE_TYPE
from writers.rows import COLUMNS
from writers.schema import row_schema
from writers.store.atomic import write_atomically
from writers.store.manifest import Manifest

CARD_NAME = "README.md"
"""File name of the dataset card in a run folder."""


def write_card(folder: Path, manifest: Manifest, *, title: str) -> Path:
    """Write the dataset card of a run folder, atomically.

    Raises:
        WriteError: The folder cannot be written.
    """
    path = folder / CARD_NAME
    write_atomically(path, dataset_card(manifest, title=title).encode())
    return path


def dataset_card(manifest: Manifest, *, title: str) -> str:
    """Give the dataset card of a run as Markdown."""
    schema = row_schema(manifest.passes, bool(_output(manifest).get("depth_mm", False)))
    title = " ".join(title.split())
    sections = [
        _front_matter(title),
        f"# {title}\n\n{_overview(manifest)}",
        f"## Load\n\n{_LOADING}",
        f"## Columns\n\nOne row is one view: a frame seen by one camera through one renderer.\n\n"
        f"{_columns(schema)}",
        f"## Conventions\n\n{_CONVENTIONS}",
        f"## Numbers of the label maps\n\n{_label_maps(manifest)}",
        f"## Versions\n\n{_versions(manifest)}",
        f"## Licence\n\n{_LICENCE}",
    ]
    return "\n".join(f"{section.rstrip()}\n" for section in sections)


_LOADING = """\
```python
import numpy as np
from datasets import load_dataset

rows = load_dataset("parquet", data_files="data/*.parquet", split="train")
row = rows[0]
row["rgb"]  # a PIL picture, as are instance, part and semantic
depth = np.asarray(row["depth"], np.float32).reshape(row["height"], row["width"])  # [m]
T_world_camera = np.asarray(row["T_world_camera"]).reshape(4, 4)
```
"""

_CONVENTIONS = """\
* Pictures: row 0 at the top, never flipped or mirrored.
* Camera: OpenCV axes (x right, y down, z forward); `K` in pixels, pixel centres at +0.5.
* Lengths in metres, angles in radians, quaternions wxyz, matrices row major. `T_a_b` maps b to a.
* Boxes are half-open pixel ranges `[x0, x1) x [y0, y1)`; a tight box is null where no pixel is
  visible, a loose box where the object is outside the picture.
* `depth` is planar (along the camera's z axis), `distance` is along the ray.
"""

_LICENCE = """\
The scenes' authors hold the rights in what the pictures show. Pictures of LIBERO scenes show
LIBERO's meshes and textures, so the upstream terms of the LIBERO assets apply to them; look there
before you pass the data on.
"""


def _front_matter(title: str) -> str:
    # A JSON string is a YAML string, whatever the title holds.
    return f"""\
---
pretty_name: {json.dumps(title, ensure_ascii=False)}
tags:
- synthetic
- robotics
configs:
- config_name: default
  data_files:
  - split: train
    path: data/*.parquet
---
"""


def _output(manifest: Manifest) -> dict[str, object]:
    output = manifest.config.get("output")
    return dict(output) if isinstance(output, dict) else {}


def _overview(manifest: Manifest) -> str:
    size = sum(shard.bytes for shard in manifest.shards)
    return (
        f"Synthetic pictures with exact labels, made by datagen: {manifest.row_count} rows in "
        f"{len(manifest.shards)} shards ({size / 1e6:.1f} MB), {len(manifest.scenes)} scenes, "
        f"{len(manifest.classes)} classes, rendered by {', '.join(sorted(manifest.backends))} "
        f"with seed {manifest.seed}. Every row can be made again: the config, the versions and "
        "the BLAKE2b digest of each shard stand in `manifest.json`.\n" + _refused(manifest)
    )


def _refused(manifest: Manifest) -> str:
    if not manifest.refused:
        return ""
    lines = [f"* `{scene_id}`: {_cell(why)}" for scene_id, why in manifest.refused.items()]
    return "\nScenes that were refused and have no rows:\n\n" + "\n".join(lines) + "\n"


def _columns(schema: pa.Schema) -> str:
    lines = ["| column | type | meaning |", "|---|---|---|"]
    lines += [
        f"| {column.name} | {_type_name(column.kind.arrow)} | {_cell(column.meaning)} |"
        for column in COLUMNS
        if column.name in schema.names
    ]
    return "\n".join(lines)


def _type_name(kind: pa.DataType) -> str:
    if kind.equals(IMAGE_TYPE):
        return "Image"
    if isinstance(kind, pa.ListType):
        return f"list of {_type_name(kind.value_type)}"
    return "struct" if isinstance(kind, pa.StructType) else str(kind)


def _label_maps(manifest: Manifest) -> str:
    lines = [
        f"Label maps are single-channel PNGs of {manifest.label_bits} bits; 0 is nothing. The "
        "numbers are the same over the whole run; the tables `parts`, `instances` and `classes` "
        "of `manifest.json` explain them. The classes:",
        "",
        "| number | class |",
        "|---|---|",
    ]
    lines += [f"| {entry.id} | {_cell(entry.name)} |" for entry in manifest.classes]
    return "\n".join(lines)


def _versions(manifest: Manifest) -> str:
    lines = ["| library | version |", "|---|---|"]
    lines += [f"| {_cell(name)} | {_cell(manifest.versions[name])} |" for name in manifest.versions]
    lines.append(f"| row schema | {manifest.schema_version} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
