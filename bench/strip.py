"""The picture strip of the README: one view of a run with two backends, and its labels."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from datagen.audit.measure.flip import flip_map
from datagen.audit.pages.pictures import heat_picture
from datagen.configuration.config import load_config
from datagen.progress import SilentProgress
from datagen.report.colors import depth_picture, label_color, label_picture
from datagen.run import pipeline
from writers import ObjectRow, Row, read_rows

LABEL_HEIGHT = 22


def boxes_picture(rgb: NDArray[np.uint8], objects: list[ObjectRow]) -> NDArray[np.uint8]:
    """Draw the tight boxes of what is not wider than half the picture."""
    image = Image.fromarray(rgb)
    draw = ImageDraw.Draw(image)
    for each in objects:
        if each.x0 is None or each.x1 is None or each.y0 is None or each.y1 is None:
            continue
        if each.x1 - each.x0 < rgb.shape[1] / 2:
            box = (each.x0, each.y0, each.x1 - 1, each.y1 - 1)
            draw.rectangle(box, outline=label_color(each.instance), width=2)
    return np.asarray(image)


def panels(path_traced: Row, mujoco: Row) -> dict[str, NDArray[np.uint8]]:
    """Pictures of the strip by caption."""
    assert path_traced.rgb is not None and mujoco.rgb is not None
    assert path_traced.depth is not None and path_traced.instance is not None
    depth = path_traced.depth
    seen = depth[np.isfinite(depth)]
    flip = flip_map(mujoco.rgb / 255.0, path_traced.rgb / 255.0)
    return {
        "RGB, path traced": path_traced.rgb,
        "depth": depth_picture(depth, float(seen.min()), float(seen.max())),
        "instances": label_picture(path_traced.instance),
        "boxes": boxes_picture(path_traced.rgb, list(path_traced.objects)),
        "MuJoCo, same sample": mujoco.rgb,
        "FLIP between the two": heat_picture(flip, 1.0),
    }


def main() -> None:
    """Render the view and save the strip."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/strip.png"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        changes = [
            "backends=[mitsuba, mujoco]", "mujoco.colorspace=display", "mitsuba.spp=64",
            "size=[320, 320]", "cameras=[agentview]", "scenes.0.libero.tasks=[0]",
        ]  # fmt: skip
        options = {"output": folder, "limit": 2, "seed": 2}
        pipeline.run(load_config(Path("configs/libero.yaml"), changes, options), SilentProgress())
        path_traced, mujoco = read_rows(Path(folder) / "data")
    pictures = panels(path_traced, mujoco)
    height, width = next(iter(pictures.values())).shape[:2]
    strip = Image.new("RGB", (len(pictures) * (width + 4) - 4, height + LABEL_HEIGHT), "white")
    draw = ImageDraw.Draw(strip)
    font = ImageFont.load_default(14)
    for place, (caption, picture) in enumerate(pictures.items()):
        left = place * (width + 4)
        strip.paste(Image.fromarray(picture), (left, LABEL_HEIGHT))
        draw.text((left + 4, 3), caption, fill="black", font=font)
    arguments.out.parent.mkdir(exist_ok=True)
    strip.save(arguments.out, optimize=True)


if __name__ == "__main__":
    main()
