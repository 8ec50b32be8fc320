"""What is known of a renderer before it is imported."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from datagen.backends.base import Pass
from datagen.backends.settings import BackendSettings

if TYPE_CHECKING:
    from datagen.backends.honoured import Honoured
    from scenes import Scene


@dataclass(frozen=True)
class BackendEntry:
    """A backend as the registry knows it.

    Places are named as `module:name`, and what lies there is imported when it is needed.
    """

    name: str
    """Word that configs and rows name it by."""
    backend: str
    """Place of its class; see `datagen.backends.base.Backend`."""
    passes: frozenset[Pass]
    """Passes that it gives."""
    honoured: str
    """Place of its `Honoured`: what it makes of the attributes that a sample may change."""
    requires: str
    """Module whose presence says that its renderer is installed."""
    settings: type[BackendSettings] | None = None
    """Model of the config's section of its name; None for a backend without settings."""
    reproducible: bool = True
    """Whether the same sample gives the same bytes again."""
    comparison: Mapping[str, object] = field(default_factory=dict[str, object])
    """Settings that an audit changes, so that it can be compared with another renderer."""
    shows_as_mujoco: bool = False
    """Whether its pictures are MuJoCo's own: its lighting formula and its texture filter."""
    extra: str | None = None
    """Extra of the package that installs the renderer."""
    prepare: str | None = None
    """Place of a function that is called once per run with the settings. What it returns, text by
    name, is given to the class as keyword arguments and joins the versions that decide bytes."""
    refuse: str | None = None
    """Place of a function of a scene and its name in the run that says why it cannot be shown, or
    None; it is asked before any rendering."""

    @property
    def traces_paths(self) -> bool:
        """Whether it gives radiance, so that an exposure decides how bright its pictures are."""
        return "hdr" in self.passes

    def honours(self) -> Honoured:
        """What it makes of the attributes that a sample may change."""
        return load_place(self.honoured)

    def prepared(self, settings: BackendSettings | None) -> dict[str, str]:
        """Find what is found once per run.

        Raises:
            BackendError: The renderer cannot run here.
        """
        if self.prepare is None:
            return {}
        find: Callable[[BackendSettings | None], dict[str, str]] = load_place(self.prepare)
        return find(settings)

    def refusal(self, scene: Scene, scene_id: str) -> str | None:
        """Say why this backend cannot show a scene; None if it can, as far as is known.

        Args:
            scene: The scene.
            scene_id: What the run calls it.
        """
        if self.refuse is None:
            return None
        find: Callable[[Scene, str], str | None] = load_place(self.refuse)
        return find(scene, scene_id)


def load_place(place: str) -> Any:
    """Import what lies at `module:name`.

    Raises:
        ImportError: There is no such module.
        AttributeError: The module has no such name.
    """
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)
