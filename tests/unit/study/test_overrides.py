"""A campaign's overrides of its study: the cluster, and levels that its machine cannot measure."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kafka_pareto.drivers.ingestion.studies import CompareIngestion
from kafka_pareto.drivers.producer.compare import CompareProducer
from kafka_pareto.errors import BadInputError, StudyError
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.overrides import cluster_with, with_overrides, without_impossible
from kafka_pareto.study.sections import ForeignCluster
from kafka_pareto.study.study_file import load_study
from tests.recorded import STUDIES

pytestmark = pytest.mark.fast

OF_THE_STUDY = ForeignCluster(bootstrap_servers="a:9092,b:9092", ceiling_mib_s=5, ceiling_gib=2, consent=True)
WAYS_OF_KCAT = {"name": "ways", "variants": {"ours": {}, "other": {"path": "producer"}}}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ceiling_mib_s": 5.1}, "CEILING_MIB_S=5.1: the study's cluster.ceiling_mib_s is 5; a campaign may lower"),
        ({"ceiling_gib": 3}, "CEILING_GIB=3: the study's cluster.ceiling_gib is 2; a campaign may lower"),
        ({"bootstrap_servers": "c:9092", "ceiling_gib": 3}, "CEILING_GIB=3: the study's cluster.ceiling_gib is 2"),
        ({"ceiling_gib": -1.0}, "needs a ceiling above zero"),
    ],
)
def test_a_ceiling_of_the_study_is_the_most(given: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        cluster_with(OF_THE_STUDY, given)


def test_a_ceiling_may_be_lowered_and_repeated_and_a_study_without_a_cluster_sets_none() -> None:
    cluster = cluster_with(OF_THE_STUDY, {"ceiling_mib_s": 5.0, "ceiling_gib": 0.5})
    assert cluster == OF_THE_STUDY.model_copy(update={"ceiling_gib": 0.5})
    given = {"bootstrap_servers": "c:9092", "ceiling_mib_s": 500.0, "ceiling_gib": 900.0}
    assert cluster_with(None, given) == ForeignCluster(**given)
    assert cluster_with(None, {}) is None


@pytest.mark.parametrize(("servers", "consent"), [("b:9092", True), ("b:9092,c:9092", False), ("c:9092", False)])
def test_a_studys_consent_is_for_its_own_brokers(servers: str, consent: bool) -> None:
    cluster = cluster_with(OF_THE_STUDY, {"bootstrap_servers": servers})
    assert cluster is not None
    assert cluster.consent is consent


def test_a_study_whose_own_brokers_cannot_be_replaced_says_so() -> None:
    topologies = load_study(STUDIES / "topologies_quick.yaml")
    with pytest.raises(StudyError, match="cluster: must not be given"):
        with_overrides(topologies, cluster=OF_THE_STUDY)


def test_record_sizes_of_a_study_with_another_case_are_refused() -> None:
    with pytest.raises(BadInputError, match="RECORD_SIZES: 1024: study log_pipeline_tuned has one case, "):
        with_overrides(load_study(STUDIES / "log_pipeline_tuned.yaml"), ["1024"])


def test_a_sample_that_no_kept_part_sends_is_left_out() -> None:
    content = yaml.safe_load((STUDIES / "impact_quick.yaml").read_text(encoding="utf-8"))
    content |= {"name": "sampled", "tables": [{"factor": "payload", "levels": ["text", "sample"]}]}
    content["tables"] += [{"factor": "acks", "levels": ["all", "1"]}]
    content |= {"variants": [], "series": [], "grid": None}
    content["workload"] = content.get("workload", {}) | {"sample": "orders.jsonl"}
    sampled = CompareProducer.model_validate(content)
    assert with_overrides(sampled, ["payload"]).text_file() == "orders.jsonl"
    assert with_overrides(sampled, ["acks"]).text_file() is None
    assert with_overrides(sampled, table={"factor": "linger.ms", "levels": [0, 10]}).text_file() is None


def study(**changes: Any) -> CompareIngestion:
    content: dict[str, Any] = {
        "schema_version": 1,
        "kind": "compare",
        "driver": "ingestion",
        "name": "example",
        "description": "Of a test.",
        "tables": [
            {"factor": "senders", "levels": ["sequential", "virtual_threads_100"], "name": "threads"},
            {"factor": "path", "levels": ["producer", "batches", "kcat"], "published": {"rows_s": [1, None, 3]}},
        ],
        "variants": [
            {"name": "ways", "variants": {"ours": {}, "other": {"path": "kcat"}, "line": {"reader": "line"}}},
        ],
    }
    return CompareIngestion.model_validate(content | changes)


def no_kcat(level: Configuration) -> str:
    return "no kcat here" if level["path"] == "kcat" else ""


def test_a_fully_measurable_study_stays_unchanged_and_a_part_left_with_one_level_is_removed() -> None:
    assert without_impossible(study(), lambda _: "") == (study(), [])
    found, _ = without_impossible(study(), lambda level: "Java" if level["senders"] != "sequential" else "")
    assert found.cases == ["ways", "path"]


def test_levels_and_variants_are_removed_with_their_published_numbers_and_reported() -> None:
    found, told = without_impossible(study(), no_kcat)

    assert found.part("path").factors == {"path": ["producer", "batches"]}
    assert found.part("path").published == {"rows_s": [1, None]}
    assert list(found.variants[0].variants) == ["ours", "line"]
    assert found.cases == ["ways", "threads", "path"]
    assert [str(each) for each in told] == [
        "part ways skipped: no kcat here (file: other)",
        "part path skipped: no kcat here (file: kcat)",
    ]


def test_a_reference_that_cannot_be_measured_is_an_error() -> None:
    with pytest.raises(BadInputError, match="part ways: cannot be measured here: no kcat here"):
        without_impossible(study(reference={"path": "kcat"}, tables=[], variants=[WAYS_OF_KCAT]), no_kcat)
