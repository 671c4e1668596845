"""Options passed by `make`, read and refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from kafka_pareto.errors import BadInputError
from kafka_pareto.study.options import DesignOptions, read_options
from kafka_pareto.study.requests import ActiveRequest, RollBackRequest, RunRequest
from kafka_pareto_cli.app import app
from kafka_pareto_cli.options import options_of
from kafka_pareto_embedded.terminal.as_typed import PREFIX, as_typed, make_name

pytestmark = pytest.mark.fast


def given(**options: str) -> dict[str, str]:
    return {"STUDY": "of somebody's shell", **{f"{PREFIX}{name}": value for name, value in options.items()}}


def test_given_options_are_read_and_empty_ones_count_as_not_given() -> None:
    said = given(STUDY="steady", SEED="7", CEILING_GIB="2.5", APPROVAL="yes", CAMPAIGN="", REASON=" ")
    assert options_of(RunRequest, "run", {}, said) == RunRequest(study="steady", seed=7, ceiling_gib=2.5, approval=True)


def test_where_make_passes_nothing_a_missing_option_has_its_name_all_the_same() -> None:
    with pytest.raises(BadInputError) as raised:
        options_of(RollBackRequest, "rollback", {}, given(SEED=""))
    said = str(raised.value).splitlines()
    assert said == [
        "STUDY is missing",
        "RECORD_SIZE is missing",
        "options of make rollback: STUDY, RECORD_SIZE, REASON",
    ]


def test_consent_is_also_called_yes_and_y() -> None:
    for command in ("run", "ingest", "remove-topics"):
        found = typer.main.get_command(app).commands[command].params  # type: ignore[attr-defined]
        consent = next(each for each in found if each.name == "consent")
        assert consent.opts == ["--consent", "--yes", "-y"]


def test_a_reason_keeps_every_character() -> None:
    reason = '$(rm -rf /) "quoted" {{ 1 + 1 }}; --campaign=x'
    said = given(STUDY="quick", RECORD_SIZE="8192", REASON=reason)
    assert options_of(RollBackRequest, "rollback", {}, said).reason == reason


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"STUDY": "quick"}, "RECORD_SIZE is missing"),
        ({"STUDY": "quick", "RECORD_SIZE": "1/2"}, "RECORD_SIZE=1/2: must be lower-case letters, digits, '-' or '_'"),
        ({"STUDY": "../quick", "RECORD_SIZE": "1"}, "STUDY=../quick: must be lower-case letters, digits, '-' or '_'"),
        (
            {"STUDY": "quick", "RECORD_SIZE": "1", "RECORD_SIZES": "1,2"},
            "RECORD_SIZES=1,2: make rollback has no such option; did you mean RECORD_SIZE?",
        ),
        ({"STUDY": "quick", "RECORD_SIZE": "1", "XYZ": "1"}, "XYZ=1: make rollback has no such option"),
    ],
)
def test_an_unusable_option_is_named_as_it_was_given(options: dict[str, str], message: str) -> None:
    with pytest.raises(BadInputError) as raised:
        options_of(RollBackRequest, "rollback", {}, given(**options))
    assert str(raised.value).splitlines() == [message, "options of make rollback: STUDY, RECORD_SIZE, REASON"]


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("COOL_DOWN_S", "-1", "COOL_DOWN_S=-1: must be at least 0"),
        ("COOL_DOWN_S", "nan", "COOL_DOWN_S=nan: must be a number"),
        ("COOL_DOWN_S", "5s", "COOL_DOWN_S=5s: must be a number"),
        ("CAMPAIGN", "../up", "CAMPAIGN=../up: must be 1 to 63 letters, digits, '-' or '_'"),
        ("CAMPAIGN", "a" * 64, f"CAMPAIGN={'a' * 64}: must be 1 to 63 letters, digits, '-' or '_'"),
        ("WARM_START", "c1, c2", "WARM_START=c1, c2: must be latest, or ids of campaigns like id,id"),
        ("RECORD_SIZES", "1k", "RECORD_SIZES=1k: must be a whole number"),
        ("RECORD_SIZES", "0", "RECORD_SIZES=0: must be at least 1"),
        ("RECORD_SIZES", "1024,1000001", "RECORD_SIZES=1024,1000001: must be at most 1000000"),
        ("RECORD_SIZES", "1024,1024", "RECORD_SIZES=1024,1024: must not repeat a value"),
        ("KAFKA", "localhost", "KAFKA=localhost: must be like host:port,host:port"),
        ("BASELINE", "/nowhere", "BASELINE: /nowhere: cannot be read: No such file or directory"),
    ],
)
def test_a_value_that_breaks_a_rule_is_refused_before_anything_starts(option: str, value: str, message: str) -> None:
    with pytest.raises(BadInputError) as raised:
        options_of(RunRequest, "run", {}, given(**{option: value}))
    assert str(raised.value).splitlines()[0] == message


def test_a_text_that_is_too_long_is_not_repeated() -> None:
    with pytest.raises(BadInputError) as raised:
        read_options(DesignOptions, {"baseline": "ssl.key.password=hunter2\n" * 500}, str)
    assert str(raised.value) == "baseline must have at most 10000 characters"


def test_a_list_is_a_text_with_commas() -> None:
    asked = options_of(RunRequest, "run", {}, given(RECORD_SIZES="1024, 8192", PARTS="compression_type, grid"))
    assert (asked.record_sizes, asked.parts) == ([1024, 8192], ["compression_type", "grid"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rollback", "quick"], "error: --record-size is missing"),
        (["rollback", "--record-size", "8192"], "error: STUDY is missing"),
        (["run", "quick", "--seed", "many"], "error: --seed=many: must be a whole number"),
        (["run", "quick", "--kafka", "localhost"], "error: --kafka=localhost: must be like host:port,host:port"),
        (["run", "quick", "--ceiling-gib", "inf"], "error: --ceiling-gib=inf: must be a number"),
        (["plan", "quick", "--parts", "acks"], "--parts: study quick is of kind tune, which has no such option"),
        (["plan", "impact_quick", "--record-sizes", "1024"], "--record-sizes: study impact_quick is of kind compare"),
        (["run", "quick", "--local"], "error: --local: this study runs on the stack's brokers"),
        (["run", "quick", "--json"], "error: --json: needs --local"),
        (["result", "quick", "--store", "/nowhere"], "error: --store: /nowhere: there is no such folder"),
    ],
)
def test_a_typed_option_is_refused_by_the_name_that_was_typed(arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 65, done.output
    assert said in done.stderr


@pytest.mark.parametrize("arguments", [["up"], ["run", "quick"], ["active", "quick"], ["retune", "quick"]])
def test_an_installed_command_says_that_the_stack_is_of_a_checkout_and_writes_nothing(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafka_pareto_embedded.bootstrap.preflight.PROJECT", tmp_path)
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 65, done.output
    assert "this needs a stack, which only a checkout of the project has" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("message", "typed"),
    [
        (
            "KAFKA: an existing cluster needs CEILING_MIB_S=<MiB/s> and CEILING_GIB=<GiB>",
            "--kafka: an existing cluster needs --ceiling-mib-s=<MiB/s> and --ceiling-gib=<GiB>",
        ),
        ("start it with KAFKA_CONFIG=… CONSENT=yes", "start it with --config=… --yes"),
        ("CEILING_GIB: for an existing cluster only", "--ceiling-gib: for an existing cluster only"),
        ("KAFKA_PARETO_STUDIES=/x: STUDY: Kafka", "KAFKA_PARETO_STUDIES=/x: STUDY: Kafka"),
        ("both, as in FACTOR=linger.ms LEVELS=0,5", "both, as in --factor=linger.ms --levels=0,5"),
        ("start it with `make up`, then", "start it with `kafka-pareto up`, then"),
        ("make run STUDY=quick CAMPAIGN=c KAFKA_CONFIG=…", "kafka-pareto run quick --campaign=c --config=…"),
        ("make rollback STUDY=paper RECORD_SIZE=1024", "kafka-pareto rollback paper --record-size=1024"),
        ("make active STUDY=quick", "kafka-pareto active quick"),
        (
            "make remove-topics KAFKA=a:1, with KAFKA_CONFIG",
            "kafka-pareto remove-topics --kafka=a:1, with --config",
        ),
        ("there is no minio; run `make setup`", "there is no minio; run `make setup`"),
    ],
)
def test_a_message_names_options_as_they_were_typed_and_as_make_takes_them_where_make_called(
    message: str, typed: str
) -> None:
    assert as_typed(message, {}) == typed
    assert as_typed(message, {f"{PREFIX}STUDY": "quick"}) == message


def test_every_target_of_make_that_calls_the_command_names_one_of_its_commands() -> None:
    called = set(re.findall(r"\$\(STACK\) ([a-z-]+)", (Path(__file__).parents[3] / "Makefile").read_text()))
    assert "run" in called
    assert called <= set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def test_make_passes_every_option_of_a_run_from_the_environment_too() -> None:
    declared = (
        (Path(__file__).parents[3] / "Makefile").read_text().split("OPTIONS := $(sort ", 1)[1].split("$(foreach")[0]
    )
    options = {make_name(name) for model in (RunRequest, RollBackRequest, ActiveRequest) for name in model.model_fields}
    assert options == set(declared.replace("\\", " ").split())
