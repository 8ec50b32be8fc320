"""Templates of pages that are one file each: style and script stand inside, by their hash."""

from __future__ import annotations

import base64
import hashlib

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def page_environment(package: str) -> Environment:
    """Give the environment of a package's folder `templates`; it escapes what it is given."""
    return Environment(
        loader=PackageLoader(package, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def inline_asset(environment: Environment, name: str) -> Markup:
    """Give the text of a style sheet or script, to stand in a page as it is."""
    assert environment.loader is not None
    return Markup(environment.loader.get_source(environment, name)[0])


def content_hash(text: str) -> str:
    """Give the hash by which a page's security policy knows a style or script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
