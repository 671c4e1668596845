"""Generate a campaign of any number of record sizes, for `benchmarks.growth` and its test."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml

from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.records import Plan, Proposal, Repetition
from kafka_pareto.campaign.tables import TRIAL_COLUMNS
from kafka_pareto.drivers.common.systems import ClusterSystem
from kafka_pareto.drivers.producer.runner import ProducerRunner
from kafka_pareto.steps import confirm, design, measure, optimize, propose, train, validate
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import dump_study, parse_study
from kafka_pareto.study.tune import tune_study
from tests.fakes import FakeCluster, fake_testbed
from tests.small_quick import small_quick

ID, TEMPLATE = "c1", "1024"
LAST_ROUND = 1


class CountingStore(FolderStore):
    """A folder that counts its reads, and does not wait for its disk.

    Attributes:
        asked: Requests by kind (`reads`, `writes`, `listings`), and the names that listings gave.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.asked: Counter[str] = Counter()

    def put(self, key: str, content: bytes) -> None:
        """Write the file; nothing here has to survive a power cut."""
        self.asked["writes"] += 1
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def get(self, key: str) -> bytes:
        """Count a read; so is a look at an object's tag, which S3 answers by a request of its own."""
        self.asked["reads"] += 1
        return super().get(key)

    def keys(self, prefix: str) -> list[str]:
        """Count a listing, and its names."""
        found = super().keys(prefix)
        self.asked.update(listings=1, names=len(found))
        return found

    def folders(self, prefix: str) -> list[str]:
        """Count a listing, and its names."""
        found = super().folders(prefix)
        self.asked.update(listings=1, names=len(found))
        return found


def growing_study(record_sizes_bytes: Sequence[int]) -> Study:
    """Return a study as small as one can be that goes through all steps, with a second round."""
    content: dict[str, Any] = small_quick() | {
        "name": "growing",
        "record_sizes_bytes": list(record_sizes_bytes),
        "design": {"configurations": 4, "feasible": True},
        "strategy": "rounds",
        "rounds": {"maximum": LAST_ROUND, "configurations": 2},
        "surrogate": {"n_estimators": 20},
        "search": {"generations": 5},
        "confirmation": {
            "points": 2,
            "choice_blocks": 2,
            "gain_blocks": 3,
            "minimum_blocks": 3,
            "final_blocks": 2,
            "more_blocks": 0,
        },
    }
    return parse_study(yaml.safe_dump(content), "growing")


def made_up_template(folder: Path) -> Campaign:
    """Return a campaign of one record size, run through all steps but the report on a fake of a cluster."""
    store, study = CountingStore(folder), growing_study([int(TEMPLATE)])
    with FakeCluster() as cluster:
        design.run(store, tune_study(study), ID, ClusterSystem(cluster))
    campaign = Campaign.open(store, study.name, ID)
    for number in range(LAST_ROUND + 1):
        if number:
            propose.run(campaign, number)
        on_fake(measure.run, campaign, TEMPLATE, number)
        validate.run(campaign, number)
        train.run(campaign, number)
        optimize.run(campaign, TEMPLATE, number)
    on_fake(confirm.run, campaign, TEMPLATE)
    return campaign


def grown(template: Campaign, folder: Path, sizes: int) -> Campaign:
    """Return a campaign of this many record sizes, each with the template's artifacts."""
    study = growing_study([256 + 8 * at for at in range(sizes)])
    campaign = Campaign(study, CampaignKeys(study.name, ID), CountingStore(folder))
    of_case = re.compile(f"(?<=[/-]){TEMPLATE}(?=[/._-])")
    for key in template.store.keys(f"{template.keys.prefix}/"):
        content = template.store.get(key)
        if of_case.search(key):
            for case in study.cases:
                campaign.store.put(of_case.sub(case, key), _of_case(key, content, [case]))
        else:
            campaign.store.put(key, _of_campaign(campaign, key, content))
    return campaign


