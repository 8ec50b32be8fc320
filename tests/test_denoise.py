"""The denoiser takes noise out of light and leaves texture alone."""

import numpy as np

from datagen.backends.mitsuba.denoise import Denoiser


def test_noise_goes_and_fine_texture_stays() -> None:
    rng = np.random.default_rng(0)
    albedo = rng.uniform(0.1, 0.9, (128, 128, 1)).repeat(3, axis=2).astype(np.float32)
    normal = np.broadcast_to(np.float32([0, 0, 1]), albedo.shape)
    clean = albedo * np.float32(0.7)
    noisy = clean * rng.gamma(4, 1 / 4, albedo.shape).astype(np.float32)
    found = Denoiser(threads=1)(noisy, albedo, np.ascontiguousarray(normal))
    before, after = (np.sqrt(np.mean((x - clean) ** 2)) for x in (noisy, found))
    assert after < before / 8
    texture = np.corrcoef(found[..., 0].ravel(), clean[..., 0].ravel())[0, 1]
    assert texture > 0.99


def test_each_size_gives_the_same_bytes_whatever_ran_before() -> None:
    rng = np.random.default_rng(1)

    def picture(side: int) -> tuple[np.ndarray, ...]:
        return tuple(rng.random((side, side, 3), dtype=np.float32) for _ in range(3))

    small, large = picture(32), picture(48)
    used = Denoiser(threads=1)
    used(*large)
    used(*picture(32))
    assert np.array_equal(used(*small), Denoiser(threads=1)(*small))
