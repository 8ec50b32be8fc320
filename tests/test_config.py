from __future__ import annotations

import copy
import inspect
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from datagen.backends.mitsuba.backend import MitsubaBackend
from datagen.backends.mujoco.backend import MujocoBackend
from datagen.backends.registry import capabilities
from datagen.configuration.config import RunConfig, cache_folder, load_config
from datagen.configuration.file import apply_overrides, parse_yaml
from datagen.errors import ConfigError
from datagen.run.sources import check_cameras, plan_scenes

CONFIGS = Path(__file__).parent.parent / "configs"
SMALL: dict[str, Any] = {
    "output": "out/small",
    "scenes": [{"mjcf": {"path": "desk.xml"}}],
    "cameras": ["front"],
}


def with_value(key: str, value: Any) -> dict[str, Any]:
    data = copy.deepcopy(SMALL)
    place: Any = data
    *parents, last = key.split(".")
    for parent in parents:
        place = place[int(parent)] if isinstance(place, list) else place.setdefault(parent, {})
    place[int(last) if isinstance(place, list) else last] = value
    return data


def problem(data: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        RunConfig.from_data(data, "x.yaml")
    return str(caught.value)


@pytest.mark.parametrize("file", sorted(CONFIGS.glob("*.yaml")), ids=lambda file: file.name)
def test_every_shipped_config_is_valid(file: Path) -> None:
    assert load_config(file).file == str(file)


def test_libero_config_is_the_promised_job() -> None:
    config = load_config(CONFIGS / "libero.yaml")
    libero = config.scenes[0].libero
    assert libero is not None
    assert (libero.suite, len(libero.tasks), libero.state) == ("libero_spatial", 3, "settled")
    assert config.cameras == ("agentview", "robot0_eye_in_hand")
    assert (config.size, config.mitsuba.spp, config.mitsuba.denoise) == ((256, 256), 16, True)
    assert len(config.randomize) == 3


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("sede", 1, "x.yaml: sede: not a known key. Known: seed, output, "),
        ("sede", 1, "Did you mean 'seed'?"),
        ("seed", "x", "x.yaml: seed: 'x' should be an integer."),
        ("seed", True, "x.yaml: seed: True should be an integer."),
        ("seed", 1.5, "x.yaml: seed: 1.5 should be an integer."),
        ("seed", -1, "x.yaml: seed: -1 should be greater than or equal to 0."),
        ("workers", 0, "x.yaml: workers: 0 should be greater than or equal to 1."),
        ("limit", 0, "x.yaml: limit: 0 should be greater than or equal to 1."),
        ("output", ".", "x.yaml: output: "),
        ("cameras", [], "x.yaml: cameras: [] should have at least 1 item"),
        ("cameras", "front", "x.yaml: cameras: 'front' should be a list."),
        ("cameras", ["a", "a"], "x.yaml: cameras: ['a', 'a']: lists something twice."),
        ("size", [0, 256], "x.yaml: size.0: 0 should be greater than 0."),
        ("size", [256, 8193], "x.yaml: size.1: 8193 should be less than or equal to 8192."),
        ("size", [256], "x.yaml: size.1: this setting is required."),
        (
            "backends",
            ["mojoco"],
            "x.yaml: backends.0: 'mojoco' is not known. Known: mitsuba, mujoco, newton. "
            "Did you mean 'mujoco'?",
        ),
        ("passes", ["nrmal"], "passes.0: 'nrmal' is not known. Known: distance, normal, "),
        ("mitsuba.spp", 32, "x.yaml: mitsuba.spp: 32 should be one of 1, 4, 16, 64, 256"),
        ("mitsuba.spp", 0, "x.yaml: mitsuba.spp: 0 should be one of 1, 4, 16, 64, 256"),
        ("mitsuba.denoise", "no", "x.yaml: mitsuba.denoise: 'no' should be true or false."),
        ("mitsuba.varient", "llvm", "mitsuba.varient: not a known key. Known: spp, denoise, "),
        ("mujoco.colorspace", "sRGB", "'sRGB' is not known. Known: native, display."),
        ("parquet.rgb", "jpeg", "x.yaml: parquet.rgb: 'jpeg' is not known. Known: webp, png."),
        ("scenes", [], "x.yaml: scenes: [] should have at least 1 item"),
        ("scenes.0", {"libro": {}}, "scenes.0.libro: not a known key. Known: libero, mjcf, urdf, "),
        ("scenes.0", {}, "scenes.0: {}: a source is exactly one of: libero, mjcf, urdf, usd."),
        ("scenes.0.mjcf", {}, "x.yaml: scenes.0.mjcf.path: this setting is required."),
        ("scenes.0", {"libero": {"suite": "s", "state": "setled"}}, "Did you mean 'settled'?"),
        (
            "scenes.0",
            {"libero": {"suite": "s", "tasks": [0, 1.5]}},
            "x.yaml: scenes.0.libero.tasks.1: 1.5 should be an integer or a text.",
        ),
        (
            "scenes.0",
            {"libero": {"suite": "s", "tasks": "al"}},
            "x.yaml: scenes.0.libero.tasks: 'al' is not known. Known: all.",
        ),
        (
            "scenes.0",
            {"libero": {"suite": "s", "initial_states": {"cont": 3}}},
            "scenes.0.libero.initial_states.cont: not a known key. Known: count.",
        ),
        (
            "scenes.0",
            {"libero": {"suite": "s", "initial_states": [-1]}},
            "scenes.0.libero.initial_states.0: -1 should be greater than or equal to 0.",
        ),
        (
            "randomize",
            [{"type": "ligth"}],
            "x.yaml: randomize.0.type: 'ligth' is not known. Known: camera_pose, light, "
            "object_pose. Did you mean 'light'?",
        ),
        ("randomize", [{"scope": "run"}], "randomize.0.type: this setting is required. Known: "),
        (
            "randomize",
            [{"type": "light", "intensty": 3}],
            "x.yaml: randomize.0.intensty: not a known key. Known: ",
        ),
        (
            "randomize",
            [{"type": "light", "intensity": {"uniforn": [1, 2]}}],
            "Did you mean 'uniform'?",
        ),
        (
            "randomize",
            {"lamp": {"type": "light", "intensity": 1.0}, "desk": {"type": "light", "tlt": 3}},
            "x.yaml: randomize.desk.tlt: not a known key. Known: type, name, ",
        ),
        (
            "randomize",
            {"light": {"intensity": {"uniforn": [1, 2]}}},
            "x.yaml: randomize.light.intensity: ",
        ),
        ("randomize", {"light": {}}, "x.yaml: randomize.light: "),
    ],
)
def test_wrong_value_is_told_by_file_key_value_and_what_is_allowed(
    key: str, value: Any, expected: str
) -> None:
    assert expected in problem(with_value(key, value))


