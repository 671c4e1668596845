"""Files of settings in other forms than Java's are read completely, or refused with the reason."""

from __future__ import annotations

import pytest

from kafka_pareto.drivers.producer.client_files import librdkafka_properties, spring_yaml
from kafka_pareto.kafka.known_properties import INT_MAX, PropertyValue
from kafka_pareto.kafka.properties_file import properties_lines
from kafka_pareto.kafka.settings_forms import decoded
from kafka_pareto.kafka.user_settings import read_client_file, read_producer_file

pytestmark = pytest.mark.fast

SPRING = "spring:\n  kafka:\n    producer:\n      acks: all\n"
IGNORED = "Spring Boot ignores this key; put Kafka's names under spring.kafka.producer.properties"
OWN = "depends on your client and is not measured"
PROPERTIES: dict[str, PropertyValue] = {
    "acks": "1",
    "batch.size": 65536,
    "buffer.memory": 67108864,
    "compression.lz4.level": 12,
    "compression.type": "lz4",
    "connections.max.idle.ms": -1,
    "delivery.timeout.ms": 60000,
    "enable.idempotence": False,
    "linger.ms": 20,
    "max.in.flight.requests.per.connection": 10,
    "max.request.size": 2097152,
    "receive.buffer.bytes": -1,
    "retries": 3,
    "send.buffer.bytes": -1,
}


@pytest.mark.parametrize("write", [properties_lines, spring_yaml, librdkafka_properties])
def test_the_files_that_campaigns_deliver_are_read_back_as_they_were(write):
    assert read_producer_file(write(PROPERTIES)).used == PROPERTIES


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (f"x: &size 32768\n{SPRING}      batch-size: *size\n", r"has YAML aliases \(\*name\)"),
        (f"app: @project.name@\n{SPRING}", "is not valid YAML: line 1: found character '@' that cannot start"),
        ("spring:\n  kafka:\n    producer:\n\t  acks: all\n", "is not valid YAML: line 4: "),
        (f"{SPRING}      acks: '0'\n", "acks: appears twice in the mapping at line 4"),
        (
            f"{SPRING}      batch-size: {{{{ .Values.batch }}}}\n",
            "is not valid YAML: has a template placeholder, {{ }}; replace",
        ),
        (f"born: 2024-99-99\n{SPRING}", "is not valid YAML"),
        (f"spring.kafka.producer.acks: all\n---\n{SPRING}", "several YAML documents"),
        ("spring.kafka.producer.acks: all\n---\nspring.kafka.producer.acks: 0\n", "several YAML documents"),
        (
            "spring.kafka.producer.acks=all\r\n#---\r\nspring.config.activate.on-profile=dev\r\n"
            "spring.kafka.producer.acks=0\r\n",
            "has several documents, such as Spring profiles",
        ),
        ("[default]\nqueue.buffering.max.ms=10\n[consumer]\nrequest.timeout.ms=1\n", "is an INI file with several"),
        ('{"acks": "all"', "is not valid JSON: line 1: "),
        ('{"acks": "all", "acks": "0"}', "acks: appears twice"),
        ("{" * 3000, "is not valid JSON"),
    ],
)
def test_a_text_that_would_be_read_in_part_is_refused(text: str, rule: str):
    with pytest.raises(ValueError, match=rule):
        read_producer_file(text)


def test_broken_yaml_is_refused_without_its_lines():
    with pytest.raises(ValueError, match="is not valid YAML: line 6: ") as refused:
        read_producer_file(f"{SPRING}      password: 'hunter2\n")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        '{"acks": "1", "linger.ms": 7}',
        '\ufeff{\r\n  "acks": 1,\r\n  "linger.ms": "7"\r\n}\r\n',
        "[producer]\nacks = 1\nlinger.ms = 7\n",
        'spring.kafka.producer.acks: "1"\nspring.kafka.producer.properties.linger.ms: 7 # ms\n',
        '---\nspring:\n  kafka:\n    producer:\n      acks: 1\n      properties:\n        "[linger.ms]": 7\n',
        "#---\nspring.kafka.producer.acks=1\nspring.kafka.producer.properties.linger.ms=7\n",
    ],
)
def test_json_ini_and_flat_yaml_are_read(text: str):
    assert read_producer_file(text).used == {"acks": "1", "linger.ms": 7}


def test_keys_that_spring_boot_ignores_are_excluded():
    found = read_producer_file(
        "spring.kafka.producer.acks=all\nspring.kafka.producer.linger.ms=50\nspring.kafka.producer.linger-ms=50\n"
        "spring.kafka.producer.security.protocol=SSL\nspring.kafka.producer.bootstrap-servers[0]=a:9092\n"
    )
    assert found.used == {"acks": "all"}
    assert found.ignored == {
        "spring.kafka.producer.linger.ms": IGNORED,
        "spring.kafka.producer.linger-ms": IGNORED,
        "spring.kafka.producer.security.protocol": OWN,
        "spring.kafka.producer.bootstrap-servers[0]": OWN,
    }


