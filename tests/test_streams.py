import hashlib
import os
import random
import subprocess
import sys

import numpy as np
import pytest

from randomizers import stream

ARGUMENTS = (7, "light", "frame", "scene/3/0", "/World/lights/key.intensity", 2)


def test_stream_is_blake2b_of_length_prefixed_fields():
    data = b"".join(
        len(text).to_bytes(8, "little") + text
        for text in (str(argument).encode() for argument in ARGUMENTS)
    )
    digest = hashlib.blake2b(data, digest_size=32).digest()
    expected = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little"))).random(5)

    np.testing.assert_array_equal(stream(*ARGUMENTS).random(5), expected)


def test_stream_keeps_the_values_of_the_first_release():
    np.testing.assert_array_equal(
        stream(0, "camera_pose", "run", "", "a", 0).random(3),
        [0.3585150024710243, 0.28120838221928957, 0.697785635827563],
    )


@pytest.mark.parametrize("place", range(6))
def test_every_argument_changes_the_stream(place):
    other = list(ARGUMENTS)
    other[place] = {0: 8, 1: "lamp", 2: "episode", 3: "scene/3/1", 4: "/World/x", 5: 3}[place]

    assert stream(*ARGUMENTS).random() != stream(*other).random()


def test_text_cannot_slide_from_one_argument_to_the_next():
    assert (
        stream(1, "a", "run", "b", "cd", 0).random() != stream(1, "a", "run", "bc", "d", 0).random()
    )
    assert (
        stream(1, "a", "run", "", "x", 11).random() != stream(1, "a", "run", "", "x1", 1).random()
    )


def test_global_random_state_is_neither_read_nor_changed():
    random.seed(1)
    np.random.seed(1)
    before = random.getstate(), np.random.get_state()
    first = stream(*ARGUMENTS).random()
    after = random.getstate(), np.random.get_state()
    random.seed(2)
    np.random.seed(2)

    assert after[0] == before[0]
    np.testing.assert_array_equal(after[1][1], before[1][1])
    assert stream(*ARGUMENTS).random() == first


@pytest.mark.parametrize("hash_seed", ["0", "12345"])
def test_other_processes_draw_the_same(hash_seed):
    code = f"from randomizers import stream; print(stream(*{ARGUMENTS!r}).random().hex())"
    environment = {
        **os.environ,
        "PYTHONHASHSEED": hash_seed,
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    answer = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )

    assert float.fromhex(answer.stdout.strip()) == stream(*ARGUMENTS).random()
