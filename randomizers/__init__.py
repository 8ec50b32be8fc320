"""Randomizers: what varies from sample to sample, drawn so that any sample can be made again."""

from randomizers.changes import Changes
from randomizers.config import AnyRandomizer, RandomizeSection
from randomizers.distribution_parsing import parse_distribution
from randomizers.distributions import Distribution
from randomizers.draw import Draw, Drawn, SampleId, parse_recipe, recipe_json
from randomizers.errors import RandomizerError
from randomizers.geometry.checks import Check, Overlap, check_interpenetration, overlaps
from randomizers.geometry.rotations import rotation, rotation_vector, translation
from randomizers.kinds.camera_pose import CameraPose, Orbit
from randomizers.kinds.light import Light
from randomizers.kinds.object_pose import ObjectPose
from randomizers.randomizer import Randomizer
from randomizers.registry import kinds, plugin_versions, randomizer_class
from randomizers.sampling import Outcome, bind, randomize, replay
from randomizers.settings import Factor, Factors, Number, Numbers, Pair, Settings, Triple
from randomizers.streams import Scope, stream
from randomizers.trial import Trial

__all__ = [
    "AnyRandomizer",
    "CameraPose",
    "Changes",
    "Check",
    "Distribution",
    "Draw",
    "Drawn",
    "Factor",
    "Factors",
    "Light",
    "Number",
    "Numbers",
    "ObjectPose",
    "Orbit",
    "Outcome",
    "Overlap",
    "Pair",
    "RandomizeSection",
    "Randomizer",
    "RandomizerError",
    "SampleId",
    "Scope",
    "Settings",
    "Trial",
    "Triple",
    "bind",
    "check_interpenetration",
    "kinds",
    "overlaps",
    "parse_distribution",
    "parse_recipe",
    "plugin_versions",
    "randomize",
    "randomizer_class",
    "recipe_json",
    "replay",
    "rotation",
    "rotation_vector",
    "stream",
    "translation",
]
