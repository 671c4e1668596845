"""Counts what a campaign has sent to a cluster that is not ours, for its owner's ceiling."""

from __future__ import annotations

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Sizing
from kafka_pareto.drivers.producer.quantities import ProducerQuantities
from kafka_pareto.drivers.producer.study import producer_study
from kafka_pareto.errors import MissingArtifactError


def sent_bytes(campaign: Campaign) -> int:
    """Returns the bytes that the campaign has sent to a cluster that is not ours, pilots included; 0 for our own."""
    if campaign.study.cluster is None:
        return 0
    keys, cases = campaign.keys, campaign.study.cases
    rounds = campaign.study.round_numbers()
    prefixes = [
        each(case, number) for case in cases for number in rounds for each in (keys.measurements, keys.set_aside)
    ]
    prefixes += [keys.noise_repetitions(case) for case in cases]
    prefixes += [keys.confirmation(case, name) for case in cases for name in ("repetitions/", "set_aside/")]
    stored = [repetition for prefix in prefixes for repetition in campaign.read_repetitions(prefix)]
    measured = sum(
        each.attempts
        * ProducerQuantities.of(each.quantities).records_requested
        * producer_study(campaign.study).load_of(each.case, each.configuration).record_size_bytes
        for each in stored
    )
    return measured + sum(_pilot_bytes(campaign, case) for case in campaign.study.cases)


def _pilot_bytes(campaign: Campaign, case: str) -> int:
    try:
        return campaign.read_record(campaign.keys.sizing(case), Sizing).pilot_bytes
    except MissingArtifactError:
        return 0
