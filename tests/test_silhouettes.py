from __future__ import annotations

import numpy as np
import pytest
import trimesh
from numpy.typing import NDArray

from datagen.labels.outlines import make_outline
from datagen.labels.silhouettes import Silhouette, silhouettes
from scenes import Pinhole

WIDTH, HEIGHT, FOCAL = 64, 48, 60.0


def camera(near: float = 0.1, T_world_camera: NDArray[np.float64] | None = None) -> Pinhole:
    K = np.array([[FOCAL, 0.0, WIDTH / 2], [0.0, FOCAL, HEIGHT / 2], [0.0, 0.0, 1.0]])
    pose = np.eye(4) if T_world_camera is None else T_world_camera
    return Pinhole(K, pose, WIDTH, HEIGHT, near)


def at(x: float, y: float, z: float) -> NDArray[np.float64]:
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


def silhouette(
    points: object, faces: object, pose: NDArray[np.float64], view: Pinhole
) -> Silhouette | None:
    outline = make_outline(np.asarray(points, np.float32), np.asarray(faces, np.int32))
    return silhouettes([outline], pose[None], [7], view).get(7)


def of_mesh(mesh: trimesh.Trimesh, pose: NDArray[np.float64], view: Pinhole) -> Silhouette | None:
    return silhouette(mesh.vertices, mesh.faces, pose, view)


def picture(found: Silhouette | None, view: Pinhole) -> NDArray[np.bool_]:
    mask = np.zeros((view.height, view.width), dtype=np.bool_)
    if found is not None:
        rows, columns = found.mask.shape
        mask[found.row : found.row + rows, found.column : found.column + columns] = found.mask
    return mask


def cast_rays(
    points: NDArray[np.float64], faces: NDArray[np.int_], view: Pinhole
) -> NDArray[np.bool_]:
    """Pixels whose centre ray meets a triangle beyond the near plane, one triangle at a time."""
    u, v = np.meshgrid(np.arange(view.width) + 0.5, np.arange(view.height) + 0.5)
    rays = np.stack([u - view.K[0, 2], v - view.K[1, 2], np.full_like(u, FOCAL)]) / FOCAL
    mask = np.zeros(u.size, dtype=np.bool_)
    for face in faces:
        corners = points[face].T
        if abs(np.linalg.det(corners)) < 1e-14:
            continue
        weights = np.linalg.solve(corners, rays.reshape(3, -1))
        depth = 1 / weights.sum(axis=0)
        mask |= (weights * depth >= 0).all(axis=0) & (depth >= view.near)
    return mask.reshape(u.shape)


@pytest.mark.parametrize("spoilt", ["closed", "holes", "turned faces", "soup", "mirrored"])
@pytest.mark.parametrize("shape", ["sphere", "torus", "box"])
def test_masks_equal_rays_cast_at_every_triangle(shape: str, spoilt: str) -> None:
    rng = np.random.default_rng(len(shape) * 100 + len(spoilt))
    mesh = {
        "sphere": trimesh.creation.icosphere(1, 0.3),
        "torus": trimesh.creation.torus(0.4, 0.15, major_sections=12, minor_sections=8),
        "box": trimesh.creation.box((0.3, 0.5, 0.2)),
    }[shape]
    points, faces = np.asarray(mesh.vertices, np.float32), np.asarray(mesh.faces)
    if spoilt == "holes":
        faces = faces[rng.random(len(faces)) < 0.6]
    if spoilt == "turned faces":
        faces = np.where(rng.random((len(faces), 1)) < 0.5, faces, faces[:, ::-1])
    if spoilt == "soup":
        points, faces = points[faces.reshape(-1)], np.arange(faces.size).reshape(-1, 3)
    crossed = 0
    for _ in range(6):
        pose = trimesh.transformations.random_rotation_matrix(rng.random(3))
        if spoilt == "mirrored":
            pose[:3, 0] *= -1
        pose[:3, 3] = rng.normal(size=3) * (0.3, 0.3, 0.2) + (0, 0, 0.4)
        view = camera(near=0.15)
        moved = points.astype(np.float64) @ pose[:3, :3].T + pose[:3, 3]
        crossed += bool(moved[:, 2].min() < view.near < moved[:, 2].max())
        expected = cast_rays(moved, faces, view)
        np.testing.assert_array_equal(
            picture(silhouette(points, faces, pose, view), view), expected
        )
    assert crossed


