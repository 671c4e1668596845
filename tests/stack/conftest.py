"""The embedded stack, and a campaign that it has run, for all tests that look at them."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.storage.store import open_store
from kafka_pareto_embedded.airflow_api.administrator import administrator
from kafka_pareto_embedded.airflow_api.client import AirflowClient
from tests.recorded import STUDIES
from tests.small_quick import small_quick
from tests.stack.contested_study import write_contested_study
from tests.stack.embedded_stack import CAMPAIGN_BEGINS, EmbeddedStack, Finished, embedded_stack
from tests.stack.kills import Killer, Survived


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    """The embedded stack, up and ready; it has the shipped studies and four small ones of the tests."""
    folder = tmp_path_factory.mktemp("stack")
    shutil.copytree(STUDIES, folder / "studies")
    _write_paper_small(folder / "studies")
    _write_drifting(folder / "studies")
    _write_comparing(folder / "studies")
    write_contested_study(folder / "studies", batch_bytes=262144)
    with embedded_stack(folder / "state") as started:
        started.environment["KAFKA_PARETO_STUDIES"] = str(folder / "studies")
        code, started.output = started.command("up")
        assert code == 0, started.output
        yield started


@pytest.fixture
def airflow(stack: EmbeddedStack) -> Iterator[AirflowClient]:
    """Airflow's API, logged in."""
    with administrator(stack.stack) as client:
        yield client


@pytest.fixture(scope="session")
def survived(stack: EmbeddedStack) -> Survived:
    """`paper_small` run to its end, while everything that it needs was killed once."""
    running = stack.begin("run", STUDY="paper_small")
    assert running.stdout is not None
    said = ""
    for line in running.stdout:
        said += line
        if begins := CAMPAIGN_BEGINS.match(line):
            break
    else:
        pytest.fail(said)
    seed = secrets.randbits(32)
    print(f"seed of the kills: {seed}")
    keys = CampaignKeys("paper_small", begins[1])
    killer = Killer(stack, keys, ["1024", "8192"], seed)
    kills = killer.kill_everything_once()
    rest, _ = running.communicate(timeout=700)
    assert running.returncode == 0, said + rest
    campaign = Campaign.open(open_store(stack.stack.settings()), keys.study, keys.campaign)
    return Survived(campaign, said + rest, killer, kills)


@pytest.fixture(scope="session")
def compared(stack: EmbeddedStack) -> Finished:
    """`comparing` run to its end."""
    code, said = stack.command("run", STUDY="comparing", timeout_s=300)
    assert code == 0, said
    [campaign_id] = CAMPAIGN_BEGINS.findall(said)
    return Finished(Campaign.open(open_store(stack.stack.settings()), "comparing", campaign_id), said)


def _write_paper_small(folder: Path) -> None:
    """`paper` with only its counts reduced."""
    content = yaml.safe_load((STUDIES / "paper.yaml").read_text())
    content |= {"name": "paper_small", "record_sizes_bytes": [1024, 8192]}
    content["design"]["configurations"] = 5
    content["protocol"] |= {"repetitions": 2, "minimum_valid_repetitions": 2, "cool_down_s": 0.1}
    content["confirmation"] |= {"points": 2, "choice_blocks": 1, "gain_blocks": 5, "minimum_blocks": 5}
    content["confirmation"] |= {"final_blocks": 2, "more_blocks": 0}
    content["surrogate"] |= {"n_estimators": 20}
    content["search"] |= {"generations": 10}
    (folder / "paper_small.yaml").write_text(yaml.safe_dump(content))


def _write_drifting(folder: Path) -> None:
    """`quick` at one record size: the baseline sends record by record, in order, and every candidate sends batches."""
    content = small_quick()
    # The change of the brokers multiplies the ratio; what a busy machine does to an unchanged one is far less.
    content |= {"name": "drifting", "record_sizes_bytes": [1024], "retune": {"blocks": 5, "drift_fraction": 0.8}}
    content["baseline"] = {"batch.size": 1024, "max.in.flight.requests.per.connection": 1}
    content["factors"] = {
        "batch.size": {"type": "integer", "levels": [65536, 131072, 262144]},
        "linger.ms": {"type": "integer", "levels": [5, 20]},
    }
    content["design"]["configurations"] = 4
    content["workload"]["topic_partitions"] = 1
    content["protocol"]["records"] = 150
    content["confirmation"] = {"points": 2, "choice_blocks": 1, "gain_blocks": 10, "minimum_blocks": 5}
    content["confirmation"] |= {"final_blocks": 6, "more_blocks": 0}
    content |= {"surrogate": {"n_estimators": 50}, "search": {"generations": 10}}
    (folder / "drifting.yaml").write_text(yaml.safe_dump(content))


def _write_comparing(folder: Path) -> None:
    """Two tables of two levels each, by bursts to the stack's own brokers."""
    content = {
        "schema_version": 1,
        "kind": "compare",
        "name": "comparing",
        "description": "Two tables on the cluster of the installation; the numbers mean nothing.",
        "tables": [
            {"factor": "acks", "levels": [1, "all"], "published": {"throughput_records_s": [1_247_000, 892_000]}},
            {"factor": "linger.ms", "levels": [5, 50]},
        ],
        "protocol": {"kind": "cold_burst", "records": 500, "repetitions": 3, "order": "blocks"},
        # Bursts this small are now and then outliers: no reason to stop here.
        "validation": {"tolerated_rejected_fraction": 0.5},
    }
    (folder / "comparing.yaml").write_text(yaml.safe_dump(content))
