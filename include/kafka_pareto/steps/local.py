"""Run a campaign's steps one after another in this process, without Airflow."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.measurement.driver_runtime import runtime_of
from kafka_pareto.settings import Settings
from kafka_pareto.steps import pipeline
from kafka_pareto.steps.begin import begin
from kafka_pareto.steps.pipeline import Step
from kafka_pareto.storage.store import open_store
from kafka_pareto.study.cluster_names import kind_of
from kafka_pareto.study.options import DesignOptions, Wanted

OnStep = Callable[[Step, str | None, int], None]
"""Receives each step as it begins, with its case, if any, and its round."""


def run_locally(keys: CampaignKeys, asked: DesignOptions, settings: Settings, on_step: OnStep) -> Manifest:
    """Run the campaign from its design to its end; stored repetitions are not measured again.

    Returns:
        The last step's manifest.

    Raises:
        KafkaParetoError: As raised by the steps. Everything measured before is stored.
    """
    graph = LocalGraph(keys, asked, settings, on_step)
    is_comparison = kind_of(settings.studies / f"{keys.study}.yaml") == "compare"
    (pipeline.compare if is_comparison else pipeline.tune)(graph)
    return graph.manifests[-1]


@dataclass
class LocalGraph:
    """Run each step immediately; a completed step is represented by the cases that it named."""

    keys: CampaignKeys
    asked: DesignOptions
    settings: Settings
    on_step: OnStep
    manifests: list[Manifest] = field(default_factory=list)

    def once(self, step: Step, after: list[str] | None = None, round_number: int = 0) -> list[str]:
        """Run the step, unless the previous one named no case."""
        return [] if after == [] else self._run(step, None, round_number)

    def per_case(self, step: Step, cases_of: list[str], after: list[str], round_number: int = 0) -> list[str]:  # noqa: ARG002 (earlier steps have ended)
        """Run the step for one case after another."""
        for case in cases_of:
            self._run(step, case, round_number)
        return cases_of

    def round(self, number: int) -> AbstractContextManager[object]:  # noqa: ARG002 (as above)
        """Return an empty context: a round needs no preparation."""
        return nullcontext()

    def _run(self, step: Step, case: str | None, round_number: int) -> list[str]:
        self.on_step(step, case, round_number)
        if step.name == "design":
            manifest = begin(self.keys.study, self.keys.campaign, self.asked, self.settings)
        else:
            manifest = self._run_designed(step, case, round_number)
        self.manifests.append(manifest)
        return manifest.cases

    def _run_designed(self, step: Step, case: str | None, round_number: int) -> Manifest:
        campaign = Campaign.open(open_store(self.settings), self.keys.study, self.keys.campaign)
        run: Callable[..., Manifest] = import_module(f"kafka_pareto.steps.{step.module or step.name}").run
        arguments: list[Any] = [] if case is None else [case]
        if step is pipeline.ACCEPT:
            arguments.append(Wanted(request=f"local {self.keys.campaign}"))
        rounds = [round_number] if round_number else []
        if not step.loads:
            return run(campaign, *arguments, *rounds)
        with runtime_of(campaign.study).runner(campaign, str(case), self.settings) as runner:
            return run(campaign, *arguments, runner, *rounds)