def test_a_sphere_covers_the_disc_that_its_tangent_cone_cuts() -> None:
    view = camera()
    found = of_mesh(trimesh.creation.icosphere(5, 0.3), at(0, 0, 1.5), view)
    radius = FOCAL * 0.3 / np.sqrt(1.5**2 - 0.3**2)
    y, x = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    distance = np.hypot(x - WIDTH / 2, y - HEIGHT / 2)
    mask = picture(found, view)
    assert mask[distance < radius - 0.02].all()
    assert not mask[distance > radius].any()
    assert found is not None
    middle = np.array([WIDTH / 2, HEIGHT / 2] * 2)
    np.testing.assert_allclose(found.box, middle + radius * np.array([-1, -1, 1, 1]), atol=0.02)


def test_a_box_reaches_where_its_near_face_projects() -> None:
    view = camera()
    found = of_mesh(trimesh.creation.box((0.2, 0.3, 0.5)), at(0.1, -0.05, 1.25), view)
    x0, x1 = WIDTH / 2, WIDTH / 2 + FOCAL * 0.2
    y0, y1 = HEIGHT / 2 - FOCAL * 0.2, HEIGHT / 2 + FOCAL * 0.1
    assert found is not None
    np.testing.assert_allclose(found.box, (x0, y0, x1, y1), rtol=1e-6)
    expected = np.zeros((HEIGHT, WIDTH), dtype=np.bool_)
    expected[12:30, 32:44] = True
    np.testing.assert_array_equal(picture(found, view), expected)


def test_nothing_is_seen_of_an_object_behind_the_camera() -> None:
    assert of_mesh(trimesh.creation.box((1, 1, 1)), at(0, 0, -2), camera()) is None


def test_nothing_is_seen_of_an_object_before_the_near_plane() -> None:
    box = trimesh.creation.box((0.02, 0.02, 0.02))
    assert of_mesh(box, at(0, 0, 0.05), camera(near=0.1)) is None
    assert of_mesh(box, at(0, 0, 0.05), camera(near=0.01)) is not None


def test_a_box_across_the_near_plane_is_cut_there() -> None:
    view = camera(near=0.5)
    found = of_mesh(trimesh.creation.box((0.2, 0.1, 4.0)), at(0, 0, 0), view)
    half_width, half_height = FOCAL * 0.1 / 0.5, FOCAL * 0.05 / 0.5
    assert found is not None
    np.testing.assert_allclose(
        found.box,
        (32 - half_width, 24 - half_height, 32 + half_width, 24 + half_height),
        rtol=1e-6,
    )
    assert picture(found, view).sum() == 24 * 12


def test_from_inside_a_room_its_walls_fill_the_picture() -> None:
    view = camera()
    for near in (0.1, 1.5):
        found = of_mesh(trimesh.creation.box((4, 4, 4)), at(0.3, 0.2, 0.1), camera(near=near))
        assert found is not None
        assert picture(found, view).all()
        assert found.box == (0, 0, WIDTH, HEIGHT)


def test_an_open_sheet_is_seen_from_both_sides() -> None:
    sheet = [[-0.1, -0.1, 0], [0.1, -0.1, 0], [0.1, 0.1, 0], [-0.1, 0.1, 0]]
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    view = camera()
    front = picture(silhouette(sheet, faces, at(0, 0, 1), view), view)
    back = picture(silhouette(sheet, faces[:, ::-1], at(0, 0, 1), view), view)
    assert front.sum() == 144
    np.testing.assert_array_equal(front, back)


def test_centres_on_left_and_top_edges_belong_and_on_right_and_bottom_ones_do_not() -> None:
    edge = 0.5 / FOCAL
    sheet = [[edge, edge, 1], [5 * edge, edge, 1], [5 * edge, 5 * edge, 1], [edge, 5 * edge, 1]]
    view = Pinhole(
        np.array([[64.0, 0, 32], [0, 64.0, 24], [0, 0, 1]]), np.eye(4), WIDTH, HEIGHT, 0.1
    )
    exact = np.asarray(sheet) * (FOCAL / 64.0, FOCAL / 64.0, 1)
    found = silhouette(exact, [[0, 1, 2], [0, 2, 3]], np.eye(4), view)
    expected = np.zeros((HEIGHT, WIDTH), dtype=np.bool_)
    expected[24:26, 32:34] = True
    np.testing.assert_array_equal(picture(found, view), expected)