def test_all_problems_are_told_one_per_line() -> None:
    data = with_value("seed", "x") | {"size": [0, 0], "sede": 1}
    lines = problem(data).splitlines()
    assert len(lines) == 4
    assert all(line.startswith("x.yaml: ") for line in lines)


def test_bad_item_is_not_told_again_as_a_list_too_short() -> None:
    assert len(problem(with_value("backends", ["mojoco"])).splitlines()) == 1


def test_missing_settings_are_named() -> None:
    assert problem({}).splitlines() == [
        f"x.yaml: {key}: this setting is required." for key in ("output", "scenes", "cameras")
    ]


@pytest.mark.parametrize("name", ["hdr", "normal"])
def test_pass_that_no_chosen_backend_gives_is_refused(name: str) -> None:
    data = with_value("passes", [name])
    able = [backend for backend, passes in capabilities().items() if name in passes]
    assert problem(data | {"backends": ["mujoco"]}) == (
        f"x.yaml: the pass {name!r} needs one of the backends {', '.join(able)}; "
        "backends lists mujoco."
    )
    config = RunConfig.from_data(data | {"backends": ["mujoco", "mitsuba"]})
    assert config.buffers == {"rgb", "part", "depth", name}


def test_backend_settings_are_the_options_of_the_backends() -> None:
    config = RunConfig.from_data(SMALL)
    for backend, section in (
        (MitsubaBackend, config.mitsuba),
        (MujocoBackend, config.mujoco),
    ):
        options = inspect.signature(backend).parameters
        for name, value in section.model_dump().items():
            assert options[name].default == value


