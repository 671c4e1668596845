"""Find the active settings as the reference of a confirmation."""

from __future__ import annotations

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.comparability import differences_of_campaigns, differences_of_systems
from kafka_pareto.campaign.records import Fingerprint
from kafka_pareto.decision.decision import ActiveReference, FoundActiveSettings
from kafka_pareto.errors import ArtifactError, BadInputError
from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.rollout.versions import ActiveSettings, active_settings_with_files


def find_active_settings(campaign: Campaign, case: str) -> FoundActiveSettings:
    """Return the active settings for this case of the campaign's study, and whether they are comparable.

    They are comparable if their campaign measured the same system with the same workload, protocol and factors.
    Otherwise the baseline is the reference.
    """
    settings = active_settings_with_files(campaign.store, campaign.keys.study, case)
    if settings is None:
        return FoundActiveSettings()
    if campaign.tune.is_baseline(settings.properties):
        return FoundActiveSettings(newest_version=settings.version)
    differences = _differences(campaign, settings)
    if not differences and campaign.tune.properties(settings.configuration) != settings.properties:
        differences = ["it sets properties that this study does not have"]
    if differences:
        return FoundActiveSettings(newest_version=settings.version, left_out=differences)
    return FoundActiveSettings(newest_version=settings.version, settings=_measurable(campaign, settings))


def _differences(campaign: Campaign, settings: ActiveSettings) -> list[str]:
    try:
        then = Campaign.open(campaign.store, settings.study, settings.campaign)
        fingerprint = then.read_record(then.keys.fingerprint(settings.case), Fingerprint)
    except (ArtifactError, BadInputError) as error:
        return [f"its campaign {settings.campaign} cannot be read: {error}"]
    now = campaign.read_record(campaign.keys.fingerprint(settings.case), Fingerprint)
    return [
        *differences_of_campaigns(then, campaign),
        *differences_of_systems(fingerprint, now, campaign.study.declaration),
    ]


def _measurable(campaign: Campaign, settings: ActiveSettings) -> ActiveReference:
    study, configuration = campaign.tune, settings.configuration
    variables = study.variables(settings.case)
    return ActiveReference(
        version=settings.version,
        campaign=settings.campaign,
        configuration_id=settings.configuration_id,
        configuration=configuration,
        properties=settings.properties,
        durability=settings.durability,
        constraints_broken=[rule for rule in study.constraints if not rule.holds(configuration, variables)],
        in_forbidden=[rule for rule in study.forbidden if not rule.holds(configuration, variables)],
        durability_accepted=Durability[settings.durability] >= study.weakest_durability(),
    )
