"""Step `propose`: decide which cases get another round, and its configurations."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.design_table import configurations_table
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.records import Proposal, Stop
from kafka_pareto.campaign.tables import DESIGN_COLUMNS, FRONT_COLUMNS, PRIOR_TRIAL_COLUMNS, TRIAL_COLUMNS
from kafka_pareto.report.card_context import stop_text
from kafka_pareto.search.stopping import rounds_so_far
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.tune import Tune

if TYPE_CHECKING:
    from kafka_pareto.surrogates.gaussian_process import Posterior

log = logging.getLogger(__name__)

# A front of four objectives has thousands of configurations, most of them alike; joint draws of all take ten seconds.
_MOST_OF_A_FRONT = 256


def run(campaign: Campaign, round_number: int) -> Manifest:
    """Write the round's decision and design; the manifest names the cases that continue.

    A stored decision is kept: its proposal may have been measured. A stopped case stays stopped.

    Raises:
        ArtifactError: If the trials or the front of the previous round, or the warm start's data, are missing, damaged
            or of another version.
    """
    study, keys = campaign.tune, campaign.keys
    if round_number not in study.round_numbers():
        log.info("round %d: not part of this study", round_number)
        return campaign.manifest("propose", [], {"configurations": 0}, [])
    proposal = campaign.find_record(keys.proposal(round_number), Proposal) or _propose(campaign, round_number)
    for each in proposal.cases:
        volumes = ", ".join(f"{volume:.4f}" for volume in each.measured_hypervolume)
        stop = each.stopped_because
        verdict = f"stops: {stop_text(stop, each.rounds_measured)}" if stop else f"continues with round {round_number}"
        log.info("%s: measured hypervolume %s; %s", case_label(each.case), volumes, verdict)
    cases = proposal.going_on()
    written = [keys.proposal(round_number)]
    configurations = 0
    if cases:
        design = campaign.read_table(keys.design(round_number), DESIGN_COLUMNS)
        configurations = int((~design.is_baseline).sum())
        written.append(keys.design(round_number))
    return campaign.manifest("propose", written, {"configurations": configurations}, cases)


def _propose(campaign: Campaign, round_number: int) -> Proposal:
    """Decide, and write the design before the decision: once that is stored, the round is fixed."""
    # It takes seconds to import, and a round that is not part of the study does not need it.
    from kafka_pareto.search.acquisition import propose  # noqa: PLC0415

    study, keys = campaign.tune, campaign.keys
    trials_by_round = [campaign.read_table(keys.trials(number), TRIAL_COLUMNS) for number in range(round_number)]
    # Includes failed and rejected ones.
    designs = pd.concat([campaign.read_table(keys.design(number), DESIGN_COLUMNS) for number in range(round_number)])
    stopped = _stopped_before(campaign, round_number)
    latest = trials_by_round[-1]
    prior = campaign.read_table(keys.prior_trials(), PRIOR_TRIAL_COLUMNS) if study.warm_start else None
    posteriors = _posteriors(study, latest, prior)
    decided, proposed = [], dict[str, list[Configuration]]()
    for case in study.cases:
        so_far = rounds_so_far(study, case, trials_by_round)
        stop = stopped.get(case) or so_far.stopped_because
        if stop is None:
            front = _spread(campaign.read_table(keys.front(case, round_number - 1), FRONT_COLUMNS))
            taken = set(designs[designs.case == case].configuration_id)
            if configurations := propose(study, case, latest, posteriors[case], front, round_number, taken):
                proposed[case] = configurations
            else:
                stop = Stop(code="nothing_left")
        decided.append(so_far.model_copy(update={"stopped_because": stop}))
    if proposed:
        campaign.write_table(keys.design(round_number), configurations_table(study, proposed), DESIGN_COLUMNS)
    proposal = Proposal(round=round_number, cases=decided)
    campaign.write_record(keys.proposal(round_number), proposal)
    return proposal


def _spread(front: pd.DataFrame) -> pd.DataFrame:
    """Return at most `_MOST_OF_A_FRONT` rows, evenly spread along the front, which is sorted by its first objective."""
    places = np.linspace(0, len(front) - 1, min(len(front), _MOST_OF_A_FRONT))
    return front.iloc[places.round().astype(int)]


def _posteriors(study: Tune, trials: pd.DataFrame, prior: pd.DataFrame | None) -> dict[str, list[Posterior]]:
    """Fit the objectives for each case: to all trials, or to those of neighboring cases if there are very many."""
    from kafka_pareto.search.acquisition import searched_objectives  # noqa: PLC0415  (as above)
    from kafka_pareto.surrogates.gaussian_process import at_most, neighbouring_cases  # noqa: PLC0415  (as above)

    fitted: dict[str, list[Posterior]] = {}
    for cases in neighbouring_cases(study, trials):
        of_cases = None if prior is None else prior[prior.case.isin(cases)]
        found = searched_objectives(study, at_most(study, trials[trials.case.isin(cases)]), of_cases)
        fitted |= dict.fromkeys(cases, found)
    return fitted


def _stopped_before(campaign: Campaign, round_number: int) -> dict[str, Stop]:
    """Return the reasons of cases that stopped in earlier rounds."""
    if round_number == 1:
        return {}
    before = campaign.read_record(campaign.keys.proposal(round_number - 1), Proposal)
    return {each.case: each.stopped_because for each in before.cases if each.stopped_because}