def test_a_unit_is_read_where_spring_converts_it_and_in_its_capitals():
    sizes = "spring.kafka.producer.batch-size=64 KB\nspring.kafka.producer.buffer-memory=64MB\n"
    assert read_producer_file(sizes).used == {"batch.size": 65536, "buffer.memory": 67108864}
    with pytest.raises(ValueError, match="batch-size: '32kb': the unit must be one of B, KB, MB, GB, TB"):
        read_producer_file("spring.kafka.producer.batch-size=32kb\n")
    with pytest.raises(ValueError, match=r"properties\.batch\.size: batch\.size: '32KB' must be a whole number"):
        read_producer_file("spring.kafka.producer.properties.batch.size=32KB\n")


def test_one_setting_of_all_spring_clients_with_two_values_is_refused():
    with pytest.raises(ValueError, match="are the same setting with two values, 1 and 2"):
        read_producer_file("spring.kafka.properties.linger.ms=1\nspring.kafka.properties[linger.ms]=2\n")


def test_librdkafkas_zeros_are_javas_numbers_for_without_limit():
    found = read_producer_file(
        "message.timeout.ms=0\nconnections.max.idle.ms=0\nsocket.send.buffer.bytes=0\nlinger.ms=0\n"
    )
    assert found.used == {
        "delivery.timeout.ms": INT_MAX,
        "connections.max.idle.ms": -1,
        "send.buffer.bytes": -1,
        "linger.ms": 0,
    }


@pytest.mark.parametrize(
    ("text", "used", "rule"),
    [
        (
            "message.timeout.ms=5000\n",
            {"delivery.timeout.ms": 5000},
            r"message.timeout.ms=5000 must be at least linger.ms \+ request.timeout.ms",
        ),
        (
            "compression.codec=gzip\ncompression.level=0\n",
            {"compression.type": "gzip"},
            r"compression\.level: compression\.gzip\.level: 0 must be -1",
        ),
    ],
)
def test_a_file_of_librdkafka_follows_javas_rules_only_where_javas_client_is_measured(
    text: str, used: dict[str, PropertyValue], rule: str
):
    assert read_client_file(text, "producer", is_measured=False).used == used
    with pytest.raises(ValueError, match=rule):
        read_producer_file(text)


@pytest.mark.parametrize(
    ("codec", "level", "used", "reason"),
    [
        ("gzip", "5", {"compression.gzip.level": 5}, None),
        ("zstd", "7", {"compression.zstd.level": 7}, None),
        ("zstd", "-1", {}, "is the codec's default"),
        ("snappy", "0", {}, "does not apply to compression.type=snappy"),
        # At its default, 9, Java's client compresses with the fast compressor, which librdkafka has below 3.
        ("lz4", "0", {"compression.lz4.level": 9}, None),
        ("lz4", "3", {"compression.lz4.level": 3}, None),
        ("lz4", "9", {}, "means the fast compressor in Java's client, which has no lz4 level 9"),
    ],
)
def test_librdkafkas_level_is_that_of_the_codec(
    codec: str, level: str, used: dict[str, PropertyValue], reason: str | None
):
    found = read_producer_file(f"compression.codec={codec}\ncompression.level={level}\n")
    assert found.used == {"compression.type": codec, **used}
    assert found.ignored.get("compression.level") == reason


@pytest.mark.parametrize("line", ["log_level=6", "socket.keepalive.enable=true", "sasl.mechanisms=PLAIN"])
def test_a_single_name_of_librdkafka_shows_the_form(line: str):
    found = read_producer_file(f"bootstrap.servers=a:9092\nacks=1\n{line}\n")
    assert (found.form, found.used) == ("librdkafka", {"acks": "1"})


def test_librdkafkas_topic_prefix_capitals_and_short_booleans_are_read():
    found = read_producer_file("topic.acks=ALL\ntopic.compression.codec=LZ4\nenable.idempotence=1\n")
    assert (found.form, found.ignored) == ("librdkafka", {})
    assert found.used == {"acks": "all", "compression.type": "lz4", "enable.idempotence": True}
    with pytest.raises(ValueError, match=r"topic\.acks and acks are the same setting with two values, all and 0"):
        read_producer_file("topic.acks=-1\nacks=0\n")


def test_librdkafka_is_not_idempotent_by_default():
    found = read_producer_file("max.in.flight=1000000\n")
    (note,) = [line for line in found.report_lines() if line.startswith("note")]
    assert "enable.idempotence (false)" in note
    assert "Kafka 4.0" not in note


def test_a_file_is_utf_8_or_else_javas_iso_8859_1():
    text = "# Verzögerung\nlinger.ms=5\n"
    assert decoded(text.encode("utf-8-sig")) == decoded(text.encode()) == decoded(text.encode("latin-1")) == text


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_a_file_in_another_encoding_is_refused(encoding: str):
    with pytest.raises(ValueError, match="save it as UTF-8"):
        decoded("linger.ms=5\n".encode(encoding))
