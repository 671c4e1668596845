"""Secrets of a `client.properties`: none slips through, however the file writes it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.client_properties import hidden, read_client_config, secrets_in
from kafka_pareto.kafka.properties_file import properties_lines
from kafka_pareto.settings import Settings

pytestmark = pytest.mark.fast

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
PROGRAM = """
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigDef;

class PasswordNames {
    public static void main(String[] arguments) {
        for (var definition : new ConfigDef[] {ProducerConfig.configDef(), AdminClientConfig.configDef()}) {
            definition.configKeys().values().stream()
                    .filter(key -> key.type == ConfigDef.Type.PASSWORD)
                    .forEach(key -> System.out.println(key.name));
        }
    }
}
"""


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("ssl.key.password hunter 2", "cannot use hunter 2"),
        ("ssl.key.password:hunter2", "cannot use hunter2"),
        ("ssl.key.password=hun\\\n  ter2", "cannot use hunter2"),
        ("ssl.key.p\\u0061ssword=h\\u0075nter2", "cannot use hunter2"),
        ("ssl.key.password=hunter2   ", "cannot use [hunter2]"),
        ("ssl.key.password=hunter\\=2", "producer.properties: ssl.key.password=hunter\\=2"),
        ("ssl.keystore.key=BEGIN\\nhunter2\\nEND", "in line 2: hunter2"),
        (f'sasl.jaas.config={PLAIN} username="u" password="hunter;2";', "the password is hunter;2"),
        (f"sasl.jaas.config={PLAIN} password='hunter;2' username=u;", "the password is hunter;2"),
        (f'sasl.jaas.config={PLAIN} password="hunter\\\\"2";', 'the password is hunter"2'),
        (f'sasl.jaas.config={PLAIN} password="hunter2', "the password is hunter2"),
        ("sasl.oauthbearer.assertion.private.key.passphrase=hunter2", "cannot use hunter2"),
    ],
)
def test_a_secret_is_hidden_however_the_file_writes_it(file: str, said: str) -> None:
    told = hidden(said, secrets_in(file))

    assert "hunter" not in told
    assert "[hidden]" in told


def test_a_secret_is_hidden_in_the_load_generators_file() -> None:
    values = {"ssl.key.password": " hünter=2\\", "client.id": "me"}
    file = properties_lines(values)

    assert hidden(file, secrets_in(file)) == "ssl.key.password=[hidden]\nclient.id=me\n"


@pytest.mark.timeout(60)
def test_a_long_secret_is_found_without_trying_each_of_its_characters() -> None:
    secret = "password" * 2000
    assert secret in secrets_in(f"sasl.jaas.config={PLAIN} token={secret}")


def test_values_that_are_not_secret_are_kept() -> None:
    assert secrets_in("client.id=me\nsecurity.protocol SASL_SSL\n# ssl.key.password=hunter2\n") == []


@pytest.mark.slow
def test_every_property_that_kafka_takes_for_a_password_is_a_secret(tmp_path: Path) -> None:
    program, installed = tmp_path / "PasswordNames.java", Settings()
    program.write_text(PROGRAM)
    argv = [installed.java, "-cp", f"{installed.kafka_jars}/*", str(program)]
    names = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout.split()

    assert {"ssl.key.password", "sasl.jaas.config"} < set(names)
    assert [name for name in names if not secrets_in(f"{name}=hunter2")] == []


def test_a_file_that_java_refuses_is_one_clear_error_without_the_secret(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("ssl.key.password=\\uhunter2")

    with pytest.raises(BadInputError, match=r"client\.properties: cannot be read .* four hexadecimal digits") as caught:
        read_client_config(file)

    assert "hunter" not in str(caught.value)
