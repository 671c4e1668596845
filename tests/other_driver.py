"""Puts the driver of `tests/drivers` into the list of drivers; `conftest.py` makes its folder one of theirs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafka_pareto.drivers import driver_list
from kafka_pareto.study.declarations import drivers
from kafka_pareto.study.study_file import study_classes


@contextmanager
def known_driver() -> Iterator[None]:
    """Registers the driver of `tests/drivers` while the context is open."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver_list, "NAMES", (*driver_list.NAMES, "calls"))
        _forget()
        try:
            yield
        finally:
            _forget()


def _forget() -> None:
    drivers.cache_clear()
    study_classes.cache_clear()
