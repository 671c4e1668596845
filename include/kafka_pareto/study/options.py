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

MAKE_NAMES = {"bootstrap_servers": "KAFKA", "client_config": "KAFKA_CONFIG", "case": "RECORD_SIZE"}
"""Names in `make` that are not the option's own in capitals."""

PATTERN_RULES = {
    "campaign": "must be 1 to 63 letters, digits, '-' or '_'",
    "study": "must be lower-case letters, digits, '-' or '_'",
    "case": "must be lower-case letters, digits, '-' or '_'",
    "baseline": "must name no sasl, ssl, password or the like",
    "warm_start": "must be latest, or ids of campaigns like id,id",
    "bootstrap_servers": "must be like host:port,host:port",
    "client_config": "must be the name of a file, of letters, digits, '.', '-' or '_'",
    "factor": "must be the name of a setting, like linger.ms or bulk_max_size",
    "levels": "must be like 0,5,20 or none,lz4 or 60%,500/s, without a space at a comma",
    "configuration": "must be the id of a configuration, c and ten hexadecimal digits",
    "changes_seen": "must be a name that the step accept has given, like 0123456789",
}
"""Rules of the options' patterns in words."""


class Options(BaseModel):
    """Base of option models; None means not given."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def plain(text: str) -> str:
    """Return a person's text in one line without terminal control characters."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def _split(given: Any) -> Any:
    return [part.strip() for part in given.split(",")] if isinstance(given, str) else given


def _each_once(given: list[Any] | None) -> list[Any] | None:
    if given is not None and len(set(given)) < len(given):
        raise ValueError("must name each once")
    return given


def _versions(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    try:
        return {case: int(version) for case, version in (each.split("=") for each in given.split(",") if each)}
    except ValueError as error:
        raise ValueError("must be versions by case, like 1024=3,8192=0") from error


_LIST = (BeforeValidator(_split), AfterValidator(_each_once))
Words = Annotated[str, AfterValidator(plain)]


class MeasuringOptions(Options):
    """Options of every kind of campaign."""

    seed: int | None = Field(None, ge=0, title="Seed", description="Random seed, instead of the study's.")
    repetitions: int | None = Field(
        None, ge=1, title="Repetitions", description="Of each configuration, instead of the study's."
    )
    cool_down_s: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        title="Pause in seconds",
        description="Before every load, instead of the study's.",
    )
    bootstrap_servers: str | None = Field(
        None,
        pattern="^[A-Za-z0-9._-]+:[0-9]{1,5}(,[A-Za-z0-9._-]+:[0-9]{1,5})*$",
        title="Bootstrap servers",
        description="host:port,… of a cluster of your own. It needs both ceilings and your consent.",
    )
    client_config: str | None = Field(
        None,
        pattern="^[A-Za-z0-9._-]+$",
        title="Client configuration",
        description="Name of a client.properties file (SASL, TLS) in the installation's folder for these.",
    )
    ceiling_mib_s: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        title="Ceiling in MiB/s",
        description="The load on a cluster of your own never exceeds this rate. No more than the study's.",
    )
    ceiling_gib: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        title="Ceiling in GiB",
        description="The campaign never sends more than this to a cluster of your own. No more than the study's.",
    )
    consent: bool = Field(
        False,
        title="Consent",
        description="The campaign may start on a cluster of your own, as planned.",
    )


class TuneOptions(Options):
    """Additional options of tuning campaigns."""

    record_sizes: Annotated[
        list[Annotated[int, Field(ge=1, le=MOST_RECORD_SIZE_BYTES)]] | None,
        *_LIST,
        Field(
            title="Record sizes in bytes",
            description="A list like [1024, 8192], instead of the study's; empty: the study's.",
            json_schema_extra={"uniqueItems": True},
        ),
    ] = None
    baseline: str | None = Field(
        None,
        max_length=10_000,
        title="Baseline",
        description="The producer.properties that you use today, instead of the study's baseline. No secrets: text "
        "that names sasl, ssl, a password or the like is refused.",
        # The step rejects such text too, naming the property.
        json_schema_extra={"format": "multiline", "pattern": f"^(?![\\s\\S]*({SENSITIVE_NAMES}))"},
    )
    warm_start: str | None = Field(
        None,
        pattern=f"^{CAMPAIGN_IDS}$",
        title="Warm start",
        description="Earlier campaigns to learn from, for a study in rounds: latest, or ids like id,id.",
    )


