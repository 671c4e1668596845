"""A confirmed campaign in a folder, put together from recorded repetitions, for the tests of the report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from kafka_pareto.analysis.noise_study import noise_report
from kafka_pareto.analysis.pareto import losses_of, non_dominated
from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Fingerprint, Phase, Plan, RampStep, Repetition, Sizing
from kafka_pareto.campaign.tables import (
    CANDIDATE_INTERVAL_COLUMNS,
    FRONT_INTERVAL_COLUMNS,
    SCORE_COLUMNS,
    TRIAL_COLUMNS,
    rejected_columns,
    table_schema,
)
from kafka_pareto.decision.choice import choose
from kafka_pareto.decision.confirmation_candidates import select_candidates
from kafka_pareto.decision.decide import decide
from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import dump_study
from kafka_pareto.validation.gate import rejected_table
from tests.recorded import paper_study, recorded_repetitions

CAMPAIGN = "20261121-recorded"


def small_study(**changes: object) -> Study:
    """`paper` at two of its record sizes, with gain blocks enough to claim what was recorded, and these changes."""
    study = paper_study()
    confirmation = study.confirmation.model_copy(update={"points": 6, "gain_blocks": 20})
    return study.model_copy(update={"record_sizes_bytes": [1024, 65636], "confirmation": confirmation, **changes})


def write_confirmed_campaign(folder: Path, study: Study, blocks: int = 10) -> Campaign:
    """Writes all that the report reads. Estimates are the recorded trials' values with noise on them.

    Confirmation blocks are the recorded ones in another order: real values, in blocks that never were.
    """
    store = FolderStore(folder)
    campaign = Campaign(study, CampaignKeys(study.name, CAMPAIGN), store)
    store.put(campaign.keys.frozen_study(), dump_study(study).encode())
    rng = np.random.default_rng(study.seed)
    drawn = _drawn_once(recorded_repetitions(tuple(study.cases), blocks=blocks), study)
    recorded = [with_client_metrics(repetition) for repetition in drawn]
    trials = summarise_trials(recorded, study)
    campaign.write_table(campaign.keys.trials(), trials, TRIAL_COLUMNS)
    rejected = rejected_table([], {}, study)
    campaign.write_table(campaign.keys.validation("rejected.parquet"), rejected, rejected_columns(PRODUCER))
    campaign.write_table(campaign.keys.surrogates("scores.parquet"), _scores(study), SCORE_COLUMNS, factors=False)
    campaign.write_record(
        campaign.keys.plan(), Plan(repetitions=len(recorded), duration_s=1800.0, sent_gib=21.5, peak_disk_gib=3.1)
    )
    for case in study.cases:
        campaign.write_record(campaign.keys.fingerprint(case), _fingerprint(study, case))
        of_case = trials[trials.case == case]
        front = _front(of_case, study, rng)
        campaign.write_table(campaign.keys.front(case), front, FRONT_INTERVAL_COLUMNS)
        here = [repetition for repetition in recorded if repetition.case == case]
        _measure(campaign, case, here)
        _confirm(campaign, case, here, front, of_case, rng)
    return campaign


def read(campaign: Campaign, name: str) -> str:
    """A text of the report."""
    return campaign.store.get(campaign.keys.report(name)).decode()


def with_client_metrics(repetition: Repetition) -> Repetition:
    """The recording holds no metrics of the client: these follow from its latency and settings by a rule of thumb."""
    latency_ms, batch_bytes = repetition.number("latency_avg_ms") or 0.0, int(repetition.configuration["batch.size"])
    compressed = 1.0 if repetition.configuration["compression.type"] == "none" else 0.64
    waiting_ms = min(0.6 * latency_ms, float(repetition.configuration["linger.ms"]) + 0.2 * latency_ms)
    return repetition.with_values(
        {
            "queue_time_avg_ms": waiting_ms,
            "queue_time_max_ms": 3 * waiting_ms,
            "request_latency_avg_ms": latency_ms - waiting_ms,
            "request_latency_max_ms": 4 * (latency_ms - waiting_ms),
            "batch_size_avg_bytes": 0.8 * max(batch_bytes, int(repetition.case)),
            "compression_rate_avg": compressed,
            "records_per_request_avg": max(1.0, 0.8 * batch_bytes / int(repetition.case) / compressed),
            "buffer_wait_s": 0.0,
            "buffer_exhausted_records": 0.0,
            "record_retries": 0.0,
        }
    )


def _measure(campaign: Campaign, case: str, recorded: list[Repetition]) -> None:
    """The design's repetitions of the baseline and of two more configurations, and an A/A study of the baseline."""
    study, keys = campaign.tune, campaign.keys
    names = sorted({repetition.configuration_id for repetition in recorded if not repetition.is_baseline})[:2]
    for repetition in recorded:
        if repetition.is_baseline or repetition.configuration_id in names:
            placed = at_time(repetition, day=1)
            campaign.write_record(f"{keys.measurements(case)}{placed.repetition_id}.json", placed)
    own = [repetition for repetition in recorded if repetition.is_baseline]
    noise = [
        at_time(r.with_values({"phase": "noise", "repetition_id": r.repetition_id.replace("design", "noise")}), 0)
        for r in own
    ]
    for repetition in noise:
        campaign.write_record(f"{keys.noise_repetitions(case)}{repetition.repetition_id}.json", repetition)
    campaign.write_record(keys.noise(case), noise_report(study, case, noise))


