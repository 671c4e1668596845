"""Check the options of `make run` and turn them into the parameters of the DAG."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from kafka_pareto.campaign.campaign import campaign_ids
from kafka_pareto.campaign.client_config import client_config_for_run, client_config_name
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.errors import BadInputError, MissingArtifactError
from kafka_pareto.kafka.properties_file import properties_lines
from kafka_pareto.settings import Settings
from kafka_pareto.storage.store import Store
from kafka_pareto.study.cluster_names import kind_of
from kafka_pareto.study.compare import Compare
from kafka_pareto.study.options import require_of_kind
from kafka_pareto.study.requests import RunRequest
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import baseline_client_of, parse_study
from kafka_pareto.study.tune import Tune
from kafka_pareto.study.warm_start import campaigns_text

_NAMED_CAMPAIGNS = 5

HandOver = Callable[[str], AbstractContextManager[None]]
"""A context that keeps a copy of the user's credentials for the run with this ID."""


def study_name(request: RunRequest, store: Store, settings: Settings) -> str:
    """Return the run's study; for a resumed campaign always the campaign's study.

    Raises:
        BadInputError: If there is no such campaign.
    """
    if request.campaign is None:
        return request.study
    return _find_campaign(store, settings, request.study, request.campaign)[0]


def dag_parameters(request: RunRequest, store: Store, settings: Settings) -> dict[str, Any]:
    """Return the parameters of the run, always with `study` and `campaign`.

    A campaign in the store resumes with its original values. The user's other options are added, and the design step
    checks them.

    Raises:
        BadInputError: If an option cannot be used.
    """
    study, campaign, frozen = study_name(request, store, settings), request.campaign or timestamp(), None
    if request.campaign is not None:
        study, frozen = _find_campaign(store, settings, study, campaign)
    ceilings = (request.ceiling_mib_s, request.ceiling_gib)
    if request.bootstrap_servers is not None and frozen is None and None in ceilings:
        raise BadInputError(
            "KAFKA: an existing cluster needs CEILING_MIB_S=<MiB/s> and CEILING_GIB=<GiB>, the limits of its load"
        )
    before = {} if frozen is None else started_with(frozen)
    config = client_config_name(campaign)
    if (request.client_config, before.get("client_config")) == (None, config) and not (
        settings.client_configs / config
    ).exists():
        raise BadInputError(
            f"CAMPAIGN: {campaign!r}: the copy of its client.properties was deleted when it ended; name the file "
            "again: KAFKA_CONFIG=…"
        )
    said = request.model_dump(exclude={"study", "campaign"}, exclude_defaults=True)
    require_of_kind(said, kind_of(settings.studies / f"{study}.yaml"), study)
    if baseline := request.baseline_file(partial(baseline_client_of, settings.studies / f"{study}.yaml")):
        said["baseline"] = properties_lines(baseline.used)
    if request.client_config is not None:
        said["client_config"] = config
    return {"study": study, "campaign": campaign, **before, **said}


def handing_over(request: RunRequest, parameters: Mapping[str, Any], settings: Settings) -> HandOver | None:
    """Read the user's `client.properties` and return a context that keeps a copy for a run, so that secrets stay here.

    Raises:
        BadInputError: If it cannot be read.
    """
    if request.client_config is None:
        return None
    text = _text_of(request.client_config)
    servers = parameters.get("bootstrap_servers")
    return lambda run_id: client_config_for_run(settings.client_configs, parameters["campaign"], run_id, text, servers)


def timestamp() -> str:
    """Return the current time, as part of an ID."""
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S")


def _find_campaign(store: Store, settings: Settings, study: str, campaign: str) -> tuple[str, Study]:
    """Return the campaign with this ID of the named study, or of another one, with its frozen study.

    Raises:
        BadInputError: If no study has this campaign.
    """
    others = sorted(path.stem for path in settings.studies.glob("*.yaml"))
    studies = list(dict.fromkeys([study, *others]))
    for name in studies:
        key = CampaignKeys(name, campaign).frozen_study()
        try:
            return name, parse_study(store.get(key).decode(), key)
        except MissingArtifactError:
            continue
    raise BadInputError(
        f"CAMPAIGN: {campaign!r}: no study has a campaign with this ID; {_newest(store, studies)}; "
        "omit CAMPAIGN to start a new one"
    )


def _newest(store: Store, studies: list[str]) -> str:
    """Describe the latest campaigns. An ID begins with the time of the start, unless a user chose it."""
    found = [(campaign, study) for study in studies for campaign in campaign_ids(store, study)]
    if not found:
        return "there are none yet"
    newest = sorted(found, reverse=True)[:_NAMED_CAMPAIGNS]
    return f"the newest are {', '.join(f'{campaign} ({study})' for campaign, study in newest)}"


def started_with(frozen: Study) -> dict[str, Any]:
    """Return the campaign's original parameters that its design step compares."""
    parameters: dict[str, Any] = {
        **frozen.case_overrides(frozen.cases),
        "seed": frozen.seed,
        "repetitions": frozen.protocol.repetitions,
        "cool_down_s": frozen.protocol.cool_down_s,
    }
    if isinstance(frozen, Compare) and (one_line := frozen.one_line_table()):
        del parameters["parts"]
        parameters |= one_line
    if isinstance(frozen, Tune) and frozen.baseline and frozen.baseline_client is not None:
        parameters["baseline"] = properties_lines(frozen.baseline)
    if isinstance(frozen, Tune) and frozen.warm_start is not None:
        parameters["warm_start"] = campaigns_text(frozen.warm_start.campaigns)
    if frozen.cluster is not None:
        parameters |= frozen.cluster.model_dump(exclude_none=True, exclude={"name"})  # the study's file names it
    return parameters


def _text_of(client_config: str) -> str:
    try:
        return Path(client_config).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not a text file"
        raise BadInputError(f"KAFKA_CONFIG: {client_config}: cannot be read: {reason}") from error
