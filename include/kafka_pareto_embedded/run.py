"""The main job on a running stack: trigger a campaign, follow it, and hand over its cards and addresses."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from kafka_pareto.artifacts import CampaignKeys
from kafka_pareto.errors import ArtifactError, BadInputError
from kafka_pareto.settings import Settings
from kafka_pareto.store import Store, open_store
from kafka_pareto.study import Study, parse_study
from kafka_pareto_embedded.airflow_runs import AirflowRuns
from kafka_pareto_embedded.credentials import write_private
from kafka_pareto_embedded.errors import StackError
from kafka_pareto_embedded.follow import failed_rows, follow, stop, what_failed
from kafka_pareto_embedded.hand_over import hand_over
from kafka_pareto_embedded.progress import CampaignProgress, Progress
from kafka_pareto_embedded.stack import DAG_ID, Stack

_INTERRUPTED = 130
_CAMPAIGN_ID = "[A-Za-z0-9][A-Za-z0-9_-]{0,62}"


def run(
    stack: Stack,
    *,
    study: str = "quick",
    campaign: str | None = None,
    record_sizes: str | None = None,
    seed: int | None = None,
    repetitions: int | None = None,
    kafka: str | None = None,
    kafka_config: Path | None = None,
    ceiling_mib_s: float | None = None,
    ceiling_gib: float | None = None,
    consent: bool = False,
) -> int:
    """Runs a campaign to its end; one that exists already goes on with the values that it was started with.

    Returns:
        0 when the campaign has ended well, 1 when it failed, 130 when it was interrupted.

    Raises:
        BadInputError: If something given cannot be used; nothing has been started then.
        StackError: If the stack does not answer.
    """
    if campaign is not None and not re.fullmatch(_CAMPAIGN_ID, campaign):
        raise BadInputError(f"CAMPAIGN: {campaign!r}: must be 1 to 63 letters, digits, '-' or '_'")
    settings = stack.settings()
    store = open_store(settings)
    study, frozen = (study, None) if campaign is None else _find_campaign(store, settings, study, campaign)
    if kafka is not None and frozen is None and (ceiling_mib_s is None or ceiling_gib is None):
        raise BadInputError(
            "KAFKA: a cluster of your own needs CEILING_MIB_S=<MiB/s> and CEILING_GIB=<GiB>, the most it is sent"
        )
    campaign = campaign or _now()
    given = {
        "record_sizes": None if record_sizes is None else _sizes(record_sizes),
        "seed": seed,
        "repetitions": repetitions,
        "bootstrap_servers": kafka,
        "client_config": None if kafka_config is None else _keep_client_config(stack, kafka_config, campaign),
        "ceiling_mib_s": ceiling_mib_s,
        "ceiling_gib": ceiling_gib,
        "consent": consent or None,
    }
    parameters = {
        "study": study,
        "campaign": campaign,
        **({} if frozen is None else _parameters_of(frozen)),
        **{name: value for name, value in given.items() if value is not None},
    }
    runs = AirflowRuns(
        stack.airflow_url, DAG_ID, stack.credentials.airflow_admin_user, stack.credentials.airflow_admin_password
    )
    try:
        return run_campaign(stack, runs, store, CampaignKeys(study, campaign), parameters)
    finally:
        runs.close()


def run_campaign(stack: Stack, runs: AirflowRuns, store: Store, keys: CampaignKeys, parameters: dict[str, Any]) -> int:
    """Triggers the campaign's run, or joins the one that is at work on it, and follows it; returns as `run` does."""
    at_work = _run_of(runs, keys)
    run_id = at_work or f"{keys.campaign}__{_now()}"
    try:
        if at_work is None:
            runs.trigger(run_id, parameters)
        _say(f"Campaign {keys.campaign} of study {keys.study}: {runs.address(run_id)}")
        progress = follow(runs, run_id, CampaignProgress(store, keys), Console())
    except (KeyboardInterrupt, SystemExit) as interruption:
        _say("\nStopping the campaign …")
        ended = stop(runs, run_id)
        _say("It has stopped." if ended else f"A task has not ended yet; see {runs.address(run_id)}")
        _say(f"Nothing measured is lost; to go on: {_go_on(keys)}")
        if isinstance(interruption, SystemExit):
            raise
        return _INTERRUPTED
    if progress.run_state == "failed":
        _say_failure(runs, run_id, progress, keys, parameters)
        return 1
    _say(f"\n{hand_over(stack, store, keys, runs.address(run_id))}")
    return 0


def _find_campaign(store: Store, settings: Settings, study: str, campaign: str) -> tuple[str, Study | None]:
    """The study of a campaign, as it was frozen: the named study's campaign, or else another study's."""
    others = sorted(path.stem for path in settings.studies.glob("*.yaml"))
    for name in dict.fromkeys([study, *others]):
        key = CampaignKeys(name, campaign).frozen_study()
        try:
            return name, parse_study(store.get(key).decode(), key)
        except ArtifactError:
            continue
    return study, None


def _parameters_of(frozen: Study) -> dict[str, Any]:
    """The parameters that a campaign was started with, as far as its design step compares them."""
    parameters: dict[str, Any] = {
        "record_sizes": frozen.record_sizes_bytes,
        "seed": frozen.seed,
        "repetitions": frozen.protocol.repetitions,
    }
    if frozen.cluster is not None:
        parameters |= frozen.cluster.model_dump(exclude_none=True)
    return parameters


def _run_of(runs: AirflowRuns, keys: CampaignKeys) -> str | None:
    """The run that is at work on this campaign already, as after a restart of the stack."""
    for run_id, parameters in runs.active():
        if (parameters.get("study"), parameters.get("campaign")) == (keys.study, keys.campaign):
            return run_id
    return None


def _sizes(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise BadInputError(f"RECORD_SIZES: {text!r}: must be whole numbers of bytes, like 1024,8192") from error


def _keep_client_config(stack: Stack, path: Path, campaign: str) -> str:
    """Copies the file to where the steps find it, and returns its name there: the secrets in it never travel."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is no text"
        raise BadInputError(f"KAFKA_CONFIG: {path}: cannot be read: {reason}") from error
    name = f"{campaign}.properties"
    stack.client_configs.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(stack.client_configs / name, text)
    return name


def _say_failure(
    runs: AirflowRuns, run_id: str, progress: Progress, keys: CampaignKeys, parameters: dict[str, Any]
) -> None:
    failed = failed_rows(progress)
    for row in failed:
        _say(f"\n{row.name} failed:")
        try:
            _say(_indented(what_failed(runs, run_id, row.task)))
        except StackError as error:
            _say(_indented(str(error)))
    steps = {row.step for row in failed}
    _say("")
    if "design" in steps and parameters.get("bootstrap_servers") and not parameters.get("consent"):
        _say("Nothing has been sent to your cluster. To go ahead as planned, run the same command with CONSENT=yes.")
    elif "design" in steps:
        _say("Nothing has been measured. Mend the cause and run the same command again.")
    elif "validate" in steps:
        _say("The validation would answer the same again. Mend the cause, then start a new campaign with `make run`.")
    else:
        _say(f"Nothing measured is lost. Mend the cause, then go on: {_go_on(keys)}")
    _say(f"The whole log: {runs.address(run_id)}")


def _go_on(keys: CampaignKeys) -> str:
    return f"make run STUDY={keys.study} CAMPAIGN={keys.campaign}"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S")


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _say(line: str) -> None:
    print(line, flush=True)
