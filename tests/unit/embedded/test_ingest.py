"""Options are checked, and nothing goes to a cluster in use before its owner has named ceilings and read the plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_pareto.drivers.ingestion.file_ingestion import Arrived
from kafka_pareto.drivers.ingestion.output import CheckOutput, IngestionOutput, RowsFound
from kafka_pareto.drivers.ingestion.plain_csv import plain_csv
from kafka_pareto.errors import BadInputError, ConsentError
from kafka_pareto.settings import Settings
from kafka_pareto.study.requests import IngestRequest
from kafka_pareto_embedded.runs.ingest import (
    counts_of,
    delimiter_of,
    ingest,
    require_allowed_topic,
    require_ceilings,
    require_consent,
    require_consent_to_registry,
    require_login_of,
    wanted_of,
)
from tests.fakes import FakeCluster

pytestmark = pytest.mark.fast

CEILINGS: dict[str, Any] = {"kafka": "broker:9092", "ceiling_mib_s": 2.0, "ceiling_gib": 1.0}


def request(folder: Path, **changes: Any) -> IngestRequest:
    file = folder / "rows.csv"
    with file.open("wb") as content:
        content.truncate(64 << 20)
    return IngestRequest(**{"file": file, "topic": "books"} | changes)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"values": "avro"}, "VALUES=avro: needs REGISTRY=http://host:port"),
        ({"registry": "http://registry:8081"}, "REGISTRY: needs VALUES=avro"),
        ({"values": "json", "registry_config": Path("login")}, "REGISTRY_CONFIG: needs VALUES=avro"),
        ({"value_schema": Path("row.avsc")}, "SCHEMA: needs VALUES=json or VALUES=avro"),
    ],
)
def test_options_of_avro_go_together(tmp_path: Path, changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(BadInputError, match=f"^{rule}"):
        ingest(request(tmp_path, **changes), Settings())


@pytest.mark.parametrize(("address", "asks"), [("https://registry:8081", True), ("http://localhost:8081", False)])
def test_a_registry_elsewhere_needs_consent_even_with_the_stacks_cluster(
    tmp_path: Path, address: str, asks: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = request(tmp_path, values="avro", registry=address)
    if asks:
        with pytest.raises(ConsentError, match="a registry on another machine needs your consent"):
            require_consent_to_registry(wanted)
        assert "plan: register the Avro schema books-value at https://registry:8081" in capsys.readouterr().out
    require_consent_to_registry(wanted.model_copy(update={"consent": asks}))


def test_the_stacks_own_cluster_needs_neither_ceilings_nor_consent(tmp_path: Path) -> None:
    require_ceilings(request(tmp_path))


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        (CEILINGS | {"ceiling_mib_s": None}, "needs CEILING_MIB_S and CEILING_GIB"),
        (CEILINGS | {"ceiling_gib": None}, "needs CEILING_MIB_S and CEILING_GIB"),
        (CEILINGS | {"ceiling_gib": 0.01, "consent": True}, "0.06 GiB, above CEILING_GIB=0.01"),
    ],
)
def test_a_cluster_in_use_needs_ceilings_that_the_file_keeps(
    tmp_path: Path, changes: dict[str, Any], rule: str
) -> None:
    with pytest.raises(BadInputError, match=rule):
        require_ceilings(request(tmp_path, **changes))


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("linger.ms=5", "linger.ms: only addresses and credentials are allowed here; remove settings that tune a prod"),
        ("max.poll.records=5", "max.poll.records: only addresses .*; remove settings that tune a consumer"),
        ("bootstrap.servers=other:9092", "its credentials are for other:9092, not for broker:9092"),
    ],
)
def test_a_login_that_tunes_a_client_or_is_for_other_brokers_is_refused_before_anything_is_sent(
    tmp_path: Path, line: str, rule: str
) -> None:
    login = tmp_path / "client.properties"
    login.write_text(f"sasl.jaas.config=x password='hidden';\n{line}\n")
    with pytest.raises(BadInputError, match=rf"^KAFKA_CONFIG: {login}: {rule}") as refused:
        ingest(request(tmp_path, **CEILINGS, kafka_config=login), Settings())
    assert "hidden" not in str(refused.value)


def test_a_login_is_for_an_existing_cluster_and_can_be_read(tmp_path: Path) -> None:
    login = tmp_path / "client.properties"
    with pytest.raises(BadInputError, match=r"^KAFKA_CONFIG: needs KAFKA"):
        ingest(request(tmp_path, kafka_config=login), Settings())
    with pytest.raises(BadInputError, match=f"^{login}: cannot be read as a client.properties"):
        ingest(request(tmp_path, **CEILINGS, kafka_config=login), Settings())
    login.write_text("bootstrap.servers=broker:9092,second:9092\nsecurity.protocol=SSL\n")
    require_login_of(request(tmp_path, **CEILINGS, kafka_config=login))


def test_the_plan_is_shown_before_anybody_consents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = FakeCluster()
    cluster.hidden_topics = 3
    require_ceilings(request(tmp_path, **CEILINGS))
    with pytest.raises(ConsentError, match="CONSENT=yes"):
        require_consent(request(tmp_path, **CEILINGS), cluster)

    plan = capsys.readouterr().out
    assert "plan: not watched: 3 topics of the cluster" in plan
    assert "to topic books of broker:9092, at most 2 MiB/s, in about 32" in plan
    require_consent(request(tmp_path, **CEILINGS, consent=True), cluster)


def test_no_file_is_sent_to_a_topic_of_a_name_that_this_tool_makes_and_deletes(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"TOPIC=kafka-pareto\.a\.b\.c: names with kafka-pareto\. are reserved"):
        require_allowed_topic(request(tmp_path, topic="kafka-pareto.a.b.c"))


@pytest.mark.parametrize("delimiter", ["ab", "§", '"', "TAB"])
def test_a_delimiter_is_one_character_that_no_row_needs_otherwise(tmp_path: Path, delimiter: str) -> None:
    with pytest.raises(BadInputError, match=f"DELIMITER={delimiter}: must be one ASCII character"):
        delimiter_of(request(tmp_path, delimiter=delimiter))


def test_delimiter_and_encoding_reach_the_tool_as_it_names_them(tmp_path: Path) -> None:
    asked = request(tmp_path, delimiter="tab", encoding="latin-1")
    with plain_csv(asked.file, asked.encoding, delimiter_of(asked), tmp_path) as plain:
        wanted = wanted_of(asked, plain)
    assert (wanted.file, wanted.delimiter, wanted.encoding) == (asked.file, "\t", "latin_1")


def test_the_reply_counts_records_sent_now_and_records_present(tmp_path: Path) -> None:
    sent = IngestionOutput.model_construct(rows_acknowledged=3, elapsed_s=1.5, resumptions=0)
    found = RowsFound(rows=7, hash="0" * 32, malformed=1, blank_lines=2)
    held = CheckOutput(file=found, topic=found.model_copy(update={"malformed": 0, "blank_lines": 0}))
    assert counts_of(Arrived(sent, held), request(tmp_path)) == {
        "file": str(tmp_path / "rows.csv"),
        "topic": "books",
        "rows_sent": 3,
        "elapsed_s": 1.5,
        "rows_in_topic": 7,
        "rows_in_file": 7,
        "malformed_rows": 1,
        "blank_lines": 2,
        "resumptions": 0,
    }
