"""Step `optimize`: NSGA-III over the surrogates of one record size."""

from __future__ import annotations

import logging

import pandas as pd

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.tables import FRONT_COLUMNS, HYPERVOLUME_COLUMNS, SCORE_COLUMNS, TRIAL_COLUMNS
from kafka_pareto.errors import BadInputError
from kafka_pareto.search.pareto_search import search, with_class_fronts
from kafka_pareto.study.objectives import OBJECTIVES, Objective
from kafka_pareto.surrogates.surrogate import Surrogate, SurrogateIndex, load_surrogate
from kafka_pareto.tracking import campaign_runs

logger = logging.getLogger(__name__)


def run(campaign: Campaign, record_size_bytes: int, round_number: int = 0) -> Manifest:
    """Searches one record size and writes its fronts and the hypervolume of every generation.

    First all durabilities that the study accepts together, for the joint front; then each class that the factors can
    reach by itself, so that the report can show weaker promises apart. With strategy `rounds` the search leaves an
    objective out that the surrogates have not learned at this record size: it is judged where it is measured.

    Raises:
        BadInputError: If the study has no such record size, or no configuration keeps its rules.
        ArtifactError: If the trials or surrogates are missing, damaged or of another schema version.
        TrackingError: If MLflow is configured and cannot be reached; the artifacts are in the store by then.
    """
    study, keys = campaign.study, campaign.keys
    if record_size_bytes not in study.record_sizes_bytes:
        sizes = ", ".join(str(size) for size in study.record_sizes_bytes)
        raise BadInputError(f"record size: {record_size_bytes}: must be one of the study's: {sizes}")
    trials = campaign.read_table(keys.trials(round_number), TRIAL_COLUMNS)
    measured = trials[trials["record_size_bytes"] == record_size_bytes]
    surrogates = _surrogates(campaign, round_number)
    for objective in sorted(set(OBJECTIVES) - set(surrogates)):
        logger.info("%s: has no surrogate; the search leaves it out", objective)
    if study.strategy == "rounds":
        surrogates = _learned(campaign, surrogates, record_size_bytes, round_number)

    found = search(study, record_size_bytes, surrogates, measured)
    front = with_class_fronts(study, record_size_bytes, surrogates, measured, found)
    hypervolume = float(found.hypervolume["hypervolume"].iloc[-1])
    weaker = int((~front["durability_accepted"]).sum())
    logger.info(
        "%d B: %d configurations on the front (%d more of weaker durability) after %s evaluations; hypervolume %.4f",
        record_size_bytes, len(found.front), weaker, f"{found.evaluations:,}", hypervolume,
    )  # fmt: skip
    artifacts = [
        campaign.write_table(keys.front(record_size_bytes, round_number), front, FRONT_COLUMNS),
        campaign.write_table(
            keys.hypervolume(record_size_bytes, round_number), found.hypervolume, HYPERVOLUME_COLUMNS, factors=False
        ),
    ]
    campaign_runs.log_search(campaign, record_size_bytes, found.hypervolume, round_number)
    counts: dict[str, int | float] = {
        "front": len(found.front),
        "front_weaker_durability": weaker,
        "evaluations": found.evaluations,
        "hypervolume": round(hypervolume, 6),
    }
    return campaign.manifest("optimize", artifacts, counts, [record_size_bytes])


def _surrogates(campaign: Campaign, round_number: int) -> dict[Objective, Surrogate]:
    keys = campaign.keys
    index = campaign.read_record(keys.surrogates("encoding.json", round_number), SurrogateIndex)
    files = {objective: keys.surrogates(f"{objective}.ubj", round_number) for objective in index.models}
    return {
        objective: load_surrogate(campaign.store.get(key), key, objective, index) for objective, key in files.items()
    }


def _learned(
    campaign: Campaign, surrogates: dict[Objective, Surrogate], record_size_bytes: int, round_number: int
) -> dict[Objective, Surrogate]:
    """Those that are judged learnable at this record size (over all sizes, where it has no verdict of its own)."""
    key = campaign.keys.surrogates("scores.parquet", round_number)
    scores = campaign.read_table(key, SCORE_COLUMNS, factors=False)
    learned = {
        objective: surrogate
        for objective, surrogate in surrogates.items()
        if _is_learnable(scores[scores["objective"] == objective], record_size_bytes)
    }
    if not learned:
        logger.info("%d B: no objective is learned yet; the search takes all estimates as they are", record_size_bytes)
        return surrogates
    for objective in sorted(set(surrogates) - set(learned)):
        logger.info("%d B: %s is not learnable; the search leaves it out", record_size_bytes, objective)
    return learned


def _is_learnable(scores: pd.DataFrame, record_size_bytes: int) -> bool:
    own = scores[scores["record_size_bytes"] == record_size_bytes]
    verdicts = own if own["r2_cross_validated"].notna().any() else scores[scores["record_size_bytes"].isna()]
    return bool(verdicts["learnable"].any())