def test_loose_bounds_are_of_the_part_inside_the_picture() -> None:
    # The sloping edge leaves the picture at x = 0 before it reaches the triangle's lowest corner.
    corners = [[-42, 4], [22, 4], [-42, 68]]
    points = [[(u - 32) / FOCAL, (v - 24) / FOCAL, 1] for u, v in corners]
    found = silhouette(points, [[0, 1, 2]], np.eye(4), camera())
    assert found is not None
    np.testing.assert_allclose(found.box, (0, 4, 22, 26), rtol=1e-5)


def test_loose_bounds_are_none_where_only_the_bounding_box_meets_the_picture() -> None:
    corners = [[-30, 20], [-30, -40], [40, -40]]
    points = [[(u - 32) / FOCAL, (v - 24) / FOCAL, 1] for u, v in corners]
    assert silhouette(points, [[0, 1, 2]], np.eye(4), camera()) is None


def test_loose_bounds_reach_a_picture_corner_inside_the_silhouette() -> None:
    found = of_mesh(trimesh.creation.icosphere(4, 0.5), at(0.6, 0.5, 1.2), camera())
    assert found is not None and found.box is not None
    assert found.box[2:] == (WIDTH, HEIGHT)


def test_a_thing_between_pixel_centres_has_bounds_and_no_pixel() -> None:
    found = of_mesh(trimesh.creation.box((0.01, 0.01, 0.01)), at(0, 0, 1), camera())
    assert found is not None
    assert not picture(found, camera()).any()
    np.testing.assert_allclose(found.box, (31.698, 23.698, 32.302, 24.302), atol=1e-3)


def test_parts_of_one_object_are_united() -> None:
    view = camera()
    box = make_outline(
        np.asarray(trimesh.creation.box((0.2, 0.2, 0.2)).vertices, np.float32),
        np.asarray(trimesh.creation.box((0.2, 0.2, 0.2)).faces, np.int32),
    )
    poses = np.stack([at(-0.2, 0, 1), at(0.05, 0, 1), at(0, 0, 1), at(0.3, 0, 1)])
    found = silhouettes([box] * 4, poses, [1, 1, 1, 2], view)
    single = [silhouettes([box], pose[None], [1], view)[1] for pose in poses]
    united = picture(single[0], view) | picture(single[1], view) | picture(single[2], view)
    np.testing.assert_array_equal(picture(found[1], view), united)
    np.testing.assert_array_equal(picture(found[2], view), picture(single[3], view))


def test_the_camera_pose_moves_the_picture_and_not_the_world() -> None:
    mesh = trimesh.creation.torus(0.4, 0.15, major_sections=12, minor_sections=8)
    turn = trimesh.transformations.random_rotation_matrix(np.array([0.2, 0.5, 0.8]))
    turn[:3, 3] = 0.3, -0.2, 5.0
    still = of_mesh(mesh, at(0, 0.1, 1.4), camera())
    moved = of_mesh(mesh, turn @ at(0, 0.1, 1.4), camera(T_world_camera=turn))
    np.testing.assert_array_equal(picture(still, camera()), picture(moved, camera()))


def test_a_thing_that_only_touches_the_picture_from_outside_is_outside() -> None:
    # With f = 64 and the principal point at 32 the edge projects to x = 0 exactly.
    view = Pinhole(np.array([[64.0, 0, 32], [0, 64.0, 24], [0, 0, 1]]), np.eye(4), 64, 48, 0.1)
    sheet = [[-1.0, -0.1, 1], [-0.5, -0.1, 1], [-0.5, 0.1, 1], [-1.0, 0.1, 1]]
    assert silhouette(sheet, [[0, 1, 2], [0, 2, 3]], np.eye(4), view) is None


def test_split_vertices_are_welded_even_across_the_two_zeros() -> None:
    mesh = trimesh.creation.box((1, 1, 1), transform=at(0.5, 0.5, 0.5))
    soup = np.asarray(mesh.vertices, np.float32)[mesh.faces.reshape(-1)]
    signs = np.random.default_rng(1).choice([-1, 1], soup.shape)
    soup = np.where(soup == 0, soup * signs, soup).astype(np.float32)
    outline = make_outline(soup, np.arange(36, dtype=np.int32).reshape(-1, 3))
    assert outline.points.shape == (3, 8)
    assert outline.shared.shape == (4, 18)
    assert outline.open.shape == (3, 0)
