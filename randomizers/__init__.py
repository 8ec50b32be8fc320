"""Randomizers: what varies from sample to sample, drawn so that any sample can be made again."""

from randomizers.camera_pose import CameraPose, Orbit
from randomizers.checks import Check, Overlap, check_interpenetration, overlaps
from randomizers.config import RandomizerConfig, RandomizeSection
from randomizers.distribution_parsing import parse_distribution
from randomizers.distributions import Distribution
from randomizers.draw import Draw, SampleId, parse_recipe, recipe_json
from randomizers.errors import RandomizerError
from randomizers.light import Light
from randomizers.object_pose import ObjectPose
from randomizers.sampling import Outcome, bind, randomize, replay
from randomizers.streams import Scope, stream

__all__ = [
    "CameraPose",
    "Check",
    "Distribution",
    "Draw",
    "Light",
    "ObjectPose",
    "Orbit",
    "Outcome",
    "Overlap",
    "RandomizeSection",
    "RandomizerConfig",
    "RandomizerError",
    "SampleId",
    "Scope",
    "bind",
    "check_interpenetration",
    "overlaps",
    "parse_distribution",
    "parse_recipe",
    "randomize",
    "recipe_json",
    "replay",
    "stream",
]
