"""Commands that only read, or remove topics, send a login only to the brokers that it is for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_pareto.errors import BadInputError
from kafka_pareto.settings import Settings
from kafka_pareto.study.requests import AuditRequest, DoctorRequest, RemoveTopicsRequest, VerifyRequest
from kafka_pareto_embedded.runs.checks import print_audit, print_report, print_verification
from kafka_pareto_embedded.runs.remove_topics import remove_topics

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    "command",
    [
        lambda login: print_report(DoctorRequest(**login), Settings()),
        lambda login: print_audit(AuditRequest(**login), Settings(), as_json=False),
        lambda login: print_verification(
            VerifyRequest(topic="t", settings=login["kafka_config"], **login), Settings(), as_json=False
        ),
        lambda login: remove_topics(RemoveTopicsRequest(**login), Settings()),
    ],
    ids=["doctor", "audit", "verify", "remove-topics"],
)
def test_a_login_for_other_brokers_is_not_sent(tmp_path: Path, command: Callable[[dict[str, Any]], object]):
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=ours:9092\nlinger.ms=5\n", encoding="utf-8")
    with pytest.raises(BadInputError, match=r"its credentials are for ours:9092, not for theirs:9092"):
        command({"kafka": "theirs:9092", "kafka_config": file})