def repeat(campaign: Campaign, blocks: int) -> int:
    """Measure every configuration in this many blocks of the design and the rounds, and return all repetitions.

    New blocks copy the first one, a minute apart, with log-normal noise on latency and throughput.
    """
    keys, rng = campaign.keys, np.random.default_rng(campaign.tune.seed)
    frames: dict[int, list[pd.DataFrame]] = {number: [] for number in range(LAST_ROUND + 1)}
    count = 0
    for case in campaign.study.cases:
        so_far: list[Repetition] = []
        for number, of_round in frames.items():
            prefix = keys.measurements(case, number)
            first = [each for each in campaign.read_repetitions(prefix) if each.block == 0]
            measured = [_in_block(each, block, rng) for block in range(blocks) for each in first]
            for each in measured:
                campaign.write_record(f"{prefix}{each.repetition_id}.json", each)
            so_far += measured
            of_round.append(summarise_trials(so_far, campaign.tune))
        count += len(so_far) + len(campaign.store.keys(keys.confirmation(case, "repetitions/")))
    for number, of_round in frames.items():
        campaign.write_table(keys.trials(number), pd.concat(of_round, ignore_index=True), TRIAL_COLUMNS)
    return count


def _in_block(first: Repetition, block: int, rng: np.random.Generator) -> Repetition:
    noise = rng.lognormal(0, 0.1, 2)
    values = zip(("latency_p95_ms", "throughput_mib_s"), noise, strict=True)
    began = datetime.fromisoformat(first.started_at) + timedelta(minutes=block)
    return first.with_values(
        {
            "repetition_id": first.repetition_id.replace("-b000-", f"-b{block:03d}-"),
            "block": block,
            "started_at": began.isoformat(),
            **{name: (first.number(name) or 0.0) * factor for name, factor in values},
        }
    )


def on_fake(step: Callable[..., Manifest], campaign: Campaign, case: str, *arguments: int) -> Manifest:
    """Run a step that measures, with a fake load generator."""
    with fake_testbed(campaign, case) as testbed:
        return step(campaign, case, ProducerRunner(campaign, case, testbed), *arguments)


def _of_campaign(campaign: Campaign, key: str, content: bytes) -> bytes:
    keys, cases = campaign.keys, campaign.study.cases
    if key == keys.frozen_study():
        return dump_study(campaign.study).encode()
    if key == keys.plan():
        plan = Plan.model_validate_json(content)
        [each] = plan.confirmation_repetitions.values()
        whole = {"repetitions": plan.repetitions * len(cases), "confirmation_repetitions": dict.fromkeys(cases, each)}
        return plan.model_copy(update=whole).model_dump_json().encode()
    if key == keys.proposal(LAST_ROUND):
        proposal = Proposal.model_validate_json(content)
        [decided] = proposal.cases
        found = [decided.model_copy(update={"case": case}) for case in cases]
        return proposal.model_copy(update={"cases": found}).model_dump_json().encode()
    return _of_case(key, content, cases) if key.endswith(".parquet") else content


def _of_case(key: str, content: bytes, cases: Sequence[str]) -> bytes:
    """Return the template's artifact as these cases', one after the other."""
    if not key.endswith(".parquet"):
        [case] = cases
        text = content.decode().replace(f'"case":"{TEMPLATE}"', f'"case":"{case}"')
        found = json.loads(text.replace(f"-{TEMPLATE}-b", f"-{case}-b"))
        for name in ("throughput_mib_s", "printed_mib_s"):  # the same records per second, of another size
            if found.get("quantities", {}).get(name):
                found["quantities"][name] *= int(case) / int(TEMPLATE)
        return json.dumps(found).encode()
    table = pq.read_table(io.BytesIO(content))
    if "case" not in table.column_names:
        return content
    file, over_all = io.BytesIO(), pc.is_null(table["case"])  # a score over all cases stays one row
    own = table.filter(pc.invert(over_all))
    pq.write_table(pa.concat_tables([table.filter(over_all), *(_renamed(own, case) for case in cases)]), file)
    return file.getvalue()


def _renamed(table: pa.Table, case: str) -> pa.Table:
    for name in ("case", "repetition_id", "repetition_ids"):
        if name in table.column_names:
            at = table.column_names.index(name)
            kind = table.schema.field(at)
            values = [_renamed_value(value, case) for value in table.column(at).to_pylist()]
            table = table.set_column(at, kind, pa.array(values, kind.type))
    return table


def _renamed_value(value: Any, case: str) -> Any:
    if isinstance(value, list):
        return [_renamed_value(each, case) for each in value]
    return case if value == TEMPLATE else value and value.replace(f"-{TEMPLATE}-b", f"-{case}-b")
