"""Runs the step `design`: freezes the study, computes what the campaign will cost, and draws the design."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from kafka_pareto.analysis.runnable_study import load_runnable_study
from kafka_pareto.campaign.campaign import check_campaign_id
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.drivers.common.cluster_access import servers_of_others
from kafka_pareto.errors import BadInputError
from kafka_pareto.measurement.driver_runtime import runtime_of
from kafka_pareto.settings import load_settings
from kafka_pareto.steps import design, design_comparison
from kafka_pareto.storage.store import open_store
from kafka_pareto.study.advice import load_advice
from kafka_pareto.study.cluster_override import cluster_with
from kafka_pareto.study.compare import Compare, compare_study
from kafka_pareto.study.left_out import without_impossible
from kafka_pareto.study.overrides import overrides_of
from kafka_pareto.study.overriding import baseline_of, with_overrides
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import read_corpus
from kafka_pareto.study.tune import tune_study
from kafka_pareto.study.warm_start import campaigns_from
from tasks.common import CampaignOption, ManifestOption, StudyOption, run_command, run_step

CasesOption = Annotated[str | None, typer.Option(help="instead of the study's: record sizes, or a comparison's parts")]


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
    factor: Annotated[str | None, typer.Option(help="of a comparison: the one factor that is varied")] = None,
    levels: Annotated[str | None, typer.Option(help="its levels: 0,5,20")] = None,
    consent: Annotated[bool, typer.Option("--consent", help="the plan was read and is agreed to")] = False,
    manifest: ManifestOption = None,
) -> None:
    """Starts a campaign, or goes on with one that was started with the same study."""

    def step() -> Manifest:
        settings = load_settings()
        wanted = load_runnable_study(settings.studies, study)
        given = {
            "bootstrap_servers": bootstrap_servers,
            "client_config": client_config,
            "ceiling_mib_s": ceiling_mib_s,
            "ceiling_gib": ceiling_gib,
            "consent": consent or None,
        }
        said = {name: value for name, value in given.items() if value is not None}
        cluster = cluster_with(wanted.cluster, said, servers_of_others(wanted, settings))
        earlier = None if warm_start is None else campaigns_from(warm_start)
        today = None if baseline is None else baseline_of(baseline, "baseline")
        adjusted = with_overrides(
            wanted,
            _cases(cases, wanted),
            seed,
            repetitions,
            cluster,
            earlier,
            cool_down_s,
            today,
            _table(factor, levels, wanted),
        )
        corpus = read_corpus(adjusted, settings.studies, f"{settings.studies}/{study}.yaml")
        store, overrides, driver = open_store(settings), overrides_of(wanted, adjusted), runtime_of(adjusted)
        if isinstance(adjusted, Compare):
            possible, left_out = without_impossible(adjusted, partial(driver.fault_here, adjusted, settings))
            with driver.system(possible, settings) as system:
                changes = [*overrides, *left_out]
                return design_comparison.run(store, possible, check_campaign_id(campaign), system, changes, corpus)
        with driver.system(adjusted, settings) as system:
            tuned = tune_study(adjusted)
            advice = load_advice(settings.advice) if tuned.advice else []
            return design.run(store, tuned, check_campaign_id(campaign), system, corpus, overrides, advice)

    run_step(step, manifest)


def _cases(text: str | None, study: Study) -> list[str] | None:
    if text is None:
        return None
    if isinstance(study, Compare):
        return [part.strip() for part in text.split(",")]
    try:
        return [str(int(part)) for part in text.split(",")]
    except ValueError as error:
        raise BadInputError(f"cases: {text!r}: must be whole numbers of bytes, like 1024,8192") from error


def _table(factor: str | None, levels: str | None, study: Study) -> dict[str, Any] | None:
    """Returns the one table that takes the place of a comparison's parts; None where none was asked for."""
    if factor is None and levels is None:
        return None
    if not factor or not levels:
        raise BadInputError("factor and levels: give both, as in FACTOR=linger.ms LEVELS=0,5,20, or neither")
    return compare_study(study).table_of(factor, [level.strip() for level in levels.split(",")])


if __name__ == "__main__":
    run_command(main)