def test_infinite_number_is_refused() -> None:
    data = with_value("randomize", [{"type": "light", "intensity": float("inf")}])
    assert "randomize.0" in problem(data)


def test_config_is_frozen() -> None:
    config = RunConfig.from_data(SMALL)
    with pytest.raises(ValueError, match="frozen"):
        config.seed = 3  # pyright: ignore[reportAttributeAccessIssue]


def test_config_survives_a_round_trip_through_json() -> None:
    config = load_config(CONFIGS / "libero.yaml")
    again = RunConfig.from_data(config.model_dump(mode="json"), config.file)
    assert again == config


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("-1.5", -1.5),
        (".5", 0.5),
        ("010", 10),
        ("1:30", "1:30"),
        ("no", "no"),
        ("on", "on"),
        ("true", True),
        ("2024-01-01", "2024-01-01"),
        ("1_000", "1_000"),
        ("~", None),
        ("", None),
        ("{1: a}", {"1": "a"}),
    ],
)
def test_yaml_has_no_surprising_values(text: str, value: Any) -> None:
    assert parse_yaml(text, "x") == value
    assert type(parse_yaml(text, "x")) is type(value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: 2\na: 3\n", "x.yaml: line 3, column 1: the key 'a' stands here twice."),
        ("a: [1", "x.yaml: line 1, column 6: while parsing a flow sequence, expected "),
        ("a: !!python/object/apply:os.getcwd []", "could not determine a constructor for the tag"),
        ("? [1]\n: 2", "a key must be a plain word"),
        ("a: \0", "not YAML"),
        ("a: 1\n---\nb: 2", "expected a single document in the stream"),
    ],
)
def test_yaml_that_is_unsafe_or_ambiguous_is_refused(text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text, "x.yaml")
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_config_that_contains_itself_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_yaml("a: &a [*a]", "x.yaml")
    assert str(caught.value) == "x.yaml: a part of it contains itself."


def test_aliases_that_multiply_without_end_are_refused() -> None:
    lines = ["a0: &a0 [1, 2]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40))]
    with pytest.raises(ConfigError, match=r"^x\.yaml: holds more than 1000000 values once"):
        parse_yaml("\n".join(lines), "x.yaml")


def test_override_of_an_alias_leaves_what_it_was_taken_from() -> None:
    data = parse_yaml("a: &a {k: 1}\nb: *a\nc: [*a]", "x.yaml")
    apply_overrides(data, ["b.k=2"])
    assert data == {"a": {"k": 1}, "b": {"k": 2}, "c": [{"k": 1}]}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "there is no such file"),
        (b"\xff\xfe\x00", "not a text file in UTF-8"),
        (b"- 1", "holds a list where settings"),
        (b"7", "holds 7 where settings"),
        (b"#" * (2**23 + 1), "holds more than 8 MiB; not a config"),
        (b"a: " + b"[" * 10000, "not YAML: nested too deep"),
    ],
)
def test_file_that_is_no_config_is_refused(
    tmp_path: Path, content: bytes | None, expected: str
) -> None:
    path = tmp_path / "x.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=expected):
        load_config(path)