class CompareOptions(Options):
    """Additional options of comparisons."""

    parts: Annotated[
        list[Annotated[str, Field(pattern=f"^{CASE}$")]] | None,
        *_LIST,
        Field(
            title="Parts",
            description='A list like ["acks", "grid"], the only parts of the study to measure; empty: all.',
            json_schema_extra={"uniqueItems": True},
        ),
    ] = None
    factor: str | None = Field(
        None,
        pattern=f"^{FACTOR_NAME}$",
        title="Factor",
        description="The one factor to vary, like linger.ms, instead of the study's parts. It needs its levels.",
    )
    levels: str | None = Field(
        None,
        pattern=f"^{LEVELS}$",
        title="Levels",
        description="Of that factor, like 0,5,20 or 60%,500/s. The reference's level is added where it is missing.",
    )


class DesignOptions(MeasuringOptions, CompareOptions, TuneOptions):
    """Options of the step `design`, whatever the study's kind."""


class Approval(Options):
    """Options for the end of a tuning campaign."""

    approval: bool = Field(
        False,
        title="Approval",
        description="What is recommended comes into force only when somebody has approved it in Airflow.",
    )


_OF_KIND = {"tune": {*TuneOptions.model_fields, *Approval.model_fields}, "compare": {*CompareOptions.model_fields}}


def require_of_kind(said: Iterable[str], kind: str, study: str) -> None:
    """Refuse options that studies of this kind do not have."""
    others = {other for each, names in _OF_KIND.items() if each != kind for other in names}
    if foreign := [name.upper() for name in said if name in others]:
        raise BadInputError(f"{foreign[0]}: study {study} is of kind {kind}, which has no such option")


class Move(Options):
    """A request to move the settings in force of one case.

    `request` identifies a retry, which announces the earlier move again and leaves later changes alone. An empty
    `cluster` is the installation's own; None allows any.
    """

    case: str | None = Field(
        None,
        pattern=f"^({CASE})?$",
        title="Case",
        description="A record size in bytes. Empty: all that the campaign recommends. Going back needs it.",
    )
    from_version: int | None = Field(
        None,
        ge=0,
        title="From version",
        description="Refused if another is in force by then; 0: if any is; empty: not looked at.",
    )
    by: Words = Field("", description="Who wants it.")
    reason: Annotated[
        str,
        Field(max_length=LONGEST_REASON, pattern="^[^\\u0000]*$", title="Reason", description="Kept with the version."),
        AfterValidator(plain),
    ] = ""
    request: Words = Field("", description="The same request moves something only once.")
    cluster: str | None = Field(None, description="Moves settings of this one alone; empty: of the installation's own.")


class Wanted(Move):
    """The settings to activate, and a person's answer; with `ask`, a person is asked first.

    `seen` has the active version by case at the time of the question, 0 for none.
    """

    configuration: str | None = Field(
        None,
        pattern=f"^({CONFIGURATION_ID})?$",
        title="Configuration",
        description="One that the campaign has confirmed; empty: what it recommends.",
    )
    changes_seen: str = Field(
        "",
        pattern=f"^({CHANGES_NAME})?$",
        title="Changes seen",
        description="Of the cluster since it was measured: the name by which the step told of them; empty: none.",
    )
    ask: bool = Field(False, description="A person is asked first: nothing moves yet.")
    answer: Literal["approve", "reject", "not_asked"] = Field(
        "not_asked", description="What a person said, where one was asked."
    )
    answered_at: AwareDatetime | None = Field(None, description="When they said so, in ISO 8601; not given: now.")
    asked_at: AwareDatetime | None = Field(None, description="When they were asked, in ISO 8601; not given: just now.")
    seen: Annotated[dict[str, int], BeforeValidator(_versions)] = Field(
        default_factory=dict, description="Versions that the person was shown: 1024=3,8192=0"
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
