"""The Airflow forms, the command and the explorer name an option by the same words."""

from __future__ import annotations

import pytest
import typer.main
from typer import Typer

from kafka_pareto.command_line import with_options
from kafka_pareto.study.options import Options, option_words
from kafka_pareto.study.requests import RollBackRequest, RunRequest
from kafka_pareto_airflow.forms import active_settings_parameters, comparison_parameters, tune_parameters
from kafka_pareto_embedded.terminal.as_typed import command_name

pytestmark = pytest.mark.fast

STUDIES = ["quick"]
FORMS = {
    "tune": (tune_parameters(STUDIES), RunRequest),
    "compare": (comparison_parameters(STUDIES), RunRequest),
    "active settings": (active_settings_parameters(STUDIES), RollBackRequest),
}
SAME = [
    (form, option)
    for form, (parameters, request) in FORMS.items()
    for option in parameters
    if option in request.model_fields and (form, option) != ("active settings", "study")
]


def letters(words: str) -> str:
    """Return the words in the form of an option: `Ceiling (MiB/s)` as `ceiling-mib-s`."""
    return words.lower().replace("(", "").replace(")", "").replace("/", "-").replace(" ", "-")


def help_of(request: type[Options], option: str) -> tuple[list[str], str]:
    """Return an option's names and help in the command itself."""

    def main() -> None:
        """Run nothing."""

    app = Typer()
    app.command()(with_options(request, command_name)(main))
    found = next(each for each in typer.main.get_command(app).params if each.name == option)
    return list(found.opts), str(getattr(found, "help", ""))


@pytest.mark.parametrize(("form", "option"), SAME)
def test_a_form_shows_an_option_by_the_name_and_the_help_of_the_command(form: str, option: str) -> None:
    parameters, request = FORMS[form]
    shown = parameters[option]
    names, text = help_of(request, option)
    assert names == [f"--{letters(shown.schema['title'])}"]
    assert text.removesuffix(" Default: quick.") == shown.description


@pytest.mark.parametrize("form", FORMS)
def test_every_field_of_a_form_has_a_description_and_the_words_of_its_option(form: str) -> None:
    for option, parameter in FORMS[form][0].items():
        assert parameter.schema["title"] == option_words(option)
        assert parameter.description