def test_overrides_reach_maps_lists_and_sections_that_are_not_there() -> None:
    data = copy.deepcopy(SMALL)
    apply_overrides(
        data,
        ["mitsuba.spp=64", "scenes.0.mjcf.path=b.xml", "cameras.1=top", "size=[64, 48]"],
    )
    config = RunConfig.from_data(data)
    assert (config.mitsuba.spp, config.cameras, config.size) == (64, ("front", "top"), (64, 48))
    assert config.scenes[0].mjcf is not None
    assert config.scenes[0].mjcf.path == Path("b.xml")


def test_options_of_the_command_line_win_over_overrides() -> None:
    config = load_config(
        CONFIGS / "mjcf.yaml", ["seed=2", "workers=2", "randomize.light.intensity=1"], {"seed": 3}
    )
    assert (config.seed, config.workers) == (3, 2)
    assert config.model_dump(mode="json")["randomize"][0]["intensity"] == {"constant": 1.0}


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("spp=64", "--set spp=64: spp: not a known key."),
        ("spp=64", "Did you mean 'mitsuba.spp'?"),
        ("codec=png", "--set codec=png: codec: not a known key."),
        ("mitsuba.sppp=64", "Did you mean 'spp'?"),
        ("mitsuba={spp: 3}", "--set mitsuba={spp: 3}: mitsuba.spp: 3 should be"),
        ("seeed=1", "Did you mean 'seed'?"),
    ],
)
def test_wrong_override_is_told_as_an_override(override: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(CONFIGS / "mjcf.yaml", [override])
    assert expected in str(caught.value)
    assert "mjcf.yaml" not in str(caught.value)


def test_override_that_names_what_is_not_there_is_told_as_an_override() -> None:
    config = load_config(CONFIGS / "mjcf.yaml", ["scenes.0.mjcf.path=gone.xml", "cameras=[tpo]"])
    with pytest.raises(ConfigError, match=r"^--set scenes\.0\.mjcf\.path=gone\.xml: scenes\.0"):
        plan_scenes(config)
    with pytest.raises(ConfigError, match=r"^--set cameras=\[tpo\]: cameras\.0"):
        check_cameras(config, "a", ["top"])


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("seed", "write it as key=value"),
        ("=3", "write it as key=value"),
        ("a..b=3", "write it as key=value"),
        ("cameras.7=top", "cameras is a list of 1; '7' is not an index from 0 to 1"),
        ("cameras.-1=top", "'-1' is not an index"),
        ("output.a=1", "output is 'out/small' and holds no keys"),
        ("seed=[1", "--set seed=[1: line 1"),
    ],
)
def test_override_that_leads_nowhere_is_refused(override: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        apply_overrides(copy.deepcopy(SMALL), [override])
    assert expected in str(caught.value)


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    )
)
def test_any_data_is_either_a_config_or_refused_with_whole_sentences(value: Any) -> None:
    for data in (value, SMALL | {"scenes": value}, SMALL | {"randomize": [value]}):
        try:
            RunConfig.from_data(data, "x.yaml")
        except ConfigError as error:
            assert str(error).startswith("x.yaml: ")


