"""Step `design` of a comparison: freeze the study, compute the plan, list the levels of each part."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pandas as pd

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.design_table import design_row
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.tables import DESIGN_COLUMNS, require_distinct_columns, table_schema
from kafka_pareto.measurement.cost import describe_plan, plan_comparison, require_consent
from kafka_pareto.measurement.driver_runtime import System, runtime_of
from kafka_pareto.steps.freezing import freeze, is_frozen, restore_text
from kafka_pareto.storage.store import Store
from kafka_pareto.study.compare import Compare
from kafka_pareto.study.overrides import Override

log = logging.getLogger(__name__)


def run(
    store: Store,
    study: Compare,
    campaign_id: str,
    system: System,
    overrides: Sequence[Override] = (),
    corpus: str | None = None,
) -> Manifest:
    """Start the campaign, or resume one started with the same study.

    Raises:
        PlanError: If the campaign may not run as planned; no study is frozen then.
        ClusterError: If the system cannot be reached.
        BadInputError: If the campaign exists and was started with another study, or another text for its loads.
    """
    require_distinct_columns(study)
    keys = CampaignKeys(study.name, campaign_id)
    is_known = is_frozen(store, keys, study, corpus)
    campaign = Campaign(study, keys, store)
    plan = plan_comparison(study, runtime_of(study)).model_copy(update={"overrides": list(overrides)})
    log.info("%s", describe_plan(plan))
    system.require_fit(plan, campaign, study.cases[0])
    require_consent(plan, study)
    if is_known:
        restore_text(campaign, corpus)
    else:
        freeze(campaign, corpus)
    design = levels_table(study)
    written = [
        keys.frozen_study(),
        *([keys.payload()] if corpus is not None else []),
        campaign.write_record(keys.plan(), plan),
        campaign.write_table(keys.design(), design, DESIGN_COLUMNS),
    ]
    return campaign.manifest("design", written, {"levels": len(design), "repetitions_planned": plan.repetitions})


def levels_table(study: Compare) -> pd.DataFrame:
    """Return the levels of each part including the reference: `DESIGN_COLUMNS` and one column per factor."""
    rows = [design_row(study, case, level, feasible=True) for case in study.cases for level in study.levels_of(case)]
    return pd.DataFrame(rows, columns=table_schema(DESIGN_COLUMNS, study).names)
