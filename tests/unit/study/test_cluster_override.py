"""Asks what a campaign may say of the cluster that its study names."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_pareto.errors import BadInputError
from kafka_pareto.study.overrides import cluster_with
from kafka_pareto.study.sections import ForeignCluster

pytestmark = pytest.mark.fast

OF_THE_STUDY = ForeignCluster(bootstrap_servers="a:9092,b:9092", ceiling_mib_s=5, ceiling_gib=2, consent=True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ceiling_mib_s": 5.1}, "--ceiling-mib-s=5.1: the study's cluster.ceiling_mib_s is 5; a campaign may lower"),
        ({"ceiling_gib": 3}, "--ceiling-gib=3: the study's cluster.ceiling_gib is 2; a campaign may lower"),
        ({"bootstrap_servers": "c:9092", "ceiling_gib": 3}, "--ceiling-gib=3: the study's cluster.ceiling_gib is 2"),
        ({"ceiling_gib": -1.0}, "needs a ceiling above zero"),
    ],
)
def test_a_ceiling_of_the_study_is_the_most(given: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        cluster_with(OF_THE_STUDY, given)


def test_a_ceiling_may_be_lowered_and_repeated() -> None:
    cluster = cluster_with(OF_THE_STUDY, {"ceiling_mib_s": 5.0, "ceiling_gib": 0.5})
    assert cluster == OF_THE_STUDY.model_copy(update={"ceiling_gib": 0.5})


@pytest.mark.parametrize(("servers", "consent"), [("b:9092", True), ("b:9092,c:9092", False), ("c:9092", False)])
def test_a_studys_consent_is_for_its_own_brokers(servers: str, consent: bool) -> None:
    cluster = cluster_with(OF_THE_STUDY, {"bootstrap_servers": servers})
    assert cluster is not None
    assert cluster.consent is consent


def test_a_study_without_a_cluster_sets_no_bounds() -> None:
    given = {"bootstrap_servers": "c:9092", "ceiling_mib_s": 500.0, "ceiling_gib": 900.0}
    assert cluster_with(None, given) == ForeignCluster(**given)
    assert cluster_with(None, {}) is None
