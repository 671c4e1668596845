"""Step `optimize`: NSGA-III over the surrogates of one record size."""

from __future__ import annotations

import logging

import pandas as pd

from kafka_pareto import tracking
from kafka_pareto.artifacts import FRONT_COLUMNS, HYPERVOLUME_COLUMNS, TRIAL_COLUMNS
from kafka_pareto.campaign import Campaign
from kafka_pareto.errors import BadInputError
from kafka_pareto.optimization import SearchResult, search, weaker_durability_is_possible
from kafka_pareto.records import Manifest
from kafka_pareto.study import OBJECTIVES, Objective
from kafka_pareto.surrogate import Surrogate, SurrogateIndex, load_surrogate

logger = logging.getLogger(__name__)


def run(campaign: Campaign, record_size_bytes: int) -> Manifest:
    """Searches one record size and writes its front and the hypervolume of every generation.

    Where the factors allow a weaker durability than the study accepts, a second search over those configurations
    alone adds rows with `durability_accepted` False, so that the report can show them apart.

    Raises:
        BadInputError: If the study has no such record size, or no configuration satisfies its constraints.
        ArtifactError: If the trials or surrogates are missing, damaged or of another schema version.
        TrackingError: If MLflow is configured and cannot be reached; the artifacts are in the store by then.
    """
    study, keys = campaign.study, campaign.keys
    if record_size_bytes not in study.record_sizes_bytes:
        sizes = ", ".join(str(size) for size in study.record_sizes_bytes)
        raise BadInputError(f"record size: {record_size_bytes}: must be one of the study's: {sizes}")
    trials = campaign.read_table(keys.trials(), TRIAL_COLUMNS)
    measured = trials[trials["record_size_bytes"] == record_size_bytes]
    surrogates = _surrogates(campaign)
    for objective in sorted(set(OBJECTIVES) - set(surrogates)):
        logger.info("%s: has no surrogate; the search leaves it out", objective)

    found = search(study, record_size_bytes, surrogates, measured)
    weaker = _search_weaker(campaign, record_size_bytes, surrogates, measured)
    front = found.front if weaker is None else pd.concat([found.front, weaker.front], ignore_index=True)
    hypervolume = float(found.hypervolume["hypervolume"].iloc[-1])
    logger.info(
        "%d B: %d configurations on the front (%d more of weaker durability) after %s evaluations; hypervolume %.4f",
        record_size_bytes, len(found.front), len(front) - len(found.front), f"{found.evaluations:,}", hypervolume,
    )  # fmt: skip
    artifacts = [
        campaign.write_table(keys.front(record_size_bytes), front, FRONT_COLUMNS),
        campaign.write_table(
            keys.hypervolume(record_size_bytes), found.hypervolume, HYPERVOLUME_COLUMNS, factors=False
        ),
    ]
    tracking.log_search(campaign, record_size_bytes, found.hypervolume)
    counts: dict[str, int | float] = {
        "front": len(found.front),
        "front_weaker_durability": len(front) - len(found.front),
        "evaluations": found.evaluations,
        "hypervolume": round(hypervolume, 6),
    }
    return campaign.manifest("optimize", artifacts, counts, [record_size_bytes])


def _surrogates(campaign: Campaign) -> dict[Objective, Surrogate]:
    index = campaign.read_record(campaign.keys.surrogates("encoding.json"), SurrogateIndex)
    keys = {objective: campaign.keys.surrogates(f"{objective}.ubj") for objective in index.models}
    return {
        objective: load_surrogate(campaign.store.get(key), key, objective, index) for objective, key in keys.items()
    }


def _search_weaker(
    campaign: Campaign, record_size_bytes: int, surrogates: dict[Objective, Surrogate], measured: pd.DataFrame
) -> SearchResult | None:
    if not weaker_durability_is_possible(campaign.study):
        return None
    try:
        return search(campaign.study, record_size_bytes, surrogates, measured, weaker_durability=True)
    except BadInputError:
        logger.info("%d B: no configuration of weaker durability satisfies the constraints", record_size_bytes)
        return None
