"""Remove topics left behind by campaigns, for `make remove-topics`."""

from __future__ import annotations

import os

from kafka_pareto.analysis.wording import counted
from kafka_pareto.drivers.common.cluster_access import require_brokers
from kafka_pareto.drivers.common.cluster_mark import exclusive_load
from kafka_pareto.errors import ConsentError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.measurement.own_topics import left_topics
from kafka_pareto.settings import Settings
from kafka_pareto.study.requests import RemoveTopicsRequest
from kafka_pareto_embedded.bootstrap.preflight import find_java
from kafka_pareto_embedded.lifecycle import lifecycle
from kafka_pareto_embedded.runs.lease_store import WAIT_S, lease_store
from kafka_pareto_embedded.stack.stack import Stack
from kafka_pareto_embedded.terminal.reply import Reply


def remove_topics(request: RemoveTopicsRequest, settings: Settings, wait_s: float = WAIT_S) -> Reply:
    """Delete the topics of all campaigns, unless one is running; print and return each outcome.

    Raises:
        ConsentError: If another cluster's owner has not agreed; the list is printed first.
        ClusterError: If the cluster cannot be reached, or refuses.
        LeaseHeldError: If a campaign or an ingestion is running.
    """
    settings = settings.model_copy(update={"java": find_java(os.environ) or settings.java})
    stack = Stack.load() if request.kafka else lifecycle.running()
    servers = request.kafka or (stack.bootstrap_servers if stack else "")
    require_brokers(request.kafka_config, servers)
    with Cluster(servers, request.kafka_config, settings) as cluster:
        topics = left_topics(cluster)
        print("\n".join([f"{counted(len(topics), 'topic')} of campaigns on {servers}", *topics]))
        if not topics:
            return Reply({"cluster": servers, "topics": {}})
        description = cluster.describe()
        is_ours = stack is not None and description.cluster_id == stack.settings().own_cluster_id
        if not (is_ours or request.consent):
            raise ConsentError("an existing cluster needs your consent: read the list, then add CONSENT=yes")
        with exclusive_load(lease_store(), cluster, description, wait_s):
            outcomes: dict[str, str] = {}
            for topic in topics:
                outcomes[topic] = cluster.delete_topic(topic)
                print(f"{topic}: {outcomes[topic]}")
    return Reply({"cluster": servers, "topics": outcomes})


def topics_left_on(stack: Stack) -> list[str]:
    """List the topics of campaigns on the stack's brokers."""
    with Cluster(stack.bootstrap_servers, None, stack.settings()) as cluster:
        return left_topics(cluster)