def write_troubles(campaign: Campaign, case: str, reason: str) -> None:
    """One more repetition that failed and one that was set aside, both for this reason, and three choice blocks of the
    baseline that the load tool bound; a ramp, too.
    """
    keys = campaign.keys
    prefix = keys.confirmation(case, "repetitions/")
    own = [r for r in campaign.read_repetitions(prefix) if r.is_baseline and r.phase == "choice"]
    for repetition in own[:3]:
        bound = repetition.with_values({"generator_bound": "the sending thread never waited"})
        campaign.write_record(f"{prefix}{repetition.repetition_id}.json", bound)
    aside = own[0].with_values({"reason": reason})
    campaign.write_record(f"{keys.discarded(case)}{aside.repetition_id}@{aside.started_at}.json", aside)
    identity = own[0].repetition_id.replace("choice", "design").replace("-b000-", "-b077-")
    failed = own[0].with_values(
        {"repetition_id": identity, "phase": "design", "outcome": "failed", "reason": reason, "attempts": 3}
    )
    campaign.write_record(f"{keys.measurements(case)}{identity}.json", failed)
    held = RampStep(asked_records_s=2500.0, held_records_s=2496.0, latency_p95_ms=4.1, sustained=True)
    broken = RampStep(asked_records_s=5000.0, held_records_s=3810.0, latency_p95_ms=260.4, sustained=False)
    sizing = Sizing(
        records=1000,
        warmup_records=0,
        throughput_limit_records_s=1250.0,
        capacity_records_s=2500.0,
        ramp=[held, broken],
    )
    campaign.write_record(keys.sizing(case), sizing)


def at_time(repetition: Repetition, day: int) -> Repetition:
    """The repetition at a time of that day that follows from its block; phases come on successive days."""
    return repetition.with_values({"started_at": f"2026-11-{21 + day}T00:{repetition.block:02d}:00+00:00"})


def _drawn_once(recorded: list[Repetition], study: Study) -> list[Repetition]:
    """The recording drew some configurations twice, the baseline among them; a real design never does."""
    once = {repetition.repetition_id: repetition for repetition in recorded}
    return [
        repetition.with_values({"is_baseline": repetition.configuration_id == study.baseline_id()})
        for repetition in once.values()
    ]


