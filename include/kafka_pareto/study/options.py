"""Options of campaigns and moves, for `make`, Airflow's forms and the steps. Imports little, for DAG files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from kafka_pareto.errors import BadInputError
from kafka_pareto.study.cases import CASE
from kafka_pareto.study.identifiers import (
    CAMPAIGN_IDS,
    CHANGES_NAME,
    CONFIGURATION_ID,
    FACTOR_NAME,
    LEVELS,
    MOST_RECORD_SIZE_BYTES,
    SENSITIVE_NAMES,
)

LONGEST_REASON = 500

MAKE_NAMES = {
    "bootstrap_servers": "KAFKA",
    "client_config": "KAFKA_CONFIG",
    "case": "RECORD_SIZE",
    "value_schema": "SCHEMA",
}
"""Names in `make` that are not the option's own in capitals."""

COMMAND_NAMES = {
    "bootstrap_servers": "kafka",
    "client_config": "config",
    "kafka_config": "config",
    "case": "record_size",
    "value_schema": "schema",
}
"""Names in the command that are not the option's own."""

COMMAND_ALIASES = {"consent": ("--yes", "-y")}
"""Further names of an option in the command; messages use the first."""

STUDY_HELP = "The study's name; on the command line also the path of a file, by default quick."
CAMPAIGN_HELP = "Resume this campaign. Empty: start a new one."

_UNITS = {"_mib_s": " (MiB/s)", "_gib": " (GiB)", "_s": " (s)"}

PATTERN_RULES = {
    "campaign": "must be 1 to 63 letters, digits, '-' or '_'",
    "study": "must be lower-case letters, digits, '-' or '_'",
    "parts": "must be names of lower-case letters, digits, '-' or '_'",
    "case": "must be lower-case letters, digits, '-' or '_'",
    "baseline": "must not contain security settings (sasl, ssl, passwords)",
    "warm_start": "must be latest, or ids of campaigns like id,id",
    "bootstrap_servers": "must be like host:port,host:port",
    "client_config": "must be the name of a file, of letters, digits, '.', '-' or '_'",
    "factor": "must be the name of a setting, like linger.ms or bulk_max_size",
    "levels": "must be like 0,5,20 or none,lz4 or 60%,500/s, without spaces around commas",
    "configuration": "must be the id of a configuration, c and ten hexadecimal digits",
    "changes_seen": "must be the name printed by the step accept, like 0123456789",
    "topic": "must be 1 to 230 letters, digits, '.', '_' or '-'",
    "resume": "must be 1 to 63 letters, digits, '-' or '_'",
    "active": "must be lower-case letters, digits, '-' or '_'",
    "listen": "must be like host:port",
}
"""Rules of the options' patterns in words."""


def option_words(option: str) -> str:
    """Return the command's name of an option in words: the title of its field in Airflow's forms."""
    name = COMMAND_NAMES.get(option, option)
    unit = next((each for each in _UNITS if name.endswith(each)), "")
    words = name.removesuffix(unit).replace("_", " ").capitalize()
    return words + _UNITS.get(unit, "")


class Options(BaseModel):
    """Base of option models; None means not given. Titles are the command's words."""

    model_config = ConfigDict(extra="forbid", frozen=True, field_title_generator=lambda name, _: option_words(name))


