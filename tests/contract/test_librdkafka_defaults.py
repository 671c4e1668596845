"""The settings of librdkafka that studies know are those of the bundled library, with its defaults and limits."""

from __future__ import annotations

import ctypes

import pytest

from kafka_pareto.drivers.producer.clients import installed
from kafka_pareto.kafka.librdkafka_properties import ALIASES, BOUNDS, CHOICES, DEFAULTS
from kafka_pareto.kafka.properties_file import property_text
from kafka_pareto.settings import load_settings
from kafka_pareto.study.workload import ProducerLoad

ACKS = {"-1": "all"}


class Library:
    """librdkafka's own configuration, as C programs see it."""

    def __init__(self) -> None:
        path = installed(ProducerLoad(1, client="librdkafka"), load_settings()).librdkafka
        self._library = ctypes.CDLL(str(path))
        self._library.rd_kafka_conf_new.restype = ctypes.c_void_p
        self._library.rd_kafka_version_str.restype = ctypes.c_char_p
        self._library.rd_kafka_topic_conf_new.restype = ctypes.c_void_p
        self._conf = ctypes.c_void_p(self._library.rd_kafka_conf_new())
        self._topic = ctypes.c_void_p(self._library.rd_kafka_topic_conf_new())

    @property
    def version(self) -> str:
        return str(self._library.rd_kafka_version_str().decode())

    def default_of(self, name: str) -> str:
        value, size = ctypes.create_string_buffer(512), ctypes.c_size_t(512)
        if self._library.rd_kafka_conf_get(self._conf, name.encode(), value, ctypes.byref(size)) != 0:
            size = ctypes.c_size_t(512)
            assert self._library.rd_kafka_topic_conf_get(self._topic, name.encode(), value, ctypes.byref(size)) == 0, (
                name
            )
        return value.value.decode()

    def set(self, name: str, value: str, read: str) -> str:
        """Set one setting of a new configuration, and read another."""
        conf, said = ctypes.c_void_p(self._library.rd_kafka_conf_new()), ctypes.create_string_buffer(512)
        assert self._library.rd_kafka_conf_set(conf, name.encode(), value.encode(), said, ctypes.c_size_t(512)) == 0
        found, size = ctypes.create_string_buffer(512), ctypes.c_size_t(512)
        assert self._library.rd_kafka_conf_get(conf, read.encode(), found, ctypes.byref(size)) == 0
        return found.value.decode()

    def accepts(self, name: str, value: str) -> bool:
        said = ctypes.create_string_buffer(512)
        result = self._library.rd_kafka_conf_set(
            ctypes.c_void_p(self._library.rd_kafka_conf_new()),
            name.encode(),
            value.encode(),
            said,
            ctypes.c_size_t(512),
        )
        return int(result) == 0


@pytest.fixture(scope="module")
def library() -> Library:
    return Library()


def test_the_bundled_version_is_the_documented_one(library: Library) -> None:
    assert library.version.startswith("2.16.")


@pytest.mark.parametrize("name", DEFAULTS)
def test_every_default_is_the_librarys(name: str, library: Library) -> None:
    found = library.default_of(name)
    assert (ACKS.get(found, found) if name == "acks" else found) == property_text(DEFAULTS[name])


@pytest.mark.parametrize("name", BOUNDS)
def test_the_limits_are_the_librarys(name: str, library: Library) -> None:
    least, most = BOUNDS[name]
    assert library.accepts(name, str(least))
    assert library.accepts(name, str(most))
    assert not library.accepts(name, str(least - 1))
    assert most == 2**31 - 1 or not library.accepts(name, str((most or 0) + 1))


@pytest.mark.parametrize("name", CHOICES)
def test_every_choice_is_accepted_and_nonsense_is_not(name: str, library: Library) -> None:
    assert all(library.accepts(name, choice) for choice in CHOICES[name])
    assert not library.accepts(name, "nonsense")


def test_the_other_names_are_the_librarys(library: Library) -> None:
    for alias, name in ALIASES.items():
        other = CHOICES[name][0] if name in CHOICES else str(BOUNDS[name][0] + 1)
        assert library.set(alias, other, name) == ("0" if name == "acks" else other)
