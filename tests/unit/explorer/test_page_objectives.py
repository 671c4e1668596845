"""Compares what the explorer's page knows of objectives with what drivers that can be tuned declare."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kafka_pareto.study.drivers import drivers
from kafka_pareto.study.study_classes import study_classes

pytestmark = pytest.mark.fast

PAGE = Path(__file__).parents[3] / "plugins" / "kafka_pareto_explorer" / "objectives.js"
ENTRY = re.compile(
    r'^  (?P<name>\w+): \{(?: unit: "(?P<unit>[^"]*)",?)?(?P<maximised> maximised: true,?)?[^}]*\},$', re.MULTILINE
)


def test_the_page_knows_unit_and_direction_of_every_objective_that_can_be_tuned() -> None:
    known = {each["name"]: (each["unit"] or "", bool(each["maximised"])) for each in ENTRY.finditer(PAGE.read_text())}
    tuned = {driver for kind, driver in study_classes() if kind == "tune"}

    assert known == {
        each.name: (each.unit, each.maximised) for driver in sorted(tuned) for each in drivers()[driver].objectives
    }
