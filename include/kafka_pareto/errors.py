"""Errors that users see. All derive from `KafkaParetoError`; `exit_code` is that of the step's process."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from kafka_pareto.exit_codes import EXIT_BAD_INPUT, EXIT_NO_CONSENT, EXIT_TEMPORARY


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the closest known name, or an empty text."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


class KafkaParetoError(Exception):
    """Base of the project's errors."""

    exit_code = EXIT_TEMPORARY


class BadInputError(KafkaParetoError):
    """Invalid user input; the message names the place, the value, the rule and the fix."""

    exit_code = EXIT_BAD_INPUT


class StudyError(BadInputError):
    """A study file breaks a rule; `problems` has one `key: value: rule` line per defect."""

    def __init__(self, file: str, problems: list[str]) -> None:
        self.file = file
        self.problems = problems
        super().__init__("\n".join(f"{file}: {problem}" for problem in problems))


class PlanError(BadInputError):
    """The campaign as planned does not fit the disk, exceeds a ceiling, or lacks consent."""


class ConsentError(PlanError):
    """The plan for an existing cluster lacks consent."""

    exit_code = EXIT_NO_CONSENT


class PickError(BadInputError):
    """A picked configuration is not eligible for activation; the message names it and the rule."""


class ArtifactError(BadInputError):
    """An artifact is missing, damaged or of another schema version."""


class MissingArtifactError(ArtifactError):
    """An artifact is not in the store."""


class GateError(BadInputError):
    """More repetitions were rejected or failed than the study tolerates; stops the campaign."""


class ClusterError(KafkaParetoError):
    """The Kafka cluster is unreachable, unhealthy or refuses; `kafka_error` is Kafka's exception name, if any."""

    def __init__(self, message: str, kafka_error: str = "") -> None:
        self.kafka_error = kafka_error
        super().__init__(message)


class SafetyStop(BadInputError):  # noqa: N818 (a deliberate stop, not a defect)
    """The load stopped to protect an existing cluster (harm, throttling, missing right); a retry cannot help."""


class DisturbedError(KafkaParetoError):
    """Other work on this machine disturbed one measurement repeatedly."""


class LoadToolError(KafkaParetoError):
    """The load generator failed, did not end, or printed unreadable output."""


class LoadStartError(LoadToolError):
    """The load generator's process could not be started, which no configuration can cause."""


class LoadMachineError(LoadStartError):
    """A load machine was lost or started late, which no configuration can cause."""


class StoreError(KafkaParetoError):
    """The object store is unreachable or refuses."""


class TrackingError(KafkaParetoError):
    """The MLflow server is unreachable or refuses."""


class LeaseHeldError(KafkaParetoError):
    """Another load runs on this cluster and did not end in time."""
