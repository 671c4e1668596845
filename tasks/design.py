"""Runs the step `design`: freezes the study, computes what the campaign will cost, and draws the design."""

from __future__ import annotations

from typing import Annotated

import typer

from kafka_pareto.campaign.campaign import check_campaign_id
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.drivers.table import driver_of
from kafka_pareto.errors import BadInputError
from kafka_pareto.settings import load_settings
from kafka_pareto.steps import design
from kafka_pareto.storage.store import open_store
from kafka_pareto.study.advice import load_advice
from kafka_pareto.study.cluster_override import cluster_with
from kafka_pareto.study.overrides import overrides_of
from kafka_pareto.study.study_file import baseline_of, load_named_study, read_corpus, with_overrides
from kafka_pareto.study.tune import tune_study
from kafka_pareto.study.warm_start import campaigns_from
from tasks.common import CampaignOption, ManifestOption, StudyOption, run_command, run_step

CasesOption = Annotated[str | None, typer.Option(help="instead of the study's: 1024,8192")]


def main(
    study: StudyOption,
    campaign: CampaignOption,
    cases: CasesOption = None,
    seed: Annotated[int | None, typer.Option(help="instead of the study's seed")] = None,
    repetitions: Annotated[int | None, typer.Option(help="instead of the study's repetitions")] = None,
    cool_down_s: Annotated[float | None, typer.Option(help="pause before every load, instead of the study's")] = None,
    baseline: Annotated[str | None, typer.Option(help="text of a producer.properties, instead of the study's")] = None,
    warm_start: Annotated[str | None, typer.Option(help="earlier campaigns to learn from: latest, or id,id")] = None,
    bootstrap_servers: Annotated[str | None, typer.Option(help="an existing cluster: host:port,host:port")] = None,
    client_config: Annotated[str | None, typer.Option(help="name of a client.properties in the installation")] = None,
    ceiling_mib_s: Annotated[float | None, typer.Option(help="most that the load may send, in MiB/s")] = None,
    ceiling_gib: Annotated[float | None, typer.Option(help="most that the campaign may send, in GiB")] = None,
    consent: Annotated[bool, typer.Option("--consent", help="the plan was read and is agreed to")] = False,
    manifest: ManifestOption = None,
) -> None:
    """Starts a campaign, or goes on with one that was started with the same study."""

    def step() -> Manifest:
        settings = load_settings()
        wanted = tune_study(load_named_study(settings.studies, study))
        given = {
            "bootstrap_servers": bootstrap_servers,
            "client_config": client_config,
            "ceiling_mib_s": ceiling_mib_s,
            "ceiling_gib": ceiling_gib,
            "consent": consent or None,
        }
        cluster = cluster_with(wanted.cluster, {name: value for name, value in given.items() if value is not None})
        earlier = None if warm_start is None else campaigns_from(warm_start)
        today = None if baseline is None else baseline_of(baseline, "baseline")
        adjusted = with_overrides(wanted, _cases(cases), seed, repetitions, cluster, earlier, cool_down_s, today)
        corpus = read_corpus(adjusted, settings.studies, f"{settings.studies}/{study}.yaml")
        store = open_store(settings)
        with driver_of(adjusted).system(adjusted, settings) as system:
            overrides = overrides_of(wanted, adjusted)
            advice = load_advice(settings.advice) if adjusted.advice else []
            return design.run(store, adjusted, check_campaign_id(campaign), system, corpus, overrides, advice)

    run_step(step, manifest)


def _cases(text: str | None) -> list[str] | None:
    if text is None:
        return None
    try:
        return [str(int(part)) for part in text.split(",")]
    except ValueError as error:
        raise BadInputError(f"cases: {text!r}: must be whole numbers of bytes, like 1024,8192") from error


if __name__ == "__main__":
    run_command(main)