def plain(text: str) -> str:
    """Return a person's text in one line without terminal control characters."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def _split(given: Any) -> Any:
    return [part.strip() for part in given.split(",")] if isinstance(given, str) else given


def _each_once(given: list[Any] | None) -> list[Any] | None:
    if given is not None and len(set(given)) < len(given):
        raise ValueError("must not repeat a value")
    return given


def _versions(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    try:
        return {case: int(version) for case, version in (each.split("=") for each in given.split(",") if each)}
    except ValueError as error:
        raise ValueError("must be versions by case, like 1024=3,8192=0") from error


LIST = (BeforeValidator(_split), AfterValidator(_each_once))
"""Validators of an option that takes a list, with commas between the values."""
Words = Annotated[str, AfterValidator(plain)]
Reason = Annotated[str, Field(max_length=LONGEST_REASON, pattern="^[^\\u0000]*$"), AfterValidator(plain)]


class RepetitionOptions(Options):
    """Options of repetitions."""

    seed: int | None = Field(None, ge=0, description="Random seed. Empty: the study's.")
    repetitions: int | None = Field(None, ge=1, description="Repetitions of each configuration. Empty: the study's.")
    cool_down_s: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        description="Pause before each run, in seconds. Empty: the study's.",
    )


class ClusterOptions(Options):
    """An existing cluster, the limits of what is sent there, and the consent."""

    bootstrap_servers: str | None = Field(
        None,
        pattern="^[A-Za-z0-9._-]+:[0-9]{1,5}(,[A-Za-z0-9._-]+:[0-9]{1,5})*$",
        description="Bootstrap servers of your cluster, as host:port,… Needs both ceilings and your consent.",
    )
    client_config: str | None = Field(
        None,
        pattern="^[A-Za-z0-9._-]+$",
        description="The cluster's client.properties (SASL, TLS). The command takes a path; the form takes the name of "
        "a file in the installation's folder.",
    )
    ceiling_mib_s: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="Highest rate sent to your cluster, in MiB/s. At most the study's ceiling.",
    )
    ceiling_gib: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="Largest total sent to your cluster, in GiB. At most the study's ceiling.",
    )
    consent: bool = Field(
        False,
        description="Consent: start on your cluster, as planned.",
    )


class MeasuringOptions(ClusterOptions, RepetitionOptions):
    """Options of every kind of campaign."""


RecordSizes = Annotated[
    list[Annotated[int, Field(ge=1, le=MOST_RECORD_SIZE_BYTES)]] | None,
    *LIST,
    Field(
        description="Sizes in bytes: 1024,8192 on the command line, [1024, 8192] in the form. Empty: the study's.",
        json_schema_extra={"uniqueItems": True},
    ),
]


class TuneOptions(Options):
    """Additional options of tuning campaigns."""

    record_sizes: RecordSizes = None
    baseline: str | None = Field(
        None,
        max_length=10_000,
        description="Your current settings, to replace the study's baseline. The command takes a file (Java or Spring "
        "properties, YAML, or a librdkafka configuration); the form takes the text of a producer.properties "
        "without secrets.",
        # The step rejects such text too, naming the property.
        json_schema_extra={"format": "multiline", "pattern": f"^(?![\\s\\S]*({SENSITIVE_NAMES}))"},
    )
    warm_start: str | None = Field(
        None,
        pattern=f"^{CAMPAIGN_IDS}$",
        description="Earlier campaigns to learn from, if the study has rounds: latest, or IDs like id,id.",
    )


class CompareOptions(Options):
    """Additional options of comparisons."""

    parts: Annotated[
        list[Annotated[str, Field(pattern=f"^{CASE}$")]] | None,
        *LIST,
        Field(
            description='Parts to measure: acks,grid on the command line, ["acks", "grid"] in the form. Empty: all.',
            json_schema_extra={"uniqueItems": True},
        ),
    ] = None
    factor: str | None = Field(
        None,
        pattern=f"^{FACTOR_NAME}$",
        description="A single factor to vary instead of the study's parts, like linger.ms. Needs its levels.",
    )
    levels: str | None = Field(
        None,
        pattern=f"^{LEVELS}$",
        description="Levels of the factor, like 0,5,20 or 60%,500/s. The reference's level is added if missing.",
    )


class DesignOptions(MeasuringOptions, CompareOptions, TuneOptions):
    """Options of the step `design`, whatever the study's kind."""


class Approval(Options):
    """Options for the end of a tuning campaign."""

    approval: bool = Field(
        False,
        description="The recommended settings become active only after approval in Airflow.",
    )


_OF_KIND = {"tune": {*TuneOptions.model_fields, *Approval.model_fields}, "compare": {*CompareOptions.model_fields}}


def require_of_kind(said: Iterable[str], kind: str, study: str) -> None:
    """Refuse options that studies of this kind do not have."""
    others = {other for each, names in _OF_KIND.items() if each != kind for other in names}
    if foreign := [name.upper() for name in said if name in others]:
        instead = "; set the study's reference instead" if foreign[0] == "BASELINE" else ""
        raise BadInputError(f"{foreign[0]}: study {study} is of kind {kind}, which has no such option{instead}")


