"""Models a study file: what is varied, how it is measured, and what is wanted of it."""

import kafka_pareto.study.producer  # noqa: F401 (registers the driver, whoever asks for objectives)