def _confirm(
    campaign: Campaign,
    case: str,
    recorded: list[Repetition],
    front: pd.DataFrame,
    trials: pd.DataFrame,
    rng: np.random.Generator,
) -> None:
    study, keys = campaign.tune, campaign.keys
    candidates = select_candidates(front, trials, study, study.confirmation.points)
    choice = _shuffled(recorded, {study.baseline_id(), *candidates.configuration_id}, "choice", rng)
    chosen = choose(study, candidates, choice)
    finalists = {study.baseline_id(), chosen.configuration_id}
    gain = _shuffled(recorded, finalists, "gain", rng) if len(finalists) > 1 else []
    decision = decide(study, case, chosen, candidates, choice_repetitions=choice, gain_repetitions=gain)
    ends = [name for name in front if name.endswith(("_low", "_high"))]
    candidates = candidates.merge(front[["configuration_id", *ends]], on="configuration_id", how="left")
    campaign.write_table(keys.confirmation(case, "candidates.parquet"), candidates, CANDIDATE_INTERVAL_COLUMNS)
    campaign.write_table(keys.confirmation(case, "trials.parquet"), summarise_trials(choice, study), TRIAL_COLUMNS)
    campaign.write_record(keys.confirmation(case, "decision.json"), decision)
    for repetition in [*choice, *gain]:
        campaign.write_record(keys.confirmation(case, f"repetitions/{repetition.repetition_id}.json"), repetition)


def _shuffled(recorded: list[Repetition], wanted: set[str], phase: Phase, rng: np.random.Generator) -> list[Repetition]:
    found = []
    for name in sorted(wanted):
        of_configuration = [repetition for repetition in recorded if repetition.configuration_id == name]
        order = rng.permutation(len(of_configuration)).tolist()
        for block, at in enumerate(order + order[::-1] if phase == "gain" else order):
            repetition = of_configuration[at]
            identity = f"{phase}-r00-{repetition.case}-b{block:03d}-{name}"
            placed = repetition.with_values({"repetition_id": identity, "phase": phase, "block": block})
            found.append(at_time(placed, day=2 if phase == "choice" else 3))
    return found


def _front(trials: pd.DataFrame, study: Study, rng: np.random.Generator) -> pd.DataFrame:
    accepted = trials.durability.map(lambda name: Durability[name] >= study.weakest_durability()).astype(bool)
    parts = []
    for durability_accepted, part in ((True, trials[accepted]), (False, trials[~accepted])):
        front = part[part.feasible & ~part.is_baseline]
        front = front[non_dominated(losses_of(front))]
        noisy = {
            f"estimated_{name}": front[name] * rng.lognormal(0, 0.15, len(front)) for name in PRODUCER.objective_names
        }
        ends = {
            f"estimated_{mean}_{end}": noisy[f"estimated_{mean}"] * factor
            for mean in study.means
            for end, factor in (("low", 0.8), ("high", 1.25))
        }
        flags = {"on_joint_front": durability_accepted, "limits_met_estimated": True}
        parts.append(front.assign(durability_accepted=durability_accepted, **flags, **noisy, **ends))
    joined: pd.DataFrame = pd.concat(parts, ignore_index=True)[table_schema(FRONT_INTERVAL_COLUMNS, study).names]
    return joined


def _scores(study: Study) -> pd.DataFrame:
    learned = {"p95_latency_ms": 0.71, "throughput_mib_s": 0.98, "latency_cv": -0.12, "throughput_cv": 0.08}
    rows = []
    for objective, held_out in learned.items():
        for case in [None, *study.cases]:
            within = held_out if case is None else held_out - 0.1 - 0.000004 * int(case)
            coverage = float("nan") if objective.endswith("_cv") else 0.92
            rows.append((objective, case, False, 0.95, within, within, 3.2, 5.1, 0.9, coverage, 45, 15, within > 0))
    return pd.DataFrame(rows, columns=list(SCORE_COLUMNS))


def _fingerprint(study: Study, case: str) -> Fingerprint:
    return Fingerprint(
        system={
            "kafka_version": "4.3.1",
            "cluster_id": "MkU3OEVBNTcwNTJENDM2Qg",
            "brokers": ["127.0.0.1:9092", "127.0.0.1:9093", "127.0.0.1:9094"],
            "topic": f"kafka-pareto.{study.name}.{case}",
            "topic_partitions": 3,
            "replication_factor": 3,
            "min_insync_replicas": 2,
        },
        client_host="recorded",
        client_cpu="a recorded CPU",
        client_cores=2,
        client_kernel="6.1",
        load_and_brokers_share_a_machine=True,
    )
