"""Defines every error that a user may see. All derive from `KafkaParetoError` and read as one clear message.

Each has the exit code with which a step that meets it ends.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from kafka_pareto.exit_codes import EXIT_BAD_INPUT, EXIT_NO_CONSENT, EXIT_TEMPORARY


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Ends a message about an unknown name with the known one that was probably meant; empty where none is near."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


class KafkaParetoError(Exception):
    """Is the base of the project's errors; `exit_code` is what the step's process ends with."""

    exit_code = EXIT_TEMPORARY


class BadInputError(KafkaParetoError):
    """Reports that something the user gave cannot be used.

    The message names the place, the value, the rule and the remedy.
    """

    exit_code = EXIT_BAD_INPUT


class StudyError(BadInputError):
    """Reports that a study file breaks a rule.

    Args:
        file: The study file, as the user knows it.
        problems: One `key: value: rule` line for each defect.
    """

    def __init__(self, file: str, problems: list[str]) -> None:
        self.file = file
        self.problems = problems
        super().__init__("\n".join(f"{file}: {problem}" for problem in problems))


class PlanError(BadInputError):
    """Reports that the campaign as planned may not run.

    It does not fit the disk, passes a ceiling, or lacks a consent.
    """


class ConsentError(PlanError):
    """Reports that the cluster is not ours and nobody has agreed to the plan yet."""

    exit_code = EXIT_NO_CONSENT


class PickError(BadInputError):
    """Reports that a configuration somebody picked may not be put in force.

    The message names the configuration and the rule that it breaks.
    """


class ArtifactError(BadInputError):
    """Reports that an artifact cannot be read: it is missing, damaged or of another schema version."""


class MissingArtifactError(ArtifactError):
    """Reports that an artifact is not in the store."""


class GateError(BadInputError):
    """Stops the campaign: more of its repetitions were rejected or failed than the study tolerates."""


class ClusterError(KafkaParetoError):
    """Reports that the Kafka cluster cannot be reached, refuses, or is in trouble.

    Args:
        message: What the user reads.
        kafka_error: The name of Kafka's exception, like `TopicAuthorizationException`, where there was one.
    """

    def __init__(self, message: str, kafka_error: str = "") -> None:
        self.kafka_error = kafka_error
        super().__init__(message)


class SafetyStop(BadInputError):  # noqa: N818 (a stop, decided on purpose, rather than a defect)
    """Stops the campaign on purpose, to protect a cluster that is not ours.

    The load harmed the cluster, a quota throttles, or a right is missing. A retry by itself would not help.
    """


class DisturbedError(KafkaParetoError):
    """Reports that something else on this machine disturbed one measurement again and again."""


class LoadToolError(KafkaParetoError):
    """Reports that the load tool did not run, did not end, or printed what cannot be read."""


class LoadStartError(LoadToolError):
    """Reports that the load tool's process could not be started; no configuration can have caused that."""


class StoreError(KafkaParetoError):
    """Reports that the object store cannot be reached or refuses."""


class TrackingError(KafkaParetoError):
    """Reports that the MLflow server cannot be reached or refuses."""


class LeaseHeldError(KafkaParetoError):
    """Reports that another load runs on this cluster, and did not end within the time allowed."""
