"""Rows as Avro records, with a real schema registry (Apicurio): its numbers, its schemas and its refusals."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

from kafka_pareto.brokers.ports import free_ports
from kafka_pareto.drivers.ingestion.file_to_send import FileToSend
from kafka_pareto.drivers.ingestion.schema_registry import SchemaRegistry
from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.java import java_environment
from kafka_pareto.settings import load_settings
from tests.required import is_required
from tests.system.ingestion_bench import Bench, new_name, require_equal

pytestmark = [pytest.mark.brokers, pytest.mark.studies]

FOLDER = Path(__file__).parents[2] / ".state" / "registry"
READER = Path(__file__).parents[1] / "fixtures" / "AvroReader.java"
_STARTS_WITHIN_S = 90


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchemaRegistry]:
    """A registry on loopback that keeps its schemas in memory."""
    app = next(FOLDER.glob("*-runner.jar"), None)
    if app is None and not is_required():
        pytest.skip("there is no schema registry; run make test-studies")
    port, folder = free_ports(1)[0], tmp_path_factory.mktemp("registry")
    options = {"quarkus.http.host": "127.0.0.1", "quarkus.http.port": port, "java.io.tmpdir": folder}
    argv = [load_settings().java, "-Xmx512m", *(f"-D{name}={value}" for name, value in options.items())]
    with (folder / "registry.log").open("wb") as log:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", *argv, "-jar", str(app)],
            env=java_environment(),
            stdout=log,
            stderr=log,
        )
    try:
        found = SchemaRegistry.of(f"http://127.0.0.1:{port}/apis/ccompat/v7", None)
        _wait_until_it_answers(found.url)
        yield found
    finally:
        process.kill()
        process.wait()


@retry(
    retry=retry_if_exception_type((httpx.HTTPError, AssertionError)),
    stop=stop_after_delay(_STARTS_WITHIN_S),
    wait=wait_fixed(0.2),
    reraise=True,
)
def _wait_until_it_answers(url: str) -> None:
    assert httpx.get(f"{url}/subjects", timeout=5).json() == []


def decoded(registry: SchemaRegistry, values: list[bytes]) -> list[dict[str, object]]:
    """Reads the records with the schema that their number has in the registry."""
    (number,) = {int.from_bytes(each[1:5]) for each in values}
    assert {each[0] for each in values} == {0}
    schema = json.dumps(json.loads(httpx.get(f"{registry.url}/schemas/ids/{number}").json()["schema"]))
    settings = load_settings()
    read = subprocess.run(
        [settings.java, "-cp", f"{settings.kafka_jars}/*", str(READER)],
        input="\n".join([schema, *(base64.b64encode(each[5:]).decode() for each in values)]).encode(),
        env=java_environment(),
        capture_output=True,
        check=True,
        timeout=60,
    ).stdout
    return [json.loads(line) for line in read.decode().splitlines()]


def test_records_are_read_with_the_schema_of_their_number(bench: Bench, registry: SchemaRegistry) -> None:
    file, topic = bench.folder / "typed.csv", new_name()
    file.write_text('id,title,price,zip code\n7,"Lem, S.",12.50,01234\n8,,1,5\n,,,\n')
    wanted = FileToSend(file, topic, encoding="avro", registry=registry, key="zip code", partitions=1)

    begun = bench.ingestion.begin(wanted)
    arrived = bench.ingestion.send(begun, wanted, lambda _: None, None)

    require_equal(arrived.held, 3)
    (records,) = bench.records(topic, 3, partitions=1)
    assert [key for key, _ in records] == [b"01234", b"5", b""]
    assert decoded(registry, [value for _, value in records]) == [
        {"id": 7, "title": "Lem, S.", "price": 12.5, "zip_code": "01234"},
        {"id": 8, "title": None, "price": 1.0, "zip_code": "5"},
        {"id": None, "title": None, "price": None, "zip_code": None},
    ]
    assert f"{topic}-value" in httpx.get(f"{registry.url}/subjects").json()


def test_a_schema_that_the_subject_does_not_allow_is_refused_before_the_topic_is_made(
    bench: Bench, registry: SchemaRegistry
) -> None:
    topic, schema = new_name(), bench.folder / "row.avsc"
    registry.register(f"{topic}-value", _schema('"string"'))
    httpx.put(f"{registry.url}/config/{topic}-value", json={"compatibility": "FULL"}).raise_for_status()
    schema.write_text(_schema('{"type": "int"}'))
    wanted = FileToSend(bench.folder / "one.csv", topic, encoding="avro", registry=registry, schema=schema)
    wanted.file.write_text("id\n7\n")

    with pytest.raises(
        BadInputError, match=f"subject {topic}-value: incompatible with the registered schema: .*SCHEMA"
    ):
        bench.ingestion.begin(wanted)
    wanted.file.write_text("id,more\n7,8\n")
    with pytest.raises(BadInputError, match=f"^{schema}: the schema has no field for the column 'more'"):
        bench.ingestion.begin(replace(wanted, topic=new_name()))


def test_a_resumed_ingestion_keeps_its_schema(bench: Bench, registry: SchemaRegistry) -> None:
    topic, schema = new_name(), bench.folder / "resumed.avsc"
    schema.write_text(_schema('["null", "long"]'))
    wanted = FileToSend(bench.folder / "two.csv", topic, encoding="avro", registry=registry, schema=schema)
    wanted.file.write_text("id\n7\n8\n")
    begun = bench.ingestion.begin(wanted)

    registry.register(f"{topic}-value", _schema('["null", "long"]', doc="newer"))
    assert bench.ingestion.begin(wanted) == begun
    schema.write_text(_schema('"long"'))
    with pytest.raises(BadInputError, match="but the file, DELIMITER, ENCODING, VALUES, SCHEMA"):
        bench.ingestion.begin(wanted)


def _schema(type_: str, doc: str = "") -> str:
    field = {"name": "id", "type": json.loads(type_)}
    return json.dumps({"type": "record", "name": "row", "doc": doc, "fields": [field]})
