"""Load the templates of self-contained HTML pages."""

from __future__ import annotations

import jinja2


def html_templates(*packages: str) -> jinja2.Environment:
    """Return the templates of these packages, which escape all values and reject undefined ones."""
    return jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(each) for each in packages]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