def test_cache_folder_follows_the_documented_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.delenv("DATAGEN_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == Path("/home/ada/.cache/datagen")
    monkeypatch.setenv("XDG_CACHE_HOME", "/big")
    assert RunConfig.from_data(SMALL).cache == Path("/big/datagen")
    monkeypatch.setenv("DATAGEN_CACHE", "~/scenes")
    assert cache_folder() == Path("/home/ada/scenes")


def libero(**settings: Any) -> RunConfig:
    source = {"suite": "libero_spatial"} | settings
    return RunConfig.from_data(SMALL | {"scenes": [{"libero": source}]}, "x.yaml")


@pytest.mark.libero
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"suite": "libero_spacial"}, "scenes.0.libero.suite: 'libero_spacial' is not known."),
        ({"suite": "libero_spacial"}, "Did you mean 'libero_spatial'?"),
        ({"tasks": [0, 10]}, "scenes.0.libero.tasks.1: 10 is not known. Known: 0, 1, 2,"),
        ({"tasks": ["pick_up"]}, "scenes.0.libero.tasks.0: 'pick_up' is not known. Known: pick_"),
        ({"initial_states": [0, 50]}, "initial_states.1: 50 is out of range: "),
        ({"initial_states": {"count": 51}}, "initial_states.count: 51 is too many: "),
    ],
)
def test_unknown_libero_names_are_refused_by_the_catalogue(
    settings: dict[str, Any], expected: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        plan_scenes(libero(**settings))
    assert str(caught.value).startswith("x.yaml: scenes.0.libero.")
    assert expected in str(caught.value)


@pytest.mark.libero
def test_libero_source_gives_a_scene_per_task_and_a_state_per_initial_state() -> None:
    plans = plan_scenes(libero(tasks=[3, 0], initial_states=[5, 2], state="stored"))
    assert [plan.scene_id for plan in plans] == ["libero_spatial_03", "libero_spatial_00"]
    assert [(state.name, state.initial_state) for state in plans[0].states] == [
        ("stored_005", 5),
        ("stored_002", 2),
    ]
    assert plans[0].source.startswith("libero/libero_spatial/pick_up_the_black_bowl")
    assert len(plan_scenes(libero())) == 10


@pytest.mark.libero
def test_scene_that_stands_twice_is_refused() -> None:
    sources = [{"libero": {"suite": "libero_spatial", "tasks": tasks}} for tasks in ([0, 1], [1])]
    config = RunConfig.from_data(SMALL | {"scenes": sources}, "x.yaml")
    with pytest.raises(ConfigError, match=r"x.yaml: scenes.1: the scene libero_spatial_01 "):
        plan_scenes(config)


def test_missing_model_file_is_refused_with_the_path_tried(tmp_path: Path) -> None:
    path = tmp_path / "gone.xml"
    config = RunConfig.from_data(with_value("scenes.0.mjcf.path", str(path)), "x.yaml")
    with pytest.raises(ConfigError) as caught:
        plan_scenes(config)
    assert str(caught.value).startswith(f"x.yaml: scenes.0.mjcf.path: '{path}' does not exist")


def test_keyframe_name_cannot_lead_out_of_the_scene_folder(tmp_path: Path) -> None:
    path = tmp_path / "a b.xml"
    path.write_text("<mujoco/>")

    def source(keyframe: str) -> dict[str, Any]:
        return SMALL | {"scenes": [{"mjcf": {"path": str(path), "keyframe": keyframe}}]}

    (plan,) = plan_scenes(RunConfig.from_data(source("home 2")))
    assert (plan.scene_id, plan.states[0].name) == ("a_b", "home 2")
    assert "x.yaml: scenes.0.mjcf.keyframe: '../home' should " in problem(source("../home"))


def test_unknown_camera_is_refused_with_those_of_the_scene() -> None:
    config = RunConfig.from_data(with_value("cameras", ["front", "topp"]), "x.yaml")
    check_cameras(config, "desk", ["front", "topp"])
    with pytest.raises(ConfigError) as caught:
        check_cameras(config, "desk", ["front", "top"])
    assert str(caught.value) == (
        "x.yaml: cameras.1: 'topp' is not known. Known: front, top. Did you mean 'top'? "
        "(scene desk)"
    )


def test_unknown_camera_of_a_scene_without_cameras_is_told_so() -> None:
    with pytest.raises(ConfigError, match=r"'front' is not known\. There are none\. \(scene desk"):
        check_cameras(RunConfig.from_data(SMALL), "desk", [])


def test_shipped_configs_hold_no_machine_paths() -> None:
    for file in CONFIGS.glob("*.yaml"):
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
        assert not Path(data["output"]).is_absolute()
