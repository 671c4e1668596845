"""Another's mark is deleted once its end was seen unchanged for a term, and not where its end cannot be seen."""

from __future__ import annotations

import pytest

from kafka_pareto.drivers.common import cluster_mark
from kafka_pareto.drivers.common.cluster_mark import ClusterMark
from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.topic_mark import TopicMark
from tests.fakes import FakeCluster, FakeLease

pytestmark = pytest.mark.fast

TERM_S = 0.1
POLL_S = 0.02


class EnoughAskedError(Exception):
    """The end of a wait that nothing else would end."""


class MarkedCluster(FakeCluster):
    """A cluster with another installation's mark; its end can be read while `has_leader`."""

    def __init__(self) -> None:
        super().__init__()
        self.marks = ["theirs"]
        self.has_leader = True
        self.ends_asked = 0

    def mark(self, topic: str) -> TopicMark:
        def ask(operation: str, timeout_s: float = 0.0, **arguments: object) -> object:  # noqa: ARG001
            if operation == "last_of_mark":
                self.ends_asked += 1
                if self.ends_asked * POLL_S > 4 * TERM_S:
                    raise EnoughAskedError
                if not self.has_leader:
                    raise ClusterError("last_of_mark: no answer from the partition's leader")
                return {"end_offset": 5, "value": None}
            if operation == "make_mark" and not self.marks:
                self.marks.append("ours")
                return "ours"
            if operation == "delete_mark":
                self.marks.remove(str(arguments["topic_id"]))
            return self.marks[-1] if operation == "id_of_mark" else None

        return TopicMark(ask, topic)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> MarkedCluster:
    monkeypatch.setattr(cluster_mark, "_POLL_S", POLL_S)
    return MarkedCluster()


def test_a_mark_whose_end_stays_for_a_term_has_lapsed(cluster: MarkedCluster) -> None:
    with ClusterMark(cluster, FakeLease(), 1, "an installation", 60.0, TERM_S):
        assert cluster.marks == ["ours"]


@pytest.mark.slow
def test_a_mark_whose_end_cannot_be_seen_may_be_kept_up(cluster: MarkedCluster) -> None:
    cluster.has_leader = False
    with pytest.raises(EnoughAskedError), ClusterMark(cluster, FakeLease(), 1, "an installation", 60.0, TERM_S):
        pass
    assert cluster.marks == ["theirs"]