class Move(Options):
    """A request to change the active settings of one case.

    `request` identifies a retry, which announces the earlier move again and leaves later changes alone. An empty
    `cluster` is the installation's own; None allows any.
    """

    case: str | None = Field(
        None,
        pattern=f"^({CASE})?$",
        description="The record size in bytes, or the name of another case. Required for a rollback. Empty when "
        "accepting: every case with a recommendation.",
    )
    from_version: int | None = Field(
        None,
        ge=0,
        description="The version that must still be active. 0: no settings may be active. Empty: not checked.",
    )
    by: Words = Field("", description="Who requests it.")
    reason: Annotated[Reason, Field(description="Stored with the version.")] = ""
    request: Words = Field("", description="ID of the request. A repeated request changes nothing.")
    cluster: str | None = Field(None, description="Change settings of this cluster only. Empty: the installation's.")


class Wanted(Move):
    """The settings to activate, and a person's answer; with `ask`, a person is asked first.

    `seen` has the active version by case at the time of the question, 0 for none.
    """

    configuration: str | None = Field(
        None,
        pattern=f"^({CONFIGURATION_ID})?$",
        description="A configuration that the campaign has confirmed. Empty: the recommended one.",
    )
    changes_seen: str = Field(
        "",
        pattern=f"^({CHANGES_NAME})?$",
        description="Cluster changes since measuring that you accept: the name in the step's message. Empty: none.",
    )
    ask: bool = Field(False, description="Request approval first and change nothing yet.")
    answer: Literal["approve", "reject", "not_asked"] = Field(
        "not_asked", description="The person's answer, if one was asked."
    )
    answered_at: AwareDatetime | None = Field(None, description="Time of the answer, in ISO 8601. Empty: now.")
    asked_at: AwareDatetime | None = Field(None, description="Time of the question, in ISO 8601. Empty: now.")
    seen: Annotated[dict[str, int], BeforeValidator(_versions)] = Field(
        default_factory=dict, description="Active versions that the person was shown, by case: 1024=3,8192=0."
    )


AnyOptions = TypeVar("AnyOptions", bound=BaseModel)


def read_options(model: type[AnyOptions], given: Mapping[str, Any], written: Callable[[str], str]) -> AnyOptions:
    """Parse the given values as the model's fields; raises BadInputError, naming fields as `written`, line by line."""
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        raise BadInputError("\n".join(_problems(error, given, written))) from None


def _problems(error: ValidationError, given: Mapping[str, Any], written: Callable[[str], str]) -> Iterable[str]:
    for problem in error.errors():
        name = str(problem["loc"][0])
        is_shown = name in given and len(str(given[name])) <= LONGEST_REASON  # a whole file may hold a secret
        shown = f"{written(name)}={given[name]}:" if is_shown else written(name)
        yield f"{shown} {_rule(name, problem['type'], problem['msg'], problem.get('ctx', {}))}"


def _rule(name: str, kind: str, said: str, context: Mapping[str, Any]) -> str:
    rules = {
        "missing": "is missing",
        "int_parsing": "must be a whole number",
        "int_from_float": "must be a whole number",
        "float_parsing": "must be a number",
        "finite_number": "must be a number",
        "bool_parsing": "must be yes or no",
        "greater_than": f"must be above {context.get('gt', 0):g}",
        "greater_than_equal": f"must be at least {context.get('ge', 0):g}",
        "less_than_equal": f"must be at most {context.get('le', 0):.16g}",
        "string_too_long": f"must have at most {context.get('max_length')} characters",
        "string_pattern_mismatch": PATTERN_RULES.get(name, f"must match {context.get('pattern')}"),
        "literal_error": f"must be one of {context.get('expected')}",
        "datetime_from_date_parsing": "must be a time in ISO 8601",
        "timezone_aware": "must be a time in ISO 8601 with its zone",
        "value_error": str(context.get("error")),
    }
    return rules.get(kind, said)
