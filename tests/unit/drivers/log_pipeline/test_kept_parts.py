"""Parts that keep running from one window of a soak test to the next: what their end means, and how they end."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_pareto.drivers.log_pipeline.pipeline import PartEndedError
from kafka_pareto.drivers.log_pipeline.study import LogPipelineStudy
from kafka_pareto.drivers.log_pipeline.testbed import OpenPipeline, PipelineTestbed
from kafka_pareto.errors import ClusterError, LoadToolError
from kafka_pareto.study.study_file import load_study
from tests.recorded import STUDIES

pytestmark = pytest.mark.fast


def a_testbed_of(study_name: str, web: object = None) -> PipelineTestbed:
    """A testbed with nothing but this web server."""
    nothing = cast("Any", None)
    study = LogPipelineStudy.of(load_study(STUDIES / f"{study_name}.yaml"))
    return PipelineTestbed(study, nothing, nothing, nothing, nothing, nothing, cast("Any", web))


@pytest.mark.parametrize(
    ("study_name", "error"), [("log_pipeline_soak", PartEndedError), ("log_pipeline_quick", LoadToolError)]
)
def test_that_nginx_has_ended_is_a_result_of_a_soak_test_alone(study_name: str, error: type[Exception]) -> None:
    def ended() -> None:
        raise LoadToolError("nginx has ended: signal 9")

    testbed = a_testbed_of(study_name, SimpleNamespace(require_running=ended))
    opened = OpenPipeline(testbed, testbed.study.baseline_configuration())
    with pytest.raises(error, match=r"^nginx has ended: signal 9$") as raised:
        opened.require_running()
    assert raised.type is error


def test_a_topic_that_cannot_be_deleted_does_not_replace_what_the_window_found(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def undeletable() -> None:
        raise ClusterError("topic logs-1: the broker does not answer")

    testbed = a_testbed_of("log_pipeline_soak")
    testbed._keeping.callback(undeletable)  # what a kept pipeline leaves there
    with caplog.at_level(logging.WARNING):
        testbed.end_kept()
    assert "topic logs-1: the broker does not answer" in caplog.text
